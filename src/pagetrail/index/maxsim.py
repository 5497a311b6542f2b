"""Exact late interaction (MaxSim) over int8 vectors: one integer product, the same everywhere.

A page's score is the mean, over a question's vectors, of the largest cosine with one of the page's
vectors [1], so it lies in -1..1 whatever the encoder; with one vector on both sides it is their
cosine.

A stored vector is ``scale * (code - 128)`` with codes in 1..255. Each of a question's vectors is
one int8 column. Processors without 8-bit dot products add pairs of products in 16 bits, so two
neighbours in a column are at most 128 together: ``255 * 128`` still fits. The product runs in steps
of eight columns, so a question of few vectors gets a second column for each, which holds what the
first, within +-63, leaves over, at no cost.

[1] O. Khattab, M. Zaharia: ColBERT, SIGIR 2020, equation 3, divided by the number of vectors.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import Self

import numpy as np

from . import graphs

__all__ = ["Question", "Rows", "best_rows", "float_scores", "page_scores", "quantise", "row_scores"]

_ZERO = 128
_LIMIT = 63
_STEP = 8  # columns that cost as much as one
_RESULTS = 524_288  # numbers of one product, which then stay in the cache
_COMMON = 16  # vectors of a page from which on they share one scale


@dataclass(frozen=True, slots=True)
class Question:
    """A question's vectors and what the integer product needs of them.

    Attributes:
        vectors: float32 ``[q, d]``.
        columns: int8 ``[d, c]``, c a multiple of eight; columns from q on hold the rests, or zeros.
        steps: float32 ``[q]``, what one unit of a (first) column is worth.
        doubled: Whether there are columns with rests.
    """

    vectors: np.ndarray
    columns: np.ndarray
    steps: np.ndarray
    doubled: bool

    @classmethod
    def of(cls, query: np.ndarray) -> Self:
        """Prepare a question, float ``[d]`` or ``[q, d]`` of unit rows."""
        vectors = np.atleast_2d(np.asarray(query, np.float32))
        sizes = np.abs(vectors)
        doubled = 2 * len(vectors) <= _STEP
        if doubled:
            steps = sizes.max(axis=1, initial=0.0) / np.float32(_LIMIT)
        else:
            # Both numbers of a pair seldom are large, so their sum allows finer steps.
            even = np.pad(sizes, ((0, 0), (0, sizes.shape[1] % 2)))
            steps = (even[:, ::2] + even[:, 1::2]).max(axis=1) / np.float32(2 * _LIMIT + 1)
            steps = np.maximum(steps, sizes.max(axis=1) / np.float32(2 * _LIMIT + 1))
        steps[steps == 0] = 1
        exact = vectors / steps[:, None]
        parts = [np.rint(exact)]
        if doubled:
            parts.append(np.rint((exact - parts[0]) * (2 * _LIMIT)))
        rows = np.concatenate(parts)
        columns = np.zeros((vectors.shape[1], -(-len(rows) // _STEP) * _STEP), np.int8)
        columns[:, : len(rows)] = rows.T
        return cls(vectors, columns, steps, doubled)


@dataclass(frozen=True, slots=True)
class Rows:
    """Stored vectors of some pages.

    Attributes:
        codes: uint8 ``[n, d]``, may be memory-mapped.
        scales: float32, ``[n]``, or ``[pages]`` when ``common``.
        starts: int64 ``[pages + 1]``; page p owns rows ``starts[p]:starts[p + 1]``, at least one.
        common: Whether the vectors of a page share one scale.
    """

    codes: np.ndarray
    scales: np.ndarray
    starts: np.ndarray
    common: bool

    def part(self, first: int, last: int) -> Rows:
        """Return pages ``first`` to ``last - 1``."""
        a, b = int(self.starts[first]), int(self.starts[last])
        scales = self.scales[first:last] if self.common else self.scales[a:b]
        return Rows(self.codes[a:b], scales, self.starts[first : last + 1] - a, self.common)

    def row_scales(self) -> np.ndarray:
        """Return float32 ``[n]``."""
        if not self.common or len(self.scales) == len(self.codes):
            return self.scales
        return np.repeat(self.scales, np.diff(self.starts))

    def means(self) -> np.ndarray:
        """Return the mean of each page's vectors, float32 ``[pages, d]``, not normalised."""
        values = self.codes.astype(np.float32) - 128
        values *= self.row_scales()[:, None]
        sums = np.add.reduceat(values, self.starts[:-1])
        return np.asarray(sums / np.diff(self.starts)[:, None].astype(np.float32))


