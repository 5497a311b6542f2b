"""Table rows: which cell answers, under which column header, and which row is the extreme one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .terms import stems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import Box, Page
    from .evidence import Unit

__all__ = ["Cell", "Table", "number_of", "table_at"]

_NUMERIC = re.compile(
    r"^[\s(]*[-−+<>≥≤~±]?\s*[$€£¥₹]?\s*[-−]?\s*(?:\d[\d,]*(?:\.\d+)?|\.\d+)\s*[%)xX*†‡§]*(?:\s*[A-Za-zµμ°]{1,5})?\s*$"
)
_FIGURE = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?|[-−]?\.\d+")
_HEADER_ROWS = 40
_LONGEST_FIGURE = 40
_SYMBOL = re.compile(r"^[$€£¥₹%()—–-]+$")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row: its text, its box, the headers above it and whether it holds a number."""

    text: str
    box: Box
    numeric: bool
    header: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Table:
    """Consecutive table rows of a page; ``blocks`` are the rows' orders."""

    rows: tuple[tuple[Cell, ...], ...]
    blocks: tuple[int, ...]

    def row(self, block: int) -> tuple[Cell, ...]:
        """Return the row that is a block, by its order, each cell with the headers above it."""
        at = self.blocks.index(block)
        above = self.rows[:at]
        return tuple(
            replace(cell, header=_header(above, cell.box)) if place else cell
            for place, cell in enumerate(self.rows[at])
        )


def number_of(text: str) -> float | None:
    """Return the number a cell shows; brackets mean minus, as in accounts; None when none.

    >>> number_of("(1,234)"), number_of("42%"), number_of("n/a")
    (-1234.0, 42.0, None)
    """
    match = _FIGURE.search(text)
    if match is None:
        return None
    value = float(match[0].replace(",", "").replace("−", "-"))
    return -value if text.strip().startswith("(") and value > 0 else value


def table_at(unit: Unit) -> Table:
    """Return the table that a row unit is part of."""
    blocks = unit.page.blocks
    at = next(i for i, b in enumerate(blocks) if b.order == unit.block.order)
    first = last = at
    while first > 0 and blocks[first - 1].kind == "table_row" and at - first < _HEADER_ROWS:
        first -= 1
    while (
        last + 1 < len(blocks) and blocks[last + 1].kind == "table_row" and last - at < _HEADER_ROWS
    ):
        last += 1
    return _resolve(unit.page, first, last)


def _resolve(page: Page, first: int, last: int) -> Table:
    from .evidence import Unit

    held = page.blocks[first : last + 1]
    rows = []
    for block in held:
        whole = Unit(page, 0, block, 0, (), frozenset(), frozenset(), 0)
        rows.append(tuple(_merged(whole.cells())))
    return Table(tuple(rows), tuple(b.order for b in held))


def _merged(cells: Sequence[tuple[str, Box]]) -> list[Cell]:
    """Join a currency sign or percent sign that stands in a cell of its own to its number."""
    from ..types import Box

    merged: list[Cell] = []
    pending: tuple[str, Box] | None = None
    for shown, place in cells:
        text, box = shown, place
        if _SYMBOL.match(text) and text[0] in "$€£¥₹(" and merged:
            pending = (text, box)
            continue
        if text in ("%", ")", ")%") and merged and merged[-1].numeric:
            before = merged.pop()
            merged.append(Cell(f"{before.text} {text}", Box.around([before.box, box]), True))
            continue
        if pending:
            text, box = f"{pending[0]} {text}", Box.around([pending[1], box])
            pending = None
        merged.append(Cell(text, box, _is_numeric(text)))
    return merged


def _is_numeric(text: str) -> bool:
    return len(text) <= _LONGEST_FIGURE and _NUMERIC.match(text) is not None


def _header(above: Sequence[Sequence[Cell]], box: Box) -> frozenset[str]:
    """Return stems of the nearest rows of labels above a cell, at the cell's own place."""
    found: set[str] = set()
    taken = 0
    for row in reversed(above):
        over = [
            c
            for c in row
            if min(c.box.x1, box.x1) - max(c.box.x0, box.x0) > 0.2 * min(c.box.width, box.width)
        ]
        labels = [c for c in over if not c.numeric or _is_year(c.text)]
        if labels:
            found.update(s for c in labels for s in stems(c.text))
            taken += 1
            if taken == 2:
                break
        elif taken:
            break
    return frozenset(found)


def _is_year(text: str) -> bool:
    return re.fullmatch(r"\D{0,3}(?:FY\s?)?(?:19|20)\d{2}\D{0,3}", text.strip()) is not None
