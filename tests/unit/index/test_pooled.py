from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pagetrail.index import pooled
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.publish import Registration, VectorWriter, drop_encoder, encoders
from pagetrail.index.segments import VectorIndex
from pagetrail.types import Vectors

ROWS = 20


@pytest.fixture(autouse=True)
def _early(shelf: Any, monkeypatch: Any) -> None:
    shelf.follow = ()
    monkeypatch.setattr(pooled, "MANY", 30 * ROWS)
    monkeypatch.setattr(pooled, "_LEAST", 5)
    monkeypatch.setattr(pooled, "_TIMES", 1)


def writer_of(shelf: Any) -> VectorWriter:
    return VectorWriter(
        shelf.catalogue, name="col", revision="1", dimension=16, registration=Registration("col")
    )


def add(shelf: Any, writer: VectorWriter, pages: int, seed: int) -> dict[int, np.ndarray]:
    shelf.add(f"{seed}.pdf", *[f"{seed} {n}" for n in range(pages)])
    keys = writer.missing()
    data = np.random.default_rng(seed).standard_normal((len(keys) * ROWS, 16)).astype(np.float32)
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    offsets = np.arange(0, len(data) + 1, ROWS)
    writer.publish(keys, Vectors(data, offsets, "col", "1"))
    return dict(zip(keys, np.split(data, offsets[1:-1]), strict=True))


def pooled_pages(shelf: Any) -> set[int]:
    return {
        page
        for (page,) in shelf.catalogue.rows(
            "SELECT page FROM vectors JOIN encoders ON id = encoder WHERE name = 'col/pooled'"
        )
    }


def test_small_libraries_never_pay(shelf: Any) -> None:
    writer = writer_of(shelf)
    add(shelf, writer, 20, 0)
    writer.compact()
    names = shelf.catalogue.rows("SELECT name FROM encoders")
    assert ("col/pooled",) not in names


def test_large_ones_get_pooled_vectors_that_are_kept_up(shelf: Any, monkeypatch: Any) -> None:
    writer = writer_of(shelf)
    held = add(shelf, writer, 20, 0) | add(shelf, writer, 20, 1)
    assert pooled_pages(shelf) == set(held)
    held |= add(shelf, writer, 3, 2)
    assert pooled_pages(shelf) == set(held)
    catalogue = Catalogue(shelf.folder)
    companion = VectorIndex(catalogue, name="col/pooled", revision="1", dimension=16)
    for key, rows in held.items():
        mean = rows.mean(axis=0) / np.linalg.norm(rows.mean(axis=0))
        assert companion.row_scores(mean, key)[0, 0] == pytest.approx(1, abs=0.01)
    catalogue.close()
    # A kill between a page's vectors and its pooled one: the next run makes up for it.
    with monkeypatch.context() as patch:
        patch.setattr(VectorWriter, "_pool", lambda _: None)
        late = add(shelf, writer, 2, 3)
    assert not pooled_pages(shelf) & set(late)
    assert writer.search(held[min(held)], limit=1).keys.tolist() == [min(held)]
    for key, rows in late.items():  # scored exactly meanwhile
        assert writer.search(rows[:4], limit=1).keys.tolist() == [key]
    writer_of(shelf).compact()
    assert pooled_pages(shelf) == set(held | late)
    shelf.catalogue.remove_documents([shelf.catalogue.view().ids[1]])
    writer.compact()
    assert pooled_pages(shelf) == {key for key in held | late if key >> 20 != 1}
    for n in range(4, 14):
        add(shelf, writer, 2, n)
    writer.compact()
    rows = shelf.catalogue.rows(
        "SELECT encoder, count(*), sum(rows - dead) FROM segments GROUP BY encoder"
    )
    assert all(count < 16 for _, count, _ in rows)
    assert {total for _, _, total in rows} == {45 * ROWS, 45}


def test_they_nominate_and_the_exact_way_remains(shelf: Any, monkeypatch: Any) -> None:
    writer = writer_of(shelf)
    held = add(shelf, writer, 60, 0)
    scored: list[int] = []
    real = type(writer.loaded()).scores_of
    monkeypatch.setattr(
        type(writer.loaded()),
        "scores_of",
        lambda self, question, places: scored.append(len(places)) or real(self, question, places),
    )
    for key in list(held)[::7]:
        query = held[key][:8]
        found = writer.search(query, limit=3)
        exact = writer.search(query, limit=3, exact=True)
        assert found.keys[0] == exact.keys[0] == key
        assert found.scores[0] == exact.scores[0]
        assert len(exact) == 3
        scope = writer.search(query, limit=3, documents=frozenset({2}))
        assert len(scope) == 0
    assert scored
    assert max(scored) < 30


def test_they_are_not_listed_and_leave_with_their_encoder(shelf: Any) -> None:
    writer = writer_of(shelf)
    add(shelf, writer, 40, 0)
    (record,) = [r for r in encoders(shelf.catalogue) if r.channel == "col"]
    assert [r.name for r in encoders(shelf.catalogue)] == ["fake", "col"]
    on_disk = sum(p.stat().st_size for p in shelf.folder.segments.iterdir())
    assert record.bytes == on_disk
    drop_encoder(shelf.catalogue, record.id)
    assert list(shelf.folder.segments.iterdir()) == []
    assert shelf.catalogue.rows("SELECT name FROM encoders") == [("fake",)]
    assert pooled_pages(shelf) == set()


def test_many_pages_that_wait_to_be_pooled_hide_no_others(shelf: Any, monkeypatch: Any) -> None:
    writer = writer_of(shelf)
    held = add(shelf, writer, 20, 0) | add(shelf, writer, 20, 1)
    with monkeypatch.context() as patch:
        patch.setattr(VectorWriter, "_pool", lambda _: None)
        held |= add(shelf, writer, 10, 2)  # more than are nominated
    for key, rows in held.items():
        assert writer.search(rows, limit=1).keys.tolist() == [key]
