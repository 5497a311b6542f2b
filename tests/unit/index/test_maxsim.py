from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagetrail.index.maxsim import (
    Question,
    Rows,
    best_rows,
    float_scores,
    page_scores,
    quantise,
    row_scores,
)


def vectors(rows: int, dimension: int, seed: int = 0) -> np.ndarray:
    data = np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32)
    return data / np.linalg.norm(data, axis=1, keepdims=True)


def rows_of(data: np.ndarray, counts: list[int] | None = None) -> Rows:
    """Rows of pages of so many vectors each, one each by default, as a segment would hold them."""
    counts = counts or [1] * len(data)
    codes, scales = quantise(data, np.array(counts))
    starts = np.append(0, np.cumsum(counts)).astype(np.int64)
    common = min(counts, default=1) >= 16
    return Rows(codes, scales[starts[:-1]] if common else scales, starts, common)


@pytest.mark.parametrize(("rows", "dimension"), [(1, 3), (700, 384), (33_000, 16)])
def test_scores_are_the_cosines(rows: int, dimension: int) -> None:
    data = vectors(rows, dimension)
    held = rows_of(data)
    assert held.codes.dtype == np.uint8
    assert held.codes.min() >= 1
    for query in vectors(3, dimension, seed=1):
        scores = page_scores(Question.of(query), held)
        assert np.abs(scores - data @ query).max() < 0.01
        exact = (held.codes.astype(np.float64) - 128) * held.scales[:, None] @ query
        # The question itself keeps 14 bits; only the stored codes are coarse.
        assert np.abs(scores - exact).max() < 2e-4


COUNTS = {
    "one each": [1] * 60,
    "few": [1, 3, 2, 5, 1, 1, 7],
    "many, equal": [40] * 30,
    "many, unequal": [40, 16, 900, 33, 17],
    "both": [40, 1, 2, 300, 16, 15],
}


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("tokens", [1, 4, 5, 20, 33])
def test_late_interaction_is_the_mean_of_the_best_cosines(counts: list[int], tokens: int) -> None:
    data = vectors(sum(counts), 64)
    held = rows_of(data, counts)
    query = vectors(tokens, 64, seed=3)
    question = Question.of(query)
    expected = [
        (page @ query.T).max(axis=0).mean() for page in np.split(data, np.cumsum(counts)[:-1])
    ]
    scores = page_scores(question, held)
    assert scores.tolist() == pytest.approx(expected, abs=0.01)
    assert scores.tolist() == page_scores(question, held, integer_product=False).tolist()
    assert scores.tolist() == pytest.approx(float_scores(query, held).tolist(), abs=0.005)
    # Whatever way a page is scored, the number is the same to the last bit.
    one_by_one = [page_scores(question, held.part(n, n + 1))[0] for n in range(len(counts))]
    assert scores.tolist() == one_by_one
    cosines = row_scores(question, held)
    assert cosines.shape == (tokens, len(data))
    assert np.abs(cosines - query @ data.T).max() < 0.02


def test_both_products_are_identical() -> None:
    held = rows_of(vectors(500, 384))
    for query in vectors(4, 384, seed=2):
        fast = page_scores(Question.of(query), held)
        slow = page_scores(Question.of(query), held, integer_product=False)
        assert np.array_equal(fast, slow)


def test_a_vector_is_nearest_to_itself_and_opposite_to_its_negative() -> None:
    data = vectors(200, 384)
    held = rows_of(np.concatenate([data, -data]))
    for n in (0, 77, 199):
        scores = page_scores(Question.of(data[n]), held)
        assert scores.argmax() == n
        assert scores.argmin() == 200 + n
        assert scores[n] == pytest.approx(1, abs=0.01)


def test_zero_vectors_and_extremes() -> None:
    held = rows_of(np.zeros((2, 8), np.float32))
    assert held.scales.tolist() == [0, 0]
    assert page_scores(Question.of(np.ones(8)), held).tolist() == [0, 0]
    held = rows_of(np.eye(8, dtype=np.float32))
    assert page_scores(Question.of(np.zeros(8)), held).tolist() == [0] * 8
    # The largest codes on both sides must not overflow the 16-bit sums of old processors.
    for tokens in (1, 9):
        for width in (4096, 1024):
            held = rows_of(np.full((1, width), width**-0.5, np.float32))
            for sign in (1, -1):
                query = np.full((tokens, width), sign * width**-0.5, np.float32)
                for fast in (True, False):
                    scores = page_scores(Question.of(query), held, integer_product=fast)
                    assert scores[0] == pytest.approx(sign, abs=1e-3)
    assert page_scores(Question.of(query), rows_of(np.zeros((0, 1024)))).shape == (0,)


def test_the_vectors_of_a_page_of_many_share_a_scale() -> None:
    data = vectors(40, 32)
    _, own = quantise(data)
    _, shared = quantise(data, np.array([20, 0, 4, 16]))
    assert set(shared[:20].tolist()) == {own[:20].max()}
    assert shared[20:24].tolist() == own[20:24].tolist()
    assert set(shared[24:].tolist()) == {own[24:].max()}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=5),
        min_size=1,
        max_size=8,
    )
)
def test_best_rows_matches_a_loop(pages: list[list[tuple[int, int, int]]]) -> None:
    scores = np.array([row for page in pages for row in page], np.float32).T
    starts = np.cumsum([0, *map(len, pages)]).astype(np.int64)
    for start, page, row in zip(starts, pages, best_rows(scores, starts), strict=False):
        winners = [max(range(len(page)), key=lambda n: (page[n][t], -n)) for t in range(3)]
        most = max(winners.count(n) for n in winners)
        assert row - start == min(n for n in winners if winners.count(n) == most)
    for start, page, row in zip(starts, pages, best_rows(scores[:1], starts), strict=False):
        assert row - start == max(range(len(page)), key=lambda n: (page[n][0], -n))
