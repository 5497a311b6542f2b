"""Calibration, worked by hand where it can be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pagetrail.errors import UsageError
from pagetrail.judge.calibrate import Calibration, fit, raw_score, reliability
from pagetrail.types import Verdict


def test_platt_on_two_scores_is_exact():
    # Score 0: 2 of 10 positive; score 1: 8 of 10. Targets are 11/12 and 1/12, so at score 0 the
    # mean target is (2 * 11 + 8) / 120 = .25 and at score 1 .75: two points, one line through
    # them: log-odds -ln 3 and +ln 3.
    scores = [0.0] * 10 + [1.0] * 10
    labels = [True] * 2 + [False] * 8 + [True] * 8 + [False] * 2
    made = fit("platt", scores, labels)
    assert made.slope == pytest.approx(2 * math.log(3), abs=1e-6)
    assert made.offset == pytest.approx(-math.log(3), abs=1e-6)
    assert made.apply(0.0) == pytest.approx(0.25)
    assert made.apply(1.0) == pytest.approx(0.75)
    assert made.apply(0.5) == pytest.approx(0.5)
    assert (made.labels, made.positives) == (20, 10)


def test_platt_finds_the_line_that_labels_were_drawn_from():
    rng = np.random.default_rng(3)
    scores = rng.normal(2.0, 3.0, 4000)
    labels = rng.random(4000) < 1 / (1 + np.exp(-(0.8 * scores - 1.5)))
    made = fit("platt", scores.tolist(), labels.tolist())
    assert made.slope == pytest.approx(0.8, abs=0.08)
    assert made.offset == pytest.approx(-1.5, abs=0.15)


def test_platt_stays_finite_on_separable_labels_and_huge_scores():
    scores = [-1e6 + i for i in range(15)] + [1e6 + i for i in range(15)]
    made = fit("platt", scores, [False] * 15 + [True] * 15)
    assert made.apply(-1e9) == 1e-4
    assert made.apply(1e9) == 1 - 1e-4
    # The targets 16/17 and 1/17 are what is reached on the labels themselves.
    assert made.apply(1e6) == pytest.approx(16 / 17, abs=0.01)
    assert made.apply(-1e6) == pytest.approx(1 / 17, abs=0.01)


def test_platt_never_falls():
    made = fit("platt", list(range(20)), [True] * 10 + [False] * 10)
    assert made.slope == 0
    assert made.apply(-5) == made.apply(500) == pytest.approx(0.5)


def test_isotonic_pools_adjacent_violators():
    # Per score 1..5, four labels each: 0, 2, 1, 1, 4 positive. 2 > 1 pools to 3/8, then 1/4 pools
    # with it: (2 + 1 + 1) / 12 = 1/3.
    positives = {1: 0, 2: 2, 3: 1, 4: 1, 5: 4}
    scores = [float(s) for s in positives for _ in range(4)]
    labels = [i < n for n in positives.values() for i in range(4)]
    made = fit("isotonic", scores, labels)
    assert made.scores == (1.0, 2.0, 4.0, 5.0)
    least = 1 / 22
    assert made.probabilities == pytest.approx((least, 1 / 3, 1 / 3, 1 - least))
    assert made.apply(3.0) == pytest.approx(1 / 3)
    assert made.apply(1.5) == pytest.approx((least + 1 / 3) / 2)
    assert made.apply(-100) == pytest.approx(least)
    assert made.apply(100) == pytest.approx(1 - least)


@pytest.mark.parametrize("kind", ["platt", "isotonic"])
def test_order_is_kept_and_json_comes_back(kind):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=200)
    labels = rng.random(200) < 1 / (1 + np.exp(-scores))
    made = fit(kind, scores.tolist(), labels.tolist(), scale="grade")
    values = [made.apply(s) for s in np.linspace(-6, 6, 200)]
    assert values == sorted(values)
    assert all(0 < v < 1 for v in values)
    back = Calibration.from_json(made.to_json())
    assert back == made
    assert "\n" not in made.to_json()


@pytest.mark.parametrize(
    ("scores", "labels", "why"),
    [
        ([0.1] * 19, [True] * 10 + [False] * 9, "at least 20"),
        ([0.1] * 25, [True] * 25, "both kinds"),
        ([0.1] * 25, [False] * 25, "do not hold"),
        ([0.1] * 25, [True] * 24, "one label each"),
        ([math.nan] + [0.1] * 24, [True] * 10 + [False] * 15, "finite"),
        ([0.1] * 25, [3] * 10 + [0] * 15, "true or false"),
    ],
)
@pytest.mark.parametrize("kind", ["platt", "isotonic"])
def test_too_little_to_go_by_is_refused(kind, scores, labels, why):
    with pytest.raises(UsageError, match=why):
        fit(kind, scores, labels)


def test_an_unknown_kind_is_refused():
    with pytest.raises(UsageError, match="platt and isotonic"):
        fit("beta", [0.0] * 30, [True, False] * 15)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"kind":"platt"}',
        '{"kind":"beta","scores":[],"probabilities":[]}',
        '{"kind":"platt","slope":-1,"scores":[],"probabilities":[]}',
        '{"kind":"platt","slope":NaN,"scores":[],"probabilities":[]}',
        '{"kind":"platt","slope":"1","scores":[],"probabilities":[]}',
        '{"kind":"isotonic","scores":[],"probabilities":[]}',
        '{"kind":"isotonic","scores":[1,2],"probabilities":[0.5]}',
        '{"kind":"isotonic","scores":[1,2],"probabilities":[0.5,0.4]}',
        '{"kind":"isotonic","scores":[2,1],"probabilities":[0.4,0.5]}',
        '{"kind":"isotonic","scores":[1],"probabilities":[2]}',
        '{"kind":"platt","scores":[],"probabilities":[],"more":1}',
    ],
)
def test_a_stored_calibration_is_checked(text):
    with pytest.raises(UsageError, match="not a calibration"):
        Calibration.from_json(text)


def test_reliability_by_hand():
    # Two bins: (.1, .3) with one positive of two: |.2 - .5| = .3; (.6, .8) with both: |.7 - 1| = .3
    found = reliability([0.8, 0.1, 0.6, 0.3], [True, False, True, True], bins=2)
    assert [(b.predicted, b.positive, b.count) for b in found.bins] == [
        (pytest.approx(0.2), 0.5, 2),
        (pytest.approx(0.7), 1.0, 2),
    ]
    assert found.error == pytest.approx(0.3)
    # (.01 + .49 + .16 + .04) / 4
    assert found.brier == pytest.approx(0.175)


def test_reliability_keeps_equal_predictions_together():
    found = reliability([0.5] * 30, [True] * 15 + [False] * 15)
    assert [b.count for b in found.bins] == [30]
    assert found.error == pytest.approx(0)
    mixed = reliability([0.2] * 7 + [0.9] * 3, [False] * 7 + [True] * 3, bins=4)
    assert [b.count for b in mixed.bins] == [7, 3]
    assert sum(b.count for b in reliability(np.linspace(0, 1, 101), [True] * 101).bins) == 101


def test_reliability_needs_predictions():
    with pytest.raises(UsageError, match="at least one"):
        reliability([], [])
    with pytest.raises(UsageError, match="as many labels"):
        reliability([0.1], [True, False])


def test_raw_score_prefers_degrees():
    judged = Verdict("d#p0001", "judged", probability=0.9, grade=4.0, log_odds=2.0)
    assert raw_score(judged) == ("log_odds", 2.0)
    assert raw_score(Verdict("d#p0001", "judged", probability=0.75, grade=4.0)) == ("grade", 4.0)
    assert raw_score(Verdict("d#p0001", "judged", probability=1.0)) == ("probability", 1.0)
    assert raw_score(Verdict("d#p0001", "failed", reason="why")) is None
