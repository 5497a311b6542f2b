"""Writing vectors: a segment's files first, then one catalogue commit that makes them count.

What a killed run left behind is named nowhere and is deleted by the next writer. A removed document
only hides its rows; `compact` rewrites segments when too many rows are dead or there are too many
small ones, so a row is copied a number of times that grows with the logarithm of the library.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError, UsageError
from .codec import encode_grid
from .columns import worth
from .files import (
    FLOATS,
    ROW,
    SUFFIXES,
    Segment,
    read_array,
    read_segment,
    remove_segment,
    write_array,
)
from .maxsim import Rows, quantise
from .pooled import due, pooled_vectors
from .registry import (
    COMPANION,
    EncoderRecord,
    Registration,
    check_settings,
    drop_encoder,
    encoders,
    find_encoder,
    register_encoder,
)
from .segments import VectorIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..types import Vectors
    from .catalogue import Catalogue
    from .changes import CatalogueWriter

__all__ = [
    "EncoderRecord",
    "Registration",
    "VectorWriter",
    "clean_segments",
    "drop_encoder",
    "encoders",
    "rewrite_segment",
    "strangers",
]

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
        registration: What else the library keeps of an added encoder; None for the built-in one.
        keep_float: Keep the vectors as they were given too, in float16, to compare with.

    Raises:
        ModelError: The encoder is known otherwise (dimension, settings), or its channel belongs to
            another encoder or revision.
    """

    def __init__(
        self,
        catalogue: CatalogueWriter,
        *,
        name: str,
        revision: str,
        dimension: int,
        registration: Registration | None = None,
        keep_float: bool = False,
    ) -> None:
        channel = None if registration is None else registration.channel
        super().__init__(
            catalogue, name=name, revision=revision, dimension=dimension, channel=channel
        )
        self._writer = catalogue
        self._keep_float = keep_float
        if self._id is None:
            self._id = register_encoder(catalogue, self._names, registration)
        elif registration is not None:
            check_settings(catalogue, self._id, registration)
        self._encoder = self._id

    def missing(self, limit: int = 256, *, after: int = -1) -> list[int]:
        """Return keys above ``after``, rising, of up to ``limit`` pages that lack vectors."""
        return [
            key
            for (key,) in self._writer.rows(
                "SELECT page FROM pending WHERE encoder = ? AND page > ? ORDER BY page LIMIT ?",
                (self._encoder, after, limit),
            )
        ]

    def publish(
        self, keys: Sequence[int], vectors: Vectors, blocks: Sequence[int] | None = None
    ) -> int:
        """Add the vectors of pages in one commit and return how many rows that were.

        Pages that have vectors already or are no longer stored are passed over. A page may have no
        vector at all (nothing to read on it); then it is no longer `missing`, nor ever found.

        Args:
            keys: One page key per item of ``vectors``, none twice.
            vectors: Ragged, float32; their grids are kept.
            blocks: One block order per row of ``vectors``; None where they stand for no blocks.

        Raises:
            UsageError: The lengths do not agree.
            ModelError: The vectors are not this encoder's, or hold what is not a number.
        """
        rows = np.zeros(len(vectors.data), ROW)
        rows["block"] = -1
        if len(keys) != len(vectors) or len(rows) != len(rows if blocks is None else blocks):
            raise UsageError("publish needs one key per item and one block per row")
        if len(set(keys)) != len(keys):
            raise UsageError("publish got a page twice")
        self._check(vectors)
        wanted = self._wanted(keys)
        counts = np.diff(vectors.offsets)
        chosen = np.array([key in wanted for key in keys], bool)
        rows["page"] = np.repeat(np.array(keys, np.int64), counts)
        if blocks is not None:
            rows["block"] = blocks
        keep = np.repeat(chosen, counts)
        codes, rows["scale"] = quantise(vectors.data, counts)
        held = {
            key: _Held(int(n), grid)
            for key, n, grid in zip(keys, counts, _grids(vectors), strict=True)
            if key in wanted
        }
        floats = vectors.data[keep].astype(np.float16) if self._keep_float else None
        return self._publish(_Batch(codes[keep], rows[keep], floats), held)

    def adopt(self, limit: int = 1024) -> int:
        """Give copied pages the vectors of the pages they were copied from; returns how many."""
        pairs = self._writer.rows(
            "SELECT pending.page, twin, segment, grid FROM pending JOIN vectors "
            "ON vectors.encoder = pending.encoder AND vectors.page = twin "
            "WHERE pending.encoder = ? AND twin IS NOT NULL LIMIT ?",
            (self._encoder, limit),
        )
        segments = {segment.id: segment for segment in self._segments()}
        batches = []
        held = {page: _Held(0, grid) for page, _, _, grid in pairs}
        for ident in sorted({segment for _, _, segment, _ in pairs} - {0}):
            source = self._read(segments[ident])
            for page, twin, segment, grid in pairs:
                if segment == ident:
                    where = np.flatnonzero(source.rows["page"] == twin)
                    copy = source.take(where)
                    copy.rows["page"] = page
                    batches.append(copy)
                    held[page] = _Held(len(where), grid)
        if held:
            self._publish(_Batch.join(batches, self.dimension), held)
        return len(held)

    def fresh_means(self, keys: Sequence[int]) -> np.ndarray:
        """Return the same as `means`, from the segments that hold these pages alone.

        To open all segments of a large library takes longer than a document added to it does.

        Args:
            keys: Pages of one document, rising.
        """
        means = np.zeros((len(keys), self.dimension), np.float32)
        if not keys:
            return means
        wanted = np.asarray(keys, np.int64)
        held = self._writer.rows(
            "SELECT DISTINCT segment FROM vectors WHERE encoder = ? AND page BETWEEN ? AND ?",
            (self._encoder, keys[0], keys[-1]),
        )
        for segment in self._segments():  # what a later one holds of a page counts
            if (segment.id,) not in held:
                continue
            codes, rows = read_segment(self._folder, segment)
            where = np.flatnonzero((rows["page"] >= keys[0]) & (rows["page"] <= keys[-1]))
            where = where[np.isin(rows["page"][where], wanted)]
            pages = rows["page"][where]
            starts = np.flatnonzero(np.diff(pages, prepend=-1))
            if len(starts):
                ends = np.append(starts, len(pages))
                found = Rows(codes[where], rows["scale"][where], ends, common=False)
                means[np.searchsorted(wanted, pages[starts])] = found.means()
        return means

    def compact(self) -> int:
        """Rewrite segments if that is due; returns how many were replaced. Often does nothing."""
        replaced = 0
        while group := _due(self._segments()):
            self._merge(group)
            replaced += len(group)
        if not self._names[0].endswith(COMPANION) and (companion := self._companion(make=False)):
            self._pool()
            companion.compact()
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

    def _publish(self, batch: _Batch, held: dict[int, _Held]) -> int:
        writer = self._writer
        name = f"{self._encoder:02d}-{uuid.uuid4().hex[:16]}"
        total = len(batch.codes)
        few = worth(total, sum(what.rows > 0 for what in held.values()))
        floats = batch.floats is not None
        sums = self._write(name, total, [batch], floats=floats, columns=few) if total else None
        with writer.transaction():
            segment = self._insert(name, total, sums) if sums else 0
            alive = self._wanted(list(held))
            for key, what in held.items():
                if key in alive:
                    writer.rows(
                        "INSERT INTO vectors (encoder, page, segment, rows, grid) "
                        "VALUES (?, ?, ?, ?, ?)",
                        (self._encoder, key, segment, what.rows, what.grid),
                    )
                    writer.rows(
                        "DELETE FROM pending WHERE encoder = ? AND page = ?", (self._encoder, key)
                    )
            dead = sum(what.rows for key, what in held.items() if key not in alive)
            writer.rows("UPDATE segments SET dead = dead + ? WHERE id = ?", (dead, segment))
            writer.bump()
        if due(total, len(held), self._total()):
            self._pool()
        return total

    def _total(self) -> int:
        ((total,),) = self._writer.rows(
            "SELECT coalesce(sum(rows - dead), 0) FROM segments WHERE encoder = ?", (self._encoder,)
        )
        return int(total)

    def _companion(self, *, make: bool) -> VectorWriter | None:
        """Return the writer of the pooled vectors; None when there are none and none are wanted."""
        name, revision, dimension = self._names
        name += COMPANION
        if not make and find_encoder(self._writer, name, revision, dimension, None) is None:
            return None
        return VectorWriter(self._writer, name=name, revision=revision, dimension=dimension)

    def _pool(self) -> None:
        """Pool all pages that have vectors but no pooled one; a kill in between costs nothing."""
        companion = self._companion(make=True)
        assert companion is not None
        segments = {segment.id: segment for segment in self._segments()}
        while waiting := self._writer.rows(
            "SELECT pending.page, segment FROM pending JOIN vectors ON vectors.page = pending.page "
            "WHERE pending.encoder = ? AND vectors.encoder = ? ORDER BY segment LIMIT 8192",
            (companion._encoder, self._encoder),
        ):
            for number in sorted({segment for _, segment in waiting}):
                keys = [page for page, segment in waiting if segment == number]
                segment = segments[number] if number else None
                vectors = pooled_vectors(self._folder, segment, keys, companion._names)
                companion.publish(keys, vectors)

    def _merge(self, group: list[Segment]) -> None:
        writer = self._writer
        kept = []
        for segment in group:
            batch = self._read(segment)
            kept.append((batch, self._alive(segment, batch.rows)))
        total = sum(int(np.count_nonzero(alive)) for _, alive in kept)
        name = f"{self._encoder:02d}-{uuid.uuid4().hex[:16]}"
        floats = all(batch.floats is not None for batch, _ in kept)
        parts = (batch.take(np.flatnonzero(alive)) for batch, alive in kept)
        pages = sum(len(np.unique(batch.rows["page"][alive])) for batch, alive in kept)
        few = worth(total, pages)
        sums = self._write(name, total, parts, floats=floats, columns=few) if total else None
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
        self, name: str, total: int, parts: Iterable[_Batch], *, floats: bool, columns: bool
    ) -> tuple[str, str]:
        rows: list[np.ndarray] = []
        shape = (total, self.dimension)
        originals: list[np.ndarray] = []

        def codes() -> Iterator[np.ndarray]:
            for part in parts:
                rows.append(part.rows)
                if floats and part.floats is not None:
                    originals.append(part.floats)
                yield part.codes

        path = self._folder / (name + SUFFIXES[0])
        first = write_array(path, shape, np.dtype(np.uint8), codes(), columns=columns)
        second = write_array(self._folder / (name + SUFFIXES[1]), shape[:1], ROW, rows)
        if floats:
            write_array(self._folder / (name + FLOATS), shape, np.dtype(np.float16), originals)
        return first, second

    def _read(self, segment: Segment) -> _Batch:
        codes, rows = read_segment(self._folder, segment)
        path = self._folder / (segment.name + FLOATS)
        kind = np.dtype(np.float16)
        floats = read_array(path, kind, segment.rows) if path.exists() else None
        return _Batch(codes, rows, floats)

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


