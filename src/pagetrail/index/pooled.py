"""A first look at pages of many vectors: one vector per page, the direction of their mean.

A question's vectors are averaged too, so the first look is one cosine per page, read by column; it
only nominates pages, which are then scored in full. With one vector per page, the mean of the
products with a question's vectors is the product with their mean, so averaging them loses nothing.

The pooled vectors are another encoder of the catalogue, named after their encoder and found in no
list. They are made from stored codes, without the model, once an encoder has so many vectors that
scoring all of them takes too long; smaller libraries never pay for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..types import Vectors
from .loaded import Part

if TYPE_CHECKING:
    from pathlib import Path

    from .files import Segment
    from .loaded import Loaded
    from .maxsim import Question
    from .segments import VectorIndex

__all__ = ["MANY", "due", "nominate", "pool", "pooled_vectors"]

MANY = 8_000_000
"""Vectors in scope from which on a first look is taken: there, scoring all of 128 numbers takes
about 0.8 CPU seconds."""

_SHARE = 0.02  # of the pages in scope are nominated,
_LEAST = 1_000  # and never fewer than this,
_TIMES = 5  # nor fewer than so many times the pages asked for
_FEW = 16


def due(rows: int, pages: int, total: int) -> bool:
    """Return whether pages of so many vectors, in an index of ``total``, are to be pooled."""
    return total > MANY and rows >= _FEW * pages


def pool(part: Part, pages: np.ndarray) -> np.ndarray:
    """Return the direction of the mean of each page's vectors, float32 ``[pages, d]``.

    Args:
        part: A segment.
        pages: Places of pages in it, int64.
    """
    pooled = np.empty((len(pages), part.rows.codes.shape[1]), np.float32)
    for n, page in enumerate(pages.tolist()):
        rows = part.rows.part(page, page + 1)
        pooled[n] = rows.row_scales() @ (rows.codes.astype(np.float32) - 128)
    lengths = np.linalg.norm(pooled, axis=1, keepdims=True)
    return np.asarray(pooled / np.where(lengths > 0, lengths, 1))


def pooled_vectors(
    folder: Path, segment: Segment | None, keys: list[int], names: tuple[str, str, int]
) -> Vectors:
    """Return the pooled vectors of pages of one segment, under a companion's names.

    Args:
        folder: Where segments lie.
        segment: Holds the pages' vectors; None for pages that have none.
        keys: The pages.
        names: The companion's name and revision, and the length of a vector.
    """
    name, revision, width = names
    if segment is None:
        nothing = np.empty((0, width), np.float32)
        return Vectors(nothing, np.zeros(len(keys) + 1, np.int64), name, revision)
    part = Part.read(folder, segment)
    order = np.argsort(part.keys, kind="stable")
    at = np.searchsorted(part.keys, np.array(keys, np.int64), sorter=order)
    return Vectors(pool(part, order[at]), np.arange(len(keys) + 1), name, revision)


def nominate(
    companion: VectorIndex,
    loaded: Loaded,
    question: Question,
    documents: frozenset[int] | None,
    limit: int,
) -> np.ndarray | None:
    """Return the places of the pages worth scoring, or None when that is nearly all of them.

    Pages that have not been pooled yet are always among them.

    Args:
        companion: The pooled vectors.
        loaded: The state of the encoder's own vectors.
        question: The question.
        documents: Serials of the documents in scope; None for all.
        limit: Pages asked for.
    """
    places = loaded.sorted_places(loaded.chosen(documents))
    found, _ = companion.estimate(question.vectors.mean(axis=0), documents)
    count = max(_LEAST, _TIMES * limit, int(_SHARE * len(places)))
    if count * 2 >= len(places) or not len(found):
        return None
    keys = loaded.keys[places]
    scores = found.scores
    if not np.array_equal(keys, found.keys):
        at = np.minimum(np.searchsorted(found.keys, keys), len(found) - 1)
        scores = np.where(found.keys[at] == keys, scores[at], np.float32(np.inf))
    # Pages that are not pooled take no other page's place, however many a kill has left.
    known = scores[scores < np.inf]
    if count >= len(known):
        return None
    least = np.partition(known, len(known) - count)[len(known) - count]
    return np.asarray(places[scores >= least])
