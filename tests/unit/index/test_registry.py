from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pagetrail.errors import ModelError, NotFoundError, UsageError
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.ensemble import Ensemble
from pagetrail.index.publish import (
    Registration,
    VectorWriter,
    clean_segments,
    drop_encoder,
    encoders,
)
from pagetrail.index.segments import VectorIndex
from pagetrail.types import Grid, Vectors

PROBE = np.array([0.5, -1, 0.25], np.float32)
SIGLIP = Registration("siglip", "siglip:folder", {"pooling": "2"}, PROBE)


@pytest.fixture(autouse=True)
def _only_vectors(shelf: Any) -> None:
    shelf.follow = ("vectors",)


def late(shelf: Any, registration: Registration = SIGLIP, **more: Any) -> VectorWriter:
    names = {"name": "siglip-so", "revision": "a" * 20, "dimension": 8} | more
    return VectorWriter(shelf.catalogue, registration=registration, **names)


def fill(writer: VectorWriter, rows: int = 20, seed: int = 0, **more: Any) -> dict[int, np.ndarray]:
    """Give every page that waits vectors of its own; returns them by key."""
    keys = writer.missing()
    name, revision, dimension = writer._names
    data = np.random.default_rng(seed).standard_normal((len(keys) * rows, dimension))
    data = (data / np.linalg.norm(data, axis=1, keepdims=True)).astype(np.float32)
    offsets = np.arange(0, len(data) + 1, rows)
    grids = tuple(Grid(2, 3, np.array([0, 1, 2, -1, n, 1], np.int32)) for n in range(len(keys)))
    writer.publish(keys, Vectors(data, offsets, name, revision, grids), **more)
    return dict(zip(keys, np.split(data, offsets[1:-1]), strict=True))


def test_what_is_registered_is_listed(shelf: Any) -> None:
    shelf.add("a.pdf", "one", "two")
    writer = late(shelf)
    built_in, added = encoders(shelf.catalogue)
    assert (built_in.name, built_in.channel, built_in.pages, built_in.pending) == (
        "fake",
        None,
        2,
        0,
    )
    assert built_in.bytes > 0
    assert (added.name, added.revision, added.dimension) == ("siglip-so", "a" * 20, 8)
    assert (added.channel, added.spec, added.settings) == (
        "siglip",
        "siglip:folder",
        {"pooling": "2"},
    )
    assert added.probe is not None
    assert added.probe.tolist() == PROBE.tolist()
    assert (added.pages, added.pending, added.bytes) == (0, 2, 0)
    fill(writer)
    assert [(r.pages, r.pending) for r in encoders(shelf.catalogue)] == [(2, 0), (2, 0)]
    assert built_in.probe is None
    assert late(shelf).missing() == []  # registering again is opening


def test_new_pages_wait_for_every_encoder(shelf: Any) -> None:
    writer = late(shelf)
    shelf.add("a.pdf", "one", "two")
    assert len(writer.missing()) == 2
    assert shelf.vectors.missing() == []


def test_a_channel_of_another_model_is_refused(shelf: Any) -> None:
    late(shelf)
    with pytest.raises(
        ModelError,
        match="channel siglip was built with siglip-so revision aaaaaaaaaaaa, now it is "
        "siglip-so revision b: drop it and add it again",
    ):
        late(shelf, revision="b")
    with pytest.raises(ModelError, match=r"built with siglip-so .* now it is clip revision"):
        VectorIndex(shelf.catalogue, name="clip", revision="a" * 20, dimension=8, channel="siglip")
    with pytest.raises(ModelError, match="built with pooling '2', now it is '3'"):
        late(shelf, Registration("siglip", settings={"pooling": "3"}))
    with pytest.raises(ModelError, match="in this library already, as channel siglip"):
        late(shelf, Registration("other"))
    with pytest.raises(ModelError, match="as the built-in encoder"):
        late(shelf, Registration("x"), name="fake", revision="r1", dimension=16)
    with pytest.raises(ModelError, match="length 8 in this library, now 9"):
        late(shelf, dimension=9)


