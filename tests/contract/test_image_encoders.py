"""Every encoder of pictures keeps to the contract, and the contract notices those that do not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pagetrail.encoders.probe import check_probe, probe
from pagetrail.encoders.spec import load_image_encoder
from pagetrail.ports import ImageQueries, QueryVariants
from pagetrail.testing import PatchEncoder, check_image_encoder
from pagetrail.types import Grid


@pytest.mark.parametrize("options", [{}, {"late": True}, {"late": True, "pool": 3}], ids=str)
def test_the_fake_keeps_the_contract(options):
    check_image_encoder(PatchEncoder(**options))


def page(**patches):
    """A white page with coloured patches, such as ``red=(0, 3)`` for row 0, column 3."""
    colours = {"red": (220, 30, 30), "blue": (30, 60, 200), "green": (30, 160, 60)}
    picture = np.full((80, 60, 3), 255, np.uint8)
    for colour, (row, column) in patches.items():
        picture[row * 20 : row * 20 + 20, column * 15 : column * 15 + 15] = colours[colour]
    return picture


@pytest.mark.parametrize("late", [False, True])
def test_the_fake_finds_pages_by_the_colours_that_a_question_names(late):
    encoder = PatchEncoder(late=late)
    pages = encoder.encode_images([page(), page(red=(0, 3)), page(blue=(2, 1), green=(3, 3))])

    def scores(question):
        query = encoder.encode_queries([question]).data
        return [
            float((query @ pages.data[a:b].T).max(axis=1).mean())
            for a, b in zip(pages.offsets[:-1], pages.offsets[1:], strict=True)
        ]

    assert np.argmax(scores("Where is the red box?")) == 1
    assert np.argmax(scores("blue")) == 2
    assert np.argmax(scores("white paper only")) == 0 or late
    assert scores("nothing of that kind") == [0, 0, 0]
    if late:
        best = int((encoder.encode_queries(["red"]).data @ pages.data[16:32].T).argmax())
        grid = pages.grids[1]
        assert divmod(grid.cells.tolist().index(best), grid.columns) == (0, 3)


@pytest.mark.parametrize(
    ("name", "options", "kind"),
    [
        ("clip", "", "clip"),
        ("siglip", "", "siglip"),
        ("siglip2", "", "siglip2"),
        ("sentence_clip", "", "sentence"),
        ("colpali", "", "colpali"),
        ("colpali", "?pool=2", "colpali"),
        ("colqwen2", "", "colqwen2"),
        ("colqwen2", "?pool=3&pixels=30000", "colqwen2"),
        ("sentence_colpali", "", "late"),
        ("sentence_colqwen2", "", "late"),
        ("colsmol", "", "late"),
    ],
)
def test_a_real_model_keeps_the_contract(tiny_model, name, options, kind):
    encoder = load_image_encoder(f"{tiny_model(name)}{options}", batch=3)
    check_image_encoder(encoder)
    check_probe(encoder, probe(encoder))
    assert encoder.name == f"{kind}:{name}"


def test_powers_are_those_of_the_model(tiny_model):
    clip, siglip, late = (
        load_image_encoder(str(tiny_model(name))) for name in ("clip", "siglip", "colpali")
    )
    assert isinstance(clip, ImageQueries)
    assert isinstance(siglip, ImageQueries)
    assert not isinstance(late, ImageQueries)
    assert [isinstance(e, QueryVariants) for e in (clip, siglip, late)] == [False, True, False]


class _TooLong(PatchEncoder):
    def encode_images(self, images):
        vectors = super().encode_images(images)
        return dataclasses.replace(vectors, data=vectors.data * 2)


class _DependsOnNeighbours(PatchEncoder):
    def encode_images(self, images):
        vectors = super().encode_images(images)
        data = vectors.data + vectors.data.sum(axis=0, keepdims=True)
        data /= np.maximum(np.linalg.norm(data, axis=1, keepdims=True), 1e-9)
        return dataclasses.replace(vectors, data=data.astype(np.float32))


class _SortsPictures(PatchEncoder):
    def encode_images(self, images):
        return super().encode_images(sorted(images, key=lambda image: image.size))


class _BlindToText(PatchEncoder):
    def encode_queries(self, texts):
        return super().encode_queries(["red"] * len(texts))


class _Unsigned(PatchEncoder):
    def encode_queries(self, texts):
        return dataclasses.replace(super().encode_queries(texts), revision="")


class _PointsAstray(PatchEncoder):
    def encode_images(self, images):
        vectors = super().encode_images(images)
        grids = tuple(Grid(4, 4, grid.cells + 1) for grid in vectors.grids)
        return dataclasses.replace(vectors, grids=grids)


class _DropsPlaces(PatchEncoder):
    def encode_images(self, images):
        vectors = super().encode_images(images)
        grids = tuple(Grid(4, 4, np.zeros(16, np.int32)) for _ in vectors.grids)
        return dataclasses.replace(vectors, grids=grids)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (_TooLong, "unit length"),
        (_DependsOnNeighbours, "picture the same vectors alone"),
        (_SortsPictures, "alone and among others|order of the pictures"),
        (_BlindToText, "different texts"),
        (_Unsigned, "revision"),
        (_PointsAstray, "picture's own vectors"),
        (_DropsPlaces, "a place on the grid"),
    ],
)
def test_contract_notices_a_broken_encoder(broken, rule):
    with pytest.raises(AssertionError, match=rule):
        check_image_encoder(broken(late=True))
