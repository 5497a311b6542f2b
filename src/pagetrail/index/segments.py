"""Vector search: one `VectorIndex` per encoder over immutable segments named in the catalogue.

`publish.VectorWriter` adds the writing. Readers map the files and never wait: a segment that
compaction replaced stays readable for whoever has it mapped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import CorruptError, NotFoundError, UsageError
from ..ports import Found
from . import pooled
from .codec import decode_grid
from .files import FLOATS, Segment, read_array, read_segment
from .loaded import Loaded
from .maxsim import Question, best_rows, float_scores, row_scores
from .registry import COMPANION, find_encoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import Grid
    from .catalogue import Catalogue, View

__all__ = ["Segment", "VectorIndex", "read_segment", "top", "within"]


class VectorIndex:
    """One encoder's vectors, one or many per page.

    Scores are the mean over the question's vectors of the largest cosine with one of the page's
    vectors, so -1..1 for every encoder.

    Args:
        catalogue: The library's catalogue.
        name: The encoder.
        revision: Checksum or commit of its weights; vectors of another one are another index.
        dimension: Length of a vector.
        channel: The name under which the encoder is searched; None for the built-in one.

    Raises:
        ModelError: The encoder is known with another dimension, or the channel belongs to another
            encoder or revision.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        name: str,
        revision: str,
        dimension: int,
        channel: str | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._folder = catalogue.folder.segments
        self._names = (name, revision, dimension)
        self._channel = channel
        self._id: int | None = self._find()
        # One pair, set at once: threads that share an index must not mix one's view with another's.
        self._state: tuple[View | None, Loaded] = (None, Loaded())
        self._pooled: VectorIndex | None = None

    @property
    def channel(self) -> str:
        """The name under which the encoder is searched; for the built-in one its own name."""
        return self._channel or self._names[0]

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._names[2]

    def search(
        self,
        query: np.ndarray,
        *,
        limit: int,
        documents: frozenset[int] | None = None,
        exact: bool = False,
    ) -> Found:
        """Return the pages with the highest scores.

        All scores are exact. Which pages are scored is exact too unless more than `pooled.MANY`
        vectors are in scope: then pooled vectors nominate the pages.

        `Found.blocks` tells for each page the block behind the vector that is best for most of the
        question's vectors (the first of several), -1 where vectors stand for no block.

        Args:
            query: float32 ``[dimension]`` or ``[q, dimension]``, rows of unit length.
            limit: Most pages to return.
            documents: Serials of the documents that may appear; None for all.
            exact: Score every page in scope, however many there are.

        Raises:
            UsageError: The query has another shape.
        """
        loaded, question = self.loaded(), self.question(query)
        chosen = loaded.chosen(documents)
        if limit < 1 or not chosen.any():
            return Found.nothing()
        if not exact and loaded.row_count(chosen, least=pooled.MANY) > pooled.MANY:
            near = pooled.nominate(self._first_look(), loaded, question, documents, limit)
            if near is not None:
                return _found(loaded, question, near, loaded.scores_of(question, near), limit)
        scores, slack = loaded.estimate(question, chosen)
        places = np.flatnonzero(chosen)
        if slack:
            places = places[within(scores[places], limit, slack)]
            return _found(loaded, question, places, loaded.scores_of(question, places), limit)
        return _found(loaded, question, places, scores[places], limit)

    def rescore(self, query: np.ndarray, keys: Sequence[int] | np.ndarray) -> Found:
        """Return the exact scores of the pages named, best first.

        Pages that have no vectors or may not be seen are left out.

        Args:
            query: As for `search`.
            keys: Page keys; one that is named twice counts once.
        """
        loaded, question = self.loaded(), self.question(query)
        places = loaded.find(np.unique(np.asarray(keys, np.int64)))
        places = places[places >= 0]
        if not len(places):
            return Found.nothing()
        scores = loaded.scores_of(question, places)
        return _found(loaded, question, places, scores, len(places))

    def estimate(
        self, query: np.ndarray, documents: frozenset[int] | None = None
    ) -> tuple[Found, float]:
        """Return the scores of all pages in scope, in order of key, and how far each may be off.

        See `Loaded.estimate`; with 0 they are exact.
        """
        loaded, question = self.loaded(), self.question(query)
        chosen = loaded.chosen(documents)
        scores, slack = loaded.estimate(question, chosen)
        if loaded.ordered and chosen.all():
            return Found(loaded.keys, scores), slack
        places = loaded.sorted_places(chosen)
        return Found(loaded.keys[places], scores[places]), slack

    def exact(self, query: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Return the exact scores of pages by key, float32 ``[n]``, 0 for those without vectors."""
        loaded, question = self.loaded(), self.question(query)
        places = loaded.find(keys)
        scores = np.zeros(len(keys), np.float32)
        scores[places >= 0] = loaded.scores_of(question, places[places >= 0])
        return scores

    def means(self, keys: Sequence[int]) -> np.ndarray:
        """Return the mean of each page's vectors, float32 ``[n, dimension]``, not normalised.

        A page without vectors has a row of zeros.
        """
        loaded = self.loaded()
        places = loaded.find(np.asarray(keys, np.int64))
        means = np.zeros((len(places), self.dimension), np.float32)
        if (places >= 0).any():
            means[places >= 0] = loaded.means_of(places[places >= 0])
        return means

    def row_scores(self, query: np.ndarray, key: int) -> np.ndarray:
        """Return the cosines of a page's vectors, in their order: float32 ``[q, rows]``.

        Raises:
            NotFoundError: The page has no vectors here.
        """
        loaded, question = self.loaded(), self.question(query)
        rows, _ = loaded.gather(self._places([key]))
        return row_scores(question, rows)

    def float_scores(
        self, query: np.ndarray, keys: Sequence[int], *, originals: bool = False
    ) -> np.ndarray:
        """Return the scores of pages in plain floating point, for checking: float32 ``[n]``.

        Args:
            query: As for `search`.
            keys: Page keys.
            originals: Use the vectors as they were given, in float16, in place of the int8 ones.

        Raises:
            NotFoundError: A page has no vectors here, or its originals were not kept.
        """
        question, loaded = self.question(query), self.loaded()
        scores = []
        for place in self._places(keys).tolist():
            part, page = loaded.owner(place)
            rows = part.rows.part(page, page + 1)
            kept = None
            if originals:
                first = int(part.rows.starts[page])
                kept = self._originals(part.name, len(part.rows.codes))
                kept = kept[first : first + len(rows.codes)]
            scores.append(float_scores(question.vectors, rows, kept)[0])
        return np.array(scores, np.float32)

    def grid(self, key: int) -> Grid | None:
        """Return which of a page's vectors stands for which patch of its picture, if known."""
        rows = self._catalogue.rows(
            "SELECT grid FROM vectors WHERE encoder = ? AND page = ?", (self._id, int(key))
        )
        return decode_grid(rows[0][0]) if rows and rows[0][0] is not None else None

    def page_count(self) -> int:
        """Return the number of pages that have vectors and can be found."""
        return int(np.count_nonzero(self.loaded().shown))

    # --- for the modules of this package -----------------------------------------------------

    def question(self, query: np.ndarray) -> Question:
        """Prepare a query; raises UsageError when its shape does not fit."""
        shape = np.shape(query)
        if len(shape) not in (1, 2) or shape[-1] != self.dimension or 0 in shape:
            raise UsageError(
                f"a query for {self._names[0]} has the shape [{self.dimension}] or "
                f"[q, {self.dimension}], not {list(shape)}"
            )
        return Question.of(query)

    def loaded(self) -> Loaded:
        """Return the segments at the catalogue's present generation."""
        view = self._catalogue.view()
        seen, loaded = self._state
        if seen is not view:
            segments = self._segments()
            if not segments:  # not known yet, or dropped and added again
                self._id = self._find()
                segments = self._segments()
            loaded = self._open(loaded, segments, view)
            self._state = (view, loaded)
        return loaded

    def _first_look(self) -> VectorIndex:
        if self._pooled is None:
            name, revision, dimension = self._names
            self._pooled = VectorIndex(
                self._catalogue, name=name + COMPANION, revision=revision, dimension=dimension
            )
        return self._pooled

    def _places(self, keys: Sequence[int]) -> np.ndarray:
        places = self.loaded().find(keys)
        if (places < 0).any():
            raise NotFoundError(f"a page asked for has no vectors of {self._names[0]}")
        return places

    def _originals(self, name: str, rows: int) -> np.ndarray:
        try:
            return read_array(self._folder / (name + FLOATS), np.dtype(np.float16), rows)
        except FileNotFoundError as error:
            raise NotFoundError(f"{self._names[0]}: the original vectors were not kept") from error

    def _find(self) -> int | None:
        return find_encoder(self._catalogue, *self._names, self._channel)

    def _segments(self) -> list[Segment]:
        rows = self._catalogue.rows(
            "SELECT id, name, rows, dead FROM segments WHERE encoder = ? ORDER BY id", (self._id,)
        )
        return [Segment(*row) for row in rows]

    def _open(self, known: Loaded, segments: list[Segment], view: View) -> Loaded:
        while True:
            try:
                return known.next(self._folder, segments, view)
            except FileNotFoundError as error:
                # Compaction in another process deletes files after its commit: look once more.
                now = self._segments()
                if now == segments:
                    raise CorruptError(
                        f"{error.filename} is missing; run doctor --repair to encode its pages anew"
                    ) from error
                segments = now


def _found(
    loaded: Loaded, question: Question, places: np.ndarray, scores: np.ndarray, limit: int
) -> Found:
    best = top(loaded.keys[places], scores, limit)
    places = places[best]
    blocks = np.full(len(places), -1, np.int32)
    if loaded.has_blocks:
        rows, known = loaded.gather(places)
        blocks = known[best_rows(row_scores(question, rows), rows.starts)]
    return Found(loaded.keys[places], scores[best].astype(np.float32), blocks)


def top(keys: np.ndarray, scores: np.ndarray, limit: int) -> np.ndarray:
    """Return where the highest scores stand, best first; equal ones in order of key."""
    near = np.arange(len(scores))
    if 0 < limit < len(scores):
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        near = np.flatnonzero(scores >= least)
    return np.asarray(near[np.lexsort((keys[near], -scores[near]))[:limit]])


def within(scores: np.ndarray, limit: int, slack: float) -> np.ndarray:
    """Return where the highest scores may be when each may be off by ``slack``, int64."""
    if limit >= len(scores):
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    return np.flatnonzero(scores >= least - 2 * slack)
