"""Dense search: one `VectorIndex` per encoder over immutable segments named in the catalogue.

`publish.VectorWriter` adds the writing. Readers map the files and never wait: a segment that
compaction replaced stays readable for whoever has it mapped.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import CorruptError, ModelError
from ..ports import Found
from .files import ROW, SUFFIXES, read_array
from .keys import NUMBER_BITS
from .maxsim import best_rows, scorer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .catalogue import Catalogue, View
    from .maxsim import Scorer

__all__ = ["Segment", "VectorIndex", "read_segment"]

_MANY_RUNS = 64  # from here on scoring everything beats scoring pieces


@dataclass(frozen=True, slots=True)
class Segment:
    """A published segment: its number, the stem of its files, its rows and how many are dead."""

    id: int
    name: str
    rows: int
    dead: int


def read_segment(folder: Path, segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    """Return a segment's codes (uint8 ``[rows, d]``, mapped) and its records (`ROW`, in memory).

    Raises:
        FileNotFoundError: A file is gone.
        CorruptError: A file is damaged or not the one that was published.
    """
    codes = read_array(folder / (segment.name + SUFFIXES[0]), np.dtype(np.uint8), segment.rows)
    rows = read_array(folder / (segment.name + SUFFIXES[1]), ROW, segment.rows)
    return codes, np.array(rows)


class VectorIndex:
    """One encoder's vectors, several per page if need be.

    Args:
        catalogue: The library's catalogue.
        name: The encoder.
        revision: Checksum or commit of its weights; vectors of another one are another index.
        dimension: Length of a vector.

    Raises:
        ModelError: The encoder is known with another dimension.
    """

    def __init__(self, catalogue: Catalogue, *, name: str, revision: str, dimension: int) -> None:
        self._catalogue = catalogue
        self._folder = catalogue.folder.segments
        self._names = (name, revision, dimension)
        self._id: int | None = self._find()
        self._loaded = _Loaded()
        self._view: View | None = None

    def search(
        self, query: np.ndarray, *, limit: int, documents: frozenset[int] | None = None
    ) -> Found:
        """Return the pages whose best vector is nearest to the query's.

        Args:
            query: float32 ``[dimension]``, of unit length.
            limit: Most pages to return.
            documents: Serials of the documents that may appear; None for all.
        """
        loaded = self._refresh()
        runs = loaded.runs(documents)
        if not runs or limit < 1:
            return Found.nothing()
        score = scorer(query)
        parts = [loaded.score(score, first, last) for first, last in runs]
        best, rows = (np.concatenate(column) for column in zip(*parts, strict=True))
        pages = np.concatenate([np.arange(first, last) for first, last in runs])
        keep = loaded.shown[pages]
        if documents is not None:
            wanted = np.fromiter(documents, np.int64, len(documents))
            keep = keep & np.isin(loaded.pages[pages] >> NUMBER_BITS, wanted)
        return _top(loaded.pages[pages[keep]], best[keep], loaded.blocks[rows[keep]], limit)

    def page_count(self) -> int:
        """Return the number of pages that have vectors and can be found."""
        return int(np.count_nonzero(self._refresh().shown))

    def _find(self) -> int | None:
        name, revision, dimension = self._names
        rows = self._catalogue.rows(
            "SELECT id, dimension FROM encoders WHERE name = ? AND revision = ?", (name, revision)
        )
        if not rows:
            return None
        if rows[0][1] != dimension:
            raise ModelError(
                f"{name} ({revision[:12]}) made vectors of length {rows[0][1]} in this library, "
                f"now {dimension}: it is not the same model"
            )
        return int(rows[0][0])

    def _segments(self) -> list[Segment]:
        rows = self._catalogue.rows(
            "SELECT id, name, rows, dead FROM segments WHERE encoder = ? ORDER BY id", (self._id,)
        )
        return [Segment(*row) for row in rows]

    def _refresh(self) -> _Loaded:
        view = self._catalogue.view()
        if self._view is not view:
            if self._id is None:
                self._id = self._find()
            try:
                self._loaded = self._loaded.next(self._folder, self._segments(), view)
            except FileNotFoundError:
                # Compaction in another process deletes files after its commit: look once more.
                self._loaded = self._load_again(view)
            self._view = view
        return self._loaded

    def _load_again(self, view: View) -> _Loaded:
        try:
            return self._loaded.next(self._folder, self._segments(), view)
        except FileNotFoundError as error:
            raise CorruptError(
                f"{error.filename} is missing; run doctor --repair to encode its pages anew"
            ) from error


class _Loaded:
    """Segments joined for search. ``starts`` has one more entry than there are pages."""

    def __init__(self) -> None:
        self.parts: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.codes: list[tuple[int, np.ndarray]] = []
        self.pages = np.empty(0, np.int64)
        self.starts = np.zeros(1, np.int64)
        self.blocks = np.empty(0, np.int32)
        self.scales = np.empty(0, np.float32)
        self.shown = np.empty(0, bool)
        self.spans: dict[int, list[tuple[int, int]]] = {}

    def next(self, folder: Path, segments: Sequence[Segment], view: View) -> _Loaded:
        """Return the state for a new view; segments that are open already are not read again."""
        new = _Loaded()
        for segment in segments:
            part = self.parts.get(segment.id) or read_segment(folder, segment)
            new.parts[segment.id] = part
        if list(new.parts) == list(self.parts):
            for name in ("codes", "pages", "starts", "blocks", "scales", "spans"):
                setattr(new, name, getattr(self, name))
        else:
            new._join()
        new.shown = np.zeros(len(new.pages), bool)
        for serial, spans in new.spans.items():
            if serial in view.ids:
                for first, last in spans:
                    new.shown[first:last] = True
        return new

    def _join(self) -> None:
        at = 0
        for codes, _ in self.parts.values():
            self.codes.append((at, codes))
            at += len(codes)
        rows = np.concatenate([rows for _, rows in self.parts.values()] or [np.empty(0, ROW)])
        self.blocks, self.scales = rows["block"].copy(), rows["scale"].copy()
        keys = rows["page"]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        self.pages = keys[first].copy()
        self.starts = np.append(first, len(keys)).astype(np.int64)
        serials = self.pages >> NUMBER_BITS
        edges = np.append(np.flatnonzero(np.diff(serials, prepend=-1)), len(serials)).tolist()
        for begin, end in itertools.pairwise(edges):
            self.spans.setdefault(int(serials[begin]), []).append((begin, end))

    def runs(self, documents: frozenset[int] | None) -> list[tuple[int, int]]:
        """Return ranges of pages that cover the documents; they may hold others as well."""
        whole = [(0, len(self.pages))] if len(self.pages) else []
        if documents is None:
            return whole
        found = sorted(span for serial in documents for span in self.spans.get(serial, ()))
        return found if len(found) < _MANY_RUNS else whole

    def score(self, score: Scorer, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Return best score and best row of each page in ``first..last - 1``."""
        low, high = int(self.starts[first]), int(self.starts[last])
        parts = []
        for begin, codes in self.codes:
            a, b = max(low - begin, 0), min(high - begin, len(codes))
            if a < b:
                parts.append(score(codes[a:b], self.scales[begin + a : begin + b]))
        best, rows = best_rows(np.concatenate(parts), self.starts[first:last] - low)
        return best, rows + low


def _top(keys: np.ndarray, scores: np.ndarray, blocks: np.ndarray, limit: int) -> Found:
    """Return the best pages; equal scores stand in order of key."""
    if limit < len(scores):
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        near = np.flatnonzero(scores >= least)
        keys, scores, blocks = keys[near], scores[near], blocks[near]
    order = np.lexsort((keys, -scores))[:limit]
    return Found(keys[order], scores[order].astype(np.float32), blocks[order].astype(np.int32))
