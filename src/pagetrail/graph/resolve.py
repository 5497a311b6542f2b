"""What a text points at, and the page that holds it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from .numbers import Numbers
from .ways import Way

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .digest import Digest, Pointer, Target

__all__ = ["Resolved", "link_ways", "reference_ways", "resolve"]

_RANGE = 8  # pages or things named as a range that are followed, at most
_MOST_WAYS = 60  # references and links kept of one page
_SURE = 0.35  # less sure targets are nothing
_LISTED = 0.6  # less sure on a list of contents, which names everything
_GONE_ON = 0.3  # less sure where a thing only goes on
_CALLED = 0.25  # surer where pointer and target call it the same
_CALLED_BY = 12  # characters by which that is told
_CANDIDATES = 64  # pages looked at for one pointer
_ALSO = {
    "appendix": ("section",),
    "chapter": ("section",),
    "note": ("section",),
    "section": ("appendix", "chapter"),
}
_LISTED_LINK = 0.3  # weight of a link of a table of contents
# What follows a pointer into another document: "of the Act", "to Form 8-K", "of [5]".
_LEADS_OUT = re.compile(
    r"\s*(?:\([^)\s]{1,6}\)\s*)*(?:(?:,|or|and|&)\s*(?:§{1,2}|sections?)?\s*\d[\d.\-]*[A-Z]?"
    r"(?:\(\w{1,4}\))*\s*)*,?\s*(?:(?:of|in|to|from|under)\s+(?:the\s+|our\s+|its\s+|their\s+|an?\s+)*)"
    r"(?P<what>[^.;]{1,70})",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\[\d|et\s+al\b|\(\d{4}|\b(?:acts?|codes?|regulations?|rules?|laws?|directives?|conventions?"
    r"|treaty|agreements?|indentures?|plans?|amendments?|constitution|statutes?|by-?laws"
    r"|certificates?|forms?\s+\w{1,4}-?\w|registration\s+statements?|u\.?\s?s\.?\s?c\b|c\.?f\.?r\b|guide"
    r"|manuals?|handbooks?|standards?|iso|iec|ieee|irc|fasb|asc|sfas|ias|ifrs|proxy\s+statements?"
    r"|current\s+report|quarterly\s+reports?|dictionary|encyclopa?edia|book|volume|supplement"
    r"|ordinances?|bill|charter)\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"(?:this\b|these\b|present\b|following\b|main\s+text|paper\b|notes?\s+to\b|consolidated\b"
    r"|financial\s+statements|part\b|item\b|section\b|appendix|chapter\b|page\b|annual\s+report)",
    re.IGNORECASE,
)
_OTHER_BEFORE = re.compile(
    r"(?:\bU\.?\s?S\.?\s?C\.?|\bC\.?F\.?R\.?(?:\s+part)?|\bAct(?:\s+of\s+\d{4})?,?|\bCode,?|\bRegulation"
    r"|\bet\s+al\.?[^.]{0,12}|\(\d{4}[a-z]?[,;:]?|,\s*\d{4}[a-z]?[,;:]|\[\d+(?:,\s*\d+)*\][,;]?|\[\d+,"
    r"|\bASC|\bSFAS|\bFASB|\bFAS|\bIFRS|\bISO(?:/IEC)?)\s*[(,]?\s*$",
    re.IGNORECASE,
)
_CITED_PAGES = re.compile(
    r"(?:\b(?:19|20)\d\d\b|\bvol\.|\bProceedings\b|\bJournal\b)[^A-Za-z]*$|\bIn\s+Proc",
    re.IGNORECASE,
)
_POINTS = re.compile(r"\b(?:see|on|in|from|to|of|at)\s+(?:the\s+)?$", re.IGNORECASE)
_PAGE_COUNT = re.compile(r"\s*(?:of|/)\s*\d")


class Resolved(NamedTuple):
    """A pointer and where it leads.

    Attributes:
        source: Page that points.
        pointer: What it says.
        key: The one number meant; a range gives one of these per number.
        target: Page that holds it; may be ``source``.
        sure: How sure that is, above 0 and at most 1.
    """

    source: int
    pointer: Pointer
    key: str
    target: int
    sure: float


def resolve(digests: Sequence[Digest]) -> Iterator[Resolved]:
    """Yield the pointers of a document that lead to one of its pages, in reading order.

    Args:
        digests: One per page that was read, by number.
    """
    places = _Places(digests)
    pages = _Pages(digests)
    for page in digests:
        for pointer in page.pointers:
            if pointer.kind == "beside":
                found: Iterable[tuple[str, int, float]] = _beside(pages, page, pointer)
            elif _elsewhere(pointer):
                continue
            elif pointer.kind in ("page", "slide"):
                found = pages.find(pointer)
            else:
                found = places.find(pointer, page.number)
            for key, target, sure in found:
                yield Resolved(page.number, pointer, key, target, sure)


def reference_ways(digests: Sequence[Digest]) -> list[Way]:
    """Return edges from pages whose text points at another page: "see Table 2", "on page 12".

    Args:
        digests: One per page that was read, by number.

    Returns:
        At most 60 edges per page, each target and wording once; a page that several texts point
        at has several edges with their own words.
    """
    ways: dict[tuple[int, int, str], Way] = {}
    count: Counter[int] = Counter()
    for found in resolve(digests):
        if found.source == found.target or count[found.source] >= _MOST_WAYS:
            continue
        why = _why(found)
        at = (found.source, found.target, why)
        if at not in ways:
            count[found.source] += 1
            ways[at] = Way(found.source, found.target, "reference", round(found.sure, 3), why)
        elif ways[at].weight < found.sure:
            ways[at] = ways[at]._replace(weight=round(found.sure, 3))
    return list(ways.values())


def link_ways(digests: Sequence[Digest]) -> list[Way]:
    """Return edges along the file's own links.

    Args:
        digests: One per page that was read, by number.

    Returns:
        Each pair of pages once. A page with many links, such as a table of contents, says little
        by each of them, so their weight is low.
    """
    known = {page.number for page in digests}
    ways = []
    for page in digests:
        targets = Counter(t for t in page.links if t in known and t != page.number)
        spread = max(1.0, len(targets) / 4)
        weight = _LISTED_LINK if page.contents else max(_LISTED_LINK, 1 / spread)
        ways += [
            Way(page.number, target, "link", round(weight, 3), "link")
            for target, _ in targets.most_common(_MOST_WAYS)
        ]
    return ways


def _why(found: Resolved) -> str:
    """Return a reference in a few words."""
    kind = found.pointer.kind
    if kind == "beside":
        return found.pointer.text
    if kind in ("page", "slide"):
        return f"on {kind} {found.key}"
    return f"see {kind.capitalize()} {found.key}"


def _beside(pages: _Pages, page: Digest, pointer: Pointer) -> Iterator[tuple[str, int, float]]:
    """Yield the page that "overleaf", "opposite" or "the table below" means."""
    key = pointer.key
    if key == "opposite":
        # Even pages lie on the left, so what is opposite them comes next.
        target = page.number + (1 if pages.numbers.printed(page.number) % 2 == 0 else -1)
    else:
        target = page.number + (1 if key[0] == "+" else -1)
    other = pages.by_number.get(target)
    if other is None:
        return
    if key.endswith("?"):
        end = other.begin if key[0] == "+" else other.end
        if not {"table_row", "caption"} & set(end.kinds):
            return
        yield key, target, 0.5
    else:
        yield key, target, 0.8


def _elsewhere(pointer: Pointer) -> bool:
    """Return whether a pointer leads into another document."""
    out = _LEADS_OUT.match(pointer.after)
    if out and not _OWN.match(out["what"]) and _OTHER.search(out["what"]):
        return True
    if pointer.kind in ("section", "part", "item", "page") and _OTHER_BEFORE.search(pointer.before):
        return True
    if pointer.kind == "section" and pointer.after[:1] == "(" and pointer.key.isdigit():
        return True  # "Section 13(a)" is law
    if pointer.kind == "section" and pointer.before[-4:].lower() == "sub-":
        return True
    if pointer.kind == "slide":
        return not _POINTS.search(pointer.before)  # else it is the slide's own number
    if pointer.kind == "page":
        return bool(_PAGE_COUNT.match(pointer.after) or _CITED_PAGES.search(pointer.before))
    return False


def _numbers(key: str, *, whole: bool) -> list[str]:
    """Return the numbers of a range "3-5", or the key itself."""
    first, dash, last = key.partition("-")
    if dash and not whole and first.isdigit() and last.isdigit() and int(first) < int(last):
        return [str(n) for n in range(int(first), min(int(last), int(first) + _RANGE - 1) + 1)]
    return [key]


class _Pages:
    """Pages by the numbers printed on them and by their place."""

    def __init__(self, digests: Sequence[Digest]) -> None:
        self.by_number = {page.number: page for page in digests}
        self.numbers = Numbers(digests)

    def find(self, pointer: Pointer) -> Iterator[tuple[str, int, float]]:
        """Yield the pages that "page 12" or "slide 3" means."""
        for key in _numbers(pointer.key, whole=False):
            page, sure = self.numbers.page(key)
            if page in self.by_number:
                yield key, page, sure


class _Places:
    """Numbered things by kind and key, and the pages on which they stand."""

    def __init__(self, digests: Sequence[Digest]) -> None:
        self._at: dict[tuple[str, str], dict[int, Target]] = defaultdict(dict)
        self._chapters: list[int] = []
        running: dict[tuple[str, str], tuple[int, Target]] = {}
        for page in digests:
            for target in page.targets:
                thing = (target.kind, target.key)
                if target.running:
                    running.setdefault(thing, (page.number, target))
                    continue
                sure = target.sure - _LISTED * page.contents - _GONE_ON * target.continued
                held = self._at[thing]
                old = held.get(page.number)
                if old is None or old.sure < sure:
                    held[page.number] = target._replace(sure=sure)
                if target.kind in ("chapter", "appendix") and sure >= 0.8:
                    self._chapters.append(page.number)
        self._chapters.sort()
        for thing, (first, target) in running.items():
            self._open(thing, first, target)
        self._pages = {thing: sorted(held) for thing, held in self._at.items()}

    def _open(self, thing: tuple[str, str], first: int, target: Target) -> None:
        """Take in what a running header or footer names: it stands where that first appears.

        The page on which a chapter opens often has no header, only a large "3 Title".
        """
        opening = self._at.get(("section", thing[1]), {})
        at = next((n for n in range(first, first - 4, -1) if n in opening), first)
        self._at[thing].setdefault(at, target)

    def find(self, pointer: Pointer, source: int) -> Iterator[tuple[str, int, float]]:
        """Yield key, page and sureness for what a pointer on a page means."""
        whole = (pointer.kind, pointer.key) in self._at
        for key in _numbers(pointer.key, whole=whole):
            found = self._best(pointer, key, source)
            if found:
                yield key, *found

    def _best(self, pointer: Pointer, key: str, source: int) -> tuple[int, float] | None:
        """Return the page that holds a thing: the surest, then the nearest of several."""
        called = pointer.after.lower().lstrip(" ,(\"“‘'—–-:")
        sure = {
            number: target.sure + _CALLED * _alike(called, target.title)
            for number, target in self._held(pointer.kind, key, source).items()
            if target.sure >= _SURE
        }
        if not sure:
            return None
        best = max(sure.values())
        good = [n for n, worth in sure.items() if worth >= best - 0.15]
        start, end = self._chapter(source)
        within = [n for n in good if start <= n < end] or good
        # Of two as near, what follows is meant: a text comes before its figure.
        page = min(within, key=lambda n: (abs(n - source), n < source))
        return page, min(1.0, sure[page]) * (1.0 if len(good) == 1 else 0.7)

    def _held(self, kind: str, key: str, source: int) -> dict[int, Target]:
        """Return where a thing stands, under a name that means the same when not under its own."""
        if held := self._close((kind, key), source):
            return held
        # "Figure 2a" is a part of Figure 2; "Appendix B" may be headed "B Proofs".
        if kind in ("figure", "table") and len(key) > 1 and key[-1].isalpha() and key[-2].isdigit():
            return self._close((kind, key[:-1]), source)
        for other in _ALSO.get(kind, ()):
            if held := self._close((other, key), source):
                less = 0.3 if kind == "note" else 0.1
                return {n: t._replace(sure=t.sure - less) for n, t in held.items()}
        return {}

    def _close(self, thing: tuple[str, str], source: int) -> dict[int, Target]:
        """Return the pages on which a thing stands; of very many those around the source."""
        pages = self._pages.get(thing, [])
        if len(pages) > _CANDIDATES:
            at = max(0, bisect_right(pages, source) - _CANDIDATES // 2)
            pages = pages[at : at + _CANDIDATES]
        return {number: self._at[thing][number] for number in pages}

    def _chapter(self, page: int) -> tuple[int, int]:
        """Return first page and page after the last of the chapter around a page."""
        at = bisect_right(self._chapters, page)
        start = self._chapters[at - 1] if at else 0
        return start, self._chapters[at] if at < len(self._chapters) else 10**9


def _alike(called: str, title: str) -> bool:
    """Return whether the words after a pointer are those after the number of its target."""
    return len(title) >= 4 and called.startswith(title[:_CALLED_BY])
