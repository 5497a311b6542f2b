"""Rankings in columns: what a search works on until its best pages are known.

Thousands of pages take part in a search and fifty are shown. Until then a page is a row of arrays,
named by the library's own number; `Hit` objects are made for what is kept.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..types import Hit, Part, Ranking, Step
from .value import Piece, fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..ports import Resources
    from ..types import Query

__all__ = ["Column", "Table", "combine", "from_ranking", "step", "to_ranking", "top"]


@dataclass(frozen=True)
class Column:
    """What one channel says of the pages of a table; NaN where it did not return a page.

    Attributes:
        raw: float64 ``[n]``, the channel's own scores.
        normal: float64 ``[n]``, the same, comparable across channels.
        share: float64 ``[n]``, what it adds to the page's score.
        ways: Key to how the page was reached, where that is more than the channel's name.
    """

    raw: np.ndarray
    normal: np.ndarray
    share: np.ndarray
    ways: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """Pages and their scores.

    Attributes:
        keys: int64 ``[n]``, ascending, none twice.
        scores: float64 ``[n]``.
        blocks: int32 ``[n]``, order of the best block, -1 where unknown.
        columns: Per channel.
    """

    keys: np.ndarray
    scores: np.ndarray
    blocks: np.ndarray
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: np.ndarray) -> Table:
        """Return some rows; ``rows`` are indices in ascending order."""
        columns = {
            name: replace(c, raw=c.raw[rows], normal=c.normal[rows], share=c.share[rows])
            for name, c in self.columns.items()
        }
        return Table(self.keys[rows], self.scores[rows], self.blocks[rows], columns)


def combine(
    tables: Sequence[Table], scores: Sequence[np.ndarray], floors: Sequence[float]
) -> Table:
    """Add up comparable scores of several tables, in the order given.

    Args:
        tables: What was found.
        scores: Per table, what each of its rows contributes.
        floors: Per table, what it contributes to a page that it lacks.
    """
    keys = np.unique(np.concatenate([t.keys for t in tables]))
    total = np.zeros(len(keys))
    strongest = np.full(len(keys), -np.inf)
    blocks = np.full(len(keys), -1, np.int32)
    columns: dict[str, Column] = {}
    for table, own, floor in zip(tables, scores, floors, strict=True):
        rows = np.searchsorted(keys, table.keys)
        adds = np.full(len(keys), floor)
        adds[rows] = own
        total += adds
        better = (table.blocks >= 0) & (own > strongest[rows])
        strongest[rows[better]] = own[better]
        blocks[rows[better]] = table.blocks[better]
        for name, column in table.columns.items():
            # A table of several channels hands its share on, in the proportion they had in it.
            part = own if len(table.columns) == 1 else column.share
            columns.setdefault(name, _spread(column, part, rows, len(keys)))
    return Table(keys, total, blocks, columns)


def top(table: Table, k: int, resources: Resources) -> Table:
    """Return the ``k`` best pages; of equal scores the lower page ids."""
    if len(table) <= k:
        return table
    edge = np.partition(table.scores, len(table) - k)[len(table) - k]
    sure = np.flatnonzero(table.scores > edge)
    tied = np.flatnonzero(table.scores == edge)
    if len(sure) + len(tied) > k:
        ids = resources.page_ids(table.keys[tied].tolist())
        order = sorted(range(len(tied)), key=ids.__getitem__)
        tied = tied[order[: k - len(sure)]]
    return table.take(np.sort(np.concatenate([sure, tied])))


def to_ranking(query: Query, table: Table, resources: Resources) -> Ranking:
    """Return the table as hits, best first."""
    ids = resources.page_ids(table.keys.tolist())
    columns = [
        (name, c.raw.tolist(), c.normal.tolist(), c.share.tolist(), c.ways)
        for name, c in table.columns.items()
    ]
    hits = []
    rows = zip(ids, table.keys.tolist(), table.scores.tolist(), table.blocks.tolist(), strict=True)
    for row, (page, key, score, block) in enumerate(rows):
        parts, ways = {}, []
        for name, raw, normal, share, named in columns:
            if raw[row] == raw[row]:  # not NaN: the channel returned this page
                parts[name] = Part(raw[row], normal[row])
                ways.append((-share[row], name, named.get(key, name)))
        ways.sort()
        # Only what speaks for the page is named as the way to it, the strongest first.
        named_ways = [way for minus, _, way in ways if minus < 0] or [w[2] for w in ways[:1]]
        via = ", ".join(dict.fromkeys(named_ways))
        hits.append(Hit(page, score, parts, via, block if block >= 0 else None))
    return Ranking.of(query, hits)


def from_ranking(ranking: Ranking, resources: Resources) -> Table:
    """Return hits as a table; ways that stages wrote are kept with the strongest channel."""
    hits = ranking.hits
    keys = np.array(resources.page_keys([h.page for h in hits]), np.int64)
    order = np.argsort(keys)
    hits = tuple(hits[i] for i in order.tolist())
    names = dict.fromkeys(name for h in hits for name in (h.parts or (h.via or "found",)))
    none = Part(float("nan"), float("nan"))
    columns = {}
    for name in names:
        parts = [h.parts.get(name, none) if h.parts else Part(h.score, h.score) for h in hits]
        normal = np.array([p.normalised for p in parts])
        ways = {int(k): h.via for k, h in zip(keys[order], hits, strict=True) if h.via}
        columns[name] = Column(np.array([p.raw for p in parts]), normal, normal, ways)
    blocks = np.array([-1 if h.block is None else h.block for h in hits], np.int32)
    return Table(keys[order], np.array([h.score for h in hits], float), blocks, columns)


def step(value: Piece, name: str, pages: int, started: float, *, calls: int = 0) -> Step:
    """Return the trace of one piece that began at ``started`` (`time.perf_counter`)."""
    return Step(
        stage=name,
        fingerprint=fingerprint(value),
        calls=calls,
        seconds=time.perf_counter() - started,
        detail={"pages": str(pages)},
    )


def _spread(column: Column, share: np.ndarray, rows: np.ndarray, size: int) -> Column:
    def spread(values: np.ndarray) -> np.ndarray:
        full = np.full(size, np.nan)
        full[rows] = values
        return full

    return Column(spread(column.raw), spread(column.normal), spread(share), column.ways)
