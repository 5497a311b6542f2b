"""Sections of a document: pages of the same one, and sections inside sections."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ..types import OutlineEntry
from .numbers import Numbers
from .ways import Way

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .digest import Digest

__all__ = ["Section", "outline_ways", "sections"]

_NEAR = 3  # pages apart within a section that are still joined
_LEAST = 3  # entries that make an outline
_TITLE = 60


class Section(NamedTuple):
    """A section: title, level (1 the highest), first and last page, place of the one around it."""

    title: str
    level: int
    first: int
    last: int
    parent: int  # place of the section around it; -1 without one


def outline_ways(outline: Sequence[OutlineEntry], digests: Sequence[Digest]) -> list[Way]:
    """Return edges within sections, and from a section's first page to that of the one around it.

    Args:
        outline: The file's own; where it leads nowhere, one is made from the printed table of
            contents or from numbered headings, when they are in order.
        digests: One per page that was read, by number.

    Returns:
        A page is joined to the first page of its innermost section and to members at most three
        pages away, so edges grow with the pages and not with their pairs.
    """
    if not digests:
        return []
    found = sections(outline, digests)
    known = {page.number for page in digests}
    ways: dict[tuple[int, int, str], Way] = {}
    for way in (*_within(found, digests), *_above(found)):
        if way.source != way.target and {way.source, way.target} <= known:
            ways.setdefault((way.source, way.target, way.kind), way)
    return list(ways.values())


def sections(outline: Sequence[OutlineEntry], digests: Sequence[Digest]) -> list[Section]:
    """Return the sections in order, with their first and last pages."""
    entries = [e for e in outline if e.page]
    if len(entries) < _LEAST or len({e.page for e in entries}) < 2:
        entries = _from_contents(digests)
    if len(entries) < _LEAST:
        entries = _from_headings(digests)
    last = digests[-1].number
    open_: list[int] = []
    result: list[Section] = []
    for entry in entries:
        while open_ and result[open_[-1]].level >= entry.level:
            place = open_.pop()
            end = max(result[place].first, entry.page)
            result[place] = result[place]._replace(last=end)
        result.append(
            Section(entry.title, entry.level, entry.page, last, open_[-1] if open_ else -1)
        )
        open_.append(len(result) - 1)
    return result


def _within(found: Sequence[Section], digests: Sequence[Digest]) -> Iterator[Way]:
    """Yield edges between pages of the same innermost section."""
    order = sorted(range(len(found)), key=lambda place: (found[place].first, place))
    at = -1
    for page in digests:
        while at + 1 < len(order) and found[order[at + 1]].first <= page.number:
            at += 1
        place = order[at] if at >= 0 else -1
        while place >= 0 and found[place].last < page.number:
            place = found[place].parent
        if place < 0:
            continue
        section = found[place]
        why = f'section "{section.title[:_TITLE]}"'
        away = page.number - section.first
        if away > _NEAR:
            yield Way(page.number, section.first, "section", round(1 / (1 + away**0.5), 3), why)
        for step in range(1, min(_NEAR, away) + 1):
            weight = round(1 / (1 + step / 2), 3)
            yield Way(page.number - step, page.number, "section", weight, why)


def _above(found: Sequence[Section]) -> Iterator[Way]:
    """Yield edges from sections to the ones around them."""
    for section in found:
        if section.parent >= 0:
            parent = found[section.parent]
            why = f'"{section.title[:_TITLE]}" in "{parent.title[:_TITLE]}"'
            yield Way(section.first, parent.first, "parent", 0.8, why)


def _from_contents(digests: Sequence[Digest]) -> list[OutlineEntry]:
    """Return an outline from the printed table of contents; empty when it is out of order."""
    numbers = Numbers(digests)
    result: list[OutlineEntry] = []
    for page in digests:
        for entry in page.entries:
            number, _ = numbers.page(str(entry.page))
            if number and number >= page.number:
                level = entry.title.split(" ", 1)[0].rstrip(".").count(".") + 1
                result.append(OutlineEntry(entry.title, level, number))
        if result:
            break
    rising = sum(a.page <= b.page for a, b in pairwise(result))
    return result if rising >= 0.9 * (len(result) - 1) else []


def _from_headings(digests: Sequence[Digest]) -> list[OutlineEntry]:
    """Return an outline from numbered headings whose numbers follow each other."""
    result: list[OutlineEntry] = []
    last: list[int] = []
    for page in digests:
        for heading in page.headings:
            parts = heading.number.split(".") if heading.number else []
            if not parts or not all(p.isdigit() for p in parts):
                continue
            number = [int(p) for p in parts]
            if _follows(last, number):
                result.append(OutlineEntry(heading.text, len(number), page.number))
                last = number
    steps = [b.page - a.page for a, b in pairwise(result)]
    pages = len({entry.page for entry in result})
    # A few numbered questions on one page are no outline of a long document.
    rest = digests[-1].number - result[-1].page if result else 0
    sound = pages >= _LEAST and max([*steps, rest]) <= 0.6 * len(digests)
    return result if sound else []


def _follows(last: list[int], number: list[int]) -> bool:
    """Return whether a section number can come right after another: 2.1 or 3 after 2."""
    if not last:
        return number in ([1], [0])
    if len(number) == len(last) + 1:
        return number[:-1] == last and number[-1] in (0, 1)
    depth = len(number)
    return (
        depth <= len(last)
        and number[:-1] == last[: depth - 1]
        and number[-1] == last[depth - 1] + 1
    )
