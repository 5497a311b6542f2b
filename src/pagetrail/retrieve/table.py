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
    from ..types import Query, Verdict

__all__ = ["Column", "Table", "combine", "from_ranking", "step", "to_ranking", "top"]


@dataclass(frozen=True)
class Column:
    """What one channel says of the pages that it returned, whether a table keeps them or not.

    Attributes:
        keys: int64 ``[m]``, ascending.
        raw: float64 ``[m]``, the channel's own scores.
        normal: float64 ``[m]``, the same, comparable across channels.
        share: float64 ``[m]``, what it adds to the page's score.
        ways: Key to how the page was reached, where that is more than the channel's name.
    """

    keys: np.ndarray
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
        verdicts: Key to what judges said of the page, by the judge's name; few pages have any.
    """

    keys: np.ndarray
    scores: np.ndarray
    blocks: np.ndarray
    columns: Mapping[str, Column]
    verdicts: Mapping[int, Mapping[str, Verdict]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: np.ndarray) -> Table:
        """Return some rows; ``rows`` are indices in ascending order."""
        return replace(
            self, keys=self.keys[rows], scores=self.scores[rows], blocks=self.blocks[rows]
        )


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
            columns.setdefault(name, replace(column, share=part))
    verdicts: dict[int, dict[str, Verdict]] = {}
    for table in tables:
        for key, said in table.verdicts.items():
            verdicts.setdefault(key, {}).update(said)
    return Table(keys, total, blocks, columns, verdicts)


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
    parts: list[dict[str, Part]] = [{} for _ in ids]
    ways: list[list[tuple[float, str, str]]] = [[] for _ in ids]
    for name, column in table.columns.items():
        known, at = np.intersect1d(
            table.keys, column.keys, assume_unique=True, return_indices=True
        )[1:]
        values = (column.keys[at], column.raw[at], column.normal[at], column.share[at])
        for row, key, raw, normal, share in zip(
            known.tolist(), *(v.tolist() for v in values), strict=True
        ):
            parts[row][name] = Part(raw, normal)
            ways[row].append((-share, name, column.ways.get(key, name)))
    blocks = [None if block < 0 else block for block in table.blocks.tolist()]
    said = [table.verdicts.get(key, {}) for key in table.keys.tolist()]
    rows = zip(ids, table.scores.tolist(), parts, map(_via, ways), blocks, said, strict=True)
    return Ranking.of(query, (Hit(*row) for row in rows))


def _via(ways: list[tuple[float, str, str]]) -> str:
    """Name what speaks for a page, the strongest first; if nothing does, the least against it."""
    ways.sort()
    named = [way for minus, _, way in ways if minus < 0] or [way for _, _, way in ways[:1]]
    return ", ".join(dict.fromkeys(named))


def from_ranking(ranking: Ranking, resources: Resources) -> Table:
    """Return hits as a table; ways that stages wrote are kept with the strongest channel."""
    hits = ranking.hits
    keys = np.array(resources.page_keys([h.page for h in hits]), np.int64)
    order = np.argsort(keys)
    hits = tuple(hits[i] for i in order.tolist())
    ways = {int(k): h.via for k, h in zip(keys[order], hits, strict=True) if h.via}
    found: dict[str, list[tuple[int, Part]]] = {}
    for key, hit in zip(keys[order].tolist(), hits, strict=True):
        for name, part in (hit.parts or {hit.via or "found": Part(hit.score, hit.score)}).items():
            found.setdefault(name, []).append((key, part))
    columns = {}
    for name, rows in found.items():
        normal = np.array([part.normalised for _, part in rows])
        raw = np.array([part.raw for _, part in rows])
        columns[name] = Column(np.array([k for k, _ in rows]), raw, normal, normal, ways)
    blocks = np.array([-1 if h.block is None else h.block for h in hits], np.int32)
    said = {int(k): h.verdicts for k, h in zip(keys[order], hits, strict=True) if h.verdicts}
    return Table(keys[order], np.array([h.score for h in hits], float), blocks, columns, said)


def step(value: Piece, name: str, pages: int, started: float, *, calls: int = 0) -> Step:
    """Return the trace of one piece that began at ``started`` (`time.perf_counter`)."""
    return Step(
        stage=name,
        fingerprint=fingerprint(value),
        calls=calls,
        seconds=time.perf_counter() - started,
        detail={"pages": str(pages)},
    )
