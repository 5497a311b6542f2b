"""What a person is told when models, encoders or what they need are not there."""

import importlib
import sys

import pytest
from PIL import Image

import pagetrail as package
from pagetrail.config import ModelSettings
from pagetrail.encoding import _for_stored
from pagetrail.errors import LockedError
from pagetrail.modelling import Labelled
from pagetrail.testing import ChatServer, PatchEncoder, ScriptedChat, Turn


@pytest.fixture
def library(pagetrail, tmp_path, monkeypatch):
    """Return the command line over a library of one picture and no encoder."""
    monkeypatch.setenv("PAGETRAIL_DOCUMENTS__OCR", "false")
    Image.new("RGB", (90, 60), (220, 30, 30)).save(tmp_path / "red.png")
    assert pagetrail("add", tmp_path / "red.png").code == 0
    return pagetrail


@pytest.fixture
def asked(monkeypatch):
    """Use fake encoders, and return the specs that were loaded."""
    specs = []

    def load(spec, settings):
        specs.append(spec)
        return PatchEncoder(name=spec.partition(":")[0])

    monkeypatch.setattr("pagetrail.encoding.load_encoder", load)
    return specs


def test_a_library_without_encoders_is_not_one_whose_encoders_have_every_page(library, asked):
    result = library("encode", "add")
    assert result.code == 2
    assert "encode add SPEC" in result.err
    library("encode", "add", "clip:any")
    result = library("encode", "add")
    assert result.code == 0
    assert "every encoder has every page" in result.err


def test_what_a_recipe_lacks_is_told_before_a_model_is_loaded(library, asked):
    library("encode", "add", "clip:any")
    asked.clear()
    result = library("search", "red", "-r", "rerank:judge=text,start=vl_rag")
    assert result.code == 2
    assert "no channel 'siglip'" in result.err
    assert "--name siglip" in result.err
    for recipe in ("vrag:encoders=clip", "rerank:judge=yes_no"):
        assert library("search", "red", "-r", recipe).code == 2
    assert asked == []


def test_estimates_speak_of_nothing_that_costs_nothing(library, asked, tmp_path):
    library("encode", "add", "clip:any")
    told = library("estimate").out
    assert "adding them" not in told
    assert "encoder clip" not in told
    told = library("estimate", tmp_path / "red.png").out
    assert "adding them" not in told  # it is in the library as it is
    (tmp_path / "new.png").write_bytes((tmp_path / "red.png").read_bytes())
    told = library("estimate", tmp_path / "new.png").out
    assert "adding them" in told
    assert "encoder clip will encode 1 pages" in told


def test_an_encoder_of_openclip_names_its_own_extra(library, monkeypatch):
    whole = importlib.import_module

    def without(name, package=None):
        if name in ("open_clip", "torch"):
            raise ModuleNotFoundError(name)
        return whole(name, package)

    monkeypatch.setattr(importlib, "import_module", without)
    monkeypatch.delitem(sys.modules, "open_clip", raising=False)
    result = library("encode", "add", "openclip:ViT-B-32")
    assert result.code == 1
    assert "pagetrail[openclip]" in result.err


@pytest.mark.enable_socket
def test_a_check_calls_its_parts_by_the_same_names_when_they_fail(pagetrail, monkeypatch):
    with ChatServer("perhaps") as server:
        monkeypatch.setenv("PAGETRAIL_MODELS__JUDGE", f"openai:test@{server.url}")
        result = pagetrail("models", "check")
    assert result.code == 1
    assert "  text: the reply should be yes, it is: perhaps" in result.out
    assert "  picture: the reply should be yes, it is: perhaps" in result.out


def test_a_picture_at_which_nothing_looks_is_told(library, asked, tmp_path):
    library("encode", "add", "clip:any")
    unseen = "nothing looked at the picture"
    for arguments in (["red"], [], ["red", "-r", "single:channel=clip"]):
        result = library("search", *arguments, "--image", tmp_path / "red.png")
        assert result.code == 0
        assert unseen in result.err
    for arguments in (["-r", "single:channel=clip"], ["red", "-r", "single:channel=clip?image"]):
        result = library("search", *arguments, "--image", tmp_path / "red.png")
        assert result.code == 0
        assert unseen not in result.err


@pytest.mark.enable_socket
def test_an_answer_says_that_its_judge_failed(library, tmp_path, monkeypatch):
    (tmp_path / "notes.md").write_text("# Ferry\n\nThe Marigold was built in 1987.\n")
    library("add", tmp_path / "notes.md")
    monkeypatch.setenv("PAGETRAIL_MODELS__RETRIES", "0")
    with ChatServer(Turn(status=500)) as server:
        monkeypatch.setenv("PAGETRAIL_MODELS__JUDGE", f"openai:test@{server.url}")
        result = library("ask", "When was the Marigold built?", "-r", "rerank:judge=yes_no")
    assert result.code == 3
    assert "no page passed" not in result.err
    assert "judge yes_no: 1 failed of 1" in result.err or "2 failed of 2" in result.err
    assert "1987" in result.out


def test_a_key_goes_to_no_server_that_only_a_library_names(monkeypatch):
    settings = ModelSettings(
        api_key="secret", base_url="https://mine.example/v1", judge="openai:a@http://127.0.0.1:9/v1"
    )
    for spec, sent in (
        ("openai:text@https://mine.example/other", True),
        ("vllm:pictures@http://127.0.0.1:8000", True),
        ("openai:text@https://strange.example/v1", False),
        ("openai:text@https://mine.example.strange/v1", False),
    ):
        key = _for_stored(spec, settings).api_key.get_secret_value()
        assert key == ("secret" if sent else ""), spec


def test_a_reranker_is_checked_too(pagetrail, tiny_model, monkeypatch):
    monkeypatch.setenv("PAGETRAIL_MODELS__RERANKER", str(tiny_model("cross_encoder")))
    (row,) = pagetrail("models", "check", "--json").rows
    assert (row["role"], row["image"]) == ("reranker", "skipped")
    assert row["text"] in ("ok", "wrong")  # its weights are random
    assert row["errors"] == []
    monkeypatch.setenv("PAGETRAIL_MODELS__RERANKER", "./no-such-folder")
    result = pagetrail("models", "check")
    assert result.code == 1
    assert "no such folder" in result.out


def test_calibrating_needs_the_lock_before_it_spends(library, tmp_path):
    chat = ScriptedChat("yes", draws=False)
    labelled = [Labelled("what is red?", "red.png", frozenset({1}))]
    with package.open(tmp_path / "library", judge=chat) as opened:
        other = opened._writing()
        with other, pytest.raises(LockedError):
            opened.models.calibrate("yes_no", labelled)
    assert chat.calls == []
