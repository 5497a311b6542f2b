"""Real loading code through the whole product, with models made on the spot; no hub, no GPU."""

import journey
import pytest

SPECS = {
    "clip": "clip:{}",
    "siglip": "siglip:{}",
    "siglip2": "siglip2:{}",
    "colpali": "{}",  # a folder alone says what it is
    "colqwen2": "colqwen2:{}?pool=2",
    "sentence_colpali": "late:{}",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journey") / "library"
    return folder, journey.build(folder)


@pytest.mark.parametrize("name", SPECS)
def test_examples_are_encoded_and_searched(tiny_model, library, name):
    folder, pages = library
    assert journey.encode_and_search(folder, SPECS[name].format(tiny_model(name)), pages)


def test_examples_are_judged(tiny_model, library):
    folder, _ = library
    with journey.pagetrail.open(folder, settings=journey.settings()) as opened:
        if "clip" not in opened.encoders():
            opened.encode(f"clip:{tiny_model('clip')}")
    journey.judge(folder, "clip", f"local:{tiny_model('idefics3')}")
