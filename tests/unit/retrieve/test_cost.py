"""What a pipeline will ask of judges, told before it runs."""

from __future__ import annotations

import pytest

from pagetrail.recipes import recipe
from pagetrail.retrieve.beam import Beam
from pagetrail.retrieve.cost import channels_of, judged
from pagetrail.retrieve.filter import Filter
from pagetrail.retrieve.keep import Keep
from pagetrail.retrieve.pipeline import Search
from pagetrail.retrieve.walk import Walk
from pagetrail.retrieve.weigh import Weigh

TEXT = Search("text")
GRAPH = Beam("grade", edges="graph")


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        (TEXT % 10 >> Filter("yes_no"), [("yes_no", 10)]),
        (TEXT >> Weigh("grade"), [("grade", 200)]),
        (TEXT >> Weigh("grade", 20), [("grade", 20)]),
        (TEXT % 5 >> Weigh("grade", 20), [("grade", 5)]),
        (TEXT >> Walk("grade", budget=20), [("grade", 20)]),
        (TEXT >> Walk("grade", budget=900, share=0.25), [("grade", 250)]),
        (TEXT % 5 >> Walk("grade", budget=20), [("grade", 20)]),  # edges lead beyond the five
        (TEXT >> Walk("grade", 20) >> Filter("yes_no"), [("grade", 20), ("yes_no", 220)]),
        (TEXT >> GRAPH, [("grade", 1000)]),
        (TEXT >> Beam("grade", width=2, hops=1, k=3), [("grade", 14)]),
        (TEXT >> Beam("grade", 2, 1, k=3) >> Filter("text"), [("grade", 14), ("text", 14)]),
        (TEXT >> Keep(most=4) >> Filter("text"), [("text", 4)]),
    ],
)
def test_how_many_pages_are_judged_of_a_thousand(pipeline, expected):
    assert judged(pipeline, 1000) == expected


def test_no_more_pages_are_judged_than_there_are():
    for stage in (Weigh("grade", 50), Walk("grade", 50), Beam("grade"), GRAPH):
        assert judged(TEXT >> stage, 7) == [("grade", 7)]


def test_only_channels_that_are_asked_are_named():
    assert channels_of(TEXT >> Beam("grade", channel="late")) == ["text", "late"]
    assert channels_of(TEXT >> GRAPH) == ["text"]
    assert channels_of(recipe("molorag:channel=dense")) == ["dense"]
