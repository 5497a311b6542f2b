"""Segments joined for search: which pages there are, which may be seen, and their scores.

Segments never change, so what was read of one is kept; only which pages are shown is worked out
anew for each generation of the catalogue.
"""

from __future__ import annotations

import itertools
import mmap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from .columns import BLOCK, read_columns
from .files import SUFFIXES, read_segment
from .keys import NUMBER_BITS
from .maxsim import Rows, page_scores, threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from .catalogue import View
    from .columns import Columns
    from .files import Segment
    from .maxsim import Question

__all__ = ["Loaded", "Part"]

_T = TypeVar("_T")
_MANY_RUNS = 64  # from here on scoring everything beats scoring pieces
_SPARSE = 0.2  # of a segment's pages; fewer are scored exactly at once
_PIECE = 1 << 24  # bytes of codes that are scored at a time
_COPY = 1 << 22  # bytes of codes that are copied to be scored together
_PARALLEL = 16_000_000  # bytes of codes from which on several threads are used


@dataclass(frozen=True, slots=True)
class Part:
    """One segment, read.

    Attributes:
        name: Stem of its files.
        keys: int64 ``[pages]``.
        rows: Its vectors.
        blocks: int32 ``[n]``, order of the block behind each vector; None where none is known.
        columns: The same vectors by column, in large segments of few vectors per page.
    """

    name: str
    keys: np.ndarray
    rows: Rows
    blocks: np.ndarray | None
    columns: Columns | None

    @classmethod
    def read(cls, folder: Path, segment: Segment) -> Part:
        """Open a segment; errors as `read_segment`."""
        codes, records = read_segment(folder, segment)
        edges = np.flatnonzero(np.diff(records["page"], prepend=-1))
        starts = np.append(edges, len(records)).astype(np.int64)
        scales = records["scale"].copy()
        common = bool(np.array_equal(np.repeat(scales[edges], np.diff(starts)), scales))
        rows = Rows(codes, scales[edges] if common else scales, starts, common)
        blocks = records["block"].copy() if (records["block"] >= 0).any() else None
        columns = read_columns(folder / (segment.name + SUFFIXES[0]), codes.shape, scales)
        return cls(segment.name, records["page"][edges].copy(), rows, blocks, columns)

    def let_go(self) -> None:
        """Give back the memory of the codes, which single rows alone are read from.

        The system maps what lies around a row too, so some thousand of them would fill the memory
        with the whole file, beside the columns.
        """
        mapping = getattr(self.rows.codes, "_mmap", None)
        if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)


