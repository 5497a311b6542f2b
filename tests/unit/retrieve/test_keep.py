"""As many pages as the scores call for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.errors import UsageError
from pagetrail.retrieve.keep import Keep, mixture_count
from pagetrail.retrieve.pipeline import Search
from pagetrail.retrieve.value import from_json, to_json
from pagetrail.types import Query, page_id


def count(make_world, scores, stage):
    world = make_world({"text": {page_id("a", n + 1): s for n, s in enumerate(scores)}})
    ranking, trace = (Search("text") >> stage).run(Query("?"), world)
    assert trace.steps[-1].detail["pages"] == str(len(ranking.hits))
    assert [hit.score for hit in ranking.hits] == sorted(scores, reverse=True)[: len(ranking.hits)]
    return len(ranking.hits)


@pytest.mark.parametrize(
    ("scores", "value", "expected"),
    [
        ([0.9, 0.05, 0.05], 0.9, 1),
        ([0.5, 0.4, 0.1], 0.9, 2),
        ([0.5, 0.4, 0.1], 0.91, 3),
        ([0.2, 0.2, 0.2, 0.2], 1.0, 4),
        ([0.0, 0.0], 0.9, 1),
        ([0.7], 0.1, 1),
    ],
)
def test_until_a_share_of_the_probability_is_held(make_world, scores, value, expected):
    assert count(make_world, scores, Keep("mass", value)) == expected


def test_mass_wants_probabilities(make_world):
    with pytest.raises(UsageError, match="no probabilities"):
        count(make_world, [3.0, 1.0], Keep("mass"))


def test_at_least_and_at_most(make_world):
    scores = [0.9, 0.05, 0.03, 0.02]
    assert count(make_world, scores, Keep("mass", 0.5, least=3)) == 3
    assert count(make_world, scores, Keep("mass", 1.0, most=2)) == 2
    assert count(make_world, [], Keep("mass", least=3)) == 0


def test_a_floor_may_leave_the_least(make_world):
    assert count(make_world, [5.0, 3.0, 1.0], Keep("floor", 2.5)) == 2
    assert count(make_world, [5.0, 3.0, 1.0], Keep("floor", 9.0)) == 1


def test_what_stands_out_is_kept(make_world):
    scores = [0.93, 0.9, 0.88, 0.2, 0.18, 0.17, 0.15, 0.12, 0.1]
    assert count(make_world, scores, Keep("mixture")) == 3
    assert mixture_count(np.array([0.9, 0.2, 0.19, 0.18, 0.17])) == 1


def test_equal_scores_do_not_stand_out():
    assert mixture_count(np.full(5, 0.3)) == 5
    assert mixture_count(np.array([0.9, 0.1])) == 2


@given(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=30))
def test_a_mixture_keeps_some_and_does_not_mind_the_scale(values):
    scores = np.sort(np.array(values, float))[::-1]
    kept = mixture_count(scores)
    assert 1 <= kept <= len(scores)
    # A power of two changes no digit, so nothing is rounded differently.
    assert mixture_count(4 * scores) == kept


def test_it_is_a_value():
    value = Search("text") >> Keep("mass", 0.8, most=5)
    assert from_json(to_json(value)) == value
    assert str(Keep("mass", 0.8, most=5)) == 'Keep("mass", value=0.8, most=5)'
    assert "until they hold 80% of the probability" in value.explain()


@pytest.mark.parametrize(
    "options",
    [
        {"by": "luck"},
        {"value": 0.0},
        {"value": 1.1},
        {"least": 0},
        {"least": 5, "most": 4},
        {"by": "floor", "value": float("inf")},
    ],
)
def test_values_out_of_range_are_refused(options):
    with pytest.raises(UsageError):
        Keep(**options)
