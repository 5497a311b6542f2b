"""Several encoders as one: the exact weighted sum of their scores over every page in scope.

For encoders of one vector per page this is one product over concatenated, weighted vectors, taken
apart so that each encoder's vectors stay where they are: the sum over encoders of weight times
cosine. No channel is cut off before the sum.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UsageError
from ..ports import Blend, Found
from .segments import top, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .segments import VectorIndex

__all__ = ["Ensemble"]


class Ensemble:
    """Vectors of several encoders of one library, searched together.

    Args:
        indexes: One per encoder, of one vector or many per page.

    Raises:
        UsageError: There is none, or two are of one channel.
    """

    def __init__(self, indexes: Sequence[VectorIndex]) -> None:
        self._indexes = list(indexes)
        names = [index.channel for index in self._indexes]
        if not names or len(set(names)) < len(names):
            raise UsageError("an ensemble needs at least one encoder, and each only once")

    def search(
        self,
        queries: Sequence[np.ndarray],
        weights: Sequence[float],
        *,
        limit: int,
        documents: frozenset[int] | None = None,
    ) -> Blend:
        """Return the pages with the highest weighted sums of scores.

        A page that has no vectors of an encoder counts 0 there. `Blend.parts` has the scores of
        each encoder, without weights, by `VectorIndex.channel`.

        Args:
            queries: One per encoder, float32 ``[d]`` or ``[q, d]`` with the encoder's d.
            weights: One per encoder.
            limit: Most pages to return.
            documents: Serials of the documents that may appear; None for all.

        Raises:
            UsageError: The numbers of queries, weights and encoders differ, or a query has another
                shape than its encoder's.
        """
        if not len(queries) == len(weights) == len(self._indexes):
            raise UsageError("an ensemble needs one query and one weight per encoder")
        channels = list(zip(self._indexes, queries, weights, strict=True))
        parts = [index.estimate(query, documents) for index, query, _ in channels]
        keys = _union([part.keys for part, _ in parts])
        if limit < 1 or not len(keys):
            return Blend(
                Found.nothing(), {i.channel: np.empty(0, np.float32) for i, _, _ in channels}
            )
        columns = [_spread(part, keys) for part, _ in parts]
        slack = sum(abs(weight) * off for (_, off), weight in zip(parts, weights, strict=True))
        if slack:
            near = within(_sum(columns, weights), limit, slack)
            keys = keys[near]
            columns = [
                index.exact(query, keys) if off else column[near]
                for (index, query, _), (_, off), column in zip(
                    channels, parts, columns, strict=True
                )
            ]
        total = _sum(columns, weights)
        best = top(keys, total, limit)
        found = Found(keys[best], total[best], np.full(len(best), -1, np.int32))
        names = [index.channel for index in self._indexes]
        return Blend(found, {n: column[best] for n, column in zip(names, columns, strict=True)})


def _sum(columns: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    total = np.zeros(len(columns[0]), np.float32)
    for column, weight in zip(columns, weights, strict=True):
        total += np.float32(weight) * column
    return total


def _union(columns: list[np.ndarray]) -> np.ndarray:
    """Return all keys, rising; the columns rise as well and are mostly equal."""
    return reduce(lambda a, b: a if np.array_equal(a, b) else np.union1d(a, b), columns)


def _spread(found: Found, keys: np.ndarray) -> np.ndarray:
    """Return scores in the order of all keys, 0 where there is none."""
    if len(found) == len(keys):
        return found.scores
    scores = np.zeros(len(keys), np.float32)
    scores[np.searchsorted(keys, found.keys)] = found.scores
    return scores
