"""Which row has the most or the least: the extreme cell of the column that is asked about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .candidates import Candidate
from .rank import group_of
from .tables import number_of, table_at
from .terms import stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .evidence import Unit, Weighed
    from .question import Question
    from .tables import Table
    from .terms import Rarity

__all__ = ["extremes_in"]

_SUMS = frozenset(stems("total totals overall average mean sum all net"))
_TABLES = 4


def extremes_in(
    question: Question, best: Sequence[Weighed], units: Sequence[Unit], rarity: Rarity
) -> Iterator[Candidate]:
    """Yield the labels (or, when a value is asked for, the values) of extreme rows.

    Only tables whose row stands among the best evidence are looked at, and only columns with at
    least three numbers; rows of totals and averages do not take part.
    """
    rows = {(u.page.id, u.block.order): u for u in units if u.is_row}
    seen: set[tuple[str, int]] = set()
    for found in best:
        weighed = found if found.unit.is_row else _titled(found, rows)
        if weighed is None or len(seen) >= _TABLES:
            continue
        table = table_at(weighed.unit)
        key = (weighed.unit.page.id, table.blocks[0])
        if key in seen:
            continue
        seen.add(key)
        yield from _extreme_rows(question, weighed, table, rows, rarity)


def _titled(weighed: Weighed, rows: Mapping[tuple[str, int], Unit]) -> Weighed | None:
    """Return a row of the table under, or else over, a caption or heading."""
    unit = weighed.unit
    if unit.block.kind not in ("caption", "heading"):
        return None
    blocks = unit.page.blocks
    at = next(i for i, b in enumerate(blocks) if b.order == unit.block.order)
    for beside in (*blocks[at + 1 : at + 2], *blocks[max(0, at - 1) : at]):
        row = rows.get((unit.page.id, beside.order))
        if row is not None:
            return replace(weighed, unit=row)
    return None


def _extreme_rows(
    question: Question,
    weighed: Weighed,
    table: Table,
    rows: dict[tuple[str, int], Unit],
    rarity: Rarity,
) -> Iterator[Candidate]:
    columns: dict[int, list[tuple[float, int, str]]] = {}
    width = max(len(r) for r in table.rows)
    for i, row in enumerate(table.rows):
        if not row or row[0].numeric or _SUMS & set(stems(row[0].text)):
            continue
        for j, cell in enumerate(row[1:], 1):
            value = number_of(cell.text) if cell.numeric else None
            if value is not None:
                # Columns are counted from the right: a missing label must not shift the numbers.
                columns.setdefault(width - len(row) + j, []).append((value, i, cell.text))
    for held in columns.values():
        if len(held) < 3:
            continue
        pick = max if question.extreme == "max" else min
        _, i, shown = pick(held, key=lambda item: item[0])
        row = table.rows[i]
        unit = rows.get((weighed.unit.page.id, table.blocks[i]))
        if unit is None:
            continue
        cells = table.row(table.blocks[i])
        header = frozenset().union(*(c.header for c in cells if c.text == shown))
        near = rarity.share(question.terms, header | unit.heading, dict(weighed.extra))
        text = shown if group_of(question) == "quantity" else row[0].text
        yield Candidate(text, replace(weighed, unit=unit), "extreme", 1.0, near)
