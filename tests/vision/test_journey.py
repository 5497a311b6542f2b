"""The way of tests/surface/test_local_models.py, for models that need torchvision."""

import journey
import pytest

pytest.importorskip("torchvision", reason="runs in the environment with torchvision")

SPECS = {
    "open_clip_convnext": "openclip:{}",
    "colqwen2": "colqwen2:{}",
    "sentence_colqwen2": "late:{}",
    "sentence_colqwen2_5": "late:{}",
}
CHAT = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "llava_onevision")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journey") / "library"
    return folder, journey.build(folder)


@pytest.mark.parametrize("name", SPECS)
def test_examples_are_encoded_and_searched(tiny_model, library, name):
    folder, pages = library
    assert journey.encode_and_search(folder, SPECS[name].format(tiny_model(name)), pages)


@pytest.mark.parametrize("name", CHAT)
def test_examples_are_judged(tiny_model, library, name):
    folder, _ = library
    with journey.pagetrail.open(folder, settings=journey.settings()) as opened:
        if "openclip" not in opened.encoders():
            opened.encode(f"openclip:{tiny_model('open_clip_convnext')}")
    journey.judge(folder, "openclip", f"local:{tiny_model(name)}")
