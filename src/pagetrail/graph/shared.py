"""Rare names and numbers of pages, and the pages of a document that share one.

A name that stands on nearly every page tells nothing, one that stands on two of a hundred does.
So what counts as rare is decided once all pages of a document are known; until then little is kept
of each page: hashes, and the names as one string.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from .ways import Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..types import Block, Page

__all__ = ["MOST_PAGES", "NameBook", "names_of"]

MOST_PAGES = 4
"""A name on more pages of a document than this is not rare."""

_NAMES, _MARKS = 32, 48  # kept of a page: names and codes, and both with numbers
_KEPT = 8  # rare ones of a page by which other documents find it
_DEGREE = 5  # edges of a page
_SHORTEST, _LONGEST = 2, 6  # words of a name
_LETTERS = 80  # of a name
_DIGITS = 4  # significant digits that make a number worth keeping

_EDGES = "()[]{}<>\"'“”‘’«»,;:.!?*•–—-/…|"
_ENDS = frozenset(',;:.!?)]}>”»"…|')
_OPENS = frozenset('([{<“«"')
_INNER = frozenset({"of", "and", "the", "for", "&", "de", "du", "la", "von", "van", "der", "und"})
_JOINING = frozenset({"and", "&", "und"})
# Capital at the start of a sentence, hardly ever the start of a name.
_LEADING = frozenset({
    "a", "an", "the", "in", "on", "at", "by", "for", "from", "to", "of", "with", "as", "if", "when",
    "while", "where", "after", "before", "this", "that", "these", "those", "it", "its", "our", "we",
    "you", "your", "they", "their", "he", "she", "his", "her", "and", "or", "but", "no", "not",
    "all", "each", "both", "see", "also", "however", "although", "since", "because", "under",
    "over", "between", "during", "according",
})  # fmt: skip
_NUMBER = re.compile(r"[$€£¥]?-?(\d{1,3}(?:,\d{3})+|\d{1,24})(?:\.(\d{1,12}))?%?")
_CODE = re.compile(r"[A-Za-z0-9]{1,20}(?:[-./_][A-Za-z0-9]{1,20}){0,4}")
_NO_CODE = re.compile(r"(?:Q|FY|CY|H|QTR)[-'’]?\d{1,4}(?:[-/]\d{1,4})?|\d+(?:[.]\d+)?[A-Za-z]{1,3}")


class Name(NamedTuple):
    """A name, code or number; ``order`` 0 for names and codes, 1 for acronyms, 2 for numbers."""

    mark: int
    order: int
    text: str


def names_of(page: Page) -> list[Name]:
    """Return what a page names that may be rare, the most telling first; at most 48.

    Names are runs of two to six capitalised words; codes mix capitals and digits; acronyms are
    short words all in capitals; numbers have at least four significant digits and are no years.
    Running heads and feet are left out. Among many of one kind a hash chooses, so that two pages
    with the same names choose the same ones.
    """
    found: dict[str, Name] = {}
    for block in page.blocks:
        if block.kind in ("header", "footer"):
            continue
        for order, text in _in_block(block):
            key = _key(order, text)
            if key not in found or found[key].order > order:
                found[key] = Name(_hash(key), order, text)
    ranked = sorted(found.values(), key=lambda name: (name.order, name.mark))
    named = [name for name in ranked if name.order < 2][:_NAMES]
    return named + [name for name in ranked if name.order == 2][: _MARKS - len(named)]


class NameBook:
    """The names of a document's pages, which are handed in one at a time."""

    def __init__(self) -> None:
        self._marks: dict[int, array[int]] = {}
        self._texts: dict[int, str] = {}

    def add(self, page: Page) -> None:
        """Take in a page."""
        names = names_of(page)
        self._marks[page.number] = array("q", [name.mark for name in names])
        self._texts[page.number] = "\n".join(name.text for name in names)

    def ways(self) -> list[Way]:
        """Return one edge per pair of pages that share a rare name, the lower number first.

        A name on n pages counts 1/n; several of them add up as chances do, 1 - (1 - 1/n)(1 - 1/m).
        A page keeps its five strongest edges, and is kept by no more than five. Numbers that may
        be those of pages are no names.
        """
        pairs: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for mark, pages in self._rare().items():
            for pair in combinations(pages, 2):
                pairs[pair].append((len(pages), mark))
        weighed = []
        for (source, target), shared in pairs.items():
            left = 1.0
            for count, _ in shared:
                left *= 1 - 1 / count
            weighed.append((1 - left, source, target, min(shared)[1]))
        weighed.sort(key=lambda one: (-one[0], one[2] - one[1], one[1]))
        degree: dict[int, int] = defaultdict(int)
        ways = []
        for weight, source, target, mark in weighed:
            if degree[source] < _DEGREE and degree[target] < _DEGREE:
                degree[source] += 1
                degree[target] += 1
                text = self._text(source, mark)
                ways.append(Way(source, target, "shared", weight, f'shares "{text}"'))
        return ways

    def marks(self) -> dict[int, tuple[tuple[int, str], ...]]:
        """Return, by page, the rare names by which pages of other documents find it: at most 8.

        Each is a 64-bit hash, signed, and the name as printed.
        """
        rare = self._rare(least=1)
        return {
            number: tuple(
                (mark, text)
                for mark, text in zip(marks, self._texts[number].split("\n"), strict=False)
                if mark in rare
            )[:_KEPT]
            for number, marks in self._marks.items()
        }

    def _rare(self, *, least: int = 2) -> dict[int, list[int]]:
        """Return the pages of each name that is on few enough, by mark."""
        pages: dict[int, list[int]] = defaultdict(list)
        last = max(self._marks, default=0)
        for number, marks in sorted(self._marks.items()):
            # Only from here on does a number of four digits mean a page.
            paged = _paged(self._texts[number], last) if last >= 1000 else ()
            for place, mark in enumerate(marks):
                if place not in paged:
                    pages[mark].append(number)
        return {m: where for m, where in pages.items() if least <= len(where) <= MOST_PAGES}

    def _text(self, number: int, mark: int) -> str:
        return self._texts[number].split("\n")[self._marks[number].index(mark)]