def test_dropping_frees_everything_and_allows_another(shelf: Any) -> None:
    shelf.add("a.pdf", "one", "two")
    writer = late(shelf)
    fill(writer)
    catalogue = Catalogue(shelf.folder)
    reader = VectorIndex(catalogue, name="siglip-so", revision="a" * 20, dimension=8)
    query = np.ones(8, np.float32) / np.sqrt(8)
    assert len(reader.search(query, limit=5)) == 2
    before = shelf.catalogue.generation()
    (record,) = [r for r in encoders(shelf.catalogue) if r.channel == "siglip"]
    assert drop_encoder(shelf.catalogue, record.id) == record.bytes > 0
    assert shelf.catalogue.generation() > before
    assert [r.name for r in encoders(shelf.catalogue)] == ["fake"]
    assert len(list(shelf.folder.segments.iterdir())) == 2
    for table in ("vectors", "pending", "segments"):
        held = shelf.catalogue.rows(f"SELECT DISTINCT encoder FROM {table}")
        assert all(encoder != record.id for (encoder,) in held)
    assert len(reader.search(query, limit=5)) == 0
    with pytest.raises(NotFoundError):
        drop_encoder(shelf.catalogue, record.id)
    fill(late(shelf, revision="a" * 20))
    assert len(reader.search(query, limit=5)) == 2
    catalogue.close()


def test_files_that_a_killed_drop_left_are_cleaned(shelf: Any, monkeypatch: Any) -> None:
    shelf.add("a.pdf", "one")
    fill(late(shelf), rows=2)
    (_, record) = encoders(shelf.catalogue)
    monkeypatch.setattr("pagetrail.index.registry.remove_segment", lambda *_: None)
    drop_encoder(shelf.catalogue, record.id)
    assert len(clean_segments(shelf.catalogue)) == 2


def test_grids_are_kept_copied_and_survive_compaction(shelf: Any) -> None:
    shelf.add("a.pdf", "one", "two")
    writer = late(shelf)
    keys = list(fill(writer))
    shelf.begin("b.pdf", "one\ftwo")
    assert writer.adopt() == 2
    for n in range(9):
        shelf.add(f"{n}.pdf", f"text {n}")
        fill(writer, seed=n)
    assert writer.compact() > 0
    for key in (*keys, *(key + (1 << 20) for key in keys)):
        grid = writer.grid(key)
        assert grid is not None
        assert (grid.rows, grid.columns) == (2, 3)
        assert grid.cells.tolist() == [0, 1, 2, -1, (key & 3) - 1, 1]
    assert writer.grid(99) is None
    assert shelf.vectors.grid(keys[0]) is None
    grids = (Grid(1, 1, np.zeros(1, np.int32)),)
    short = Vectors(np.ones((2, 8), np.float32), np.arange(3), "siglip-so", "a" * 20, grids)
    with pytest.raises(UsageError, match="one grid per item"):
        writer.publish([1, 2], short)


