"""The built-in text encoder: near its float original, and no vector depends on its neighbours."""

from __future__ import annotations

import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pagetrail.encoders import text as module
from pagetrail.encoders.passages import passages
from pagetrail.encoders.text import TextEncoder
from pagetrail.errors import ModelError
from pagetrail.testing import tiny_pages

GOLDEN = Path(__file__).parents[2] / "golden"
DATA = Path(module.__file__).parent / "data"


@pytest.fixture(scope="module")
def encoder() -> TextEncoder:
    return TextEncoder()


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    return (GOLDEN / "text_encoder_sentences.txt").read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def vectors(encoder: TextEncoder, sentences: list[str]) -> np.ndarray:
    return encoder.encode_queries(sentences).data


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    return np.load(GOLDEN / "text_encoder_vectors.npy").astype(np.float32)


def test_agrees_with_the_float_model(vectors, reference):
    cosine = (vectors * reference).sum(axis=1)
    assert cosine.mean() > 0.995  # measured: .9965
    assert cosine.min() > 0.99  # measured: .9939


def test_ranks_as_the_float_model_does(vectors, reference):
    # Lines 1-30 are questions, lines 31-60 hold the answers in the same order.
    ours = vectors[:30] @ vectors[30:60].T
    theirs = reference[:30] @ reference[30:60].T
    assert np.array_equal(ours.argmax(axis=1), theirs.argmax(axis=1))
    assert np.array_equal(ours.argmax(axis=1), np.arange(30))
    assert np.abs(ours - theirs).mean() < 0.01  # measured: .006
    ranks = [
        np.corrcoef(a.argsort().argsort(), b.argsort().argsort())[0, 1]
        for a, b in zip(ours, theirs, strict=True)
    ]
    assert np.mean(ranks) > 0.97


def test_a_vector_depends_on_its_text_alone(encoder, sentences, vectors):
    mixed = encoder.encode_queries(["x", *sentences[::-1], "word " * 500]).data
    assert np.array_equal(mixed[1:-1][::-1], vectors)
    assert np.array_equal(encoder.encode_queries(sentences[7:8]).data[0], vectors[7])
    assert np.array_equal(TextEncoder(threads=2).encode_queries(sentences).data, vectors)


def test_threads_may_share_one_encoder(sentences, vectors):
    shared = TextEncoder()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda t: shared.encode_queries([t]).data[0], sentences[:20]))
    assert np.array_equal(np.array(results), vectors[:20])


def test_reads_the_first_256_tokens(encoder):
    start = "alpha beta gamma delta " * 70
    one, two = encoder.encode_queries([start + "omega", start + "bridge and river"]).data
    assert np.array_equal(one, two)


def test_hostile_text_is_cheap(encoder):
    found = encoder.encode_queries(["\u0301" * 2_000_000, "a" * 2_000_000, "\ud800\udfff" * 10_000])
    assert np.allclose(np.linalg.norm(found.data, axis=1), 1, atol=1e-3)


def test_pages_give_one_vector_per_passage(encoder):
    pages = tiny_pages()
    found = encoder.encode_pages(pages)
    cut = [passages(page) for page in pages]
    assert np.diff(found.offsets).tolist() == [len(c) for c in cut]
    assert found.offsets[2] == found.offsets[3]  # the page without words
    expected = encoder.encode_queries([p.text for c in cut for p in c]).data
    assert np.array_equal(found.data, expected)


def test_revision_names_the_model_file(encoder):
    assert encoder.revision == hashlib.sha256((DATA / "model.onnx").read_bytes()).hexdigest()[:16]
    assert (encoder.name, encoder.dimension) == ("all-MiniLM-L6-v2", 384)
    manifest = json.loads((DATA / "manifest.json").read_text("utf-8"))
    assert manifest["licence"] == "Apache-2.0"
    assert sum(f.stat().st_size for f in DATA.iterdir()) < 25_000_000


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "manifest.json"])
def test_a_damaged_or_missing_file_is_named(tmp_path, name):
    for file in DATA.iterdir():
        (tmp_path / file.name).symlink_to(file)
    target = tmp_path / name
    target.unlink()
    with pytest.raises(ModelError, match=rf"cannot read .*{name}.*reinstall"):
        TextEncoder(folder=tmp_path).encode_queries(["a"])
    shutil.copy(DATA / name, target)
    target.write_bytes(target.read_bytes()[:-9])
    with pytest.raises(ModelError, match=rf"{name} does not match its checksum; reinstall"):
        TextEncoder(folder=tmp_path).encode_queries(["a"])


def test_threads_must_be_positive():
    with pytest.raises(ValueError, match="threads"):
        TextEncoder(threads=0)
