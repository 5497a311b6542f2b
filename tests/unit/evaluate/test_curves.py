"""Recall against pages judged."""

from __future__ import annotations

import pytest

from pagetrail.evaluate.curves import Outcome, curve_points, recalls


@pytest.mark.parametrize(
    ("ranked", "gold", "expected"),
    [
        ("abcdef", "a", (1, 1, 1)),
        ("abcdef", "bf", (0, 0.5, 0.5)),
        ("abcdef", "x", (0, 0, 0)),
        ("ab", "abcd", (0.25, 0.5, 0.5)),
        ("aab", "ab", (0.5, 1, 1)),
    ],
)
def test_recall_is_a_share_of_the_gold_pages(ranked, gold, expected):
    assert recalls(list(ranked), set(gold)) == expected


def test_methods_are_compared_question_by_question_at_one_budget():
    nothing = (0.0, 0.0, 0.0)
    base = [Outcome(2, 20, (0.0, 0.5, 1.0), nothing), Outcome(4, 20, (1.0, 1.0, 1.0), nothing)]
    walk = [
        Outcome(2, 20, (1.0, 0.5, 1.0), (1.0, 0.5, 0.5)),
        Outcome(2, 20, (1.0, 1.0, 0.0), nothing),
    ]
    found = curve_points(
        {("down", 0.1): base, ("walk", 0.1): walk, ("walk", 0.2): walk, ("beam", None): walk},
        ["a", "b"],
        "down",
    )
    down, walked, dearer, beam = found
    assert down.judged == pytest.approx(0.15)
    assert down.recall == (0.5, 0.75, 1.0)
    assert down.gain == ()
    assert walked.judged == pytest.approx(0.1)
    assert [gain.mean for gain in walked.gain] == [0.5, 0.0, -0.5]
    assert (walked.gain[0].low, walked.gain[0].high) == (0.0, 1.0)
    assert walked.seen == (0.5, 0.25, 0.25)
    assert [gain.mean for gain in walked.seen_gain] == [0.5, 0.25, 0.25]
    assert dearer.gain == beam.gain == beam.seen_gain == ()
    assert walked.as_json()["recall@3"] == 0.75
    assert walked.as_json()["gain"]["recall@5"]["mean"] == -0.5
    assert walked.as_json()["judged_only"]["recall@3"] == 0.25
    assert walked.as_json()["judged_only_gain"]["recall@1"]["low"] == 0.0
    assert beam.as_json()["budget"] is None
