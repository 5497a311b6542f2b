"""The algebra: what the operators mean and what they refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.errors import ModelError, NotFoundError, UsageError
from pagetrail.retrieve.boost import Boost
from pagetrail.retrieve.fuse import fuse
from pagetrail.retrieve.pipeline import Chain, Cut, Pipeline, Search, Sum, Then, Transform
from pagetrail.types import Part, Query, Ranking, Trace

A, B, C = Search("words"), Search("meaning"), Search("blocks")


def order(pipeline, world):
    return [h.page for h in pipeline.run(Query("q"), world)[0].hits]


def test_search_asks_the_channel_and_names_its_part(world, query):
    ranking, trace = Search("words", depth=7).run(query, world)
    assert [(h.page, h.score) for h in ranking.hits] == [("a#p0001", 3.0), ("a#p0002", 1.0)]
    assert ranking.hits[0].parts == {"words": Part(3.0, 3.0)}
    assert ranking.hits[0].via == "words"
    assert world.asked == [("words", 7)]
    (step,) = trace.steps
    assert (step.stage, step.calls, step.detail["pages"]) == ("search words", 0, "2")
    assert step.fingerprint == Search("words", depth=7).fingerprint


def test_then_and_plus_are_associative():
    assert (A >> Cut(5)) >> Cut(3) == A >> (Cut(5) >> Cut(3)) == Then(A, (Cut(5), Cut(3)))
    assert (A + B) + C == A + (B + C) == Sum((A, B, C))
    assert hash((A + B) + C) == hash(A + (B + C))


def test_nesting_by_hand_is_flattened_too():
    assert Sum((A, Sum((B, C)))) == A + B + C
    assert Then(Then(A, (Cut(5),)), (Chain((Cut(3), Cut(2))),)) == A % 5 % 3 % 2
    assert Chain((Chain((Cut(3),)), Cut(2))) == Cut(3) >> Cut(2) == Cut(3) % 2


def test_stages_can_be_joined_before_a_search_is_there(world):
    tail = Boost(Search("pointer"), 9) % 1
    assert order(A >> tail, world) == ["a#p0004"]
    assert (A % 60) >> tail == A % 60 >> Boost(Search("pointer"), 9) % 1


def test_sum_counts_a_missing_page_as_zero(world, query):
    hits = (A + B).run(query, world)[0].hits
    scores = {h.page: h.score for h in hits}
    assert scores == {"a#p0001": 3.2, "a#p0002": 1.5, "a#p0003": 0.4}
    assert hits[0].parts == {"words": Part(3.0, 3.0), "meaning": Part(0.2, 0.2)}


def test_cut_keeps_the_best_and_ties_go_by_page_id(make_world):
    world = make_world({"words": {f"a#p{n:04d}": 1.0 for n in (7, 3, 5, 1)}})
    assert order(A % 2, world) == ["a#p0001", "a#p0003"]


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.dictionaries(
        st.sampled_from([f"d#p{n:04d}" for n in range(1, 8)]), st.floats(-5, 5), max_size=7
    ),
)
def test_two_cuts_are_the_smaller_one(make_world, m, n, scores):
    world = make_world({"words": scores})
    assert order(A % m % n, world) == order(A % min(m, n), world) == order(A, world)[: min(m, n)]


def test_boost_adds_and_brings_in_what_was_missing(world, query):
    ranking, trace = (B >> Boost(Search("pointer"), 0.3)).run(query, world)
    by_page = {h.page: h for h in ranking.hits}
    assert by_page["a#p0002"].score == 0.5
    entered = by_page["a#p0004"]
    assert entered.score == pytest.approx(0.2 + 0.3)  # the lowest score, and its bonus
    assert entered.parts == {"pointer": Part(1.0, 0.3)}
    assert [s.stage for s in trace.steps] == [
        "search meaning",
        "search pointer",
        "boost by pointer",
    ]


def test_boost_keeps_what_is_known_of_a_page(make_world, query):
    world = make_world({"blocks": {"a#p0001": 2.0}, "pointer": {"a#p0001": 1.0}})
    (hit,) = (C >> Boost(Search("pointer"), 4)).run(query, world)[0].hits
    assert (hit.score, hit.via, hit.block) == (6.0, "pointer, blocks", 3)
    assert set(hit.parts) == {"blocks", "pointer"}


def test_boost_without_a_find_changes_nothing(world, query):
    assert (A >> Boost(Search("nothing"), 4)).run(query, world)[0] == A.run(query, world)[0]
    assert order(Search("nothing") >> Boost(Search("pointer")), world) == ["a#p0004"]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_that_are_no_numbers_are_refused(make_world, query, bad):
    world = make_world({"words": {"a#p0001": 1.0, "a#p0002": bad}})
    with pytest.raises(ModelError, match="'words' gave page a#p0002"):
        A.run(query, world)


def test_unknown_channel_is_the_librarys_error(world, query):
    with pytest.raises(NotFoundError):
        fuse(A, Search("colpali")).run(query, world)


@pytest.mark.parametrize(
    "build",
    [
        lambda: A >> B,
        lambda: A >> 3,
        lambda: Cut(3) >> A,
        lambda: A + 3,
        lambda: A + Cut(3),
        lambda: A % 0,
        lambda: A % 2.5,
        lambda: A % True,
        lambda: Search(""),
        lambda: Search("a", depth=0),
        lambda: Sum((A,)),
        lambda: Sum([A, B]),
        lambda: Then(A, ()),
        lambda: Then(Cut(3), (Cut(3),)),
        lambda: Boost(Cut(3), 1),
        lambda: Boost(A, math.inf),
        lambda: Boost(A, "3"),
    ],
)
def test_what_makes_no_sense_is_refused(build):
    with pytest.raises(UsageError):
        build()


def test_explain_reads_as_steps_and_str_as_the_algebra():
    value = fuse(A, B, weights=(1, 1.5)) >> Boost(Search("pointer"), 6) >> Cut(50)
    assert value.explain().splitlines() == [
        "fuse by z-scores, weights 1, 1.5",
        "  search words, at most 200 pages",
        "  search meaning, at most 200 pages",
        "then add 6 times the score of: search pointer, at most 200 pages",
        "then keep the best 50",
    ]
    assert str(A % 3) == '(Search("words") % 3)'
    assert str(A + B) == '(Search("words") + Search("meaning"))'
    assert eval(str(value), {"fuse": fuse, "Search": Search, "Boost": Boost, "Cut": Cut}) == value


def test_the_same_value_gives_the_same_result(world, query):
    value: Pipeline = fuse(A, B + C) % 2
    assert value.run(query, world)[0] == value.run(query, world)[0]


@dataclass(frozen=True)
class OnlyEven(Transform):
    """A stage that looks at single hits, as one outside this package would."""

    def run(self, query, ranking, resources):
        hits = [h for h in ranking.hits if int(h.page[-1]) % 2 == 0]
        return Ranking.of(query, hits), Trace()


def test_a_stage_that_works_on_hits_fits_anywhere(world, query):
    assert order(A >> OnlyEven(), world) == ["a#p0002"]
    assert order(B >> OnlyEven() >> Boost(Search("pointer"), 9) >> Cut(1), world) == ["a#p0004"]
    ranking, _ = fuse(B >> OnlyEven(), A).run(query, world)
    by_page = {h.page: h for h in ranking.hits}
    assert by_page["a#p0002"].parts["meaning"].raw == 0.5
    assert "meaning" not in by_page["a#p0001"].parts


def test_hits_and_columns_give_the_same(world, query):
    tail = Boost(Search("pointer"), 0.3) % 2
    direct = (fuse(A, B) >> tail).run(query, world)[0]
    stepwise = tail.run(query, fuse(A, B).run(query, world)[0], world)[0]
    assert [(h.page, h.score, h.block) for h in direct.hits] == [
        (h.page, h.score, h.block) for h in stepwise.hits
    ]


def test_trim_asks_for_what_is_asked_alone(world):
    heard = []
    find = world.find
    world.find = lambda channel, query, limit: (heard.append(query.text), find("words", query, 9))[
        1
    ]
    question = Query("How many? Answer in int format.")
    (Search("words") + Search("meaning", trim=True)).run(question, world)
    assert heard == [question.text, "How many?"]