@dataclass(frozen=True, slots=True)
class _Held:
    """What is kept of a page: how many rows, and its grid."""

    rows: int
    grid: bytes | None


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows on their way to a segment."""

    codes: np.ndarray
    rows: np.ndarray
    floats: np.ndarray | None

    def take(self, where: np.ndarray) -> _Batch:
        """Return copies of some rows."""
        floats = None if self.floats is None else self.floats[where]
        return _Batch(np.asarray(self.codes[where]), np.array(self.rows[where]), floats)

    @classmethod
    def join(cls, batches: Sequence[_Batch], dimension: int) -> _Batch:
        """Return rows one after the other; without originals unless all have them."""
        floats = None
        if batches and all(batch.floats is not None for batch in batches):
            floats = np.concatenate([b.floats for b in batches if b.floats is not None])
        return cls(
            np.concatenate([np.empty((0, dimension), np.uint8), *(b.codes for b in batches)]),
            np.concatenate([np.empty(0, ROW), *(b.rows for b in batches)]),
            floats,
        )


def _grids(vectors: Vectors) -> list[bytes | None]:
    """Return the grid of each item as bytes, or None."""
    if not vectors.grids:
        return [None] * len(vectors)
    if len(vectors.grids) != len(vectors):
        raise UsageError("publish needs one grid per item, or none at all")
    return [encode_grid(grid) for grid in vectors.grids]


def strangers(catalogue: Catalogue) -> list[str]:
    """Return the names of files in the segments' folder that no published segment owns."""
    owned = {
        name + suffix
        for (name,) in catalogue.rows("SELECT name FROM segments")
        for suffix in (*SUFFIXES, FLOATS)
    }
    ours = tuple(suffix + end for suffix in (*SUFFIXES, FLOATS) for end in ("", ".tmp"))
    names = sorted(path.name for path in catalogue.folder.segments.iterdir())
    return [name for name in names if name.endswith(ours) and name not in owned]


def clean_segments(catalogue: CatalogueWriter) -> list[str]:
    """Delete what an interrupted run left in the segments' folder; returns the files' names."""
    names = strangers(catalogue)
    for name in names:
        (catalogue.folder.segments / name).unlink(missing_ok=True)
    return names


def rewrite_segment(writer: CatalogueWriter, segment: int) -> None:
    """Write a segment anew without the rows that it no longer stands for."""
    (names,) = writer.rows(
        "SELECT encoders.name, revision, dimension FROM encoders "
        "JOIN segments ON encoder = encoders.id WHERE segments.id = ?",
        (segment,),
    )
    name, revision, dimension = names
    vectors = VectorWriter(writer, name=name, revision=revision, dimension=dimension)
    vectors._merge([each for each in vectors._segments() if each.id == segment])


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
