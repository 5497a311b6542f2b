"""Judges by words: the built-in one and cross-encoders."""

from __future__ import annotations

import math
from math import exp

import pytest

from pagetrail.errors import BudgetError, EndpointError, ModelError, UsageError
from pagetrail.judge.calibrate import Calibration
from pagetrail.judge.features import covered, features, passages, sought
from pagetrail.judge.text import CrossEncoderJudge, TextJudge, weights
from pagetrail.testing import PlainPictures, make_page, tiny_pages
from pagetrail.types import Query, Reference


def overlap(question, texts):
    """Stands in for cosines: the share of the question's words that a text holds."""
    wanted = set(question.lower().split())
    return [len(wanted & set(text.lower().split())) / max(1, len(wanted)) for text in texts]


TOMATOES = Query("How many kilograms of tomatoes did the garden harvest?")


def test_what_a_question_looks_for():
    found = sought("How many employees did Acme Corp. have in 2019, see Figure 3 on page 12?")
    assert set(found.terms) >= {"employe", "acm", "corp", "2019"}
    assert not {"how", "many", "the", "figure", "page"} & set(found.terms)
    assert found.names >= {"acm", "corp", "2019"}
    assert found.terms["employe"] > found.terms["corp"] == found.terms["2019"] > 0
    assert found.terms["corp"] > sought("Acme corp").terms["corp"]  # no capital: no name
    assert found.pointers == {("figure", "3"), ("page", "12")}
    assert found.counted
    assert ("acm", "corp") in found.pairs
    empty = sought("?")
    assert (empty.terms, empty.names, empty.counted) == ({}, frozenset(), False)


def test_pages_are_cut_into_passages_that_overlap():
    words = [f"w{n}" for n in range(200)]
    page = make_page("d", 1, [("paragraph", " ".join(words))])
    first, second, third = (text.split() for text in passages(page))
    assert (len(first), len(second)) == (110, 110)
    assert first[80:] == second[:30]
    assert third[-1] == "w199"
    assert passages(make_page("d", 1, [])) == []
    assert len(passages(make_page("d", 1, [("paragraph", "word " * 110)]))) == 1
    assert len(passages(make_page("d", 1, [("paragraph", "word " * 20_000)]))) == 64


def test_features_by_hand():
    wanted = sought("Which crop gave 265 kilograms?")
    page = make_page("d", 1, [
        ("heading", "Crops"),
        ("table_row", "Pumpkins | 210 | 265"),
        ("paragraph", "Weights stand in kilograms."),
    ])  # fmt: skip
    found = features(wanted, page, 0.4)
    assert found["bias"] == 1
    assert found["cosine"] == 0.4
    whole = sum(wanted.terms.values())
    there = sum(wanted.terms[t] for t in ("crop", "265", "kilogram"))
    assert found["cover_page"] == pytest.approx(there / whole)
    assert found["cover_block"] == pytest.approx(wanted.terms["kilogram"] / whole)
    assert found["cover_head"] == pytest.approx(wanted.terms["crop"] / whole)
    assert found["names"] == 1
    assert (found["pointed"], found["elsewhere"]) == (0, 0)
    assert covered(wanted, "crops") == pytest.approx(wanted.terms["crop"] / whole)


def test_pages_that_a_question_points_at():
    figure = Reference("figure", "3", "target", 0)
    page = make_page("d", 7, [("caption", "Figure 3: Harvest")], references=[figure])
    assert features(sought("What does figure 3 show?"), page, 0.0)["pointed"] == 1
    assert features(sought("What is on page 7?"), page, 0.0)["pointed"] == 1
    assert features(sought("What is on slide 8?"), page, 0.0)["elsewhere"] == 1
    mention = Reference("figure", "3", "mention", 0)
    page = make_page("d", 8, [("paragraph", "See Figure 3")], references=[mention])
    assert features(sought("What does figure 3 show?"), page, 0.0)["pointed"] == 0


def test_the_page_that_answers_is_likeliest():
    verdicts = TextJudge(overlap).judge(TOMATOES, tiny_pages(), PlainPictures())
    judged = {v.page: v for v in verdicts if v.outcome == "judged"}
    assert max(judged, key=lambda page: judged[page].probability) == "garden#p0001"
    for verdict in judged.values():
        assert verdict.probability == pytest.approx(1 / (1 + exp(-verdict.log_odds)))
        assert (verdict.calls, verdict.grade) == (0, None)
    (blank,) = [v for v in verdicts if v.outcome != "judged"]
    assert (blank.page, blank.outcome) == ("garden#p0003", "failed")
    assert "no words" in blank.reason


def test_weights_name_the_features():
    page = make_page("d", 1, [("paragraph", "word")])
    assert set(weights()) == set(features(sought("word"), page, 0.0))
    assert weights()["cosine"] > 0
    assert all(math.isfinite(weight) for weight in weights().values())


