"""Many vectors per page: which are kept, where they lie, and that they are the models' own."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from pagetrail.encoders.spec import load_image_encoder
from pagetrail.errors import ModelError, UsageError

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def drawn(*sizes, seed=5):
    noise = np.random.default_rng(seed)
    return [noise.integers(0, 256, (height, width, 3), np.uint8) for height, width in sizes]


def read(tiny_model, name):
    from transformers import AutoProcessor, ColPaliForRetrieval, ColQwen2ForRetrieval

    loader = {"colpali": ColPaliForRetrieval, "colqwen2": ColQwen2ForRetrieval}[name]
    model = loader.from_pretrained(tiny_model(name)).eval()
    return model, AutoProcessor.from_pretrained(tiny_model(name))


def unit(tensor):
    return torch.nn.functional.normalize(tensor.detach().float(), dim=-1).numpy()


def test_only_patches_are_kept_of_a_page(tiny_model):
    model, processor = read(tiny_model, "colpali")
    image = drawn((90, 60))[0]
    inputs = processor.process_images(images=[Image.fromarray(image)])
    inputs.pop("labels", None)
    with torch.inference_mode():
        rows = unit(model(**inputs).embeddings[0])
    ids = inputs["input_ids"][0].numpy()
    vectors = load_image_encoder(str(tiny_model("colpali"))).encode_images([image])
    assert len(rows) > 16  # bos, instruction and line break stand behind the patches
    assert np.allclose(vectors.data, rows[ids == processor.image_token_id], atol=1e-5)
    assert (vectors.grids[0].rows, vectors.grids[0].columns) == (4, 4)


@pytest.mark.parametrize("name", ["colpali", "colqwen2"])
def test_all_tokens_of_a_question_are_kept_but_padding_is_not(tiny_model, name):
    model, processor = read(tiny_model, name)
    texts = ["yes", "Which page shows the total revenue?"]
    inputs = processor.process_queries(text=texts)
    with torch.inference_mode():
        rows = model(**inputs).embeddings
    vectors = load_image_encoder(str(tiny_model(name))).encode_queries(texts)
    counts = np.diff(vectors.offsets).tolist()
    assert counts == inputs["attention_mask"].sum(dim=1).tolist()
    assert counts[0] < counts[1]
    for item, (first, last) in enumerate(zip(vectors.offsets, vectors.offsets[1:], strict=False)):
        kept = unit(rows[item][inputs["attention_mask"][item].bool()])
        assert np.allclose(vectors.data[first:last], kept, atol=1e-5)


def test_scores_rank_as_the_model_s_own(tiny_model):
    _, processor = read(tiny_model, "colpali")
    images, texts = drawn((90, 60), (60, 90), (80, 80)), ["total revenue", "no"]
    encoder = load_image_encoder(str(tiny_model("colpali")))
    pages, questions = encoder.encode_images(images), encoder.encode_queries(texts)

    def parts(vectors):
        return [
            torch.from_numpy(vectors.data[a:b])
            for a, b in zip(vectors.offsets[:-1], vectors.offsets[1:], strict=True)
        ]

    theirs = processor.score_retrieval(parts(questions), parts(pages)).numpy()
    ours = [[(q @ p.T).amax(dim=1).mean().item() for p in parts(pages)] for q in parts(questions)]
    sums = np.array(ours) * np.diff(questions.offsets)[:, None]
    assert np.allclose(sums, theirs, atol=1e-4)


@pytest.mark.parametrize("name", ["colqwen2", "sentence_colqwen2"])
def test_patches_are_numbered_by_row_and_column(tiny_model, name):
    """As ColQwen2 was trained; transformers 5 by itself numbers them along one line."""
    image = drawn((150, 200))[0]
    model, processor = read(tiny_model, "colqwen2")
    inputs = processor.process_images(images=[Image.fromarray(image)])
    patches = inputs["input_ids"] == processor.image_token_id
    rows, columns = (inputs["image_grid_thw"][0, 1:] // 2).tolist()
    before = int(patches[0].int().argmax())
    positions = torch.arange(inputs["input_ids"].shape[1]).expand(3, 1, -1).clone()
    for place in range(rows * columns):
        row, column = divmod(place, columns)
        positions[:, 0, before + place] = torch.tensor([0, row, column]) + before
    after = before + rows * columns
    count = positions.shape[2] - after
    positions[:, 0, after:] = torch.arange(count) + before + max(rows, columns)
    with torch.inference_mode():
        expected = unit(model(**inputs, position_ids=positions).embeddings[patches])
        in_line = unit(model(**inputs).embeddings[patches])
    vectors = load_image_encoder(str(tiny_model(name))).encode_images([image]).data
    assert np.allclose(vectors, expected, atol=1e-5)
    assert np.abs(expected - in_line).max() > 1e-4


@pytest.mark.parametrize("name", ["colpali", "colqwen2"])
def test_sentence_transformers_gives_the_same_vectors(tiny_model, name):
    here = load_image_encoder(str(tiny_model(name)))
    there = load_image_encoder(str(tiny_model(f"sentence_{name}")))
    images, texts = drawn((90, 60), (40, 200)), ["yes", "total revenue"]
    for mine, other in (
        (here.encode_images(images), there.encode_images(images)),
        (here.encode_queries(texts), there.encode_queries(texts)),
    ):
        assert np.array_equal(mine.offsets, other.offsets)
        assert np.allclose(mine.data, other.data, atol=1e-5)
    assert [(g.rows, g.columns) for g in there.encode_images(images).grids] == [
        (g.rows, g.columns) for g in here.encode_images(images).grids
    ]


@pytest.mark.parametrize("name", ["colpali", "colqwen2", "sentence_colqwen2", "colsmol"])
@pytest.mark.parametrize("corner", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_the_grid_shows_where_a_picture_changed(tiny_model, name, corner):
    encoder = load_image_encoder(str(tiny_model(name)))
    plain = np.full((168, 112, 3), 255, np.uint8)
    marked = plain.copy()
    down, right = corner
    marked[slice(140, 168) if down else slice(0, 28), slice(84, 112) if right else slice(0, 28)] = 0
    vectors = encoder.encode_images([plain, marked])
    count = len(vectors.data) // 2
    changed = 1 - (vectors.data[:count] * vectors.data[count:]).sum(axis=1)
    grid = vectors.grids[1]
    row, column = divmod(int(changed[grid.cells].argmax()), grid.columns)
    assert (row, column) == (down * (grid.rows - 1), right * (grid.columns - 1))
    if "colqwen2" in name:
        assert grid.rows > grid.columns  # in the page's shape


def test_pooled_grids_cover_all_vectors(tiny_model):
    image = drawn((200, 150))[0]
    full = load_image_encoder(str(tiny_model("colqwen2")))
    pooled = load_image_encoder(f"{tiny_model('colqwen2')}?pool=3")
    assert dict(pooled.settings) == {"pool": "3"}
    assert dict(load_image_encoder(f"{tiny_model('colqwen2')}?pool=1").settings) == {}
    many, few = full.encode_images([image]), pooled.encode_images([image])
    assert len(few.data) == len(many.data) // 3
    assert sorted(set(few.grids[0].cells.tolist())) == list(range(len(few.data)))
    near = (many.data[many.grids[0].cells] * few.data[few.grids[0].cells]).sum(axis=1)
    assert near.mean() > 0.6
    assert np.array_equal(full.encode_queries(["red"]).data, pooled.encode_queries(["red"]).data)


def test_pixels_can_be_asked_for_where_they_vary(tiny_model):
    image = drawn((400, 300))[0]
    small = load_image_encoder(f"{tiny_model('colqwen2')}?pixels=12544")
    full = load_image_encoder(str(tiny_model("colqwen2")))
    assert (small.pixels, full.pixels) == (12544, 50176)
    assert len(small.encode_images([image]).data) <= 12544 // 28**2
    assert len(full.encode_images([image]).data) > 12544 // 28**2
    for name in ("colpali", "colsmol"):
        with pytest.raises(UsageError, match="leave pixels out"):
            load_image_encoder(f"{tiny_model(name)}?pixels=12544")


def test_pages_of_the_examples_are_encoded_and_ranked(tiny_model):
    pdfium = pytest.importorskip("pypdfium2")
    pages = []
    with pdfium.PdfDocument(EXAMPLES / "annual-report.pdf") as document:
        for page in document:
            pages.append(np.asarray(page.render(scale=0.5).to_pil().convert("RGB")))
            page.close()
    encoder = load_image_encoder(str(tiny_model("colqwen2")), batch=2)
    vectors = encoder.encode_images(pages)
    cut = [vectors.data[a:b] for a, b in zip(vectors.offsets, vectors.offsets[1:], strict=False)]
    assert len(cut) == len(pages) > 2
    scores = np.array([[(q @ p.T).max(axis=1).mean() for p in cut] for q in cut])
    assert scores.argmax(axis=1).tolist() == list(range(len(pages)))
    question = encoder.encode_queries(["total revenue"]).data
    found = [(question @ page.T).max(axis=1).mean() for page in cut]
    assert np.abs(found).max() <= 1.0001


def test_a_model_that_pools_by_itself_has_no_grid(tiny_model, tmp_path):
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling

    model = MultiVectorEncoder(str(tiny_model("sentence_colpali")), device="cpu")
    model.append(HierarchicalTokenPooling(2))
    model.save(str(tmp_path / "pooled"))
    encoder = load_image_encoder(str(tmp_path / "pooled"))
    vectors = encoder.encode_images(drawn((60, 60), (90, 90)))
    assert vectors.grids == ()
    assert 2 < len(vectors.data) < 2 * 16


def test_a_processor_for_text_only_is_refused(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model("colpali"), tmp_path / "copy")
    (folder / "processor_config.json").unlink()
    with pytest.raises(ModelError):
        load_image_encoder(str(folder))


def test_long_questions_are_cut(tiny_model):
    encoder = load_image_encoder(str(tiny_model("colpali")))
    long, longer = encoder.encode_queries(["x" * 2000]), encoder.encode_queries(["x" * 9000])
    assert np.array_equal(long.data, longer.data)
