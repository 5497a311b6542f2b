"""One line of text names any encoder; bad lines say what is known."""

from __future__ import annotations

import json
import re
import sys

import pytest

from pagetrail.encoders.spec import (
    KINDS,
    Spec,
    default_channel,
    folder_kind,
    load_image_encoder,
    parse_spec,
)
from pagetrail.errors import MissingExtraError, UsageError


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("clip:openai/clip-vit-large-patch14", ("clip", "openai/clip-vit-large-patch14", "", "")),
        ("siglip:google/siglip@9fdffc58", ("siglip", "google/siglip", "9fdffc58", "")),
        ("siglip:google/siglip@refs/pr/3", ("siglip", "google/siglip", "refs/pr/3", "")),
        ("clip:/models/a@b/clip", ("clip", "/models/a@b/clip", "", "")),
        ("late:~/models/mine", ("late", "~/models/mine", "", "")),
        ("openclip:hf-hub:laion/CLIP-xxl", ("openclip", "laion/CLIP-xxl", "", "")),
        ("openclip:local-dir:/models/xxl", ("openclip", "/models/xxl", "", "")),
        ("vllm:org/m@http://host:8000/", ("vllm", "org/m", "", "http://host:8000")),
        ("openai:e5@large@https://h/v1", ("openai", "e5@large", "", "https://h/v1")),
    ],
)
def test_a_line_is_taken_apart_and_put_together(text, parts):
    spec = parse_spec(text)
    assert (spec.kind, spec.model, spec.revision, spec.url) == parts
    assert parse_spec(str(spec)) == spec
    assert hash(parse_spec(str(spec))) == hash(spec)


def test_options_stand_behind_a_question_mark():
    spec = parse_spec(" colqwen2:vidore/colqwen2-v1.0-hf@main?pool=3&dtype=bfloat16&pixels=600000 ")
    assert dict(spec.options) == {"pool": "3", "dtype": "bfloat16", "pixels": "600000"}
    assert str(spec) == (
        "colqwen2:vidore/colqwen2-v1.0-hf@main?dtype=bfloat16&pixels=600000&pool=3"
    )
    assert parse_spec(str(spec)) == spec
    assert spec.number("pool") == 3
    assert parse_spec("clip:a/b").number("pool") is None
    assert spec != parse_spec("colqwen2:vidore/colqwen2-v1.0-hf@main")


def test_an_endpoint_keeps_options_of_its_own():
    spec = parse_spec("openai:m@http://h/v1?query=find%3A%20a%26b&dimensions=256")
    assert spec.options["query"] == "find: a&b"
    assert parse_spec(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "kinds are clip"),
        ("google/siglip-so400m", "kinds are clip"),
        ("dino:facebook/dino", "no kind 'dino'; kinds are clip"),
        ("clip:", "names no model"),
        ("clip:a/b@", "behind @"),
        ("clip:a/b?", "pool=3"),
        ("clip:a/b?dtype", "pool=3"),
        ("clip:a/b?dtype=float16&dtype=float32", "each once"),
        ("clip:a/b?size=3", "no option 'size'; there are dtype, pixels, pool"),
        ("clip:a/b?dtype=int4", "no dtype 'int4'; there are auto, float32"),
        ("clip:a/b?pool=2", "many vectors per page"),
        ("colpali:a/b?pool=0", "at least 1"),
        ("colpali:a/b?pool=1.5", "whole number"),
        ("colpali:a/b?pixels=²²²²", "whole number"),
        ("colpali:a/b?pixels=999999999999999999999", "whole number"),
        ("vllm:model", "vllm:MODEL@http"),
        ("openai:m@ftp://host", "openai:MODEL@http"),
        ("openai:m@http://", "openai:MODEL@http"),
        ("openai:m@http://key@host/v1", "without a key"),
        ("openai:m@http://[::1/v1", "not an address"),
        ("./no-such-folder", "no folder"),
        ("a" * 5000, "neither a folder"),
    ],
)
def test_a_bad_line_is_refused_with_what_is_known(text, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        parse_spec(text)


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"config.json": {"model_type": "clip"}}, "clip"),
        ({"config.json": {"model_type": "siglip2"}}, "siglip2"),
        ({"config.json": {"model_type": "colpali"}}, "colpali"),
        (
            {"config.json": {"model_type": "colqwen2", "vlm_config": {"model_type": "qwen2_vl"}}},
            "colqwen2",
        ),
        (
            {"config.json": {"model_type": "colqwen2", "vlm_config": {"model_type": "qwen2_5_vl"}}},
            "colqwen2_5",
        ),
        ({"config.json": {"model_type": "x", "architectures": ["XForRetrieval"]}}, "late"),
        ({"open_clip_config.json": {}}, "openclip"),
        ({"modules.json": []}, "sentence"),
        (
            {
                "modules.json": [],
                "config.json": {"model_type": "clip"},
                "config_sentence_transformers.json": {"model_type": "MultiVectorEncoder"},
            },
            "late",
        ),
    ],
)
def test_a_folder_says_itself_what_it_holds(tmp_path, files, kind):
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    assert folder_kind(tmp_path) == kind
    assert parse_spec(str(tmp_path)) == Spec(kind, str(tmp_path))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no config.json"),
        ({"config.json": "not json"}, "no config.json"),
        ({"config.json": "[]"}, "no config.json"),
        ({"config.json": '{"model_type": "bert"}'}, "type 'bert'; name the kind"),
        ({"config.json": '{"model_type": "openai"}'}, "type 'openai'"),
        ({"adapter_config.json": "{}"}, "an adapter only"),
    ],
)
def test_a_folder_without_a_known_model_is_refused(tmp_path, files, said):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=said):
        parse_spec(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "channel"),
    [
        ("siglip:google/siglip-so400m", "siglip"),
        ("colqwen2_5:a/b", "colqwen2_5"),
        ("late:org/My Model.v2", "my-model-v2"),
        ("late:/models/mine/", "mine"),
        ("vllm:ibm/granite-vision@http://h", "granite-vision"),
        ("openai:橋@http://h", "openai"),
        ("sentence:a/" + "x" * 99, "x" * 40),
    ],
)
def test_a_channel_gets_a_short_name(text, channel):
    assert default_channel(parse_spec(text)) == channel
    assert re.fullmatch(r"[A-Za-z0-9_-]+", channel)


def test_a_name_too_long_for_a_file_is_no_folder():
    assert parse_spec("clip:" + "a" * 5000).folder is None


def test_every_kind_has_a_channel():
    assert all(default_channel(Spec(kind, "")) == kind for kind in KINDS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"dtype": "int8"}, "no dtype 'int8'"),
        ({"batch": 0}, "batch"),
        ({"device": "nonsense"}, "device 'nonsense'"),
    ],
)
def test_loading_refuses_senseless_arguments(tiny_model, arguments, said):
    with pytest.raises(UsageError, match=said):
        load_image_encoder(str(tiny_model("clip")), **arguments)


@pytest.mark.parametrize(
    ("spec", "absent", "extra"),
    [
        ("clip:a/b", "torch", "local"),
        ("colpali:a/b", "torch", "local"),
        ("sentence:a/b", "sentence_transformers", "local"),
        ("openclip:a/b", "open_clip", "openclip"),
    ],
)
def test_a_missing_library_names_the_extra(monkeypatch, spec, absent, extra):
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingExtraError, match=re.escape(f"pagetrail[{extra}]")):
        load_image_encoder(spec)
