"""Which pages of a document are alike, by one vector per page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..types import Similarity

__all__ = ["alike"]

_ROWS = 1024  # rows of the table of similarities held at a time
_SAMPLE = 4_000_000  # pairs from which a quantile is taken; larger documents are sampled evenly


def alike(means: np.ndarray, rule: Similarity) -> list[list[tuple[int, float]]]:
    """Return for each page its neighbours and how similar they are, best first.

    Args:
        means: float ``[pages, dimension]``, the mean vector of each page; a page without vectors
            has a row of zeros and no neighbours.
        rule: When two pages are joined. Ties go to the page that stands first.

    Returns:
        Per page ``(row of the neighbour, similarity)``; the similarity is a cosine, -1..1, or the
        inner product of the means, as the rule says. Memory grows with pages, not their square.
    """
    vectors = np.asarray(means, np.float64)
    empty = np.asarray(~vectors.any(axis=1))
    if rule.measure == "cosine":
        vectors = vectors / np.where(empty, 1.0, np.linalg.norm(vectors, axis=1))[:, None]
    joined: list[dict[int, float]] = [{} for _ in vectors]
    rules = (rule.k, rule.theta, rule.quantile, rule.degree)
    if len(vectors) < rule.least or all(value is None for value in rules):
        return [[] for _ in vectors]
    least = _threshold(vectors, empty, rule)
    for first, block in _blocks(vectors, empty):
        for row, values in enumerate(block, first):
            for other in _nearest(values, rule.k, least):
                joined[row][other] = float(values[other])
                if rule.symmetric:
                    joined[other][row] = float(values[other])
    return [sorted(found.items(), key=lambda pair: (-pair[1], pair[0])) for found in joined]


def _blocks(vectors: np.ndarray, empty: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the table of similarities in bands of rows, -inf where no pair may be joined."""
    for first in range(0, len(vectors), _ROWS):
        block = vectors[first : first + _ROWS] @ vectors.T
        rows = np.arange(len(block))
        block[rows, first + rows] = -np.inf
        block[:, empty] = -np.inf
        block[empty[first : first + _ROWS]] = -np.inf
        yield first, block


def _nearest(values: np.ndarray, k: int | None, least: float) -> list[int]:
    """Return the columns at or above ``least``, at most ``k``, best first."""
    columns = (
        np.flatnonzero(values >= least) if least > -np.inf else np.flatnonzero(values > -np.inf)
    )
    order = np.lexsort((columns, -values[columns]))
    return [int(c) for c in columns[order[:k]]]


def _threshold(vectors: np.ndarray, empty: np.ndarray, rule: Similarity) -> float:
    """Return the least similarity that all given thresholds allow; -inf without any."""
    least = -np.inf if rule.theta is None else rule.theta
    if rule.quantile is None and rule.degree is None:
        return least
    count = len(vectors)
    thinned = max(1, -(-count * count // _SAMPLE))
    pairs = [block[::thinned][block[::thinned] > -np.inf] for _, block in _blocks(vectors, empty)]
    values = np.sort(np.concatenate(pairs)) if pairs else np.empty(0)
    if not len(values):
        return np.inf
    if rule.quantile is not None:
        least = max(least, float(np.quantile(values, rule.quantile)))
    if rule.degree is not None:
        # Each pair stands in the table twice, once from either side.
        keep = round(rule.degree * count / thinned)
        least = max(least, float(values[-keep]) if 0 < keep <= len(values) else least)
    return least
