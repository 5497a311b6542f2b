"""Table rows: consecutive rows of cells that share the white space between their columns."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .lines import Segment

__all__ = ["Row", "group", "table_rows"]

Row = list["Segment"]  # cells in reading order

_REACH = 2  # single cells in a row that may stand between rows of one table
_LONG = 90  # a single cell with more characters is a paragraph
_JOINING = re.compile(r"[a-z(]|(?:and|or|of|the|in|by|to|for|on)\b")
_UNFINISHED = re.compile(r"(?:[,\-–(]|\b(?:and|or|of|the|in|by|to|for|from|on|used in|\(used))$")


def group(rows: Sequence[Row]) -> list[tuple[bool, list[Row]]]:
    """Part the rows of a region into stretches: ``(is a table, rows)``, from top to bottom."""
    result: list[tuple[bool, list[Row]]] = []
    index = 0
    while index < len(rows):
        end = _table_end(rows, index)
        if end > index:
            result.append((True, list(rows[index:end])))
            index = end
        else:
            if result and not result[-1][0]:
                result[-1][1].append(rows[index])
            else:
                result.append((False, [rows[index]]))
            index += 1
    return result


def _table_end(rows: Sequence[Row], start: int) -> int:
    """Return one past the last row of the table that starts here; ``start`` when there is none."""
    if len(rows[start]) < 2:
        return start
    end, last, single = start + 1, rows[start], 0
    for index in range(start + 1, len(rows)):
        row = rows[index]
        if len(row) >= 2:
            if not _shares_gap(last, row) or _apart(rows[index - 1], row):
                break
            last, single, end = row, 0, index + 1
        else:
            single += 1
            cell = row[0]
            if single > _REACH or cell.chars > _LONG or _apart(rows[index - 1], row):
                break
            if cell.size > 1.25 * last[0].size:
                break
    if end - start < 2:
        return start
    # A label that wraps stands in the line after the last full row.
    if end < len(rows) and len(rows[end]) == 1 and _continues(rows[end - 1], rows[end]):
        end += 1
    return end


def _shares_gap(one: Row, two: Row) -> bool:
    """Return whether some white space between cells is common to both rows."""
    need = 0.4 * (one[0].size or 10.0)
    for a, b in pairwise(one):
        left, right = sorted((a.x1, b.x0)) if a.x0 < b.x0 else sorted((b.x1, a.x0))
        for c, d in pairwise(two):
            low, high = sorted((c.x1, d.x0)) if c.x0 < d.x0 else sorted((d.x1, c.x0))
            if min(right, high) - max(left, low) >= need:
                return True
    return False


def _apart(above: Row, below: Row) -> bool:
    """Return whether so much space lies between two rows that they belong to different things."""
    bottom = max(s.y1 for s in above)
    top = min(s.y0 for s in below)
    return top - bottom > 3.5 * max(above[0].height, below[0].height)


def _tight(above: Row, below: Row) -> bool:
    bottom = max(s.y1 for s in above)
    top = min(s.y0 for s in below)
    return top - bottom < 0.35 * min(above[0].height, below[0].height)


def _continues(above: Row, below: Row) -> bool:
    """Return whether a row only carries on cells of the row above it."""
    if len(below) >= len(above) or not _tight(above, below):
        return False
    first = min(above, key=lambda s: s.x0)
    own = min(below, key=lambda s: s.x0)
    if own.x0 <= first.x0 + 0.5 * first.size and not _JOINING.match(own.text):
        return False  # it has a label of its own
    if own.x0 < first.x1 and not _JOINING.match(own.text):
        return False
    return all(_under(above, cell) is not None for cell in below) and not any(
        cell.text[:1].isdigit() or cell.text[:1] in "$€£" for cell in below
    )


def _under(above: Row, cell: Segment) -> int | None:
    """Return which cell of the row above a cell stands under; None when it is no single one."""
    hits = [
        i for i, upper in enumerate(above) if min(upper.x1, cell.x1) - max(upper.x0, cell.x0) > 0
    ]
    return hits[0] if len(hits) == 1 else None


def table_rows(rows: Sequence[Row]) -> list[list[list[Segment]]]:
    """Join lines that make up one table row.

    Returns:
        Per table row its cells from first to last, each the segments of its lines.
    """
    result: list[list[list[Segment]]] = []
    held: Row | None = None  # a wrapped label whose numbers stand in the next line
    last: Row | None = None
    for index, row in enumerate(rows):
        below = rows[index + 1] if index + 1 < len(rows) else None
        if held is not None:
            result.append([[held[0], row[0]], *[[cell] for cell in row[1:]]])
            held, last = None, row
        elif below is not None and _opens(row, below):
            held = row
        elif last is not None and result and _continues(last, row):
            for cell in row:
                place = _under(last, cell)
                assert place is not None
                result[-1][place].append(cell)
        else:
            result.append([[cell] for cell in row])
            last = row
    if held is not None:
        result.append([[held[0]]])
    return result


def _opens(row: Row, below: Row) -> bool:
    """Return whether a lone cell is the first line of the label of the row below."""
    if len(row) != 1 or len(below) < 2 or not _tight(row, below):
        return False
    label, rest = row[0], below[0]
    if min(label.x1, rest.x1) <= max(label.x0, rest.x0) or rest.text[:1].isdigit():
        return False
    return rest.text[:1].islower() or _UNFINISHED.search(label.text) is not None
