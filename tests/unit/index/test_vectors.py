from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pagetrail.errors import CorruptError, ModelError, UsageError
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.keys import split_key
from pagetrail.index.loaded import Loaded
from pagetrail.index.publish import VectorWriter, clean_segments, strangers
from pagetrail.index.segments import VectorIndex
from pagetrail.types import Vectors


@pytest.fixture(autouse=True)
def _only_vectors(shelf: Any) -> None:
    shelf.follow = ("vectors",)


def segment_files(shelf: Any) -> list[str]:
    return sorted(p.name for p in shelf.folder.segments.iterdir())


def reader(shelf: Any) -> tuple[Catalogue, VectorIndex]:
    catalogue = Catalogue(shelf.folder)
    return catalogue, VectorIndex(catalogue, name="fake", revision="r1", dimension=16)


def test_the_nearest_page_and_its_block(shelf: Any, unit_vector: Any) -> None:
    document = shelf.add("a.pdf", "one\ntwo\nthree", "four\nfive")
    shelf.add("b.pdf", "six", "seven\neight")
    found = shelf.vectors.search(unit_vector("five"), limit=3)
    assert split_key(int(found.keys[0])) == (1, 2)
    assert found.blocks[0] == 1
    assert found.scores[0] == pytest.approx(1, abs=0.01)
    assert len(found) == 3
    assert np.all(np.diff(found.scores) <= 0)
    assert shelf.near("three")[0] == f"{document}#p0001"
    assert len(set(shelf.near("three"))) == 4


def test_ranking_equals_brute_force_over_many_segments(shelf: Any, unit_vector: Any) -> None:
    texts: dict[tuple[int, int], list[str]] = {}
    for d in range(12):
        pages = [f"{d} {p} a\n{d} {p} b" for p in range(1 + d % 4)]
        shelf.add(f"{d}.pdf", *pages)
        texts |= {(d + 1, n): page.split("\n") for n, page in enumerate(pages, 1)}
    shelf.catalogue.remove_documents([shelf.catalogue.view().ids[3]])
    query = unit_vector("anything")
    expected = {
        at: max(float(unit_vector(t) @ query) for t in blocks)
        for at, blocks in texts.items()
        if at[0] != 3
    }
    found = shelf.vectors.search(query, limit=100)
    assert {split_key(int(k)) for k in found.keys} == set(expected)
    for key, score in zip(found.keys, found.scores, strict=True):
        assert score == pytest.approx(expected[split_key(int(key))], abs=0.01)
    for scope in ({1}, {2, 5, 9}, set(range(1, 13))):
        part = shelf.vectors.search(query, limit=100, documents=frozenset(scope))
        inside = [k for k in found.keys if k >> 20 in scope]
        assert part.keys.tolist() == [int(k) for k in inside]
    assert len(shelf.vectors.search(query, limit=100, documents=frozenset({3, 99}))) == 0
    assert shelf.vectors.page_count() == len(expected)


def test_equal_scores_stand_in_order_of_key(shelf: Any, unit_vector: Any) -> None:
    for n in range(6):
        shelf.add(f"{n}.pdf", "same", f"other {n}")
    found = shelf.vectors.search(unit_vector("same"), limit=4)
    assert [split_key(int(k)) for k in found.keys] == [(n, 1) for n in (1, 2, 3, 4)]


def test_an_empty_index_finds_nothing(shelf: Any, unit_vector: Any) -> None:
    assert len(shelf.vectors.search(unit_vector("x"), limit=5)) == 0
    catalogue = Catalogue(shelf.folder)
    unknown = VectorIndex(catalogue, name="never", revision="r", dimension=16)
    assert len(unknown.search(unit_vector("x"), limit=5)) == 0
    catalogue.close()


def test_missing_shrinks_as_pages_are_published(shelf: Any, make_page: Any) -> None:
    begun = shelf.begin("a.pdf", "a")
    keys = shelf.catalogue.put_pages([make_page(begun.document, n) for n in (1, 2, 3)])
    assert shelf.vectors.missing() == keys
    shelf.encode(keys[:2])
    assert shelf.vectors.missing() == keys[2:]
    shelf.encode(keys)  # those that are there already are passed over
    assert shelf.vectors.missing() == []
    assert shelf.vectors.page_count() == 3
    rows = shelf.catalogue.rows("SELECT sum(rows), sum(dead) FROM segments")
    assert rows == [(3, 0)]


