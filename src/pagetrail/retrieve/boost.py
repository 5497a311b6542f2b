"""Boosts: channels that speak rarely and plainly lift the pages they name."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import UsageError
from .pipeline import Pipeline, Transform
from .table import Table, combine, from_ranking, step, to_ranking
from .value import as_number, piece

if TYPE_CHECKING:
    from ..ports import Resources
    from ..types import Query, Ranking, Trace

__all__ = ["Boost"]


@piece("boost")
@dataclass(frozen=True)
class Boost(Transform):
    """Add ``weight`` times a search's own score to pages it finds; others stay as they are.

    For channels that speak rarely and plainly (the question names a figure or a page): there a
    z-score would only measure how rare the thing is. A page that the ranking lacks enters with the
    ranking's lowest score below its bonus.
    """

    source: Pipeline
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.source, Pipeline):
            raise UsageError(f"a boost comes from a search, not {self.source!r}")
        object.__setattr__(self, "weight", as_number(self.weight, "weight"))

    def __str__(self) -> str:
        return f"Boost({self.source}, {self.weight:g})"

    def _lines(self) -> list[str]:
        first, *rest = self.source._lines()
        return [f"add {self.weight:g} times the score of: {first}", *rest]

    def run(self, query: Query, ranking: Ranking, resources: Resources) -> tuple[Ranking, Trace]:
        table, trace = self.on_table(query, from_ranking(ranking, resources), resources)
        return to_ranking(query, table, resources), trace

    def on_table(self, query: Query, table: Table, resources: Resources) -> tuple[Table, Trace]:
        found, trace = self.source.table(query, resources)
        started = time.perf_counter()
        if len(found):
            floor = float(table.scores.min()) if len(table) else 0.0
            bonus = self.weight * found.scores
            if len(found.columns) == 1:
                ((name, column),) = found.columns.items()
                found = replace(found, columns={name: replace(column, normal=bonus)})
            table = combine([table, found], [table.scores, bonus], [floor, 0.0])
        return table, trace.then(step(self, f"boost by {self.source.label}", len(table), started))