def test_candidates_are_scored_as_in_a_search(shelf: Any) -> None:
    ids = [shelf.add(f"{n}.pdf", "one", f"two {n}") for n in range(6)]
    writer = late(shelf)
    held = fill(writer)
    query = np.random.default_rng(5).standard_normal((7, 8)).astype(np.float32)
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    found = writer.search(query, limit=20)
    expected = {key: (rows @ query.T).max(axis=0).mean() for key, rows in held.items()}
    assert dict(zip(found.keys.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(
        expected, abs=0.02
    )
    some = [int(found.keys[n]) for n in (7, 2, 4, 2)]
    again = writer.rescore(query, [*some, 12345])
    assert again.keys.tolist() == [int(found.keys[n]) for n in (2, 4, 7)]
    assert again.scores.tolist() == [found.scores[n] for n in (2, 4, 7)]
    assert again.blocks is not None
    assert again.blocks.tolist() == [-1, -1, -1]
    shelf.catalogue.remove_documents([ids[(some[0] >> 20) - 1]])
    assert some[0] not in writer.rescore(query, some).keys
    assert len(writer.rescore(query, [])) == 0
    cosines = writer.row_scores(query, some[1])
    assert cosines.shape == (7, 20)
    assert cosines.max(axis=1).mean() == pytest.approx(float(found.scores[2]), abs=1e-6)
    assert np.abs(cosines - query @ held[some[1]].T).max() < 0.05
    with pytest.raises(NotFoundError):
        writer.row_scores(query, some[0])
    for wrong in (np.ones(9), np.ones((0, 8)), np.ones((1, 1, 8))):
        with pytest.raises(UsageError, match="has the shape"):
            writer.search(wrong, limit=1)


def test_originals_are_kept_on_demand(shelf: Any) -> None:
    shelf.add("a.pdf", "one", "two")
    writer = late(shelf, keep_float=True)
    held = fill(writer)
    for n in range(8):
        shelf.add(f"{n}.pdf", f"text {n}")
        held |= fill(writer, seed=n + 1)
    shelf.begin("b.pdf", "one\ftwo")
    assert writer.adopt() == 2
    assert writer.compact() > 0
    query = held[next(iter(held))][:3]
    exact = [(rows @ query.T).max(axis=0).mean() for rows in held.values()]
    scores = writer.float_scores(query, list(held), originals=True)
    assert scores.tolist() == pytest.approx(exact, abs=1e-3)
    coarse = writer.float_scores(query, list(held))
    assert coarse.tolist() == pytest.approx(exact, abs=0.02)
    assert not np.array_equal(coarse, scores)
    found = writer.rescore(query, list(held))
    assert found.scores.max() == pytest.approx(coarse.max(), abs=0.01)
    (_, record) = encoders(shelf.catalogue)
    drop_encoder(shelf.catalogue, record.id)
    assert not [p for p in shelf.folder.segments.iterdir() if ".float." in p.name]
    with pytest.raises(NotFoundError, match="not kept"):
        shelf.vectors.float_scores(np.ones(16), [1 << 20 | 1], originals=True)


def test_an_ensemble_is_the_weighted_sum_of_its_channels(shelf: Any) -> None:
    ids = [shelf.add(f"{n}.pdf", f"one {n}", "two\nthree") for n in range(8)]
    siglip, clip = late(shelf), late(shelf, Registration("clip"), name="clip", dimension=4)
    fill(siglip, rows=20)
    fill(clip, rows=1, seed=3)
    extra = shelf.add("more.pdf", "only words")
    shelf.catalogue.remove_documents(ids[:1])
    random = np.random.default_rng(1)
    queries = [random.standard_normal(s).astype(np.float32) for s in (16, (5, 8), 4)]
    queries = [q / np.linalg.norm(q, axis=-1, keepdims=True) for q in queries]
    weights = (1.0, 2.0, -0.5)
    together = Ensemble([shelf.vectors, siglip, clip])
    for scope in (None, frozenset({3, 4}), frozenset({1}), frozenset({9})):
        blend = together.search(queries, weights, limit=6, documents=scope)
        expected: dict[int, float] = {}
        for index, query, weight in zip(
            (shelf.vectors, siglip, clip), queries, weights, strict=True
        ):
            found = index.search(query, limit=100, documents=scope)
            part = blend.parts[index.channel]
            by_key = dict(zip(found.keys.tolist(), found.scores.tolist(), strict=True))
            for key, score in by_key.items():
                expected[key] = expected.get(key, 0) + weight * score
            assert part.tolist() == [by_key.get(key, 0) for key in blend.found.keys.tolist()]
        ranked = sorted(expected, key=lambda key: (-expected[key], key))[:6]
        assert blend.found.keys.tolist() == ranked
        assert blend.found.scores.tolist() == pytest.approx(
            [expected[key] for key in ranked], abs=1e-5
        )
    assert blend.found.keys.tolist() == [9 << 20 | 1]
    assert extra
    with pytest.raises(UsageError, match="one query and one weight"):
        together.search(queries[:2], weights, limit=3)
    with pytest.raises(UsageError, match="only once"):
        Ensemble([clip, clip])


def test_a_file_that_vanishes_while_sizes_are_read(shelf: Any) -> None:
    shelf.add("a.pdf", "one")
    size = encoders(shelf.catalogue)[0].bytes
    ((name,),) = shelf.catalogue.rows("SELECT name FROM segments")
    # What a folder still lists when compaction has just deleted it.
    (shelf.folder.segments / f"{name}.gone.npy").symlink_to(shelf.folder.segments / "nowhere")
    assert encoders(shelf.catalogue)[0].bytes == size > 0


def test_no_encoder_takes_the_name_of_anothers_pooled_vectors(shelf: Any) -> None:
    late(shelf)
    with pytest.raises(ModelError, match="/pooled"):
        late(shelf, Registration("other"), name="siglip-so/pooled")
    assert [r.channel for r in encoders(shelf.catalogue)] == [None, "siglip"]
