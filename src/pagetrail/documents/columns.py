"""Reading order: columns and bands found by the white space between segments.

A recursive cut of the page (after the XY-cut of Nagy and Seth, 1984) with two changes: a gutter may
be crossed by headings and figures that span it, which then part the columns into bands; and white
space between the columns of a *table* is no gutter, because a table is read row by row.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from .lines import BULLET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .lines import Segment

__all__ = ["regions"]

_BINS = 192
_DEPTH = 6
_CROSSING = 0.35  # share of a region's segments that may span a gutter
_FEWEST = 3  # lines a column needs
_TRIES = 3
_NARROW = 0.7  # of a region's width; a wider segment stands alone in its row
_CELL = 12  # mean characters per segment below which a side holds labels or numbers
_SHORT = 18
_PROSE = 15
_EVEN = 0.7
_LEVEL = 0.2  # of a line's height, within which two lines stand at the same height


def regions(segments: Sequence[Segment], *, rtl: bool = False) -> list[list[Segment]]:
    """Return groups of segments in reading order; inside a group, rows are read top to bottom."""
    if not segments:
        return []
    return _cut(list(segments), 0, rtl=rtl)


def _cut(items: list[Segment], depth: int, *, rtl: bool) -> list[list[Segment]]:
    if depth >= _DEPTH or not _may_have_columns(items):
        return [items]
    for left, right in _gutters(items):
        bands = _bands(items, left, right)
        if bands is None:
            continue
        result: list[list[Segment]] = []
        for columns in bands:
            ordered = reversed(columns) if rtl and len(columns) > 1 else columns
            for column in ordered:
                result += _cut(column, depth + 1, rtl=rtl)
        return result
    return _split_down(items, depth, rtl=rtl)


def _may_have_columns(items: list[Segment]) -> bool:
    """Return whether enough segments are narrow enough to stand side by side."""
    if len(items) < 2 * _FEWEST:
        return False
    width = max([s.x1 for s in items]) - min([s.x0 for s in items])
    return sum([s.x1 - s.x0 < _NARROW * width for s in items]) >= 2 * _FEWEST


def _split_down(items: list[Segment], depth: int, *, rtl: bool) -> list[list[Segment]]:
    """Cut at the largest horizontal gap; undone when neither part has columns of its own."""
    ordered = sorted(items, key=lambda s: s.y0)
    height = sorted(s.y1 - s.y0 for s in ordered)[len(ordered) // 2]
    best, place, bottom = 0.6 * height, 0, ordered[0].y1
    for index, item in enumerate(ordered):
        if item.y0 - bottom > best:
            best, place = item.y0 - bottom, index
        bottom = max(bottom, item.y1)
    if not place:
        return [items]
    above = _cut(ordered[:place], depth + 1, rtl=rtl)
    below = _cut(ordered[place:], depth + 1, rtl=rtl)
    if len(above) == 1 and len(below) == 1:
        return [items]
    return above + below


def _gutters(items: list[Segment]) -> list[tuple[float, float]]:
    """Return vertical strips of white space, as (left, right) in points, the most likely first."""
    start = min([s.x0 for s in items])
    width = max([s.x1 for s in items]) - start
    if width <= 0:
        return []
    step = width / _BINS
    change = [0] * (_BINS + 1)
    for s in items:
        first = min(int((s.x0 - start) / step), _BINS - 1)
        last = min(int((s.x1 - start) / step - 1e-6), _BINS - 1)
        change[first] += 1
        change[max(first, last) + 1] -= 1
    cover, total = [], 0
    for value in change[:-1]:
        total += value
        cover.append(total)
    size = sorted(s.size or s.y1 - s.y0 for s in items)[len(items) // 2]
    need = max(2, int(0.6 * size / step))
    found: list[tuple[float, float, float]] = []
    slack = 1 + len(items) // 30
    for first, last, crossing in _valleys(cover, int(_CROSSING * len(items))):
        a, b = first, last
        left, right = start + a * step, start + b * step
        # Ragged line ends reach into a gutter, and make its slopes part of it.
        while a > 0 and cover[a - 1] <= crossing + slack:
            a -= 1
        while b < _BINS and cover[b] <= crossing + slack:
            b += 1
        if b - a < need:
            continue
        before = sum([s.x1 <= right for s in items])
        after = sum([s.x0 >= left for s in items])
        if min(before, after) >= _FEWEST:
            # A gutter in the middle that few lines cross beats a wide one near the edge.
            worth = min(before, after) * (1 + min(b - a, 40) / 40) / (1 + crossing)
            found.append((worth, left, right))
    found.sort(reverse=True)
    distinct: list[tuple[float, float]] = []
    for _, left, right in found:
        if all(right <= low or left >= high for low, high in distinct):
            distinct.append((left, right))
    return distinct[:_TRIES]


def _valleys(cover: list[int], limit: int) -> list[tuple[int, int, int]]:
    """Return runs of bins covered less than the bins on both sides, and at most ``limit`` times.

    Returns:
        First bin, one past the last, how many segments cover them.
    """
    runs, begin, falling = [], 0, False
    for index in range(1, len(cover)):
        before, value = cover[index - 1], cover[index]
        if value != before:
            if value > before and falling and before <= limit:
                runs.append((begin, index, before))
            falling = value < before
            begin = index
    return runs


def _bands(items: list[Segment], left: float, right: float) -> list[list[list[Segment]]] | None:
    """Part a region into bands of one or two columns; None when the strip is no gutter.

    Returns:
        From top to bottom; a band is ``[segments]`` or ``[left segments, right segments]``.
    """
    middle = (left + right) / 2
    bands: list[tuple[bool, list[Segment]]] = []
    for item in sorted(items, key=lambda s: s.y0):
        spans = item.x0 < middle - 0.1 * item.size and item.x1 > middle + 0.1 * item.size
        if bands and bands[-1][0] == spans:
            bands[-1][1].append(item)
        else:
            bands.append((spans, [item]))
    result: list[list[list[Segment]]] = []
    cut = False
    for spans, band in bands:
        sides = [[], []] if spans else _sides(band, middle)
        if not spans and _are_columns(sides):
            result.append(sides)
            cut = True
        elif result and len(result[-1]) == 1:
            result[-1][0].extend(band)
        else:
            result.append([band])
    return result if cut else None


def _sides(band: list[Segment], middle: float) -> list[list[Segment]]:
    sides: list[list[Segment]] = [[], []]
    for item in band:
        sides[(item.x0 + item.x1) / 2 > middle].append(item)
    return sides


def _are_columns(sides: list[list[Segment]]) -> bool:
    """Return whether the two sides are columns of text, not parts of one table or chart."""
    few, many = sorted(sides, key=len)
    if not few or (len(few) < _FEWEST and len(many) < 4 * _FEWEST):
        return False
    lengths = [sum(s.chars for s in side) / len(side) for side in sides]
    listed = any(sum(map(_is_item, side)) >= max(2, 0.3 * len(side)) for side in sides)
    if min(lengths) < _CELL and not listed:
        # Labels and numbers mean something only beside what they stand next to, unless that is
        # running text with its own lines.
        for side, other in (sides, sides[::-1]):
            if _is_prose(side):
                return _aligned(side, other) < 0.75
        return not _abreast(sides)
    if listed or _aligned(few, many) < 0.6:
        return True
    # Lines of prose are about equally long; a table's cells rarely are.
    return min(lengths) >= _SHORT and min(map(_fill, sides)) >= _EVEN


def _is_prose(side: list[Segment]) -> bool:
    """Return whether a side is one column of running text: even lines from a common edge.

    Lines of sentences mostly start within one, in small letters; labels start with a capital.
    """
    if len(side) < 5 or sum([s.chars for s in side]) < _PROSE * len(side):
        return False
    edge = min([s.x0 for s in side])
    level = sum([s.x0 - edge < 1.5 * s.size for s in side])
    words = sum([len(s.words) for s in side])
    inside = sum([s.text[0].islower() for s in side])
    return (
        level >= 0.8 * len(side)
        and words >= 2.5 * len(side)
        and inside >= 0.4 * len(side)
        and _fill(side) >= _EVEN
    )


def _aligned(few: list[Segment], many: list[Segment]) -> float:
    """Return the share of the first segments, 0..1, that have one of the others at their height."""
    middles = sorted(s.middle for s in many)
    count = 0
    for item in few:
        near = bisect_left(middles, item.middle - _LEVEL * item.height)
        count += near < len(middles) and middles[near] < item.middle + _LEVEL * item.height
    return count / len(few)


def _fill(side: list[Segment]) -> float:
    """Return how even the lines of a side are, 0..1: their mean length by that of the longest."""
    lengths = sorted(s.x1 - s.x0 for s in side)
    return sum(lengths) / max(len(lengths) * lengths[9 * (len(lengths) - 1) // 10], 1e-9)


def _abreast(sides: list[list[Segment]]) -> bool:
    """Return whether the two sides share most of their height."""
    tops = [min(s.y0 for s in side) for side in sides]
    bottoms = [max(s.y1 for s in side) for side in sides]
    shared = min(bottoms) - max(tops)
    return shared > 0.3 * min(b - t for b, t in zip(bottoms, tops, strict=True))


def _is_item(segment: Segment) -> bool:
    return len(segment.words) > 1 and BULLET.match(segment.text.partition(" ")[0]) is not None
