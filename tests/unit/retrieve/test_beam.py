"""The beam beyond its published values: failing judges, graphs of every shape, the trail."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pagetrail.errors import UsageError
from pagetrail.retrieve.beam import Beam
from pagetrail.retrieve.pipeline import Search
from pagetrail.retrieve.value import from_json, to_json
from pagetrail.retrieve.weigh import Weigh
from pagetrail.types import Edge, Query, Verdict, page_id

QUERY = Query("who?")


def pages(count):
    return [page_id("a", number) for number in range(1, count + 1)]


def chain(ids):
    """Every page leads to the next one."""
    return {here: [Edge(there, "next", 1.0, "the next page")] for here, there in pairwise(ids)}


def world_of(make_world, count=8, *, said=None, edges=None, found=None):
    """Pages ranked by number, of which the search found ``found``; the judge says .5."""
    ids = pages(count)
    scores = {page: 1.0 - n / count for n, page in enumerate(ids)}
    verdicts = dict.fromkeys(ids, 0.5) | (said or {})
    return make_world(
        {"text": {page: scores[page] for page in ids[: found or count]}},
        verdicts={"grade": verdicts},
        edges=edges or {},
        total=count,
    )


def run(world, stage):
    ranking, trace = (Search("text") >> stage).run(QUERY, world)
    return ranking, trace.steps[-1]


def beam(**options):
    return Beam(**{"edges": "graph", "width": 2, "hops": 3, "rest": "keep", **options})


STAGES = [beam(), beam(rest="drop", floor=0.3), Weigh(), Weigh(top=3, floor=0.3)]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("outcome", ["failed", "unparsed"])
def test_a_judge_that_always_fails_leaves_the_ranking_as_it_was(make_world, stage, outcome):
    ids = pages(8)
    world = world_of(make_world, said=dict.fromkeys(ids, outcome), edges=chain(ids))
    before, _ = Search("text").run(QUERY, world)
    ranking, step = run(world, stage)
    assert ranking == before
    assert step.detail["outcome"] == "no_verdict"
    assert step.detail[outcome] == step.detail["asked"] != "0"
    assert step.detail["reason"] == "told to"
    assert step.calls == int(step.detail["asked"])


@pytest.mark.parametrize("stage", [beam(), Weigh()])
@pytest.mark.parametrize("outcome", ["failed", "unparsed"])
def test_one_verdict_that_fails_costs_that_page_s_verdict_only(make_world, stage, outcome):
    ids = pages(8)
    all_judged, _ = run(world_of(make_world), stage)
    ranking, step = run(world_of(make_world, said={ids[1]: outcome}), stage)
    scores = {hit.page: hit.score for hit in ranking.hits}
    assert scores.pop(ids[1]) == pytest.approx(6 / 7)  # what the search thought of it, 0..1
    assert scores == {h.page: h.score for h in all_judged.hits if h.page != ids[1]}
    assert step.detail[outcome] == "1"
    assert "outcome" not in step.detail


def test_a_failed_verdict_is_not_held_against_the_floor(make_world):
    ids = pages(4)
    said = {ids[0]: 0.0, ids[3]: "failed"}
    ranking, step = run(world_of(make_world, 4, said=said), Weigh(alpha=0.2, floor=0.3))
    # The last page has the lowest score of all, but nobody has said anything against it.
    assert [hit.page for hit in ranking.hits] == [ids[1], ids[2], ids[3]]
    assert step.detail["below_floor"] == "1"


def test_gold_further_than_the_hops_is_not_reached(make_world):
    ids = pages(8)
    world = world_of(make_world, edges=chain(ids), said={ids[7]: 1.0}, found=2)
    _, step = run(world, beam(hops=3))
    assert [visit.page for visit in step.visits] == ids[:5]
    _, step = run(world, beam(hops=6))
    assert step.visits[-1].page == ids[7]
    assert step.visits[-1].hop == 6


def test_gold_that_is_not_there_is_not_found(make_world):
    ids = pages(8)
    ranking, step = run(world_of(make_world, 7, edges=chain(ids[:7])), beam(hops=9))
    assert ids[7] not in {visit.page for visit in step.visits}
    assert ids[7] not in {hit.page for hit in ranking.hits}


def test_without_edges_only_the_seeds_are_judged(make_world):
    ranking, step = run(world_of(make_world), beam(rest="drop"))
    assert [visit.page for visit in step.visits] == pages(2)
    assert [hit.page for hit in ranking.hits] == pages(2)
    assert step.detail["by_edges"] == "0"


def test_in_a_clique_every_page_is_judged_once(make_world):
    ids = pages(8)
    edges = {a: [Edge(b, "similar", 1.0, "alike") for b in ids if b != a] for a in ids}
    _, step = run(world_of(make_world, edges=edges), beam())
    assert sorted(visit.page for visit in step.visits) == ids
    assert {visit.hop for visit in step.visits} == {0, 1}


def test_the_trail_tells_how_each_page_was_reached(make_world):
    ids = pages(4)
    edges = {ids[0]: [Edge(ids[3], "reference", 0.7, "see Table 2")]}
    world = world_of(make_world, 4, edges=edges, said={ids[3]: 0.9}, found=2)
    ranking, step = run(world, beam(width=1, alpha=0.25))
    seed, last = step.visits
    assert (seed.page, seed.edge, seed.origin, seed.semantic) == (ids[0], "seed", "", 1.0)
    assert (last.page, last.edge, last.origin) == (ids[3], "reference", ids[0])
    assert (last.why, last.hop, last.semantic) == ("see Table 2", 1, None)
    assert last.score == pytest.approx(0.75 * 0.9)
    reached = next(hit for hit in ranking.hits if hit.page == ids[3])
    assert reached.via == "see Table 2"
    assert reached.verdicts["grade"].probability == 0.9
    assert reached.parts["beam"].raw == last.score


def test_grades_are_wanted_and_not_given(make_world):
    with pytest.raises(UsageError, match="no grades"):
        run(world_of(make_world), beam(relevance="grade"))


def test_a_grade_and_a_probability_may_differ(make_world):
    ids = pages(2)
    said = {page: Verdict(page, "judged", probability=0.9, grade=2) for page in ids}
    world = world_of(make_world, 2, said=said)
    assert run(world, Weigh(alpha=0, relevance="grade"))[0].hits[0].score == 0.25
    assert run(world, Weigh(alpha=0))[0].hits[0].score == 0.9


def test_an_empty_ranking_stays_empty(make_world):
    world = make_world({"text": {}}, verdicts={"grade": {}})
    for stage in (beam(), Weigh()):
        ranking, step = run(world, stage)
        assert ranking.hits == ()
        assert step.detail["asked"] == "0"
        assert "outcome" not in step.detail


def test_they_are_values():
    value = Search("text") >> Beam("grade", 2, 1, degree=4) >> Weigh("text", 5, floor=0.1) % 3
    assert from_json(to_json(value)) == value
    assert 'Beam("grade", width=2, hops=1, degree=4)' in str(value)
    assert 'Weigh("text", top=5, floor=0.1)' in str(value)
    assert "alike by colpali (the 5 nearest, 4 per page on average)" in value.explain()
    assert "that the page graph joins to them" in beam().explain()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Beam(width=0),
        lambda: Beam(hops=-1),
        lambda: Beam(hops=True),
        lambda: Beam(alpha=1.1),
        lambda: Beam(floor=-0.1),
        lambda: Beam(k=0),
        lambda: Beam(theta=float("nan")),
        lambda: Beam(quantile=2.0),
        lambda: Beam(edges="all"),
        lambda: Beam(measure="angle"),
        lambda: Beam(relevance="mood"),
        lambda: Beam(rest="burn"),
        lambda: Beam(channel=""),
        lambda: Beam(judge=""),
        lambda: Weigh(top=-1),
        lambda: Weigh(relevance="mood"),
        lambda: Weigh(alpha="much"),
    ],
)
def test_values_out_of_range_are_refused(make):
    with pytest.raises(UsageError):
        make()
