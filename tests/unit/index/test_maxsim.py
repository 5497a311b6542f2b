from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagetrail.index.maxsim import best_rows, quantise, scorer


def vectors(rows: int, dimension: int, seed: int = 0) -> np.ndarray:
    data = np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32)
    return data / np.linalg.norm(data, axis=1, keepdims=True)


@pytest.mark.parametrize(("rows", "dimension"), [(1, 3), (700, 384), (33_000, 16)])
def test_scores_are_the_cosines(rows: int, dimension: int) -> None:
    data = vectors(rows, dimension)
    codes, scales = quantise(data)
    assert codes.dtype == np.uint8
    assert codes.min() >= 1
    for query in vectors(3, dimension, seed=1):
        scores = scorer(query)(codes, scales)
        assert np.abs(scores - data @ query).max() < 0.01
        exact = (codes.astype(np.float64) - 128) * scales[:, None] @ query
        # The question itself keeps 14 bits; only the stored codes are coarse.
        assert np.abs(scores - exact).max() < 2e-4


def test_both_products_are_identical() -> None:
    codes, scales = quantise(vectors(500, 384))
    for query in vectors(4, 384, seed=2):
        fast = scorer(query)(codes, scales)
        slow = scorer(query, integer_product=False)(codes, scales)
        assert np.array_equal(fast, slow)


def test_a_vector_is_nearest_to_itself_and_opposite_to_its_negative() -> None:
    data = vectors(200, 384)
    codes, scales = quantise(np.concatenate([data, -data]))
    for n in (0, 77, 199):
        scores = scorer(data[n])(codes, scales)
        assert scores.argmax() == n
        assert scores.argmin() == 200 + n
        assert scores[n] == pytest.approx(1, abs=0.01)


def test_zero_vectors_and_extremes() -> None:
    codes, scales = quantise(np.zeros((2, 8), np.float32))
    assert scales.tolist() == [0, 0]
    assert scorer(np.ones(8, np.float32))(codes, scales).tolist() == [0, 0]
    codes, scales = quantise(np.eye(8, dtype=np.float32))
    assert scorer(np.zeros(8, np.float32))(codes, scales).tolist() == [0] * 8
    # The largest codes on both sides must not overflow the 16-bit sums of old processors.
    codes, scales = quantise(np.full((1, 4096), 1 / 64, np.float32))
    for sign in (1, -1):
        query = np.full(4096, sign / 64, np.float32)
        assert scorer(query)(codes, scales)[0] == pytest.approx(sign, abs=1e-3)
    assert scorer(query)(codes[:0], scales[:0]).shape == (0,)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=5), max_size=8))
def test_best_rows_matches_a_loop(pages: list[list[int]]) -> None:
    scores = np.array([s for page in pages for s in page], np.float32)
    starts = np.cumsum([0, *map(len, pages)])[:-1].astype(np.int64)[: len(pages)]
    best, rows = best_rows(scores, starts)
    assert best.tolist() == [max(page) for page in pages]
    assert rows.tolist() == [
        int(start) + page.index(max(page)) for start, page in zip(starts, pages, strict=True)
    ]
