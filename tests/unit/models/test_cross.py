"""Cross-encoders of this machine: a tiny one with random weights, through the real loading code."""

from __future__ import annotations

import io
import shutil

import pytest
from PIL import Image

from pagetrail.errors import ModelError, UsageError
from pagetrail.judge.text import CrossEncoderJudge, PictureScorer, Scorer
from pagetrail.models.cross import CrossEncoder
from pagetrail.testing import check_judge

torch = pytest.importorskip("torch", reason="needs the extra local")
pytest.importorskip("sentence_transformers", reason="needs the extra local")
hf = pytest.importorskip("transformers", reason="needs the extra local")


@pytest.fixture(scope="module")
def folder(tiny_model):
    return tiny_model("cross_encoder")


@pytest.fixture(scope="module")
def cross(folder):
    return CrossEncoder(str(folder), device="cpu", batch=3)


def logit(folder, *pair):
    tokens = hf.AutoTokenizer.from_pretrained(folder)
    model = hf.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        return float(model(**tokens(*pair, return_tensors="pt")).logits[0, 0])


def test_scores_are_the_models_logits(cross, folder):
    texts = ["red box", "total revenue 7", "", "which picture", "x"]
    scores = cross("Which box is red?", texts)
    assert len(scores) == 5
    assert scores[0] == pytest.approx(logit(folder, "Which box is red?", "red box"), abs=1e-5)
    assert scores[1] == pytest.approx(logit(folder, "Which box is red?", texts[1]), abs=1e-5)
    assert cross("Which box is red?", texts[::-1]) == pytest.approx(scores[::-1], abs=1e-5)
    assert cross("anything", []) == []


def test_special_tokens_in_a_text_are_words(cross, folder):
    (score,) = cross("Which?", ["red [SEP] box \ud800"])
    assert score == pytest.approx(logit(folder, "Which?", "red [ SEP] box ?"), abs=1e-5)
    assert score != pytest.approx(logit(folder, "Which?", "red [SEP] box ?"), abs=1e-7)


def test_long_texts_are_cut_and_addresses_are_words(cross):
    scores = cross("Which?", ["page " * 20_000, "https://example.org/picture.png", "/etc/x.jpg"])
    assert all(abs(score) < 10 for score in scores)


def test_it_is_a_scorer_and_a_judge(cross):
    assert isinstance(cross, Scorer)
    assert isinstance(cross, PictureScorer)
    check_judge(CrossEncoderJudge(cross))


def test_a_model_that_reads_refuses_pictures(cross):
    buffer = io.BytesIO()
    Image.new("RGB", (30, 30)).save(buffer, "PNG")
    assert cross.sees is False
    assert cross.score_pictures("Which?", []) == []
    with pytest.raises(ModelError, match="reads text only"):
        cross.score_pictures("Which?", [buffer.getvalue()])


def test_a_head_that_is_missing_is_refused(folder, tmp_path):
    bare = shutil.copytree(folder, tmp_path / "bare")
    hf.AutoModel.from_pretrained(folder).save_pretrained(bare)
    with pytest.raises(ModelError, match=r"weights are missing.*classifier"):
        CrossEncoder(str(bare))("a", ["b"])


def test_two_labels_are_no_and_yes_and_more_are_refused(folder, tmp_path):
    def saved(labels):
        config = hf.AutoConfig.from_pretrained(folder, num_labels=labels)
        where = shutil.copytree(folder, tmp_path / str(labels))
        hf.BertForSequenceClassification(config).save_pretrained(where)
        return where

    where = saved(2)
    (score,) = CrossEncoder(str(where), device="cpu")("red", ["box"])
    tokens = hf.AutoTokenizer.from_pretrained(where)
    model = hf.AutoModelForSequenceClassification.from_pretrained(where).eval()
    with torch.inference_mode():
        no, yes = model(**tokens("red", "box", return_tensors="pt")).logits[0].tolist()
    assert score == pytest.approx(yes - no, abs=1e-5)
    with pytest.raises(ModelError, match="3 labels"):
        CrossEncoder(str(saved(3)), device="cpu")("red", ["box"])


def test_out_of_memory_halves_the_batch(cross, monkeypatch):
    sizes = []
    real = cross._loaded.predict

    def predict(pairs, **options):
        sizes.append(len(pairs))
        if len(pairs) > 1:
            raise RuntimeError("CUDA out of memory")
        return real(pairs, **options)

    monkeypatch.setattr(cross._loaded, "predict", predict)
    assert len(cross("red", ["a", "b", "c"])) == 3
    assert sizes == [3, 1, 1, 1]
    monkeypatch.setattr(
        cross._loaded, "predict", lambda *a, **k: (_ for _ in ()).throw(MemoryError)
    )
    with pytest.raises(ModelError, match="memory ran out"):
        cross("red", ["a"])


def test_numbers_that_are_not_finite_are_refused(cross, monkeypatch):
    monkeypatch.setattr(cross._loaded, "predict", lambda *a, **k: torch.tensor([float("nan")]))
    with pytest.raises(ModelError, match="not finite"):
        cross("red", ["a"])


def test_names_revisions_and_arguments(cross, folder, tmp_path):
    assert cross.name == "cross_encoder"
    assert len(cross.revision) == 16
    assert CrossEncoder("a/b@" + "c" * 40).revision == "c" * 40
    assert CrossEncoder("a/b@main").name == "a/b"
    with pytest.raises(ModelError, match="no such folder"):
        CrossEncoder(str(tmp_path / "absent"))("a", ["b"])
    with pytest.raises(ModelError, match="not found on the hub"):
        CrossEncoder("nobody/nothing-of-this-name")("a", ["b"])
    with pytest.raises(UsageError, match="batch"):
        CrossEncoder("a", batch=0)
    with pytest.raises(UsageError, match="dtype"):
        CrossEncoder("a", dtype="int8")
    with pytest.raises(UsageError, match="needs a folder"):
        CrossEncoder("")


def test_a_pair_is_cut_where_asked(folder):
    short = CrossEncoder(str(folder), device="cpu", max_length=16)
    one, other = short("red?", ["box " * 50 + "red", "box " * 50 + "blue"])
    assert one == pytest.approx(other, abs=1e-6)
