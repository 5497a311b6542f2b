"""Judges over chat models whose processors need torchvision, and a cross-encoder that looks."""

from __future__ import annotations

import pytest

from pagetrail.judge.chat import Grade, YesNo
from pagetrail.judge.choice import Choice
from pagetrail.judge.text import CrossEncoderJudge
from pagetrail.models import prompts
from pagetrail.models.cross import CrossEncoder
from pagetrail.models.local import LocalChat
from pagetrail.testing import PlainPictures, check_judge, tiny_pages
from pagetrail.types import Query

pytest.importorskip("torchvision", reason="runs in the environment with torchvision")

MODELS = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "llava_onevision")
QUERY = Query("How many kilograms of tomatoes?")


@pytest.mark.parametrize("name", MODELS)
def test_judges_keep_the_contract_and_give_degrees(tiny_model, name):
    model = LocalChat(str(tiny_model(name)), device="cpu")
    yes_no = YesNo(model, prompts.YES_NO, pixels=4000)
    check_judge(yes_no)
    for verdict in yes_no.judge(QUERY, tiny_pages(), PlainPictures()):
        assert (verdict.outcome, verdict.calls) == ("judged", 1)
        assert verdict.log_odds is not None
    for verdict in Grade(model, prompts.GRADE, pixels=4000).judge(
        QUERY, tiny_pages()[:2], PlainPictures()
    ):
        assert 1 < verdict.grade < 5
    chosen = Choice(model, prompts.CHOICE, pixels=4000, orders=3, characters=0).choose(
        QUERY, tiny_pages()[:3], PlainPictures()
    )
    assert chosen.judged == 3
    assert sum(chosen.probabilities.values()) == pytest.approx(1)
    assert sum(chosen.bias) == pytest.approx(0, abs=1e-9)


@pytest.fixture(scope="module")
def reranker(tiny_model, tmp_path_factory):
    """A reranker that looks: a tiny Qwen2-VL whose score is the logit of yes minus that of no."""
    from sentence_transformers import CrossEncoder as Theirs
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder.modules import LogitScore

    inner = Transformer(str(tiny_model("qwen2_vl")), transformer_task="any-to-any")
    yes, no = (inner.tokenizer.convert_tokens_to_ids(word) for word in ("yes", "no"))
    score = LogitScore(true_token_id=yes, false_token_id=no)
    folder = tmp_path_factory.mktemp("models") / "reranker"
    Theirs(modules=[inner, score], device="cpu").save(str(folder))
    return CrossEncoder(str(folder), device="cpu", batch=2)


def test_a_cross_encoder_that_looks_keeps_the_contract(reranker):
    assert reranker.sees
    check_judge(CrossEncoderJudge(reranker, pixels=4000))
    check_judge(CrossEncoderJudge(reranker))


def test_an_address_among_the_words_is_not_fetched(reranker):
    address, words = reranker("Which?", ["https://example.org/picture.png", "a picture"])
    assert abs(address) < 10
    assert address != words
