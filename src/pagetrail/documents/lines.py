"""Words to segments: stretches of a line that no wide gap divides.

All numbers are points in the upright frame (the page turned so that this text reads level), x to
the right, y down; structure above works on a few hundred segments instead of a thousand words.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from .bidi import has_rtl, is_rtl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["BULLET", "MARKER", "Rect", "Segment", "body_size", "cut_line", "join", "rows"]

_WIDE = 1.1  # a gap of so many em parts segments
_WIDE_RTL = 3.0  # words of another direction stand far from their neighbours in the line's order
BULLET = re.compile(r"[•‣▪▫◦●○■□◆◇➢➤►▶✓✔✗✘❖\u2023\u2043\u2219\uf0b7\uf0a7\uf0d8§·*\-–—>»]$")
MARKER = re.compile(
    r"(?:\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|\(\d{1,3}\)|\d{1,2}(?:\.\d{1,2}){1,3}\.?)$"
)


class Rect(NamedTuple):
    """A word in the upright frame: index into the page's words, box and font size in points."""

    word: int
    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float


class Segment:
    """Consecutive words of one line; grows only while lines are cut and joined."""

    __slots__ = ("chars", "ocr", "rtl", "size", "text", "words", "x0", "x1", "y0", "y1")

    def __init__(self, first: Rect, *, ocr: bool = False) -> None:
        self.words = [first.word]
        self.text = first.text
        self.x0, self.y0, self.x1, self.y1 = first.x0, first.y0, first.x1, first.y1
        self.size = first.size
        self.rtl = False
        self.ocr = ocr
        self.chars = len(first.text)

    def add(self, word: Rect) -> None:
        """Append a word; the size is that of the longest words."""
        self.words.append(word.word)
        if word.size != self.size and len(word.text) > 0.5 * self.chars:
            self.size = word.size
        self.text += " " + word.text
        self.chars += len(word.text)
        if word.x0 < self.x0:
            self.x0 = word.x0
        if word.x1 > self.x1:
            self.x1 = word.x1
        if word.y0 < self.y0:
            self.y0 = word.y0
        if word.y1 > self.y1:
            self.y1 = word.y1

    @property
    def middle(self) -> float:
        """Vertical centre."""
        return (self.y0 + self.y1) / 2

    @property
    def height(self) -> float:
        return self.y1 - self.y0


def cut_line(words: Sequence[Rect], *, ocr: bool = False) -> list[Segment]:
    """Cut the words of one line, in logical order, at wide gaps and jumps."""
    text = " ".join([w.text for w in words])
    rtl = is_rtl(text)
    em_limit = _WIDE_RTL if rtl or has_rtl(text) else _justified(words)
    segments: list[Segment] = []
    current: Segment | None = None
    before = words[0]
    for word in words:
        # Nearly all words simply follow on the same line.
        if (
            current is not None
            and word.y0 == before.y0
            and word.y1 == before.y1
            and not rtl
            and 0 <= word.x0 - before.x1 <= em_limit * word.size
        ):
            current.add(word)
        elif current is None or _parted(current, before, word, em_limit, rtl=rtl):
            current = Segment(word, ocr=ocr)
            current.rtl = rtl
            segments.append(current)
        else:
            current.add(word)
        before = word
    return segments


def _justified(words: Sequence[Rect]) -> float:
    """Return the gap, in em, that parts; wider where a justified line is set with wide spaces."""
    limit = _WIDE
    if len(words) < 6:
        return limit
    gaps = [(after.x0 - before.x1) / (before.size or 10.0) for before, after in pairwise(words)]
    if max(gaps) <= limit:
        return limit
    gaps.sort()
    # The smaller gaps are the spaces, even where most gaps lie between a table's cells.
    return max(limit, 2.2 * gaps[len(gaps) // 4])


def _parted(current: Segment, before: Rect, word: Rect, limit: float, *, rtl: bool) -> bool:
    """Return whether a word starts a new segment."""
    size = max(before.size, word.size) or 10.0
    shared = min(current.y1, word.y1) - max(current.y0, word.y0)
    if shared < 0.3 * min(word.y1 - word.y0, before.y1 - before.y0):
        return True
    if rtl:
        return max(word.x0 - current.x1, current.x0 - word.x1) > limit * size
    gap = word.x0 - before.x1
    if len(current.words) == 1 and (BULLET.match(before.text) or MARKER.match(before.text)):
        limit *= 3  # a list's marker stands apart from its item
    return gap > limit * size or gap < -max(size, 0.5 * (before.x1 - before.x0))


def join(into: Segment, other: Segment) -> None:
    """Append a segment that follows on the same line."""
    into.words += other.words
    if other.chars > into.chars:
        into.size = other.size
    into.text += " " + other.text
    into.chars += other.chars
    into.x0, into.x1 = min(into.x0, other.x0), max(into.x1, other.x1)
    into.y0, into.y1 = min(into.y0, other.y0), max(into.y1, other.y1)


def rows(segments: Iterable[Segment], *, rtl: bool = False) -> list[list[Segment]]:
    """Group segments that stand side by side; rows from top to bottom, each in reading order.

    Segments that nearly touch are joined, so a row holds its cells.
    """
    result: list[list[Segment]] = []
    top = bottom = 0.0
    for item in sorted(segments, key=lambda s: s.middle):
        height = item.y1 - item.y0
        shared = min(bottom, item.y1) - max(top, item.y0)
        if result and shared > 0.5 * min(height, bottom - top):
            result[-1].append(item)
            # The row keeps its own band: one tall cell must not swallow the next row.
            if height < bottom - top:
                top, bottom = item.y0, item.y1
        else:
            result.append([item])
            top, bottom = item.y0, item.y1
    return [_cells(row, rtl=rtl) for row in result]


def _cells(row: list[Segment], *, rtl: bool) -> list[Segment]:
    """Order a row and join what belongs to one cell."""
    if len(row) == 1:
        return row
    row.sort(key=(lambda s: -s.x1) if rtl else (lambda s: s.x0))
    cells = [row[0]]
    for item in row[1:]:
        last = cells[-1]
        gap = last.x0 - item.x1 if rtl else item.x0 - last.x1
        size = max(last.size, item.size) or 10.0
        near = gap < 0.6 * size and min(last.size, item.size) > 0.6 * size
        sign = last.text in _SIGNS_BEFORE or item.text in _SIGNS_AFTER
        marker = len(last.words) == 1 and last is cells[0] and _is_marker(last.text)
        if last.ocr == item.ocr and (
            near or (sign and gap < 6 * size) or (marker and gap < 4 * size)
        ):
            join(last, item)
        else:
            cells.append(item)
    return cells


_SIGNS_BEFORE = frozenset("$€£¥(")
_SIGNS_AFTER = frozenset([")", "%", "%)", "†", "*", "**"])


def _is_marker(text: str) -> bool:
    return BULLET.match(text) is not None or (MARKER.match(text) is not None and "." in text)


def body_size(segments: Iterable[Segment]) -> float:
    """Return the font size that most characters have, in points; 0 without segments."""
    counts: dict[float, int] = {}
    for item in segments:
        key = round(item.size * 2) / 2
        counts[key] = counts.get(key, 0) + item.chars
    return max(counts, key=lambda k: (counts[k], -k)) if counts else 0.0
