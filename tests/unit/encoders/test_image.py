"""One vector per picture: what comes out is what the models' own code gives."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from pagetrail.encoders.spec import load_image_encoder
from pagetrail.errors import ModelError, UsageError

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
TEXTS = ["Which page shows the total revenue?", "yes", ""]


def drawn(count=3, height=60, width=45, seed=3):
    noise = np.random.default_rng(seed)
    return [noise.integers(0, 256, (height, width, 3), np.uint8) for _ in range(count)]


def unit(tensor):
    return torch.nn.functional.normalize(tensor.detach().float(), dim=-1).numpy()


@pytest.fixture(scope="module")
def pages():
    """Every page of two of the examples, small."""
    pdfium = pytest.importorskip("pypdfium2")
    found = []
    for name in ("annual-report.pdf", "strategy-slides.pdf"):
        with pdfium.PdfDocument(EXAMPLES / name) as document:
            for page in document:
                drawn = page.render(scale=0.4).to_pil().convert("RGB")
                found.append(np.asarray(drawn))
                page.close()
    return found


@pytest.mark.parametrize("name", ["clip", "siglip"])
def test_vectors_are_those_of_the_whole_model(tiny_model, name):
    from transformers import AutoModel, AutoProcessor

    model = AutoModel.from_pretrained(tiny_model(name)).eval()
    processor = AutoProcessor.from_pretrained(tiny_model(name))
    images = drawn()
    inputs = processor(
        text=TEXTS,
        images=[Image.fromarray(image) for image in images],
        padding=True if name == "clip" else "max_length",
        return_tensors="pt",
    )
    if name == "siglip":
        inputs.pop("attention_mask", None)
    whole = model(**inputs)
    encoder = load_image_encoder(str(tiny_model(name)))
    assert np.allclose(encoder.encode_queries(TEXTS).data, unit(whole.text_embeds), atol=1e-5)
    assert np.allclose(encoder.encode_images(images).data, unit(whole.image_embeds), atol=1e-5)


@pytest.mark.parametrize("name", ["siglip", "siglip2"])
def test_siglip_reads_padded_text_and_the_variant_does_not(tiny_model, name):
    from transformers import AutoModel, AutoTokenizer

    encoder = load_image_encoder(str(tiny_model(name)))
    model = AutoModel.from_pretrained(tiny_model(name)).eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny_model(name))

    def read(text, **padding):
        ids = tokenizer([text], return_tensors="pt", max_length=64, truncation=True, **padding)
        return unit(model.get_text_features(input_ids=ids["input_ids"]).pooler_output)[0]

    texts = [*TEXTS, "the same word " * 100]
    padded = np.stack([read(text, padding="max_length") for text in texts])
    bare = np.stack([read(text) for text in texts])
    assert np.allclose(encoder.encode_queries(texts).data, padded, atol=1e-5)
    assert np.allclose(encoder.encode_queries_as("unpadded", texts).data, bare, atol=1e-5)
    cosines = (padded * bare).sum(axis=1)
    assert (cosines[:3] < 0.99).all()  # another vector, silently
    assert cosines[3] > 0.9999  # a long text needs no padding
    with pytest.raises(UsageError, match="no variant 'other'; it has unpadded"):
        encoder.encode_queries_as("other", texts)


def test_features_may_come_as_a_tensor(tiny_model, monkeypatch):
    """So they came before transformers 5."""
    encoder = load_image_encoder(str(tiny_model("clip")))
    expected = encoder.encode_images(drawn()).data
    model = encoder._towers._model
    features = model.get_image_features
    monkeypatch.setattr(model, "get_image_features", lambda **k: features(**k).pooler_output)
    assert np.array_equal(encoder.encode_images(drawn()).data, expected)


def test_an_encoder_says_how_many_pixels_it_sees(tiny_model):
    assert load_image_encoder(str(tiny_model("clip"))).pixels == 32 * 32
    assert load_image_encoder(str(tiny_model("siglip"))).pixels == 32 * 32
    assert load_image_encoder(str(tiny_model("sentence_clip"))).pixels == 32 * 32
    assert load_image_encoder(str(tiny_model("siglip2"))).pixels == 64 * 16 * 16


def test_pixels_can_be_asked_for_where_they_vary(tiny_model):
    images = drawn(height=200, width=150)
    full = load_image_encoder(str(tiny_model("siglip2")))
    small = load_image_encoder(f"{tiny_model('siglip2')}?pixels=4096")
    assert small.pixels == 4096
    assert dict(small.settings) == {"pixels": "4096"}
    assert dict(full.settings) == {}
    cosines = (full.encode_images(images).data * small.encode_images(images).data).sum(axis=1)
    assert (cosines < 0.9999).all()
    for name in ("clip", "siglip", "sentence_clip"):
        with pytest.raises(UsageError, match="leave pixels out"):
            load_image_encoder(f"{tiny_model(name)}?pixels=4096")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_asked_for_and_told(tiny_model, dtype):
    full = load_image_encoder(str(tiny_model("clip")))
    half = load_image_encoder(f"{tiny_model('clip')}?dtype={dtype}")
    assert dict(half.settings) == {"dtype": dtype}
    assert dict(load_image_encoder(str(tiny_model("clip")), dtype="float32").settings) == {}
    assert load_image_encoder(str(tiny_model("clip")), dtype=dtype).settings == half.settings
    vectors = half.encode_images(drawn()).data
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert ((vectors * full.encode_images(drawn()).data).sum(axis=1) > 0.99).all()


def test_names_of_sentence_transformers_models_agree_with_the_model_inside(tiny_model):
    inside = load_image_encoder(str(tiny_model("clip")))
    around = load_image_encoder(str(tiny_model("sentence_clip")))
    assert around.name == "sentence:sentence_clip"
    assert around.revision != inside.revision
    assert np.allclose(
        around.encode_images(drawn()).data, inside.encode_images(drawn()).data, atol=1e-5
    )
    assert np.allclose(
        around.encode_queries(TEXTS).data, inside.encode_queries(TEXTS).data, atol=1e-5
    )


def test_a_model_for_text_only_is_refused(tiny_model, tmp_path):
    from sentence_transformers import SentenceTransformer

    inner = load_text_model(tmp_path / "inner", tiny_model)
    SentenceTransformer(str(inner), device="cpu").save(str(tmp_path / "text"))
    with pytest.raises(ModelError, match="cannot encode pictures"):
        load_image_encoder(str(tmp_path / "text"))


def load_text_model(folder, tiny_model):
    from transformers import AutoTokenizer, BertConfig, BertModel

    tokenizer = AutoTokenizer.from_pretrained(tiny_model("cross_encoder"))
    tokenizer.save_pretrained(folder)
    config = BertConfig.from_pretrained(tiny_model("cross_encoder"))
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", ["clip", "siglip", "siglip2"])
def test_pages_of_the_examples_are_encoded_and_ranked(tiny_model, pages, name):
    encoder = load_image_encoder(str(tiny_model(name)), batch=4)
    vectors = encoder.encode_images(pages)
    assert len(vectors) == len(pages) > 5
    # A page that is asked for by its own picture comes first.
    scores = encoder.encode_image_queries(pages).data @ vectors.data.T
    assert scores.argmax(axis=1).tolist() == list(range(len(pages)))
    # Random weights rank by no meaning, but the same way each time, within bounds.
    found = encoder.encode_queries(["total revenue"]).data @ vectors.data.T
    assert np.abs(found).max() <= 1.0001
    again = load_image_encoder(str(tiny_model(name)), batch=1)
    other = again.encode_queries(["total revenue"]).data @ again.encode_images(pages).data.T
    assert np.allclose(found, other, atol=1e-5)
    assert again.revision == encoder.revision


def test_threads_may_share_an_encoder(tiny_model):
    encoder = load_image_encoder(str(tiny_model("clip")), batch=2)
    images, texts = drawn(4), ["a", "a longer text " * 9]
    expected = encoder.encode_images(images).data, encoder.encode_queries(texts).data
    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(encoder.encode_images, images)
            if i % 2
            else pool.submit(encoder.encode_queries, texts)
            for i in range(12)
        ]
        for i, job in enumerate(jobs):
            assert np.allclose(job.result().data, expected[0 if i % 2 else 1], atol=1e-6)
