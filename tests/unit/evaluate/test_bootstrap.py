"""Intervals by cluster bootstrap."""

from __future__ import annotations

import numpy as np
import pytest

from pagetrail.evaluate.bootstrap import interval


def test_values_that_are_all_equal_have_no_width():
    found = interval([0.5] * 6, list("aabbcc"))
    assert (found.mean, found.low, found.high) == (0.5, 0.5, 0.5)


def test_whole_clusters_are_drawn():
    """Twenty questions on two documents know no more than two questions do."""
    alike = interval([0.0] * 10 + [1.0] * 10, ["a"] * 10 + ["b"] * 10)
    apart = interval([0.0] * 10 + [1.0] * 10, list(range(20)))
    assert (alike.low, alike.high) == (0.0, 1.0)
    assert 0.2 < apart.low < apart.high < 0.8


def test_large_clusters_weigh_more():
    """Of two clusters of sizes 1 and 3, three draws in four hold the larger one."""
    found = interval([1.0, 0.0, 0.0, 0.0], ["a", "b", "b", "b"], draws=4000, level=0.4)
    # Means of draws: 1 (a quarter), .25 (a half), 0 (a quarter).
    assert (found.low, found.high) == (0.25, 0.25)
    assert found.mean == 0.25


def test_it_holds_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(3)
    hits = 0
    for trial in range(100):
        means = rng.normal(size=40)
        values = np.repeat(means, 3) + rng.normal(size=120) * 0.1
        found = interval(values, np.repeat(np.arange(40), 3).tolist(), draws=400, seed=trial)
        hits += found.low <= 0 <= found.high
    assert 86 <= hits <= 100


def test_a_seed_settles_it():
    values, clusters = np.arange(60.0) ** 1.7, [n // 2 for n in range(60)]
    assert interval(values, clusters, seed=4) == interval(values, clusters, seed=4)
    assert interval(values, clusters, seed=4) != interval(values, clusters, seed=5)
    assert str(interval([1.0], ["a"])) == "+1.000 (+1.000..+1.000)"


@pytest.mark.parametrize(("values", "clusters"), [([], []), ([1.0], ["a", "b"])])
def test_every_value_needs_a_cluster(values, clusters):
    with pytest.raises(ValueError, match="one each is needed"):
        interval(values, clusters)
