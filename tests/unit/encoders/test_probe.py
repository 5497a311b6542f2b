"""The probe notices another model, and nothing less."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pagetrail.encoders.probe import TOLERANCE, check_probe, probe, probe_picture
from pagetrail.encoders.spec import load_image_encoder
from pagetrail.errors import ModelError
from pagetrail.testing import HashEncoder, PatchEncoder


def test_the_picture_is_fixed():
    import hashlib

    picture = probe_picture()
    assert picture.shape == (448, 336, 3)
    assert hashlib.sha256(picture.tobytes()).hexdigest()[:16] == "b78c1635437a3de2"


@pytest.mark.parametrize("options", [{}, {"late": True}, {"late": True, "pool": 3}], ids=str)
def test_the_same_model_passes(options):
    encoder = PatchEncoder(**options)
    stored = probe(encoder)
    assert stored.dtype == np.float32
    assert stored.shape[1] == encoder.dimension
    check_probe(encoder, stored)
    check_probe(PatchEncoder(**options), stored.astype(np.float16))


class _OtherText(PatchEncoder):
    def encode_queries(self, texts):
        return super().encode_queries([f"{text[::-1]}" for text in texts])


class _OtherPictures(PatchEncoder):
    def encode_images(self, images):
        return super().encode_images([255 - image for image in images])


class _Shorter(PatchEncoder):
    dimension = 20

    def encode_queries(self, texts):
        vectors = super().encode_queries(texts)
        return dataclasses.replace(vectors, data=vectors.data[:, :20])

    encode_images = encode_queries


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("other", [_OtherText, _OtherPictures])
def test_a_change_of_either_half_is_noticed(other, late):
    stored = probe(PatchEncoder(late=late))
    with pytest.raises(ModelError, match=r"not the model that the library was built with.*drop it"):
        check_probe(other(late=late), stored)


def test_vectors_that_are_no_numbers_agree_with_nothing():
    class Broken(PatchEncoder):
        def encode_queries(self, texts):
            made = super().encode_queries(texts)
            return dataclasses.replace(made, data=made.data * np.nan)

    with pytest.raises(ModelError, match="not the model"):
        check_probe(Broken(), probe(PatchEncoder()))


def test_other_numbers_of_vectors_or_dimensions_are_noticed():
    stored = probe(PatchEncoder(late=True))
    for damaged in (stored[:-1], stored[:1], np.empty((0, stored.shape[1])), stored[:, :-1]):
        with pytest.raises(ModelError):
            check_probe(PatchEncoder(late=True), damaged)
    with pytest.raises(ModelError):
        check_probe(PatchEncoder(late=True, pool=2), stored)


@pytest.mark.parametrize(
    "name", ["clip", "siglip", "siglip2", "colpali", "colqwen2", "colqwen2?pool=3"]
)
def test_number_formats_and_batches_stay_within_the_tolerance(tiny_model, name):
    name, mark, options = name.partition("?")
    spec = f"{tiny_model(name)}?{options}{'&' if mark else ''}"
    stored = probe(load_image_encoder(f"{spec}dtype=float32"))
    for dtype in ("bfloat16", "float16"):
        check_probe(load_image_encoder(f"{spec}dtype={dtype}", batch=1), stored)


@pytest.mark.parametrize("name", ["clip", "siglip", "colpali"])
def test_another_seed_does_not(tiny_model, tmp_path, name):
    import tiny
    import torch

    stored = probe(load_image_encoder(str(tiny_model(name))))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(21)
        tiny.MAKERS[name](tmp_path)
    with pytest.raises(ModelError, match="not the model"):
        check_probe(load_image_encoder(str(tmp_path)), stored)
    assert 0 < TOLERANCE < 0.1


def test_encoders_of_text_are_probed_by_the_question_alone():
    class Other(HashEncoder):
        def _vector(self, text):
            return super()._vector(text + " turned")

    stored = probe(HashEncoder())
    assert stored.shape == (1, HashEncoder.dimension)
    check_probe(HashEncoder(), stored)
    with pytest.raises(ModelError, match="not the model"):
        check_probe(Other(), stored)