class Loaded:
    """All segments of an encoder at one generation.

    Attributes:
        parts: By number of segment, in order.
        keys: int64 ``[pages]``, the pages' keys, segment after segment.
        shown: bool ``[pages]``, whether a page may be found.
        ordered: Whether the keys rise.
    """

    def __init__(self) -> None:
        self.parts: dict[int, Part] = {}
        self.keys = np.empty(0, np.int64)
        self.shown = np.empty(0, bool)
        self._firsts = np.zeros(1, np.int64)
        self._latest = np.empty(0, bool)
        self._sorted = np.empty(0, np.int64)
        self.ordered = True
        self._edges = np.zeros(1, np.int64)

    def next(self, folder: Path, segments: Sequence[Segment], view: View) -> Loaded:
        """Return the state for a new view; segments that are open already are not read again."""
        new = Loaded()
        for segment in segments:
            new.parts[segment.id] = self.parts.get(segment.id) or Part.read(folder, segment)
        if list(new.parts) == list(self.parts):
            for name in ("keys", "_firsts", "_latest", "_sorted", "ordered", "_edges"):
                setattr(new, name, getattr(self, name))
        else:
            new._join()
        serials = new._serials()
        visible = np.isin(serials, np.fromiter(view.ids, np.int64, len(view.ids)))
        new.shown = np.repeat(visible, np.diff(new._edges)) & new._latest
        return new

    def find(self, keys: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the places of pages by key, int64, -1 for those that are not shown."""
        wanted = np.asarray(keys, np.int64)
        if not len(self.keys):
            return np.full(len(wanted), -1, np.int64)
        sorter = None if self.ordered else self._sorted
        at = np.searchsorted(self.keys, wanted, "right", sorter=sorter) - 1
        places = self._sorted[np.maximum(at, 0)]
        good = (at >= 0) & (self.keys[places] == wanted) & self.shown[places]
        return np.where(good, places, -1)

    def chosen(self, documents: frozenset[int] | None) -> np.ndarray:
        """Return bool ``[pages]``: shown, and in one of the documents (serials; None for all)."""
        if documents is None:
            return self.shown
        wanted = np.isin(self._serials(), np.fromiter(documents, np.int64, len(documents)))
        return np.repeat(wanted, np.diff(self._edges)) & self.shown

    def sorted_places(self, chosen: np.ndarray) -> np.ndarray:
        """Return the places of the chosen pages in order of key, int64."""
        if self.ordered:
            return np.flatnonzero(chosen)
        return np.asarray(self._sorted[chosen[self._sorted]])

    def scan(self, question: Question, chosen: np.ndarray) -> np.ndarray:
        """Return float32 ``[pages]``: the scores of the chosen pages, anything for the others."""
        scores = np.zeros(len(self.keys), np.float32)
        self._scan(question, chosen, scores)
        return scores

    def estimate(self, question: Question, chosen: np.ndarray) -> tuple[np.ndarray, float]:
        """Return scores as `scan`, and how far each of them may be from the exact one.

        A question of one vector is scored by column where a segment has columns and much of it is
        chosen; that is several times faster. All else is exact.
        """
        scores = np.zeros(len(self.keys), np.float32)
        rest, slack = chosen, 0.0
        for number, part in enumerate(self.parts.values()):
            first, last = self._firsts[number : number + 2]
            share = np.count_nonzero(chosen[first:last]) / max(1, last - first)
            if part.columns is None or len(question.steps) > 1 or share < _SPARSE:
                continue
            if rest is chosen:
                rest = chosen.copy()
            rest[first:last] = False
            scores[first:last] = _by_column(question, part.rows, part.columns)
            slack = max(slack, part.columns.slack(question))
        self._scan(question, rest, scores)
        return scores, slack

    def _scan(self, question: Question, chosen: np.ndarray, scores: np.ndarray) -> None:
        pieces = self._pieces(chosen)

        def score(piece: tuple[Part, int, int, int]) -> None:
            part, base, first, last = piece
            scores[base + first : base + last] = page_scores(question, part.rows.part(first, last))

        size = sum(part.rows.starts[b] - part.rows.starts[a] for part, _, a, b in pieces)
        run_all(score, pieces, parallel=int(size) * question.columns.shape[0] > _PARALLEL)

    def scores_of(self, question: Question, places: np.ndarray) -> np.ndarray:
        """Return the scores of pages by place, float32 ``[n]``."""
        scores = np.empty(len(places), np.float32)
        order = np.argsort(places, kind="stable")
        step = max(1, _COPY // max(1, self._page_bytes()))
        for at in range(0, len(order), step):
            some = order[at : at + step]
            scores[some] = page_scores(question, self.gather(places[some])[0])
        return scores

    def means_of(self, places: np.ndarray) -> np.ndarray:
        """Return the mean of the vectors of pages by place, float32 ``[n, d]``."""
        width = next((part.rows.codes.shape[1] for part in self.parts.values()), 0)
        means = np.empty((len(places), width), np.float32)
        step = max(1, _COPY // max(1, self._page_bytes()))
        for at in range(0, len(places), step):
            means[at : at + step] = self.gather(places[at : at + step])[0].means()
        return means

    def gather(self, places: np.ndarray) -> tuple[Rows, np.ndarray]:
        """Return copies of the vectors of pages by place, in that order, and the rows' blocks."""
        groups: dict[int, list[int]] = {}
        owners = np.searchsorted(self._firsts, places, "right") - 1
        for n, owner in enumerate(owners.tolist()):
            groups.setdefault(owner, []).append(n)
        parts = list(self.parts.values())
        counts = np.empty(len(places), np.int64)
        for owner, members in groups.items():
            starts = parts[owner].rows.starts
            local = places[members] - self._firsts[owner]
            counts[members] = starts[local + 1] - starts[local]
        bounds = np.append(0, np.cumsum(counts))
        width = parts[0].rows.codes.shape[1] if parts else 0
        codes = np.empty((bounds[-1], width), np.uint8)
        scales = np.empty(bounds[-1], np.float32)
        blocks = np.full(bounds[-1], -1, np.int32)
        for owner, members in groups.items():
            part = parts[owner]
            local = places[members] - self._firsts[owner]
            source = _ranges(part.rows.starts[local], counts[members])
            target: slice | np.ndarray = slice(bounds[members[0]], bounds[members[-1] + 1])
            if members[-1] - members[0] == len(members) - 1:
                np.take(part.rows.codes, source, axis=0, out=codes[target], mode="clip")
            else:
                target = _ranges(bounds[members], counts[members])
                codes[target] = part.rows.codes[source]
            if part.columns is not None:
                part.let_go()
            scales[target] = (
                np.repeat(part.rows.scales[local], counts[members])
                if part.rows.common
                else part.rows.scales[source]
            )
            if part.blocks is not None:
                blocks[target] = part.blocks[source]
        common = all(parts[owner].rows.common for owner in groups)
        return Rows(codes, scales[bounds[:-1]] if common else scales, bounds, common), blocks

    def owner(self, place: int) -> tuple[Part, int]:
        """Return the segment of a page by place, and the page's place in it."""
        number = int(np.searchsorted(self._firsts, place, "right")) - 1
        return list(self.parts.values())[number], place - int(self._firsts[number])

    def row_count(self, chosen: np.ndarray, *, least: int = 0) -> int:
        """Return how many vectors the chosen pages have; 0 when all have no more than ``least``."""
        if sum(len(part.rows.codes) for part in self.parts.values()) <= least:
            return 0
        count = 0
        for number, part in enumerate(self.parts.values()):
            first, last = self._firsts[number : number + 2]
            count += int(np.diff(part.rows.starts)[chosen[first:last]].sum())
        return count

    @property
    def has_blocks(self) -> bool:
        """Whether any vector is known to stand for a block."""
        return any(part.blocks is not None for part in self.parts.values())

    def _join(self) -> None:
        parts = list(self.parts.values())
        sizes = [len(part.keys) for part in parts]
        self._firsts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        self.keys = np.concatenate([np.empty(0, np.int64), *(part.keys for part in parts)])
        self._sorted = np.argsort(self.keys, kind="stable")
        self.ordered = bool((self.keys[1:] >= self.keys[:-1]).all())
        # A page that was read again stands in a later segment too; the last one counts.
        ranked = self.keys[self._sorted]
        self._latest = np.ones(len(ranked), bool)
        self._latest[self._sorted[:-1][ranked[1:] == ranked[:-1]]] = False
        edges = np.flatnonzero(np.diff(self.keys >> NUMBER_BITS, prepend=-1))
        self._edges = np.append(edges, len(self.keys))

    def _serials(self) -> np.ndarray:
        """Return the document of each stretch of pages between two of `_edges`."""
        return self.keys[self._edges[:-1]] >> NUMBER_BITS

    def _page_bytes(self) -> int:
        """Return the bytes of codes that a page has on average."""
        size = sum(part.rows.codes.size for part in self.parts.values())
        return size // max(1, len(self.keys))

    def _pieces(self, chosen: np.ndarray) -> list[tuple[Part, int, int, int]]:
        """Return what to score: segment, its first page, and pages of it from and to."""
        pieces = []
        for part, base in zip(self.parts.values(), self._firsts.tolist(), strict=False):
            mask = np.concatenate([[False], chosen[base : base + len(part.keys)], [False]])
            turns = np.flatnonzero(mask[1:] != mask[:-1]).tolist()
            runs = list(zip(turns[::2], turns[1::2], strict=True))
            if len(runs) > _MANY_RUNS:
                runs = [(runs[0][0], runs[-1][1])]
            starts = part.rows.starts
            step = max(1, _PIECE // part.rows.codes.shape[1])
            for first, last in runs:
                cuts = [first]
                while cuts[-1] < last:
                    end = int(np.searchsorted(starts, starts[cuts[-1]] + step, "right")) - 1
                    cuts.append(min(max(end, cuts[-1] + 1), last))
                pieces += [(part, base, a, b) for a, b in itertools.pairwise(cuts)]
        return pieces


def _by_column(question: Question, rows: Rows, columns: Columns) -> np.ndarray:
    """Return a segment's scores for a question of one vector, estimated: float32 ``[pages]``."""
    sums = np.empty(len(rows.codes), np.float32)
    scales = rows.row_scales() * question.steps[0]

    def score(block: int) -> None:
        here = slice(block * BLOCK, (block + 1) * BLOCK)
        np.multiply(columns.estimate(question, block), scales[here], out=sums[here])

    blocks = range(-(-len(sums) // BLOCK))
    run_all(score, blocks, parallel=rows.codes.size > _PARALLEL)
    if len(rows.starts) <= len(sums):
        sums = np.maximum.reduceat(sums, rows.starts[:-1])
    return sums


def run_all(call: Callable[[_T], object], items: Sequence[_T], *, parallel: bool) -> None:
    """Call a function for every item, on several threads if that is asked for and possible."""
    count = threads() if parallel else 1
    if count == 1 or len(items) < 2:
        for item in items:
            call(item)
        return
    with ThreadPoolExecutor(count, thread_name_prefix="pagetrail-scan") as pool:
        list(pool.map(call, items))


def _ranges(firsts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return ``firsts[0], firsts[0] + 1, ...``, ``counts[0]`` of them, then the next."""
    shift = np.repeat(firsts - (np.cumsum(counts) - counts), counts)
    return np.asarray(shift + np.arange(len(shift)))
