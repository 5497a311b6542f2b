"""The expensive channel over what a cheaper one found: late interaction on candidates."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UsageError
from ..types import Trace
from .asking import content
from .pipeline import Transform
from .table import Column, from_ranking, step, to_ranking
from .value import piece

if TYPE_CHECKING:
    from ..ports import Resources
    from ..types import Query, Ranking
    from .table import Table

__all__ = ["Rescore"]


@piece("rescore")
@dataclass(frozen=True)
class Rescore(Transform):
    """Rank the pages found by another channel of vectors, whose scores replace theirs.

    A page that the channel has no vectors of goes to the end, in the order it had.

    Attributes:
        channel: A channel of vectors, such as ``colpali``.
        trim: Ask without the instruction on how the answer should be written (`asking.content`).
    """

    channel: str
    trim: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.channel, str) or not self.channel:
            raise UsageError(f"a channel has a name, not {self.channel!r}")
        if not isinstance(self.trim, bool):
            raise UsageError(f"trim is true or false, not {self.trim!r}")

    def __str__(self) -> str:
        return f'Rescore("{self.channel}"{", trim=True" if self.trim else ""})'

    def _lines(self) -> list[str]:
        return [f"rank them by {self.channel}"]

    def run(self, query: Query, ranking: Ranking, resources: Resources) -> tuple[Ranking, Trace]:
        table, trace = self.on_table(query, from_ranking(ranking, resources), resources)
        return to_ranking(query, table, resources), trace

    def on_table(self, query: Query, table: Table, resources: Resources) -> tuple[Table, Trace]:
        started = time.perf_counter()
        asked = replace(query, text=content(query.text)) if self.trim else query
        found = resources.rescore(self.channel, asked, table.keys.tolist())
        order = np.argsort(np.asarray(found.keys, np.int64))
        keys = np.asarray(found.keys, np.int64)[order]
        raw = np.asarray(found.scores, float)[order]
        rows = np.searchsorted(table.keys, keys)
        # Whoever lacks vectors stands below the worst, its old scores squeezed into one unit.
        scores = _below(table.scores, float(raw.min()) if len(raw) else 0.0)
        scores[rows] = raw
        blocks = table.blocks.copy()
        if found.blocks is not None:
            better = np.asarray(found.blocks, np.int32)[order]
            blocks[rows[better >= 0]] = better[better >= 0]
        columns = {**table.columns, self.channel: Column(keys, raw, raw, raw)}
        made = step(self, f"rank by {self.channel}", len(table), started)
        ranked = replace(table, scores=scores, blocks=blocks, columns=columns)
        return ranked, Trace((made,))


def _below(scores: np.ndarray, floor: float) -> np.ndarray:
    if not len(scores):
        return scores.copy()
    width = float(np.ptp(scores)) or 1.0
    return floor - 1.0 - (float(scores.max()) - scores) / width
