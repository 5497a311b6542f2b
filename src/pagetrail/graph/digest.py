"""The little of a page that joining it to other pages needs."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from ..mentions import mentions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..mentions import Mention
    from ..types import Block, Page

__all__ = ["Digest", "End", "Entry", "Heading", "Pointer", "Target", "digest"]

_BEFORE, _AFTER = 60, 90  # characters kept around a mention
_MOST = 400  # pointers, targets, headings and entries kept of a page, each
_NAME = 40  # characters kept of the title of a numbered thing
_TITLE = 100  # characters kept of a heading or a line of contents
_TAIL = 80  # characters kept of a paragraph's start or end
_RIM = 3  # blocks at either end of a page that count as its edge
_ENTRIES = 4  # lines "title ... number" that make a page a list of contents
_CONTENTS = re.compile(
    r"(?:table\s+of\s+)?contents\b|list\s+of\s+(?:figures|tables|exhibits|appendices)\b|index\b",
    re.IGNORECASE,
)
_DIGITS = "0123456789"
_FILL = " .·…_"  # between a title and its page number
_ENTRY_BEFORE = re.compile(r"(\d{1,4})\s+([^\W\d_].{2,160})$")
_LEADER = re.compile(r"(?:\.\s?){4,}|…{2,}|_{4,}")
_NUMBERED = re.compile(
    r"(\d{1,2}(?:\.\d{1,3}){0,4}|[A-Z](?:\.\d{1,3}){1,4}|[A-Z](?=\.?\s+[A-Z]))(?:[.)]|(?=\s))\s*"
    r"(?=[^\W\d_])"
)
_NUMBER = re.compile(r"(?<![\w.,/\-–$€£])\d{1,4}(?![\w,%/\-–]|\.\d)")
_AFTER_KEY = re.compile(
    r"\s*(?:\((?:continued|cont[.’'d]*)\)\s*)?(?:[.:|)\]–—\-]|$)", re.IGNORECASE
)
_CAPITAL = re.compile(r"\s+[(\"“]?[^\W\d_a-z]")
_CONTINUED = re.compile(r"\bcont(?:inued|inuation|['’]?d)\b|\bcont\.(?=\W|$)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?:;。][)\]\"'”’»\d]*$")
# Where a text points at a page beside it: words, and how many pages on.
_BESIDE = re.compile(
    r"\b(?:(?P<over>overleaf|over\s+the\s+page)|(?P<opposite>\(opposite\)|opposite\s+page"
    r"|facing\s+page|page\s+opposite)|(?:on|see|from|to|at|in)\s+(?:the\s+)?(?:top\s+of\s+the\s+)?"
    r"(?:(?P<next>next|following)|(?P<last>previous|preceding|prior))\s+(?P<what>page|slide)"
    r"|(?:the\s+)?(?P<below>(?:table|figure|chart|graph|diagram)\s+below"
    r"|following\s+(?:table|figure|chart|graph|diagram))"
    r"|(?P<above>(?:table|figure|chart|graph|diagram)\s+above"
    r"|preceding\s+(?:table|figure|chart|graph|diagram)))\b",
    re.IGNORECASE,
)
_STEPS = {"over": "+1", "next": "+1", "last": "-1", "opposite": "opposite",
          "below": "+1?", "above": "-1?"}  # fmt: skip
_BESIDE_WORDS = ("overleaf", "opposite", "facing", "page", "slide", "below", "above",
                 "following", "preceding")  # fmt: skip


class Target(NamedTuple):
    """A numbered thing where it stands.

    Attributes:
        kind: As in `types.Reference`.
        key: Its number, upper case.
        sure: How sure it is that it stands here and is not just named, 0..1.
        title: The words after the number, lower case, at most 40 characters.
        continued: It says that it goes on from an earlier page.
        running: It stands in a running header or footer, which repeats it on the pages that follow.
    """

    kind: str
    key: str
    sure: float
    title: str = ""
    continued: bool = False
    running: bool = False


class Pointer(NamedTuple):
    """A numbered thing that a text points at.

    Attributes:
        kind: As in `types.Reference`; ``beside`` for "overleaf" and the like.
        key: Its number, upper case; for ``beside`` a signed number of pages, with ``?`` where
            a table or figure must begin or end there, or ``opposite``.
        text: The pointer's own words.
        before: What stands before it in its block, at most 60 characters.
        after: What stands after it, at most 90 characters.
    """

    kind: str
    key: str
    text: str
    before: str = ""
    after: str = ""


class Heading(NamedTuple):
    """A heading, its level (1 the highest) and its number, empty without one."""

    text: str
    level: int
    number: str = ""


class Entry(NamedTuple):
    """A line of a printed table of contents: its title and the page number printed behind it."""

    title: str
    page: int


class End(NamedTuple):
    """What a page begins or ends with, headers and footers left out.

    Attributes:
        kinds: Kinds of the blocks there, outermost first, at most three.
        starts: How the paragraphs and lists there begin, outermost first.
        tails: How they end.
        columns: Where the cells of the table there begin, in hundredths of the page's width, by
            its row with the most cells; empty without a table at the very edge.
        header: First row of that table.
        continued: Something there says that it goes on from an earlier page.
    """

    kinds: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    tails: tuple[str, ...] = ()
    columns: tuple[int, ...] = ()
    header: str = ""
    continued: bool = False


class Digest(NamedTuple):
    """What is kept of a page while its document is joined: a few hundred bytes to a few thousand.

    Attributes:
        number: 1-based physical number.
        label: The file's own label of the page, None when it is the number or absent.
        printed: Numbers that stand at the page's rim and may be its printed number.
        targets: Numbered things that stand here.
        pointers: Numbered things pointed at, in reading order.
        links: Pages that the file's links lead to, with repeats.
        headings: In reading order.
        entries: Lines of a printed table of contents; empty on other pages.
        contents: The page is a table of contents or a list of figures.
        begin: Its first blocks.
        end: Its last blocks.
    """

    number: int
    label: str | None = None
    printed: tuple[int, ...] = ()
    targets: tuple[Target, ...] = ()
    pointers: tuple[Pointer, ...] = ()
    links: tuple[int, ...] = ()
    headings: tuple[Heading, ...] = ()
    entries: tuple[Entry, ...] = ()
    contents: bool = False
    begin: End = End()
    end: End = End()


def digest(page: Page) -> Digest:
    """Return what joining needs of a page. Linear in its text."""
    body = [b for b in page.blocks if b.kind not in ("header", "footer")]
    entries, listed, contents = _entries(body)
    targets: list[Target] = []
    pointers: list[Pointer] = []
    headings: list[Heading] = []
    shown = [place for place, b in enumerate(body) if b.kind in ("table_row", "caption")]
    first, last = (shown[0], shown[-1]) if shown else (len(body), -1)
    for place, block in enumerate(body):
        if contents and block.order in listed:
            continue
        if block.kind == "heading":
            headings.append(_heading(block))
        targets += _numbered(block)
        if found := mentions(block.text):
            _sort(block, found, targets, pointers)
        pointers += _beside(block.text, above=first < place, below=last > place)
    targets += _running(page.blocks)
    return Digest(
        number=page.number,
        label=page.label,
        printed=_printed(page.blocks),
        targets=tuple(targets[:_MOST]),
        pointers=tuple(pointers[:_MOST]),
        links=tuple(link.target for link in page.links if link.target and not link.file)[:_MOST],
        headings=tuple(headings[:_MOST]),
        entries=tuple(entries[:_MOST]),
        contents=contents,
        begin=_end(body, 1),
        end=_end(body, -1),
    )


def _heading(block: Block) -> Heading:
    numbered = _NUMBERED.match(block.text)
    return Heading(block.text[:_TITLE], block.level, numbered[1] if numbered else "")


# --- targets and pointers ------------------------------------------------------------------------


def _numbered(block: Block) -> Iterator[Target]:
    """Yield the section that a block opens, when it begins like a numbered heading.

    Where a heading was not told from the text below it, only a number with a dot, or a letter
    before a short title in capitals, is taken for one.
    """
    if block.kind == "table_row":
        # Two columns of text may have been read as one table; the heading is then its last cell.
        cell = block.lines()[-1] if block.breaks else ""
        match = _NUMBERED.match(cell)
        if match and "." in match[1] and len(cell) > 12 and cell[match.end()].isupper():
            yield Target("section", match[1], 0.4, _plain(cell[match.end() :]))
        return
    text = block.text
    match = _NUMBERED.match(text)
    if not match or block.kind == "caption":
        return
    rest = text[match.end() : match.end() + 80]
    if block.kind == "heading":
        yield Target("section", match[1], 0.8, _plain(rest))
    elif ("." in match[1] and rest[:1].isupper()) or (
        len(text) < 80 and block.kind == "paragraph" and match[1].isalpha() and text.isupper()
    ):
        yield Target("section", match[1], 0.6, _plain(rest))


def _running(blocks: Sequence[Block]) -> Iterator[Target]:
    """Yield the chapter or note that a running header or footer begins with."""
    for block in blocks:
        if block.kind in ("header", "footer") and len(block.text) < 160:
            found = mentions(block.text)
            # The page's own number may stand before it.
            alone = found and not block.text[: found[0].start].strip("0123456789 |–—-·")
            if alone and found[0].kind not in ("page", "slide"):
                yield _target(block, found[0], 0.5)._replace(running=True)


def _plain(text: str) -> str:
    """Return the first words of a title, to be compared with what a pointer calls it."""
    return text.strip(" .:|()[]–—-\"“”'‘’,").lower()[:_NAME]


def _target(block: Block, mention: Mention, sure: float) -> Target:
    after = block.text[mention.end : mention.end + _AFTER]
    gone = _CONTINUED.search(after[:60]) is not None
    return Target(mention.kind, mention.key, sure, _plain(after), gone)


def _sort(
    block: Block, found: Sequence[Mention], targets: list[Target], pointers: list[Pointer]
) -> None:
    """Part what a block names into what stands there and what it points at."""
    text = block.text
    starts = _line_starts(block)
    for mention in found:
        after = text[mention.end : mention.end + _AFTER]
        sure = _standing(block, mention, after) if mention.start in starts else 0.0
        if sure > 0:
            targets.append(_target(block, mention, sure))
        else:
            before = text[max(0, mention.start - _BEFORE) : mention.start]
            words = text[mention.start : mention.end]
            pointers.append(Pointer(mention.kind, mention.key, words, before, after))


def _line_starts(block: Block) -> set[int]:
    """Return the offsets at which lines or cells of a block begin."""
    if not block.breaks:
        return {0}
    lengths = [len(word) + 1 for word in block.text.split(" ")]
    offsets = [0, *accumulate(lengths)]
    return {0, *(offsets[b] for b in block.breaks if 0 <= b < len(offsets))}


def _standing(block: Block, mention: Mention, after: str) -> float:
    """Return how sure it is that a thing named at the start of a line stands there; 0: it does not.

    "Figure 3 shows" at the start of a line is a sentence; "Figure 3: Waiting times" is a caption.
    """
    closed = _AFTER_KEY.match(after) is not None
    if not closed and not _CAPITAL.match(after):
        return 0.0
    if mention.kind in ("page", "slide", "step", "equation"):
        return 0.0
    if mention.start == 0:
        if block.kind == "caption":
            return 1.0 if closed else 0.9
        if block.kind == "heading":
            return 0.9
        return 0.8 if closed else 0.5
    above = block.text[: mention.start].rstrip()
    if not _SENTENCE_END.search(above) and block.kind != "table_row":
        # A line that goes on from the one above only happens to begin with the words.
        return 0.35 if after[:1] in (":", "|") else 0.0
    return 0.6 if closed else 0.4


def _beside(text: str, *, above: bool, below: bool) -> Iterator[Pointer]:
    """Yield pointers at the pages beside: "overleaf", "on the next page", "the table below".

    Args:
        text: Of one block.
        above: A table or caption stands above the block on its own page.
        below: One stands below it.
    """
    low = text.lower()
    if not any(word in low for word in _BESIDE_WORDS):
        return
    for match in _BESIDE.finditer(text):
        kind = match.lastgroup or ""
        if match["what"]:
            kind = "next" if match["next"] else "last"
        if (kind == "above" and above) or (kind == "below" and below):
            continue
        yield Pointer("beside", _STEPS[kind], match[0])


# --- contents ------------------------------------------------------------------------------------


def _entries(body: Sequence[Block]) -> tuple[list[Entry], set[int], bool]:
    """Return the lines of a printed table of contents, their blocks, and whether the page is one.

    A column of figures also has lines that end in numbers; page numbers rise, and nothing but a
    title stands before them.
    """
    named = any(_CONTENTS.match(b.text) and len(b.text) < 60 for b in body[:6])
    found: list[Entry] = []
    blocks: set[int] = set()
    led = lines = 0
    for block in body:
        pieces = [block.text] if block.kind == "table_row" else block.lines()
        lines += len(pieces)
        for line in pieces:
            entry = _entry(line, named=named)
            if entry:
                led += _LEADER.search(line) is not None
                found.append(entry)
                blocks.add(block.order)
    rising = sum(a.page <= b.page for a, b in pairwise(found))
    if len(found) < _ENTRIES or rising < 0.75 * (len(found) - 1):
        return [], set(), False
    if named or led >= _ENTRIES or (len(found) >= 8 and len(found) > 0.6 * lines):
        return found, blocks, True
    return [], set(), False


def _entry(line: str, *, named: bool) -> Entry | None:
    """Return a line of contents: "Methods .... 12"; under a heading that says so, "12 Methods"."""
    rest = line.rstrip(_DIGITS)
    number = line[len(rest) :]
    if 0 < len(number) <= 4 and rest[-1:] in _FILL:
        title = rest.rstrip(_FILL)
        if 1 < len(title) <= 160 and not title[-1].isdigit() and title[-1] not in "$%,)€£(":
            return Entry(title[:_TITLE], int(number))
    if named and line[:1].isdigit() and (match := _ENTRY_BEFORE.match(line)):
        return Entry(match[2][:_TITLE], int(match[1]))
    return None


# --- the rim -------------------------------------------------------------------------------------


def _printed(blocks: Sequence[Block]) -> tuple[int, ...]:
    """Return the numbers at the rim of a page, at most eight: its printed number may be there."""
    running = [b for b in blocks if b.kind in ("header", "footer")]
    edge = [*blocks[:2], *blocks[-2:]]
    found: dict[int, None] = {}
    for block in (*running, *edge):
        text = block.text
        if len(text) > (160 if block.kind in ("header", "footer") else 60):
            continue
        for match in _NUMBER.finditer(text):
            rest = len(text) - match.end()
            if match.start() <= 6 or rest <= 3 or block.kind in ("header", "footer"):
                found[int(match[0])] = None
    return tuple(found)[:8]


def _end(body: Sequence[Block], step: int) -> End:
    """Return what a page begins (step 1) or ends (step -1) with."""
    rim = body[:_RIM] if step == 1 else body[: -_RIM - 1 : -1]
    prose = [b for b in rim if b.kind in ("paragraph", "list")]
    columns, header = _table(body, step)
    return End(
        kinds=tuple(b.kind for b in rim),
        starts=tuple(b.text[:_TAIL] for b in prose),
        tails=tuple(b.text[-_TAIL:] for b in prose),
        columns=columns,
        header=header,
        continued=any(_CONTINUED.search(b.text[:_TITLE]) for b in rim),
    )


def _table(body: Sequence[Block], step: int) -> tuple[tuple[int, ...], str]:
    """Return the columns and the first row of the table at one end of a page."""
    order = body[::step]
    at = 0
    # A caption, a heading or a single line may stand between the edge and the table.
    while at < min(len(order), _RIM) and order[at].kind != "table_row":
        at += 1
    run: list[Block] = []
    for block in order[at:]:
        if block.kind != "table_row" or len(run) >= 60:
            break
        run.append(block)
    if not run or at == _RIM:
        return (), ""
    first = run[0] if step == 1 else run[-1]
    widest = max(run, key=lambda b: len(b.breaks))
    boxes = widest.word_boxes()
    starts = [boxes[i].x0 for i in (0, *widest.breaks) if i < len(boxes)]
    return tuple(sorted(round(100 * x) for x in starts)), first.text[:_TITLE]
