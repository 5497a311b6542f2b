"""Pages alike: against a slow and obvious way, and by hand."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pagetrail.errors import UsageError
from pagetrail.graph.similar import alike
from pagetrail.types import Similarity

MEANS = arrays(np.int8, st.tuples(st.integers(1, 9), st.just(3)), elements=st.integers(-3, 3))


def slow(means, k, theta):
    """k nearest above a threshold, then made symmetric; pairs in Python."""
    unit = [v / np.linalg.norm(v) if v.any() else v for v in means.astype(float)]
    joined = set()
    for i, a in enumerate(unit):
        others = [(-float(a @ b), j) for j, b in enumerate(unit) if j != i and b.any() and a.any()]
        for minus, j in sorted(others)[:k]:
            if -minus >= theta:
                joined |= {(i, j), (j, i)}
    return joined


@settings(deadline=None)
@given(MEANS, st.integers(1, 5), st.sampled_from([-1.0, 0.35, 0.81]))
def test_nearest_above_a_threshold_made_symmetric(means, k, theta):
    # Equal cosines may differ in their last bit, which decides a tie: such cases are left out.
    unit = means / np.maximum(1e-9, np.linalg.norm(means.astype(float), axis=1))[:, None]
    for row in np.sort(unit @ unit.T, axis=1):
        assume(np.diff(row).min(initial=1) > 1e-9 or len(means) < 3)
    found = alike(means, Similarity(k=k, theta=theta))
    assert {(i, j) for i, row in enumerate(found) for j, _ in row} == slow(means, k, theta)
    for row in found:
        assert [w for _, w in row] == sorted((w for _, w in row), reverse=True)


def test_without_a_rule_nothing_is_joined():
    assert alike(np.eye(3), Similarity()) == [[], [], []]


def test_a_page_without_vectors_has_no_neighbours():
    found = alike(np.array([[1.0, 0], [0, 0], [1, 0.1]]), Similarity(k=2, theta=-1))
    assert [[j for j, _ in row] for row in found] == [[2], [], [0]]


def test_mean_degree_and_quantile_adapt_to_the_document():
    means = np.random.default_rng(0).normal(size=(40, 8))
    for degree in (1, 2.5, 6):
        found = alike(means, Similarity(degree=degree))
        assert sum(map(len, found)) / 40 == pytest.approx(degree, abs=0.05)
    kept = sum(map(len, alike(means, Similarity(quantile=0.9))))
    assert kept / (40 * 39) == pytest.approx(0.1, abs=0.01)


def test_products_are_of_the_means_as_they_are():
    means = np.array([[2.0, 0], [0.3, 0], [0.1, 0]])
    found = alike(means, Similarity(theta=0.4, measure="product"))
    assert [[j for j, _ in row] for row in found] == [[1], [0], []]
    assert found[0][0][1] == pytest.approx(0.6)


def test_bands_of_rows_change_nothing(monkeypatch):
    means = np.random.default_rng(1).normal(size=(50, 6))
    rule = Similarity(k=3, quantile=0.8)
    whole = alike(means, rule)
    monkeypatch.setattr("pagetrail.graph.similar._ROWS", 7)
    assert [[j for j, _ in row] for row in alike(means, rule)] == [
        [j for j, _ in row] for row in whole
    ]


@pytest.mark.parametrize(
    "rule",
    [{"k": 0}, {"k": 1.5}, {"least": 0}, {"quantile": 2}, {"degree": 0}, {"measure": "angle"}],
)
def test_senseless_rules_are_refused(rule):
    with pytest.raises(UsageError):
        Similarity(**rule)


@pytest.mark.parametrize(("pages", "joined"), [(3, 0), (4, 3)])
def test_small_documents_may_have_no_edges(pages, joined):
    found = alike(np.ones((pages, 2)), Similarity(k=5, least=4))
    assert [len(row) for row in found] == [joined] * pages
