"""Fusion: hand-worked numbers, and that order never matters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.errors import UsageError
from pagetrail.retrieve.fuse import fuse, reciprocal_ranks, zscores
from pagetrail.retrieve.pipeline import Search
from pagetrail.types import Part, Query

if TYPE_CHECKING:
    import random

PAGES = [f"d#p{n:04d}" for n in range(1, 9)]
tables = st.dictionaries(st.sampled_from(PAGES), st.floats(-10, 10), max_size=8)


def normal(scores, total):
    values, floor = zscores(np.array(scores, float), total)
    return values.tolist(), floor


def test_zscores_by_hand():
    # Over four pages 3, 1, 0, 0: mean 1, deviation sqrt((4 + 0 + 1 + 1) / 4).
    scores, floor = normal([3.0, 1.0], 4)
    assert scores == pytest.approx([2 / math.sqrt(1.5), 0.0])
    assert floor == pytest.approx(-1 / math.sqrt(1.5))


def test_zscores_of_negative_scores_put_silence_at_the_lowest():
    scores, floor = normal([0.5, -0.5], 3)
    assert floor == scores[1] < 0 < scores[0]


@pytest.mark.parametrize(("scores", "total"), [([], 0), ([], 5), ([2.0, 2.0], 2), ([0.1] * 7, 7)])
def test_zscores_of_equal_scores_are_zero(scores, total):
    assert normal(scores, total) == ([0.0] * len(scores), 0.0)


def test_a_total_below_the_hits_counts_the_hits():
    assert normal([1.0, 0.0], 1) == normal([1.0, 0.0], 2)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.integers(0, 40))
def test_zscores_have_mean_zero_and_deviation_one(scores, extra):
    total = len(scores) + extra
    values, floor = normal(scores, total)
    everything = values + [floor] * extra
    assert math.fsum(everything) == pytest.approx(0, abs=1e-6)
    if any(values):
        assert math.fsum(z * z for z in everything) / total == pytest.approx(1, rel=1e-6)


@given(st.floats(0.01, 100), st.lists(st.floats(0, 100), min_size=2, max_size=9))
def test_zscores_do_not_depend_on_the_scale(factor, scores):
    one, _ = normal(scores, 12)
    other, _ = normal([s * factor for s in scores], 12)
    assert one == pytest.approx(other, abs=1e-6)


def test_reciprocal_ranks():
    assert reciprocal_ranks(np.array([0.3, 0.9])).tolist() == [1 / 62, 1 / 61]
    assert reciprocal_ranks(np.array([0.3, 0.9, 0.9])).tolist() == [1 / 63, 1 / 61, 1 / 61]
    assert reciprocal_ranks(np.array([])).tolist() == []


def test_fused_scores_and_parts_by_hand(make_world, query):
    world = make_world({"a": {"d#p0001": 3.0, "d#p0002": 1.0}, "b": {"d#p0002": 1.0}}, total=4)
    ranking, trace = fuse(Search("a"), Search("b"), weights=(1, 2)).run(query, world)
    root = math.sqrt(1.5)
    third = math.sqrt(3)
    first, second = ranking.hits
    assert first.page == "d#p0002"
    assert first.score == pytest.approx(0 + 2 * third)
    assert first.parts["b"].raw == 1.0
    assert first.parts["b"].normalised == pytest.approx(third)
    assert first.via == "b"
    assert second.score == pytest.approx(2 / root - 2 / third)
    assert set(second.parts) == {"a"}
    assert [s.stage for s in trace.steps] == ["search a", "search b", "fuse zscore"]


def test_reciprocal_rank_fusion_by_hand(make_world, query):
    world = make_world({"a": {"d#p0001": 9.0, "d#p0002": 1.0}, "b": {"d#p0002": 0.3}})
    hits = fuse(Search("a"), Search("b"), method="rrf").run(query, world)[0].hits
    assert [(h.page, h.score) for h in hits] == [
        ("d#p0002", pytest.approx(1 / 62 + 1 / 61)),
        ("d#p0001", pytest.approx(1 / 61)),
    ]
    assert hits[1].parts == {"a": Part(9.0, 1 / 61)}


@given(tables, tables, tables, st.sampled_from(["zscore", "rrf"]), st.randoms())
def test_neither_the_order_of_inputs_nor_of_hits_matters(make_world, a, b, c, method, shuffler):
    channels = {"a": a, "b": b, "c": c}
    names = list(channels)
    weight = {"a": 1.0, "b": 1.5, "c": 0.3}
    reference = None
    for _ in range(3):
        shuffler.shuffle(names)
        world = make_world({n: _shuffled(channels[n], shuffler) for n in names})
        value = fuse(*map(Search, names), method=method, weights=[weight[n] for n in names])
        hits = value.run(Query("q"), world)[0].hits
        found = [(h.page, h.score, h.via, dict(h.parts)) for h in hits]
        reference = reference or found
        assert found == reference


def _shuffled(table: dict[str, float], shuffler: random.Random) -> dict[str, float]:
    items = list(table.items())
    shuffler.shuffle(items)
    return dict(items)


@given(tables, tables)
def test_every_found_page_is_ranked_once_best_first(make_world, a, b):
    world = make_world({"a": a, "b": b})
    hits = fuse(Search("a"), Search("b")).run(Query("q"), world)[0].hits
    assert sorted(h.page for h in hits) == sorted(set(a) | set(b))
    assert list(hits) == sorted(hits, key=lambda h: (-h.score, h.page))
    assert all(math.isfinite(h.score) for h in hits)


def test_the_best_block_comes_from_the_strongest_channel_that_knows_one(world, query):
    hits = fuse(Search("words"), Search("blocks")).run(query, world)[0].hits
    assert {h.page: h.block for h in hits} == {"a#p0001": None, "a#p0002": 3}


@pytest.mark.parametrize(
    "build",
    [
        lambda a, b: fuse(a),
        lambda a, b: fuse(a, 3),
        lambda a, b: fuse(a, b, method="magic"),
        lambda a, b: fuse(a, b, weights=(1,)),
        lambda a, b: fuse(a, b, weights=(1, -1)),
        lambda a, b: fuse(a, b, weights=(0, 0)),
        lambda a, b: fuse(a, b, weights=(1, math.nan)),
        lambda a, b: fuse(a, b, weights=(1, True)),
    ],
)
def test_bad_fusions_are_refused(build):
    with pytest.raises(UsageError):
        build(Search("a"), Search("b"))