def _paged(texts: str, last: int) -> set[int]:
    """Return the places of the numbers that can be those of pages up to the last one."""
    return {
        place
        for place, text in enumerate(texts.split("\n"))
        if text.isdecimal() and int(text) <= last
    }


def _in_block(block: Block) -> Iterator[tuple[int, str]]:
    """Yield order and text of what a block names; a name never runs from one cell to the next."""
    for line in block.lines() if block.kind == "table_row" else (block.text,):
        capitals = line.isupper()
        run: list[str] = []
        for token in line.split(" "):
            core = token.strip(_EDGES)
            if token[:1] in _OPENS or not core:
                yield from _flush(run)
            if not core:
                continue
            digits = any(c.isdigit() for c in core)
            if core[0].isupper() and not digits:
                run.append(core.removesuffix("'s").removesuffix("’s"))
                if not capitals and 3 <= len(core) <= 8 and core.isalpha() and core.isupper():
                    yield 1, core
            elif core in _INNER:
                if run:
                    run.append(core)
            else:
                yield from _flush(run)
                if digits:
                    yield from _coded(core)
            # An initial ("J. Smith") goes on, a word with a full stop ends the name.
            if token[-1] in _ENDS and len(core) > 1:
                yield from _flush(run)
        yield from _flush(run)


def _flush(run: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the names that a run of words makes, if it does, and empty the run.

    "Gull Island and Old Quay" may be one name or two, so it counts as all three.
    """
    words = run.copy()
    run.clear()
    ends = [place for place, word in enumerate(words) if word in _JOINING]
    starts = [0, *(end + 1 for end in ends)]
    for start, end in zip(starts, [*ends, len(words)], strict=True):
        yield from _named(words[start:end])
    if ends:
        yield from _named(words)


def _named(words: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the name that some words make, if they do."""
    while words and words[0].lower() in _LEADING:
        del words[0]
    while words and words[-1] in _INNER:
        words.pop()
    if _SHORTEST <= len(words) <= _LONGEST:
        text = " ".join(words)
        if len(text) <= _LETTERS and any(len(word) > 2 for word in words):
            yield 0, text


def _coded(core: str) -> Iterator[tuple[int, str]]:
    """Yield the number or code that a word with a digit is, if it is one."""
    if number := _NUMBER.fullmatch(core):
        whole, part = number[1], number[2] or ""
        digits = (whole.replace(",", "") + part).lstrip("0")
        year = not part and "," not in whole and len(digits) == 4 and digits[:2] in ("19", "20")
        if not year and len(digits if part else digits.rstrip("0")) >= _DIGITS:
            yield 2, core
    elif (
        len(core) > 3
        and any(c.isupper() for c in core)
        and _CODE.fullmatch(core)
        and not _NO_CODE.fullmatch(core)
    ):
        yield 0, core


def _key(order: int, text: str) -> str:
    """Return what two ways to print the same name or number have in common."""
    if order < 2:
        return text.casefold()
    number = _NUMBER.fullmatch(text)
    assert number is not None
    return number[1].replace(",", "") + (f".{number[2]}" if number[2] else "")


def _hash(key: str) -> int:
    data = key.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=8, person=b"name").digest()
    return int.from_bytes(digest, "little", signed=True)
