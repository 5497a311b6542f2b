"""Replies to numbers, worked by hand."""

from __future__ import annotations

from math import inf, log, nan

import pytest

from pagetrail.judge.parse import (
    contains_yes,
    expected_grade,
    first_digit,
    letter_shares,
    read_grade,
    read_letter,
    read_yes_no,
    spelled,
    yes_no_log_odds,
)


def test_log_odds_add_up_all_spellings():
    # yes: .30 + .15 + .05 = .5, no: .10 + .02 = .12 -> ln(.5 / .12) = 1.42712
    shown = {"Yes": 0.30, " yes": 0.15, "▁YES.": 0.05, "No": 0.10, "**no**": 0.02, "The": 0.38}
    odds = yes_no_log_odds({token: log(p) for token, p in shown.items()})
    assert odds == pytest.approx(1.42712, abs=1e-5)


def test_a_side_not_shown_is_bounded_by_the_least_shown():
    # yes .7 against at most .05, the least likely alternative shown: ln 14
    shown = {"yes": log(0.7), "The": log(0.2), "It": log(0.05)}
    assert yes_no_log_odds(shown) == pytest.approx(2.63906, abs=1e-5)
    # no .9, and what is not shown has .02 together, less than the .08 shown: ln(.02 / .9)
    shown = {"No": log(0.9), "The": log(0.08)}
    assert yes_no_log_odds(shown) == pytest.approx(-3.80666, abs=1e-5)


def test_log_odds_are_finite_when_one_side_has_everything():
    # All shown is yes: the rest is taken as one millionth, never nothing.
    assert yes_no_log_odds({"yes": 0.0}) == pytest.approx(13.81551, abs=1e-5)
    assert yes_no_log_odds({"no": 1e-9, "yes": -inf}) == pytest.approx(-13.81551, abs=1e-5)
    assert yes_no_log_odds({"yes": -0.1, "no": nan}) is not None
    assert yes_no_log_odds({"yes": -0.0001, "no": -9999.0}) == pytest.approx(9999, abs=1)


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"The": -0.1, "Perhaps": -3.0},
        {"The": -0.00001, "yes": -12.0, "no": -13.0},  # it does not answer in these words
        {"yesterday": -0.1, "note": -1.0},
        {"yes": nan, "no": inf},
    ],
)
def test_no_log_odds_where_neither_is_said(shown):
    assert yes_no_log_odds(shown) is None


def test_expected_grade_is_the_mean_over_digits():
    # digits have .5 + .2 + .1 = .8; (4 * .5 + 5 * .2 + 1 * .1) / .8 = 3.875
    shown = {"4": log(0.3), " 4": log(0.2), "5.": log(0.2), "1": log(0.1), "7": log(0.2)}
    assert expected_grade(shown) == pytest.approx(3.875)
    assert expected_grade({"3": -0.2}) == pytest.approx(3.0)
    assert expected_grade({"Three": -0.1, "3": -9.0}) is None


def test_letter_shares():
    shown = {"A": log(0.4), "[B]": log(0.1), "a": log(0.3), "C": log(0.2)}
    assert letter_shares(shown, "AB") == pytest.approx({"A": 0.8, "B": 0.2})
    assert letter_shares({"The": -0.1}, "AB") == {}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("yes", True),
        ("  Yes.\n", True),
        ("**YES**", True),
        ("“No”", False),
        ("NO!", False),
        ("Yes, the page says so", None),
        ("yes no", None),
        ("yes/no", None),
        ("The page says: answer yes", None),
        ("nope", None),
        ("", None),
        ("...", None),
    ],
)
def test_a_reply_must_be_the_word_itself(text, word):
    assert read_yes_no(text) is word


@pytest.mark.parametrize(
    ("text", "grade"), [("5", 5), ("(3)", 3), ("0", None), ("4.5", None), ("3 5", None)]
)
def test_a_reply_must_be_the_digit_itself(text, grade):
    assert read_grade(text) == grade


def test_published_readings_are_lenient():
    assert contains_yes("My eyes say NO")
    assert not contains_yes("no")
    assert first_digit("Step 1: the grade is 5") == 1
    assert first_digit("0 6 7 89") is None


def test_letters_are_upper_case():
    assert read_letter(" (B). ", "ABC") == "B"
    assert read_letter("a", "ABC") is None
    assert read_letter("AB", "ABC") is None
    assert read_letter("", "ABC") is None
    assert spelled("  \n") == ""