def test_at_most_four_passages_of_a_page_are_read():
    asked = []

    def similarity(question, texts):
        asked.append(list(texts))
        return [0.1] * len(texts)

    filler = " ".join(f"w{n}" for n in range(900))
    page = make_page("d", 1, [("paragraph", filler), ("paragraph", "tomatoes in kilograms")])
    TextJudge(similarity).judge(TOMATOES, [page, page], PlainPictures())
    assert len(asked) == 1
    assert len(asked[0]) == 4
    assert "tomatoes in kilograms" in asked[0][0]


@pytest.mark.parametrize("text", ["", "?", "\ud800", "x" * 50_000, "word " * 30_000, "((( [ %s"])
def test_odd_questions_and_pages_have_verdicts(text):
    page = make_page("d", 1, [("paragraph", text if text.split() else "a")])
    for verdict in TextJudge(overlap).judge(Query(text), [page], PlainPictures()):
        assert 0 <= verdict.probability <= 1


# --- cross-encoders ------------------------------------------------------------------------------


class Counts:
    """A cross-encoder whose logit is how often the question's last word stands in the text."""

    def __init__(self):
        self.asked = []

    def __call__(self, question, texts):
        self.asked.append(list(texts))
        return [float(text.split().count(question.split()[-1])) - 1 for text in texts]


class Looks:
    def __init__(self):
        self.seen = 0

    def score_pictures(self, question, pictures):
        self.seen += len(pictures)
        return [len(picture) / 1000 for picture in pictures]


def test_the_best_passage_of_a_page_counts():
    long = make_page("d", 1, [("paragraph", "word " * 300 + "oak oak")])
    short = make_page("d", 2, [("paragraph", "one oak")])
    scorer = Counts()
    judge = CrossEncoderJudge(scorer)
    verdicts = judge.judge(Query("Where is the oak"), [long, short, long], PlainPictures())
    assert [v.log_odds for v in verdicts] == [1.0, 0.0, 1.0]
    assert verdicts[1].probability == 0.5
    assert [v.calls for v in verdicts] == [1, 1, 0]
    assert len(scorer.asked) == 1
    assert len(scorer.asked[0]) == 4 + 1


def test_a_cross_encoder_is_calibrated_on_log_odds():
    page = make_page("d", 1, [("paragraph", "oak oak")])
    platt = Calibration("platt", slope=2.0, offset=-2.0)
    judge = CrossEncoderJudge(Counts(), calibration=platt)
    (verdict,) = judge.judge(Query("oak"), [page], PlainPictures())
    assert (verdict.log_odds, verdict.probability) == (1.0, 0.5)
    grades = Calibration("platt", scale="grade", slope=2.0)
    judge = CrossEncoderJudge(Counts(), calibration=grades)
    (verdict,) = judge.judge(Query("oak"), [page], PlainPictures())
    assert verdict.probability == pytest.approx(1 / (1 + exp(-1)))


def test_a_cross_encoder_that_looks():
    pages = [*tiny_pages(), tiny_pages()[0]]
    scorer, pictures = Looks(), PlainPictures(broken=["ferry#p0001"])
    verdicts = CrossEncoderJudge(scorer, pixels=4000).judge(TOMATOES, pages, pictures)
    assert [v.outcome for v in verdicts] == ["judged"] * 4 + ["failed"] + ["judged"] * 2
    assert scorer.seen == 5
    assert verdicts[6].log_odds == verdicts[0].log_odds
    assert set(pictures.drawn.values()) == {1}


def test_what_a_scorer_cannot_do_is_refused():
    with pytest.raises(UsageError, match="reads text only"):
        CrossEncoderJudge(Counts(), pixels=1000)
    with pytest.raises(UsageError, match="pictures only"):
        CrossEncoderJudge(Looks())


@pytest.mark.parametrize(
    ("error", "reason"),
    [(EndpointError("down\nnow"), "down now"), (BudgetError("x"), "budget spent")],
)
def test_a_scorer_that_fails_fails_its_pages(error, reason):
    def fails(question, texts):
        raise error

    verdicts = CrossEncoderJudge(fails).judge(TOMATOES, tiny_pages(), PlainPictures())
    assert {v.outcome for v in verdicts} == {"failed"}
    assert verdicts[0].reason == reason

    def broken(question, texts):
        raise ModelError("cannot be loaded")

    with pytest.raises(ModelError, match="cannot be loaded"):
        CrossEncoderJudge(broken).judge(TOMATOES, tiny_pages(), PlainPictures())


def test_a_score_that_is_no_number_is_not_a_verdict():
    judge = CrossEncoderJudge(lambda question, texts: [math.nan] * len(texts))
    (verdict,) = judge.judge(TOMATOES, tiny_pages()[:1], PlainPictures())
    assert (verdict.outcome, verdict.probability) == ("unparsed", None)
