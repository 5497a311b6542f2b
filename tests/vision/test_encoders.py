"""Encoders that need torchvision, and the others with its way of resizing pictures."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from pagetrail.encoders.probe import check_probe, probe
from pagetrail.encoders.spec import load_image_encoder
from pagetrail.errors import ModelError, UsageError
from pagetrail.testing import check_image_encoder

pytest.importorskip("torchvision")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def pages():
    pdfium = pytest.importorskip("pypdfium2")
    with pdfium.PdfDocument(EXAMPLES / "annual-report.pdf") as document:
        found = []
        for page in document:
            found.append(np.asarray(page.render(scale=0.4).to_pil().convert("RGB")))
            page.close()
    return found


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("open_clip_convnext", "openclip"),
        ("sentence_colqwen2_5", "late"),
        ("clip", "clip"),
        ("siglip", "siglip"),
        ("siglip2", "siglip2"),
        ("sentence_clip", "sentence"),
        ("colpali", "colpali"),
        ("colqwen2", "colqwen2"),
        ("sentence_colpali", "late"),
        ("sentence_colqwen2", "late"),
        ("colsmol", "late"),
    ],
)
def test_a_real_model_keeps_the_contract(tiny_model, name, kind):
    encoder = load_image_encoder(str(tiny_model(name)), batch=3)
    check_image_encoder(encoder)
    check_probe(encoder, probe(encoder))
    assert encoder.name == f"{kind}:{name}"


@pytest.mark.parametrize("name", ["open_clip_convnext", "sentence_colqwen2_5"])
def test_pages_of_the_examples_are_encoded_and_ranked(tiny_model, pages, name):
    encoder = load_image_encoder(str(tiny_model(name)), batch=2)
    vectors = encoder.encode_images(pages)
    alone = load_image_encoder(str(tiny_model(name)), batch=1).encode_images(pages)
    assert np.array_equal(alone.offsets, vectors.offsets)
    assert ((alone.data * vectors.data).sum(axis=1) > 0.999).all()
    question = encoder.encode_queries(["total revenue"]).data
    best = [
        (question @ vectors.data[first:last].T).max(axis=1).mean()
        for first, last in zip(vectors.offsets[:-1], vectors.offsets[1:], strict=True)
    ]
    assert len(best) == len(pages)
    assert np.abs(best).max() <= 1.0001


def test_open_clip_gives_what_its_own_code_gives(tiny_model, pages):
    import open_clip
    import torch
    from PIL import Image

    source = f"local-dir:{tiny_model('open_clip_convnext')}"
    model, preprocess = open_clip.create_model_from_pretrained(source)
    words = open_clip.get_tokenizer(source)(["total revenue", ""])
    drawn = torch.stack([preprocess(Image.fromarray(page)) for page in pages])
    with torch.inference_mode():
        texts = model.encode_text(words, normalize=True).numpy()
        images = model.encode_image(drawn, normalize=True).numpy()
    encoder = load_image_encoder(f"openclip:{tiny_model('open_clip_convnext')}")
    assert np.allclose(encoder.encode_queries(["total revenue", ""]).data, texts, atol=1e-5)
    assert np.allclose(encoder.encode_images(pages).data, images, atol=1e-5)
    assert encoder.pixels == 64 * 64


def test_open_clip_takes_no_revision_and_no_pixels(tiny_model):
    with pytest.raises(UsageError, match="no revision"):
        load_image_encoder("openclip:laion/some-model@main")
    with pytest.raises(UsageError, match="leave pixels out"):
        load_image_encoder(f"{tiny_model('open_clip_convnext')}?pixels=5000")


@pytest.mark.parametrize(
    ("name", "file", "weight"),
    [
        ("open_clip_convnext", "open_clip_model.safetensors", "text_projection"),
        ("sentence_colqwen2_5", "model.safetensors", "visual.merger.mlp.0.weight"),
    ],
)
def test_missing_weights_are_named(tiny_model, tmp_path, name, file, weight):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny_model(name), tmp_path / "copy")
    weights = load_file(folder / file)
    kept = {key: tensor for key, tensor in weights.items() if not key.endswith(weight)}
    assert len(kept) == len(weights) - 1
    save_file(kept, folder / file, metadata={"format": "pt"})
    with pytest.raises(ModelError, match=f"1 weights are missing.*{weight}"):
        load_image_encoder(str(folder))


def test_open_clip_without_weights_is_refused(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model("open_clip_convnext"), tmp_path / "copy")
    (folder / "open_clip_model.safetensors").unlink()
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_image_encoder(str(folder))


def test_a_picture_of_one_kind_is_found_by_the_place_of_its_patch(tiny_model):
    encoder = load_image_encoder(str(tiny_model("sentence_colqwen2_5")))
    plain = np.full((112, 224, 3), 255, np.uint8)
    marked = plain.copy()
    marked[84:, :28] = 0
    vectors = encoder.encode_images([plain, marked])
    grid = vectors.grids[1]
    assert (grid.rows, grid.columns) == (4, 8)
    count = len(vectors.data) // 2
    changed = 1 - (vectors.data[:count] * vectors.data[count:]).sum(axis=1)
    assert divmod(int(changed[grid.cells].argmax()), 8) == (3, 0)
