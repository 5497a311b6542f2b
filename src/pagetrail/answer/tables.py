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
_MOST_CELLS = 60
_LONGEST_FIGURE = 40
_DIGIT = re.compile(r"\d")
_SYMBOL = re.compile(r"^[$€£¥₹%()—–-]+$")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row: text, box, whether it holds a number, headers above it, words."""

    text: str
    box: Box
    numeric: bool
    header: frozenset[str] = frozenset()
    words: tuple[tuple[str, Box], ...] = ()


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
            # The labels above a row's label are those of other rows, but for the first.
            replace(cell, header=_header(above if place else above[:1], place, self.rows[at]))
            for place, cell in enumerate(self.rows[at])
        )

    def is_labels(self, block: int) -> bool:
        """Whether a row, by its order, holds several labels for the values in the row below."""
        at = self.blocks.index(block)
        row = self.rows[at]
        if len(row) < 2 or at + 1 == len(self.rows) or len(self.rows[at + 1]) < 2:
            return False
        bare = not any(_DIGIT.search(c.text) for c in row)
        return bare and any(_DIGIT.search(c.text) for c in self.rows[at + 1])


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
        words = [(w.text, w.box) for w in block.words] if len(block.breaks) < _MOST_CELLS else []
        rows.append(
            tuple(
                replace(c, words=tuple(w for w in words if _inside(w[1], c.box)))
                if " " in c.text and not c.numeric
                else c
                for c in _merged(whole.cells())
            )
        )
    return Table(tuple(rows), tuple(b.order for b in held))


def _inside(inner: Box, outer: Box) -> bool:
    return inner.x0 >= outer.x0 - 1e-6 and inner.x1 <= outer.x1 + 1e-6


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


def _header(above: Sequence[Sequence[Cell]], place: int, row: Sequence[Cell]) -> frozenset[str]:
    """Return stems of the nearest rows of labels above a cell, at the cell's own place."""
    found: set[str] = set()
    taken = 0
    for upper in reversed(above):
        over = [text for c in upper for text in [_part_over(c, place, row)] if text]
        labels = [text for text in over if not _is_numeric(text) or _is_year(text)]
        if labels:
            found.update(s for text in labels for s in stems(text))
            taken += 1
            if taken == 2:
                break
        elif taken:
            break
    return frozenset(found)


def _part_over(cell: Cell, place: int, row: Sequence[Cell]) -> str:
    """Return what of an upper cell stands over the cell at a place of a row.

    A cell over several columns whose words each stand nearest to one of them is several headers
    that were read as one.
    """
    over = [i for i, c in enumerate(row) if _overlap(cell.box, c.box) > 0.2]
    if len(over) < 2 or len(cell.words) < len(over):
        return cell.text if place in over else ""
    near = [min(range(len(row)), key=lambda i: _distance(box, row[i].box)) for _, box in cell.words]
    if not set(over) <= set(near):
        return cell.text if place in over else ""
    return " ".join(w for (w, _), i in zip(cell.words, near, strict=True) if i == place)


def _overlap(a: Box, b: Box) -> float:
    shared = min(a.x1, b.x1) - max(a.x0, b.x0)
    return shared / max(1e-9, min(a.width, b.width))


def _distance(a: Box, b: Box) -> float:
    """Return the horizontal gap between two boxes; of overlapping ones that of their middles."""
    gap = max(a.x0, b.x0) - min(a.x1, b.x1)
    middles = abs((a.x0 + a.x1) - (b.x0 + b.x1)) / 2
    return max(0.0, gap) + 0.01 * middles


def _is_year(text: str) -> bool:
    return re.fullmatch(r"\D{0,3}(?:FY\s?)?(?:19|20)\d{2}\D{0,3}", text.strip()) is not None
