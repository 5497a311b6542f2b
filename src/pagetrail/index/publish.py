"""Writing vectors: a segment's files first, then one catalogue commit that makes them count.

What a killed run left behind is named nowhere and is deleted by the next writer. A removed document
only hides its rows; `compact` rewrites segments when too many rows are dead or there are too many
small ones, so a row is copied a number of times that grows with the logarithm of the library.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError, UsageError
from .files import ROW, SUFFIXES, remove_segment, write_array
from .maxsim import quantise
from .segments import Segment, VectorIndex, read_segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..types import Vectors
    from .catalogue import Catalogue
    from .changes import CatalogueWriter

__all__ = ["VectorWriter", "clean_segments", "strangers"]

_MERGE = 8  # segments of one size class that are merged into one
_GROWTH = 4  # a size class spans this factor
_DEAD_SHARE = 0.3


class VectorWriter(VectorIndex):
    """One encoder's vectors, with the right to change them; the encoder is registered at need.

    Args:
        catalogue: The library's catalogue, open for writing.
        name: The encoder.
        revision: Checksum or commit of its weights.
        dimension: Length of a vector.
    """

    def __init__(
        self, catalogue: CatalogueWriter, *, name: str, revision: str, dimension: int
    ) -> None:
        super().__init__(catalogue, name=name, revision=revision, dimension=dimension)
        self._writer = catalogue
        self._encoder = self._register() if self._id is None else self._id

    def _register(self) -> int:
        with self._writer.transaction():
            self._writer.rows(
                "INSERT INTO encoders (name, revision, dimension) VALUES (?, ?, ?)", self._names
            )
            self._id = self._find()
            assert self._id is not None
            self._writer.rows("INSERT INTO pending SELECT ?, key, NULL FROM pages", (self._id,))
        return self._id

    def missing(self, limit: int = 256, *, after: int = -1) -> list[int]:
        """Return keys above ``after``, rising, of up to ``limit`` pages that lack vectors."""
        return [
            key
            for (key,) in self._writer.rows(
                "SELECT page FROM pending WHERE encoder = ? AND page > ? ORDER BY page LIMIT ?",
                (self._encoder, after, limit),
            )
        ]

    def publish(self, keys: Sequence[int], vectors: Vectors, blocks: Sequence[int]) -> int:
        """Add the vectors of pages in one commit and return how many rows that were.

        Pages that have vectors already or are no longer stored are passed over. A page may have no
        vector at all (nothing to read on it); then it is no longer `missing`, nor ever found.

        Args:
            keys: One page key per item of ``vectors``, none twice.
            vectors: Ragged, float32.
            blocks: One block order per row of ``vectors``.

        Raises:
            UsageError: The lengths do not agree.
            ModelError: The vectors are not this encoder's, or hold what is not a number.
        """
        if len(keys) != len(vectors) or len(blocks) != len(vectors.data):
            raise UsageError("publish needs one key per item and one block per row")
        if len(set(keys)) != len(keys):
            raise UsageError("publish got a page twice")
        self._check(vectors)
        wanted = self._wanted(keys)
        counts = np.diff(vectors.offsets)
        chosen = np.array([key in wanted for key in keys], bool)
        rows = np.zeros(len(vectors.data), ROW)
        rows["page"] = np.repeat(np.array(keys, np.int64), counts)
        rows["block"] = blocks
        keep = np.repeat(chosen, counts)
        codes, rows["scale"] = quantise(vectors.data)
        return self._publish(
            codes[keep],
            rows[keep],
            {key: int(n) for key, n in zip(keys, counts, strict=True) if key in wanted},
        )

    def adopt(self, limit: int = 1024) -> int:
        """Give copied pages the vectors of the pages they were copied from; returns how many."""
        writer = self._writer
        pairs = writer.rows(
            "SELECT pending.page, twin, segment FROM pending JOIN vectors "
            "ON vectors.encoder = pending.encoder AND vectors.page = twin "
            "WHERE pending.encoder = ? AND twin IS NOT NULL LIMIT ?",
            (self._encoder, limit),
        )
        segments = {segment.id: segment for segment in self._segments()}
        codes = [np.empty((0, self._names[2]), np.uint8)]
        rows = [np.empty(0, ROW)]
        counts = {page: 0 for page, _, segment in pairs if segment == 0}
        for ident in sorted({segment for _, _, segment in pairs} - {0}):
            all_codes, all_rows = read_segment(self._folder, segments[ident])
            for page, twin, segment in pairs:
                if segment == ident:
                    where = np.flatnonzero(all_rows["page"] == twin)
                    copy = all_rows[where]
                    copy["page"] = page
                    codes.append(all_codes[where])
                    rows.append(copy)
                    counts[page] = len(where)
        if counts:
            self._publish(np.concatenate(codes), np.concatenate(rows), counts)
        return len(counts)

    def compact(self) -> int:
        """Rewrite segments if that is due; returns how many were replaced. Often does nothing."""
        replaced = 0
        while group := _due(self._segments()):
            self._merge(group)
            replaced += len(group)
        return replaced

    def _check(self, vectors: Vectors) -> None:
        name, revision, dimension = self._names
        shape = vectors.data.shape
        if (vectors.model, vectors.revision, *shape[1:]) != (name, revision, dimension):
            raise ModelError(
                f"got vectors of {vectors.model} ({vectors.revision[:12]}), shape {shape}, for an "
                f"index of {name} ({revision[:12]}) with dimension {dimension}"
            )
        if not np.isfinite(vectors.data).all():
            raise ModelError(f"{name} returned vectors that hold infinity or no number")

    def _publish(self, codes: np.ndarray, rows: np.ndarray, counts: dict[int, int]) -> int:
        writer = self._writer
        name = f"{self._encoder:02d}-{uuid.uuid4().hex[:16]}"
        sums = self._write(name, codes.shape, [(codes, rows)]) if len(codes) else None
        with writer.transaction():
            segment = self._insert(name, len(codes), sums) if sums else 0
            alive = self._wanted(list(counts))
            for key, count in counts.items():
                if key in alive:
                    writer.rows(
                        "INSERT INTO vectors (encoder, page, segment, rows) VALUES (?, ?, ?, ?)",
                        (self._encoder, key, segment, count),
                    )
                    writer.rows(
                        "DELETE FROM pending WHERE encoder = ? AND page = ?", (self._encoder, key)
                    )
            dead = sum(n for key, n in counts.items() if key not in alive)
            writer.rows("UPDATE segments SET dead = dead + ? WHERE id = ?", (dead, segment))
            writer.bump()
        return len(codes)

    def _merge(self, group: list[Segment]) -> None:
        writer = self._writer
        kept = []
        for segment in group:
            codes, rows = read_segment(self._folder, segment)
            kept.append((codes, rows, self._alive(segment, rows)))
        total = sum(int(np.count_nonzero(alive)) for _, _, alive in kept)
        name = f"{self._encoder:02d}-{uuid.uuid4().hex[:16]}"
        parts = ((codes[alive], rows[alive]) for codes, rows, alive in kept)
        sums = self._write(name, (total, self._names[2]), parts) if total else None
        with writer.transaction():
            new = self._insert(name, total, sums) if sums else 0
            for segment in group:
                writer.rows(
                    "UPDATE vectors SET segment = ? WHERE encoder = ? AND segment = ?",
                    (new, self._encoder, segment.id),
                )
                writer.rows("DELETE FROM segments WHERE id = ?", (segment.id,))
            # Documents may have been removed since the rows were chosen.
            writer.rows(
                "UPDATE segments SET dead = rows - (SELECT coalesce(sum(vectors.rows), 0) "
                "FROM vectors WHERE segment = segments.id) WHERE id = ?",
                (new,),
            )
            writer.bump()
        for segment in group:
            remove_segment(self._folder, segment.name)

    def _write(
        self, name: str, shape: tuple[int, ...], parts: Iterable[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[str, str]:
        rows: list[np.ndarray] = []

        def codes() -> Iterator[np.ndarray]:
            for code, row in parts:
                rows.append(row)
                yield code

        first = write_array(self._folder / (name + SUFFIXES[0]), shape, np.dtype(np.uint8), codes())
        second = write_array(self._folder / (name + SUFFIXES[1]), shape[:1], ROW, rows)
        return first, second

    def _insert(self, name: str, rows: int, sums: tuple[str, str]) -> int:
        writer = self._writer
        writer.rows(
            "INSERT INTO segments (encoder, name, rows, codes_sha256, rows_sha256) "
            "VALUES (?, ?, ?, ?, ?)",
            (self._encoder, name, rows, *sums),
        )
        return int(writer.rows("SELECT id FROM segments WHERE name = ?", (name,))[0][0])

    def _alive(self, segment: Segment, rows: np.ndarray) -> np.ndarray:
        """Return bool ``[rows]``: the row's page still has its vectors in this segment."""
        pages = self._writer.rows(
            "SELECT page FROM vectors WHERE encoder = ? AND segment = ?",
            (self._encoder, segment.id),
        )
        return np.isin(rows["page"], np.array([page for (page,) in pages], np.int64))

    def _wanted(self, keys: Sequence[int]) -> set[int]:
        rows = self._writer.rows(
            "SELECT page FROM pending WHERE encoder = ? AND page IN "
            "(SELECT value FROM json_each(?))",
            (self._encoder, json.dumps([int(key) for key in keys])),
        )
        return {key for (key,) in rows}


def strangers(catalogue: Catalogue) -> list[str]:
    """Return the names of files in the segments' folder that no published segment owns."""
    owned = {
        name + suffix
        for (name,) in catalogue.rows("SELECT name FROM segments")
        for suffix in SUFFIXES
    }
    ours = (*SUFFIXES, *(suffix + ".tmp" for suffix in SUFFIXES))
    names = sorted(path.name for path in catalogue.folder.segments.iterdir())
    return [name for name in names if name.endswith(ours) and name not in owned]


def clean_segments(catalogue: CatalogueWriter) -> list[str]:
    """Delete what an interrupted run left in the segments' folder; returns the files' names."""
    names = strangers(catalogue)
    for name in names:
        (catalogue.folder.segments / name).unlink(missing_ok=True)
    return names


def _due(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments to rewrite as one, empty when all is well."""
    for segment in segments:
        if segment.dead > _DEAD_SHARE * segment.rows:
            return [segment]
    classes: dict[int, list[Segment]] = {}
    for segment in segments:
        size = max(segment.rows - segment.dead, 1)
        classes.setdefault(int(np.log(size) / np.log(_GROWTH)), []).append(segment)
    return next((group for group in classes.values() if len(group) >= _MERGE), [])
