"""The judged walk: which pages it judges, what it makes of the verdicts, when it stops."""

from __future__ import annotations

import pytest

from pagetrail.errors import UsageError
from pagetrail.retrieve import walk as walking
from pagetrail.retrieve.frontier import FEATURES
from pagetrail.retrieve.pipeline import Search
from pagetrail.retrieve.value import from_json, to_json
from pagetrail.retrieve.walk import Chances, Walk
from pagetrail.types import Edge, Query, Verdict, page_id

QUERY = Query("who?")


def pages(count, document="a"):
    return [page_id(document, number) for number in range(1, count + 1)]


def edges_between(*pairs, kind="reference", weight=1.0):
    found = {}
    for source, target in pairs:
        found.setdefault(source, []).append(Edge(target, kind, weight, f"see {target}"))
        found.setdefault(target, []).append(Edge(source, kind, weight, f"see {source}"))
    return found


def world_of(make_world, count=10, *, gold=(), said=None, edges=None, total=None):
    """A document whose pages are ranked by their number; the judge knows the gold."""
    ids = pages(count)
    verdicts = {page: float(page in gold) for page in pages(count + 30)} | (said or {})
    scores = {page: 1.0 - n / count for n, page in enumerate(ids)}
    return make_world(
        {"text": scores}, verdicts={"grade": verdicts}, edges=edges or {}, total=total or count
    )


@pytest.fixture
def plain(monkeypatch):
    """Chances that are easy to follow: down the ranking, and along edges from what is good."""
    weights = {"rank": -1.0, "to_reference": 5.0}
    monkeypatch.setattr(walking, "packaged", lambda: Chances(weights, (0.0, 1.0, 0.0, 0.0)))


def run(world, **options):
    stage = Walk(**{"batch": 1, **options})
    ranking, trace = (Search("text") >> stage).run(QUERY, world)
    return ranking, trace.steps[-1]


def judged(step):
    return [visit.page for visit in step.visits]


@pytest.mark.usefixtures("plain")
def test_without_edges_it_judges_down_the_ranking(make_world):
    ids = pages(10)
    world = world_of(make_world, gold={ids[2], ids[7]})
    ranking, step = run(world, budget=4)
    assert judged(step) == ids[:4]
    assert [hit.page for hit in ranking.hits][:1] == [ids[2]]
    # Pages judged to hold nothing stand behind those that nobody has looked at.
    assert [hit.page for hit in ranking.hits][-3:] == [ids[0], ids[1], ids[3]]
    assert step.detail["outcome"] == "budget_spent"
    assert {visit.edge for visit in step.visits} == {"seed"}


@pytest.mark.usefixtures("plain")
def test_an_edge_from_evidence_is_followed_at_once(make_world):
    ids = pages(10)
    edges = edges_between((ids[1], ids[8]))
    ranking, step = run(world_of(make_world, gold={ids[1], ids[8]}, edges=edges), budget=3)
    assert judged(step) == [ids[0], ids[1], ids[8]]
    last = step.visits[-1]
    assert (last.edge, last.origin, last.hop) == ("reference", ids[1], 1)
    assert last.why == f"see {ids[8]}"
    found = {hit.page: hit for hit in ranking.hits[:2]}
    assert set(found) == {ids[1], ids[8]}
    assert found[ids[8]].via == f"text, see {ids[8]}, from page 2"
    assert found[ids[8]].verdicts["grade"].probability == 1.0


@pytest.mark.usefixtures("plain")
def test_an_edge_from_a_page_without_evidence_is_not(make_world):
    ids = pages(10)
    edges = edges_between((ids[1], ids[8]))
    _, step = run(world_of(make_world, edges=edges), budget=3)
    assert judged(step) == ids[:3]


@pytest.mark.usefixtures("plain")
def test_a_page_that_the_search_did_not_find_is_reached(make_world):
    ids, beyond = pages(3), page_id("a", 20)
    edges = edges_between((ids[0], beyond))
    ranking, step = run(world_of(make_world, 3, gold={ids[0], beyond}, edges=edges), budget=2)
    assert judged(step) == [ids[0], beyond]
    assert step.visits[1].semantic is None
    assert {hit.page for hit in ranking.hits[:2]} == {ids[0], beyond}
    assert step.detail["by_edges"] == "1"


@pytest.mark.usefixtures("plain")
def test_gold_that_nothing_leads_to_is_not_reached(make_world):
    ids, beyond = pages(3), page_id("a", 20)
    ranking, step = run(world_of(make_world, 3, gold={beyond}), budget=30)
    assert judged(step) == ids
    assert step.detail["outcome"] == "all_judged"
    assert beyond not in {hit.page for hit in ranking.hits}


@pytest.mark.usefixtures("plain")
def test_a_clique_is_judged_once_each(make_world):
    ids = pages(6)
    edges = edges_between(*[(a, b) for a in ids for b in ids if a < b])
    world = world_of(make_world, 6, gold=set(ids), edges=edges)
    ranking, step = run(world, budget=50, batch=4)
    assert sorted(judged(step)) == ids
    assert sorted(hit.page for hit in ranking.hits) == ids
    assert sum(count for name, count in world.asked if name == "grade") == 6