def test_pages_without_vectors_are_done_and_never_found(shelf: Any, make_page: Any) -> None:
    begun = shelf.begin("a.pdf", "a")
    page = make_page(begun.document, 1, "x")
    blank = type(page)(begun.document, 2, 10.0, 10.0)
    shelf.encode(shelf.catalogue.put_pages([blank]))
    assert shelf.vectors.missing() == []
    assert segment_files(shelf) == []
    shelf.encode(shelf.catalogue.put_pages([page]))
    assert shelf.near("x") == [f"{begun.document}#p0001"]


def test_an_encoder_added_later_finds_all_pages_missing(shelf: Any) -> None:
    shelf.add("a.pdf", "one", "two")
    later = VectorWriter(shelf.catalogue, name="later", revision="r9", dimension=4)
    assert len(later.missing()) == 2
    again = VectorWriter(shelf.catalogue, name="later", revision="r9", dimension=4)
    assert len(again.missing()) == 2
    with pytest.raises(ModelError, match="length 4 in this library, now 5"):
        VectorWriter(shelf.catalogue, name="later", revision="r9", dimension=5)


def test_wrong_vectors_are_refused(shelf: Any, make_page: Any) -> None:
    begun = shelf.begin("a.pdf", "a")
    keys = shelf.catalogue.put_pages([make_page(begun.document, n) for n in (1, 2)])
    one = np.ones((1, 16), np.float32)
    offsets = np.array([0, 1], np.int64)
    with pytest.raises(UsageError, match="one key per item"):
        shelf.vectors.publish(keys, Vectors(one, offsets, "fake", "r1"), [0])
    with pytest.raises(ModelError, match="other"):
        shelf.vectors.publish(keys[:1], Vectors(one, offsets, "other", "r1"), [0])
    with pytest.raises(ModelError, match="no number"):
        shelf.vectors.publish(keys[:1], Vectors(one * np.nan, offsets, "fake", "r1"), [0])
    two = Vectors(np.ones((2, 16), np.float32), np.array([0, 1, 2]), "fake", "r1")
    with pytest.raises(UsageError, match="twice"):
        shelf.vectors.publish([keys[0], keys[0]], two, [0, 0])
    assert segment_files(shelf) == []


def test_copies_take_over_vectors_without_encoding(shelf: Any) -> None:
    shelf.add("a.pdf", "one\ntwo", "three")
    copy = shelf.begin("b.pdf", "one\ntwo\fthree")
    assert len(shelf.vectors.missing()) == 2
    assert shelf.vectors.adopt() == 2
    assert shelf.vectors.missing() == []
    assert f"{copy.document}#p0001" in shelf.near("two")[:2]


def test_many_small_segments_are_merged_and_the_dead_leave(shelf: Any) -> None:
    ids = [shelf.add(f"{n}.pdf", f"text {n}", f"more {n}") for n in range(20)]
    before = {n: shelf.near(f"text {n}") for n in range(20)}
    assert len(segment_files(shelf)) == 40
    assert shelf.vectors.compact() > 0
    assert len(segment_files(shelf)) <= 2 * 8
    assert {n: shelf.near(f"text {n}") for n in range(20)} == before
    shelf.catalogue.remove_documents(ids[:15])
    shelf.vectors.compact()
    assert shelf.catalogue.rows("SELECT coalesce(sum(rows), 0) FROM segments")[0][0] <= 14
    for n in range(20):
        near = shelf.near(f"text {n}")
        assert {page.split("#")[0] for page in near} == set(ids[15:])
        assert n < 15 or near[0] == f"{ids[n]}#p0001"
    shelf.catalogue.remove_documents(ids[15:])
    shelf.vectors.compact()
    assert segment_files(shelf) == []
    assert shelf.vectors.compact() == 0


