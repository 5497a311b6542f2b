"""Studies on cases made by hand: who judges what, and what comes of it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pagetrail.evaluate.noise import GoldJudge
from pagetrail.replaying import Case, LibraryJudge, Replay
from pagetrail.retrieve.walk import Chances
from pagetrail.studying import by_document, curves, down, reaches, walking, weigh
from pagetrail.types import Edge, Hit, Page, Query, Ranking, Scope, Verdict, page_id

PAGES = 10
IDS = [page_id("d", number) for number in range(1, PAGES + 1)]


class World:
    """A library's channels: a judge that says what it is told, vectors that join pages in a row."""

    def __init__(self, said=None):
        self.said = said or {}
        self.asked = []

    def judge(self, judge, query, ids):
        self.asked.append((judge, query.text, list(ids)))
        return [
            Verdict(page, "failed", reason="told to", calls=1)
            if self.said.get(page) is None
            else Verdict(page, "judged", probability=self.said[page], calls=1)
            for page in ids
        ]

    def neutral(self, judge):
        return 0.5

    def alike(self, rule, query, ids):
        return {page: [Edge(other, "similar", 0.9, "alike")] for page, other in pairwise(ids)}


def case(gold, edges=None, world=None, name="q", document="d"):
    """Return a question on ten pages, ranked as they are numbered."""
    query = Query(f"What of {name}?", Scope(documents=frozenset({document})))
    ids = [page_id(document, number) for number in range(1, PAGES + 1)]
    hits = tuple(Hit(page, float(PAGES - place)) for place, page in enumerate(ids))
    book = {page: Page(document, n, width=600, height=800) for n, page in enumerate(ids, 1)}
    edges = edges or {}
    replay = Replay(world or World(), query, PAGES, None, edges, book, {})
    wanted = frozenset(page_id(document, number) for number in gold)
    return Case(name, Ranking(query, hits), wanted, document, PAGES, edges, replay)


def test_down_judges_the_first_pages_and_puts_gold_first():
    found = down(case([4, 6]), 5, GoldJudge())
    assert (found.judged, found.pages) == (5, 10)
    # Page 4 was judged and comes first; page 6 is the first that was not judged.
    assert found.recall == (0.5, 1.0, 1.0)
    assert found.seen == (0.5, 0.5, 0.5)
    assert weigh(case([4, 6]), 5, GoldJudge()) == found


def test_an_edge_brings_the_walk_where_the_ranking_leads_late():
    edges = {IDS[0]: [Edge(IDS[8], "reference", 1.0, "see Table 9")]}
    hopeful = Chances({"rank": -1.0, "to_reference": 5.0})
    walked = walking(case([1, 9], edges), 2, GoldJudge(), hopeful)
    assert (walked.judged, walked.seen) == (2, (0.5, 1.0, 1.0))
    plain = down(case([1, 9], edges), 2, GoldJudge())
    assert (plain.judged, plain.seen) == (2, (0.5, 0.5, 0.5))


def test_weigh_lets_verdicts_come_first_and_the_ranking_between_equals():
    world = World(dict.fromkeys(IDS, 0.0) | {IDS[3]: 0.75, IDS[1]: 0.5, IDS[2]: 0.5})
    judge = LibraryJudge("grade", world)
    assert weigh(case([2, 3, 4], world=world), PAGES, judge).recall == (1 / 3, 1.0, 1.0)
    assert weigh(case([1], world=world), PAGES, judge).recall == (0.0, 0.0, 1.0)


def test_a_library_judge_is_asked_once_for_a_page_of_a_question():
    world = World({IDS[0]: 1.0, IDS[1]: 0.0})
    judge = LibraryJudge("text", world)
    query, other = Query("one"), Query("two")
    first = judge.ask(query, [IDS[0], IDS[1]])
    again = judge.ask(query, [IDS[2], IDS[1], IDS[0]])
    assert [v.page for v in again] == [IDS[2], IDS[1], IDS[0]]
    assert again[2] is first[0]
    assert judge.ask(query, [IDS[2]])[0].outcome == "failed"  # not asked again either
    judge.ask(other, [IDS[0]])
    assert world.asked == [
        ("text", "one", [IDS[0], IDS[1]]), ("text", "one", [IDS[2]]), ("text", "two", [IDS[0]]),
    ]  # fmt: skip
    assert (len(judge.said), judge.unjudged) == (4, 1)
    assert (str(judge), str(LibraryJudge("text", world, 3))) == (
        "judge text", "judge text, at most 3 pages a question",
    )  # fmt: skip


def test_a_limit_holds_for_every_method_and_keeps_beams_out():
    world = World(dict.fromkeys(IDS, 0.0))
    judge = LibraryJudge("text", world, most=3)
    found = curves([case([10], world=world)], [judge], shares=(0.1, 0.5, 1.0))
    points = found["judge text, at most 3 pages a question"]
    assert {p.method for p in points} == {"down", "weigh", "walk"}
    assert [p.judged for p in points if p.method == "weigh"] == [0.1, 0.3, 0.3]
    assert max(p.judged for p in points) == 0.3
    free = curves([case([10], world=world)], [LibraryJudge("text", world)], shares=(0.1,))
    assert "beam (code)" in {p.method for p in free["judge text"]}


def test_a_judge_that_always_fails_leaves_the_ranking():
    found = curves([case([2, 5])], [GoldJudge(failed=1.0)], shares=(0.3, 1.0))
    (points,) = found.values()
    for point in points:
        assert point.recall == (0.0, 0.5, 1.0), point.method
        assert all(gain.mean == 0 for gain in point.gain)


def test_every_page_judged_without_errors_is_the_most_that_can_be_had():
    edges = {page: [Edge(IDS[-1 - n], "similar", 0.8, "alike")] for n, page in enumerate(IDS)}
    cases = [case([7], edges), case([3, 10], edges, name="r"), case([2, 4, 6, 8], name="s")]
    (points,) = curves(cases, [GoldJudge()], shares=(1.0,)).values()
    best = {p.method: p.recall for p in points if p.budget}
    top = pytest.approx(((1 + 0.5 + 0.25) / 3, (1 + 1 + 0.75) / 3, 1.0))
    assert best == {"down": top, "weigh": top, "walk": top}


def test_reach_by_document_adds_up_to_all():
    one = {page_id("a", 1): [Edge(page_id("a", 9), "link", 1.0, "link")]}
    two = {page_id("b", 2): [Edge(page_id("b", 5), "shared", 1.0, "shares 7")]}
    cases = [
        case([9], one, name="q", document="a"),
        case([1, 10], one, name="r", document="a"),
        case([5, 6], two, name="s", document="b"),
    ]
    found = by_document(cases, {"a": "a.pdf", "b": "b.pdf"})
    assert list(found) == ["a.pdf", "b.pdf"]
    assert (found["a.pdf"].questions, found["b.pdf"].questions) == (2, 1)
    assert found["a.pdf"].degree == {"link": 1.0}
    assert set(found["a.pdf"].reaches) == {"all", "all but order", "link"}
    whole = reaches(cases)
    for name in ("all", "all but order"):
        assert whole[name].gold == sum(d.reaches[name].gold for d in found.values()) == 5
        assert whole[name].found[0] == sum(d.reaches[name].found[0] for d in found.values()) == 2
    assert (whole["link"].found[0], whole["link"].gold) == (1, 5)
    assert whole["link"].pages[0] == 2