@pytest.mark.usefixtures("plain")
def test_no_verdict_at_all_leaves_the_ranking_as_it_was(make_world):
    said = dict.fromkeys(pages(10), "failed")
    world = world_of(make_world, said=said)
    before, _ = Search("text").run(QUERY, world)
    ranking, step = run(world, budget=5)
    assert ranking == before
    assert step.detail["outcome"] == "no_verdict"
    assert step.detail["failed"] == "5"
    assert step.detail["reason"] == "told to"


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("outcome", ["failed", "unparsed"])
def test_one_failure_costs_that_page_its_verdict_only(make_world, outcome):
    ids = pages(10)
    gold = {ids[1], ids[3]}
    whole, _ = run(world_of(make_world, gold=gold), budget=10)
    ranking, step = run(world_of(make_world, gold=gold, said={ids[5]: outcome}), budget=10)
    assert step.detail[outcome] == "1"
    order = [hit.page for hit in ranking.hits]
    assert [p for p in order if p != ids[5]] == [h.page for h in whole.hits if h.page != ids[5]]
    # Without a verdict it stands by what the walk expects: behind evidence, before the refused.
    assert order[:3] == [ids[1], ids[3], ids[5]]


@pytest.mark.usefixtures("plain")
def test_it_stops_when_nothing_is_promising_or_enough_was_found(make_world):
    ids = pages(10)
    _, step = run(world_of(make_world), budget=10, least=0.2)
    assert step.detail["outcome"] == "nothing_promising"
    assert len(step.visits) < 10
    _, step = run(world_of(make_world, gold={ids[0], ids[2]}), budget=10, enough=2)
    assert (step.detail["outcome"], len(step.visits)) == ("enough_evidence", 3)


@pytest.mark.usefixtures("plain")
def test_the_share_of_pages_in_scope_is_kept(make_world):
    _, step = run(world_of(make_world, total=10), budget=50, share=0.25)
    assert len(step.visits) == 3


@pytest.mark.usefixtures("plain")
def test_batches_spend_the_budget_to_the_last_call(make_world):
    world = world_of(make_world)
    _, step = run(world, budget=7, batch=3)
    assert len(step.visits) == 7
    assert [count for name, count in world.asked if name == "grade"] == [3, 3, 1]


def test_the_packaged_chances_name_columns_that_exist():
    chances = walking.packaged()
    assert set(chances.weights) <= set(FEATURES)
    assert chances.weights["to_order"] > 0
    assert len(chances.scale) == 4


def test_the_packaged_chances_follow_edges_and_repeat_themselves(make_world):
    ids = pages(20)
    edges = edges_between((ids[0], ids[15]), kind="continues")
    world = world_of(make_world, 20, gold={ids[0], ids[15]}, edges=edges)
    first = run(world, budget=4)
    again = run(world, budget=4)
    assert first[0] == again[0]
    assert judged(first[1]) == judged(again[1])
    assert ids[15] in judged(first[1])


def test_tokens_calls_and_cache_are_counted(make_world):
    ids = pages(4)
    said = {
        ids[0]: Verdict(ids[0], "judged", 0.9, calls=1, tokens=7),
        ids[1]: Verdict(ids[1], "judged", 0.1, cached=True),
    }
    _, step = run(world_of(make_world, 5, said=said), budget=2, batch=2)
    assert (step.calls, step.tokens, step.cache_hits) == (1, 7, 1)


@pytest.mark.parametrize(
    "options",
    [
        {"judge": ""},
        {"budget": 0},
        {"batch": 0},
        {"share": 0},
        {"share": 1.5},
        {"least": -0.1},
        {"trust": 0},
        {"enough": -1},
        {"budget": True},
    ],
)
def test_senseless_walks_are_refused(options):
    with pytest.raises(UsageError):
        Walk(**options)


def test_it_is_a_value():
    stage = Walk("text", budget=5, share=0.5, batch=2, enough=3)
    assert from_json(to_json(stage)) == stage
    assert str(stage) == 'Walk("text", budget=5, share=0.5, batch=2, enough=3)'
    assert "at most 5 and 50% of the pages" in stage.explain()


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("trust", [1.0, 2.0])
def test_a_verdict_weighs_as_evidence_does_against_a_prior(make_world, trust):
    ids = pages(5)
    said = {ids[0]: 0.5, ids[1]: "failed", ids[2]: 0.75, ids[3]: 0.25}
    ranking, step = run(world_of(make_world, 5, said=said), budget=4, trust=trust)
    scores = {hit.page: hit.score for hit in ranking.hits}
    odds = {page: score / (1 - score) for page, score in scores.items()}
    trail = {visit.page: visit for visit in step.visits}
    assert all(trail[page].score == scores[page] for page in trail)
    # Nothing was said of the first two: both keep what the walk expected of them.
    silent, _ = run(world_of(make_world, 5, said=dict.fromkeys(ids, 0.5)), budget=4)
    prior = {h.page: h.score / (1 - h.score) for h in silent.hits}
    assert odds[ids[0]] == pytest.approx(prior[ids[0]])
    assert odds[ids[1]] == pytest.approx(prior[ids[1]])
    assert odds[ids[2]] == pytest.approx(prior[ids[2]] * 3**trust)
    assert odds[ids[3]] == pytest.approx(prior[ids[3]] / 3**trust)


@pytest.mark.usefixtures("plain")
def test_a_calibrated_verdict_at_the_base_rate_says_nothing(make_world):
    ids = pages(3)
    said = {ids[0]: 0.1, ids[1]: 0.1, ids[2]: 0.4}
    world = world_of(make_world, 3, said=said)
    world.silence["grade"] = 0.1
    ranking, step = run(world, budget=3, trust=1)
    silent, _ = run(world_of(make_world, 3, said=dict.fromkeys(ids, 0.5)), budget=3)
    prior = {hit.page: hit.score for hit in silent.hits}
    scores = {visit.page: visit.score for visit in step.visits}
    assert scores[ids[0]] == pytest.approx(prior[ids[0]])
    assert scores[ids[1]] == pytest.approx(prior[ids[1]])
    # Odds of .4 are six times those of .1.
    odds = prior[ids[2]] / (1 - prior[ids[2]]) * 6
    assert scores[ids[2]] == pytest.approx(odds / (1 + odds))
    assert {hit.page for hit in ranking.hits} == set(ids)