def test_readers_survive_compaction(shelf: Any, unit_vector: Any) -> None:
    for n in range(9):
        shelf.add(f"{n}.pdf", f"text {n}")
    catalogue, vectors = reader(shelf)
    before = vectors.search(unit_vector("text 3"), limit=20)
    stale = vectors._segments()
    shelf.vectors.compact()
    after = vectors.search(unit_vector("text 3"), limit=20)
    assert after.keys.tolist() == before.keys.tolist()
    assert after.scores.tolist() == before.scores.tolist()
    # A list of segments read just before the compaction is read again when files are gone.
    fresh = VectorIndex(catalogue, name="fake", revision="r1", dimension=16)
    answers = iter([stale, fresh._segments()])
    fresh._segments = lambda: next(answers)  # type: ignore[method-assign]
    assert fresh.search(unit_vector("text 3"), limit=20).keys.tolist() == before.keys.tolist()
    catalogue.close()


def test_lost_and_damaged_files_are_errors(shelf: Any) -> None:
    shelf.add("a.pdf", "one")
    (codes, rows) = (shelf.folder.segments / name for name in segment_files(shelf))
    content = codes.read_bytes()
    for damaged in (content[:40], b"", content[: len(content) - 3]):
        codes.write_bytes(damaged)
        catalogue, vectors = reader(shelf)
        with pytest.raises(CorruptError, match="doctor --repair"):
            vectors.page_count()
        catalogue.close()
    codes.write_bytes(content)
    rows.unlink()
    catalogue, vectors = reader(shelf)
    with pytest.raises(CorruptError, match="is missing"):
        vectors.page_count()
    catalogue.close()


def test_leftovers_are_found_and_deleted(shelf: Any) -> None:
    shelf.add("a.pdf", "one")
    kept = segment_files(shelf)
    for name in ("01-dead.codes.npy", "01-dead.rows.npy.tmp", "note.txt"):
        (shelf.folder.segments / name).write_bytes(b"x")
    assert strangers(shelf.catalogue) == ["01-dead.codes.npy", "01-dead.rows.npy.tmp"]
    assert clean_segments(shelf.catalogue) == ["01-dead.codes.npy", "01-dead.rows.npy.tmp"]
    assert segment_files(shelf) == sorted([*kept, "note.txt"])


def test_a_document_removed_while_it_was_encoded(shelf: Any, make_page: Any) -> None:
    begun = shelf.begin("a.pdf", "a")
    keys = shelf.catalogue.put_pages([make_page(begun.document, 1, "x")])
    shelf.catalogue.remove_documents([begun.document])
    data = Vectors(np.ones((1, 16), np.float32), np.array([0, 1]), "fake", "r1")
    assert shelf.vectors.publish(keys, data, [0]) == 0
    assert segment_files(shelf) == []


def test_threads_that_share_an_index_do_not_mix_its_states(
    shelf: Any, unit_vector: Any, monkeypatch: Any
) -> None:
    for n in range(3):
        shelf.add(f"{n}.pdf", f"{n} left", f"{n} right")
    catalogue, vectors = reader(shelf)
    expected = vectors.search(unit_vector("0 right"), limit=1)
    assert split_key(int(expected.keys[0])) == (1, 2)
    scan = Loaded.estimate

    def estimate(loaded: Loaded, *given: Any) -> Any:
        found = scan(loaded, *given)
        monkeypatch.setattr(Loaded, "estimate", scan)
        # Meanwhile pages change their places, and another thread searches the same index.
        shelf.vectors._merge(shelf.vectors._segments()[:1])
        vectors.search(unit_vector("2 left"), limit=1)
        return found

    monkeypatch.setattr(Loaded, "estimate", estimate)
    found = vectors.search(unit_vector("0 right"), limit=1)
    assert (found.keys.tolist(), found.blocks.tolist()) == (
        expected.keys.tolist(),
        expected.blocks.tolist(),
    )
    catalogue.close()


def test_files_that_compaction_deletes_again_and_again_are_looked_for_again(shelf: Any) -> None:
    for n in range(3):
        shelf.add(f"{n}.pdf", f"text {n}")
    catalogue, vectors = reader(shelf)
    ask = vectors._segments
    stale = ask()
    shelf.vectors._merge(shelf.vectors._segments())
    middle = ask()
    shelf.vectors._merge(shelf.vectors._segments())
    answers = iter([stale, middle, ask()])
    vectors._segments = lambda: next(answers)  # type: ignore[method-assign]
    assert vectors.page_count() == 3
    catalogue.close()