def quantise(
    vectors: np.ndarray, counts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return codes (uint8, ``[n, d]``) and scales (float32, ``[n]``) of float vectors ``[n, d]``.

    The error of each number is at most half a scale; a zero vector gets scale 0. The vectors of a
    page of many share one scale: then the largest product is known before it is scaled, and since
    all are of unit length little is lost.

    Args:
        vectors: The vectors of pages, one page after the other.
        counts: How many each page has; None for a scale of its own for every vector.
    """
    vectors = np.asarray(vectors, np.float32)
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    if counts is not None and len(vectors):
        held = counts[counts > 0]
        most = np.maximum.reduceat(largest, np.cumsum(held) - held)
        largest = np.where(np.repeat(held, held) >= _COMMON, np.repeat(most, held), largest)
    scales = (largest / 127).astype(np.float32)
    steps = np.where(scales > 0, scales, 1).astype(np.float32)[:, None]
    return (np.rint(vectors / steps) + _ZERO).astype(np.uint8), scales


def page_scores(question: Question, rows: Rows, *, integer_product: bool = True) -> np.ndarray:
    """Return the scores of pages, float32 ``[pages]`` in -1..1.

    Args:
        question: From `Question.of`.
        rows: Their vectors.
        integer_product: Use ONNX Runtime; otherwise numpy, slower with identical results.
    """
    pages = len(rows.starts) - 1
    scores = np.empty(pages, np.float32)
    at = 0
    while at < pages:
        most = int(rows.starts[at]) + _RESULTS // question.columns.shape[1]
        end = max(int(np.searchsorted(rows.starts, most, "right")) - 1, at + 1)
        best = _best(question, rows.part(at, end), integer_product=integer_product)
        scores[at:end] = (best * question.steps).sum(axis=1) / np.float32(len(question.steps))
        at = end
    return np.clip(scores, -1.0, 1.0, out=scores)


def row_scores(question: Question, rows: Rows, *, integer_product: bool = True) -> np.ndarray:
    """Return the cosine of every vector of a question with every row, float32 ``[q, n]``."""
    product = graphs.product if integer_product else _numpy_product
    scales = rows.row_scales()
    scores = np.empty((len(question.steps), len(rows.codes)), np.float32)
    chunk = _RESULTS // question.columns.shape[1]
    for at in range(0, len(rows.codes), chunk):
        values = _values(question, product(rows.codes[at : at + chunk], question.columns))
        values *= scales[at : at + chunk, None]
        scores[:, at : at + chunk] = (values * question.steps).T
    return np.clip(scores, -1.0, 1.0, out=scores)


def float_scores(query: np.ndarray, rows: Rows, originals: np.ndarray | None = None) -> np.ndarray:
    """Return the scores of pages in plain floating point, for checking: float32 ``[pages]``.

    Args:
        query: float ``[d]`` or ``[q, d]``.
        rows: Their vectors.
        originals: float ``[n, d]`` to use in place of the codes.
    """
    vectors = np.atleast_2d(np.asarray(query, np.float32))
    scores = np.empty(len(rows.starts) - 1, np.float32)
    for page in range(len(scores)):
        part = rows.part(page, page + 1)
        held = (part.codes.astype(np.float32) - _ZERO) * part.row_scales()[:, None]
        if originals is not None:
            held = originals[rows.starts[page] : rows.starts[page + 1]].astype(np.float32)
        scores[page] = (held @ vectors.T).max(axis=0).mean()
    return scores


def best_rows(scores: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return for each page its row that is best for most of the question's vectors, int64.

    The first of several wins, on both counts.

    Args:
        scores: float32 ``[q, n]``, from `row_scores`.
        starts: int64 ``[pages + 1]``.

    >>> best_rows(np.array([[.1, .5, .2, .7], [.1, .5, .9, .7]]), np.array([0, 2, 4])).tolist()
    [1, 2]
    """
    if len(scores) == 1:
        best = np.maximum.reduceat(scores[0], starts[:-1]) if len(starts) > 1 else scores[0]
        hits = np.flatnonzero(scores[0] == np.repeat(best, np.diff(starts)))
        return np.asarray(hits[np.searchsorted(hits, starts[:-1])])
    rows = np.empty(len(starts) - 1, np.int64)
    for page, (first, last) in enumerate(itertools.pairwise(starts.tolist())):
        votes = np.bincount(scores[:, first:last].argmax(axis=1))
        rows[page] = first + votes.argmax()
    return rows


def threads() -> int:
    """Return how many threads a scan of much may use."""
    return min(4, len(os.sched_getaffinity(0)))


def _best(question: Question, rows: Rows, *, integer_product: bool) -> np.ndarray:
    """Return per page and vector of the question the largest product, scaled: ``[pages, q]``."""
    counts = np.diff(rows.starts)
    columns, pages = question.columns, len(counts)
    if rows.common and not question.doubled:
        if integer_product and pages * counts[0] == len(rows.codes) and (counts == counts[0]).all():
            largest = graphs.best(rows.codes, columns, pages)
        else:
            product = graphs.product if integer_product else _numpy_product
            largest = np.maximum.reduceat(product(rows.codes, columns), rows.starts[:-1], axis=0)
        scaled: np.ndarray = _values(question, largest) * rows.scales[:, None]
        return scaled
    product = graphs.product if integer_product else _numpy_product
    values = _values(question, product(rows.codes, columns))
    values *= rows.row_scales()[:, None]
    return np.maximum.reduceat(values, rows.starts[:-1], axis=0)


def _values(question: Question, sums: np.ndarray) -> np.ndarray:
    """Return sums of the integer product in units of the question's steps, float32 ``[n, q]``."""
    count = len(question.steps)
    if not question.doubled:
        return sums[:, :count].astype(np.float32)
    exact = sums[:, :count] + sums[:, count : 2 * count] / (2.0 * _LIMIT)
    return np.asarray(exact, np.float32)


def _numpy_product(codes: np.ndarray, columns: np.ndarray) -> np.ndarray:
    # float32 holds sums below 2 ** 24 exactly, and then the result is the integer one.
    kind = np.dtype(np.float32 if codes.shape[1] * 127 * _LIMIT < 2**24 else np.float64)
    centred = np.subtract(codes, _ZERO, dtype=kind)
    return np.asarray(np.rint(centred @ columns.astype(kind)), np.int32)
