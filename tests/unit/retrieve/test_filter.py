"""Stages that ask a judge, sums over vectors, and the expensive channel over candidates."""

from __future__ import annotations

import pytest

from pagetrail.errors import NotFoundError, UsageError
from pagetrail.retrieve.boost import Boost
from pagetrail.retrieve.filter import Filter
from pagetrail.retrieve.fuse import fuse
from pagetrail.retrieve.pipeline import Search
from pagetrail.retrieve.rescore import Rescore
from pagetrail.retrieve.value import from_json, to_json
from pagetrail.types import Query

QUERY = Query("who?")
FOUND = {"a#p0001": 0.9, "b#p0001": 0.8, "c#p0001": 0.7, "d#p0001": 0.6, "e#p0001": 0.5}


def said(**pages):
    return {"yes_no": {f"{name}#p0001": value for name, value in pages.items()}}


def run(pipeline, world):
    ranking, trace = pipeline.run(QUERY, world)
    return "".join(hit.page[0] for hit in ranking.hits), ranking, trace


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (Filter(), "bde" + "c"),
        (Filter(unjudged="drop"), "bde"),
        (Filter(order="probability"), "dbe" + "c"),
        (Filter(order="probability", threshold=0), "dbea" + "c"),
        (Filter(threshold=0.7, unjudged="drop"), "d"),
    ],
)
def test_what_passes_and_in_which_order(make_world, stage, expected):
    world = make_world({"text": FOUND}, verdicts=said(a=0.1, b=0.6, c="unparsed", d=0.9, e=0.6))
    pages, ranking, trace = run(Search("text") >> stage, world)
    assert pages == expected
    assert [h.score for h in ranking.hits] == sorted((h.score for h in ranking.hits), reverse=True)
    step = trace.steps[-1]
    assert (step.calls, step.tokens) == (5, 40)
    assert step.detail["unparsed"] == "1"
    assert step.detail["asked"] == "5"
    assert "outcome" not in step.detail
    assert ranking.hits[0].verdicts["yes_no"].outcome == "judged"


def test_pages_without_verdict_stay_behind_in_a_fusion_as_well(make_world):
    world = make_world({"text": FOUND}, verdicts=said(a="failed", b=0.6, c="failed", d=0.9, e=0.9))
    judged = Search("text") >> Filter()
    assert run(fuse(judged, judged), world)[0] == "bdeac"


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (Filter(), "abcde"),
        (Filter(empty="none"), ""),
        (Filter(order="probability"), "cabde"),
        (Filter(unjudged="drop"), "abcde"),
    ],
)
def test_nothing_passes_is_an_outcome(make_world, stage, expected):
    world = make_world({"text": FOUND}, verdicts=said(a=0.1, b=0.1, c=0.4, d=0.0, e="failed"))
    pages, _, trace = run(Search("text") >> stage, world)
    assert pages == expected
    assert trace.steps[-1].detail["outcome"] == "no_candidate"
    assert trace.steps[-1].detail["failed"] == "1"


def test_a_ranking_without_pages_is_not_judged(make_world):
    world = make_world({"text": {}}, verdicts=said())
    pages, _, trace = run(Search("text") >> Filter() % 3, world)
    assert pages == ""
    assert "outcome" not in trace.steps[1].detail


def test_an_unknown_judge_is_named(make_world):
    with pytest.raises(NotFoundError, match="yes_no"):
        (Search("text") >> Filter()).run(QUERY, make_world({"text": FOUND}))


@pytest.mark.parametrize(
    "wrong",
    [{"judge": ""}, {"threshold": 1.5}, {"order": "random"}, {"empty": "some"}, {"unjudged": 0}],
)
def test_wrong_filters_are_refused(wrong):
    with pytest.raises(UsageError):
        Filter(**wrong)


def test_the_new_pieces_are_values():
    value = fuse(Search("clip"), Search("siglip"), method="sum", weights=(2, 1)) % 60
    value = value >> Rescore("colpali") >> Filter("grade", 0.3, "probability", "drop", "none") % 5
    assert from_json(to_json(value)) == value
    assert 'Rescore("colpali")' in str(value)
    assert "ask grade about each page, keep those of 0.3 up" in value.explain()
    assert to_json(from_json(to_json(value))) == to_json(value)


CLIP = {f"{page}#p0001": score for page, score in zip("abcdef", (9, 8, 7, 1, 1, 1), strict=True)}
SIGLIP = {f"{page}#p0001": score for page, score in zip("abcdef", (0, 0, 7, 6, 5, 9), strict=True)}


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        (Search("clip", depth=2) + Search("siglip", depth=2), "cf"),
        (fuse(Search("clip", depth=2), Search("siglip", depth=2), method="sum"), "cf"),
        (fuse(Search("clip", 3), Search("siglip", 3), method="sum", weights=(3, 1)), "cab"),
    ],
)
def test_sums_over_vectors_miss_no_page(make_world, pipeline, expected):
    """Page c is third and second: lists cut at two would never bring its scores together."""
    world = make_world({"clip": CLIP, "siglip": SIGLIP}, vectors=("clip", "siglip"))
    pages, ranking, trace = run(pipeline, world)
    assert pages == expected
    best = ranking.hits[0]
    assert {name: part.raw for name, part in best.parts.items()} == {"clip": 7, "siglip": 7}
    assert [step.stage for step in trace.steps] == ["search clip + siglip"]


def test_sums_with_a_channel_of_words_add_what_was_found(make_world):
    world = make_world({"clip": CLIP, "text": SIGLIP}, vectors=("clip",))
    pages, _, _ = run(Search("clip", depth=2) + Search("text", depth=1), world)
    assert pages == "afb"


def test_rescoring_ranks_what_was_found_and_keeps_the_rest_behind(make_world):
    late = {"c#p0001": 0.2, "a#p0001": 0.1, "x#p0001": 1.0}
    world = make_world({"text": FOUND, "late": late}, vectors=("late",))
    pages, ranking, _ = run(Search("text") >> Rescore("late"), world)
    assert pages == "ca" + "bde"
    assert ranking.hits[0].score == pytest.approx(0.2)
    assert ranking.hits[0].parts["text"].raw == pytest.approx(0.7)
    assert ranking.hits[2].score < ranking.hits[1].score
    with pytest.raises(NotFoundError):
        run(Search("text") >> Rescore("text"), world)


def test_verdicts_stay_with_their_pages_through_later_stages(make_world):
    verdicts = said(a=0.1, b=0.6, c="unparsed", d=0.9, e=0.6)
    world = make_world(
        {"text": FOUND, "late": {"d#p0001": 3.0}}, vectors=("late",), verdicts=verdicts
    )
    for more in (Boost(Search("late"), 2), Rescore("late")):
        value = Search("text") % 4 >> Filter(threshold=0) % 3 >> more % 2
        _, ranking, _ = run(value, world)
        assert ranking.hits[0].page == "d#p0001"
        for hit in ranking.hits:
            assert hit.verdicts["yes_no"].probability == verdicts["yes_no"][hit.page]
