"""Judges that know the answer, and err as often as they are told to."""

from __future__ import annotations

from collections import Counter

import pytest

from pagetrail.errors import UsageError
from pagetrail.evaluate.noise import GoldJudge


def verdicts(judge, gold, count=8000):
    return [judge.verdict("q", f"a#p{n:04d}", gold=gold) for n in range(count)]


def test_a_perfect_judge_knows():
    judge = GoldJudge()
    assert {(v.grade, v.probability) for v in verdicts(judge, True, 50)} == {(5, 1.0)}
    assert {(v.grade, v.probability) for v in verdicts(judge, False, 50)} == {(1, 0.0)}
    assert str(judge) == "perfect judge"


@pytest.mark.parametrize(("gold", "right", "near", "far"), [(True, 5, 4, 3), (False, 1, 2, 3)])
def test_errors_come_at_their_rates(gold, right, near, far):
    found = verdicts(GoldJudge(off=0.15, failed=0.05), gold)
    outcomes = Counter(v.outcome for v in found)
    assert outcomes["failed"] / len(found) == pytest.approx(0.05, abs=0.01)
    grades = Counter(v.grade for v in found if v.outcome == "judged")
    judged = sum(grades.values())
    assert set(grades) == {right, near, far}
    assert (grades[near] + grades[far]) / judged == pytest.approx(0.15, abs=0.015)
    assert grades[near] / judged == pytest.approx(0.075, abs=0.01)
    assert all(v.probability == (v.grade - 1) / 4 for v in found if v.outcome == "judged")
    assert all(v.probability is None and v.reason for v in found if v.outcome == "failed")


def test_an_error_does_not_depend_on_who_asks_when():
    judge, twin = GoldJudge(0.5, 0.2), GoldJudge(0.5, 0.2)
    pages = [f"a#p{n:04d}" for n in range(200)]
    forwards = {page: judge.verdict("q", page, gold=True) for page in pages}
    assert forwards == {page: twin.verdict("q", page, gold=True) for page in reversed(pages)}
    other = GoldJudge(0.5, 0.2, seed=1)
    assert forwards != {page: other.verdict("q", page, gold=True) for page in pages}
    assert forwards != {page: judge.verdict("r", page, gold=True) for page in pages}


@pytest.mark.parametrize("rates", [{"off": 1.5}, {"failed": -0.1}, {"off": float("nan")}])
def test_rates_are_shares(rates):
    with pytest.raises(UsageError):
        GoldJudge(**rates)
