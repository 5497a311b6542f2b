from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from pagetrail.errors import NotFoundError, ScopeError, UsageError
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.changes import file_stamp
from pagetrail.types import Document, OutlineEntry, Scope


def texts(shelf: Any, document: str) -> list[str]:
    return [p.text for p in shelf.catalogue.iterate(document)]


def names(shelf: Any) -> list[str]:
    return [d.source for d in shelf.catalogue.documents()]


def test_a_document_and_its_pages_come_back_whole(shelf: Any, make_page: Any) -> None:
    begun = shelf.begin("a.pdf", "bytes", tags=["x", "y"])
    assert (begun.action, begun.stored, begun.complete) == ("new", frozenset(), False)
    pages = [make_page(begun.document, n, f"text {n}", "more") for n in (3, 1, 2)]
    shelf.catalogue.put_pages(pages)
    document = Document(
        begun.document,
        "ignored",
        "ignored",
        4,
        "partial",
        reason="page 4: torn",
        title="A \ud800 title",
        metadata={"author": "Ü"},
        outline=(OutlineEntry("One", 1, 1), OutlineEntry("Two", 2, 0)),
        pages_failed=(4,),
    )
    stored = shelf.catalogue.finish_document(document)
    assert stored == shelf.catalogue.document(begun.document)
    assert stored.source == "a.pdf"
    assert stored.tags == {"x", "y"}
    assert stored.title == document.title
    assert stored.outline == document.outline
    assert (stored.status, stored.reason, stored.pages_failed) == ("partial", "page 4: torn", (4,))
    assert list(shelf.catalogue.iterate(begun.document, batch=2)) == sorted(
        pages, key=lambda p: p.number
    )
    ids = [f"{begun.document}#p0003", f"{begun.document}#p0001", f"{begun.document}#p0003"]
    assert [p.number for p in shelf.catalogue.pages(ids)] == [3, 1, 3]
    assert shelf.catalogue.page_total() == 3


def test_unknown_pages_and_documents_are_errors(shelf: Any, make_page: Any) -> None:
    document = shelf.add("a.pdf", "one")
    for wrong in (f"{document}#p0002", "nobody#p0001", "nonsense", ""):
        with pytest.raises(NotFoundError):
            shelf.catalogue.pages([wrong])
    for call in (
        lambda: shelf.catalogue.document("nobody"),
        lambda: shelf.catalogue.put_pages([make_page("nobody", 1)]),
        lambda: shelf.catalogue.remove_documents([document, "nobody"]),
    ):
        with pytest.raises(NotFoundError, match="nobody"):
            call()
    assert texts(shelf, document) == ["one"]
    for number in (0, 1 << 20):
        with pytest.raises(UsageError, match="page number"):
            shelf.catalogue.put_pages([make_page(document, number)])


def test_pages_of_a_document_being_added_count_at_once(shelf: Any, make_page: Any) -> None:
    begun = shelf.begin("a.pdf", "bytes")
    shelf.catalogue.describe_document(begun.document, page_count=3, title="T")
    shelf.catalogue.put_pages([make_page(begun.document, 2)])
    document = shelf.catalogue.document(begun.document)
    assert document.status == "partial"
    assert "1 of 3 pages" in document.reason
    assert "again" in document.reason
    again = shelf.begin("a.pdf", "bytes")
    assert (again.action, again.document) == ("resumed", begun.document)
    assert again.stored == {2}


def test_storing_a_page_twice_keeps_the_first(shelf: Any, make_page: Any) -> None:
    begun = shelf.begin("a.pdf", "bytes")
    first = shelf.catalogue.put_pages([make_page(begun.document, 1, "first")])
    assert shelf.catalogue.put_pages([make_page(begun.document, 1, "second")]) == first
    assert texts(shelf, begun.document) == ["first"]
    assert shelf.catalogue.page_total() == 1


def test_the_same_file_again_is_nothing_to_do(shelf: Any) -> None:
    document = shelf.add("a.pdf", "one", "two")
    generation = shelf.catalogue.generation()
    begun = shelf.begin("a.pdf", "one\ftwo", tags=["new"])
    assert (begun.action, begun.document, begun.complete) == ("unchanged", document, True)
    assert shelf.catalogue.document(document).tags == {"new"}
    assert shelf.catalogue.view().generation == generation
    path = str(shelf.files / "a.pdf")
    assert shelf.catalogue.unchanged(path, "one\ftwo").id == document
    assert shelf.catalogue.unchanged(path, "other stamp") is None


def test_failed_documents_are_tried_again_and_partial_ones_on_demand(shelf: Any) -> None:
    failed = shelf.begin("a.pdf", "a").document
    shelf.finish(failed, 0, status="failed", reason="needs a password")
    assert shelf.catalogue.unchanged(str(shelf.files / "a.pdf"), "a") is None
    assert shelf.begin("a.pdf", "a").action == "resumed"
    partial = shelf.begin("b.pdf", "b").document
    shelf.finish(partial, 2, status="partial", reason="page 2: torn", pages_failed=(2,))
    assert shelf.begin("b.pdf", "b").action == "unchanged"
    assert shelf.begin("b.pdf", "b", retry=True).action == "resumed"


def test_replacing_shows_the_old_until_the_new_is_complete(shelf: Any, make_page: Any) -> None:
    old = shelf.add("a.pdf", "old text", tags=["kept"])
    begun = shelf.begin("a.pdf", "new bytes")
    assert begun.action == "replacing"
    shelf.catalogue.put_pages([make_page(begun.document, 1, "new text")])
    shelf.catch_up()
    assert [d.id for d in shelf.catalogue.documents()] == [old]
    assert shelf.words("text") == [f"{old}#p0001"]
    assert shelf.near("new text") == [f"{old}#p0001"]
    with pytest.raises(NotFoundError):
        shelf.catalogue.pages([f"{begun.document}#p0001"])
    resumed = shelf.begin("a.pdf", "new bytes")
    assert (resumed.action, resumed.stored) == ("resumed", {1})
    shelf.finish(begun.document, 1)
    assert [d.id for d in shelf.catalogue.documents()] == [begun.document]
    assert shelf.catalogue.document(begun.document).tags == {"kept"}
    # Even before the indexes follow, the old text is gone.
    assert shelf.words("old") == []
    shelf.catch_up()
    assert shelf.words("text") == shelf.near("old text") == [f"{begun.document}#p0001"]


def test_a_replacement_that_fails_still_ends_the_old_text(shelf: Any) -> None:
    shelf.add("a.pdf", "old text")
    begun = shelf.begin("a.pdf", "broken")
    shelf.finish(begun.document, 0, status="failed", reason="damaged")
    shelf.catch_up()
    assert [d.status for d in shelf.catalogue.documents()] == ["failed"]
    assert shelf.words("old") == []


def test_a_replacement_that_is_replaced_or_taken_back(shelf: Any, make_page: Any) -> None:
    first = shelf.add("a.pdf", "first")
    second = shelf.begin("a.pdf", "second")
    shelf.catalogue.put_pages([make_page(second.document, 1, "second")])
    third = shelf.begin("a.pdf", "third")
    assert third.action == "replacing"
    assert shelf.catalogue.page_keys(second.document) == []
    back = shelf.begin("a.pdf", "first")
    assert (back.action, back.document) == ("unchanged", first)
    assert shelf.catalogue.page_keys(third.document) == []
    shelf.catch_up()
    assert shelf.words("first second third") == [f"{first}#p0001"]


def test_a_moved_file_keeps_its_pages(shelf: Any) -> None:
    document = shelf.add("a.pdf", "one", tags=["t"])
    os.unlink(shelf.files / "a.pdf")
    begun = shelf.begin("sub/b.pdf", "one")
    assert (begun.action, begun.document) == ("moved", document)
    assert names(shelf) == ["sub/b.pdf"]
    assert shelf.words("one") == [f"{document}#p0001"]
    assert [d.id for d in shelf.catalogue.find("b.pdf")] == [document]
    assert shelf.catalogue.find("a.pdf") == []


def test_a_file_moved_over_another_replaces_it(shelf: Any) -> None:
    moved = shelf.add("a.pdf", "one")
    shelf.add("b.pdf", "two")
    os.unlink(shelf.files / "a.pdf")
    begun = shelf.begin("b.pdf", "one")
    assert (begun.action, begun.document) == ("moved", moved)
    shelf.catch_up()
    assert names(shelf) == ["b.pdf"]
    assert shelf.words("one two") == [f"{moved}#p0001"]


def test_the_same_bytes_at_two_paths_are_two_documents(shelf: Any) -> None:
    first = shelf.add("x/a.pdf", "one", "two")
    begun = shelf.begin("y/a.pdf", "one\ftwo", tags=["t"])
    assert (begun.action, begun.document) == ("copied", f"{first}-2")
    assert begun.stored == {1, 2}
    assert shelf.begin("z/a.pdf", "one\ftwo").document == f"{first}-3"
    shelf.catch_up()
    assert names(shelf) == ["x/a.pdf", "y/a.pdf", "z/a.pdf"]
    assert texts(shelf, first) == texts(shelf, begun.document)
    assert len(shelf.words("two")) == len(shelf.near("two")[:3]) == 3
    shelf.catalogue.remove_documents([first])
    assert sorted(shelf.words("two")) == [f"{first}-2#p0002", f"{first}-3#p0002"]
    assert {d.id for d in shelf.catalogue.find("a.pdf")} == {f"{first}-2", f"{first}-3"}
    # A free id is used again, but never with the keys of the former document.
    assert shelf.begin("w/a.pdf", "one\ftwo").document == first


def test_a_copy_over_another_document_replaces_it(shelf: Any) -> None:
    shelf.add("a.pdf", "one")
    shelf.add("b.pdf", "two")
    begun = shelf.begin("b.pdf", "one")
    assert begun.action == "copied"
    shelf.catch_up()
    assert shelf.words("two") == []
    assert len(shelf.words("one")) == 2


def test_removal_empties_every_channel(shelf: Any) -> None:
    gone = shelf.add("a.pdf", "alpha sentence", "beta")
    kept = shelf.add("b.pdf", "alpha too")
    assert shelf.catalogue.remove_documents([gone]) == 2
    for _ in range(2):  # before and after the indexes followed
        assert shelf.words("alpha") == shelf.words("alpha", "blocks") == [f"{kept}#p0001"]
        assert shelf.near("alpha sentence") == [f"{kept}#p0001"]
        shelf.catch_up()
    assert shelf.lexical.counts() == {"pages": 1, "blocks": 1}
    assert shelf.catalogue.rows("SELECT count(*) FROM bodies") == [(1,)]


def test_scopes(shelf: Any) -> None:
    a = shelf.add("a.pdf", "one", tags=["red", "big"])
    b = shelf.add("b.pdf", "two", "three", tags=["red"])
    shelf.add("c.pdf", "four")
    catalogue = shelf.catalogue
    assert catalogue.serials(Scope()) is None
    by_tag = catalogue.serials(Scope(tags=frozenset({"red"})))
    assert {catalogue.view().ids[s] for s in by_tag} == {a, b}
    assert catalogue.page_total(by_tag) == 3
    both = Scope(frozenset({a, b}), frozenset({"big"}))
    assert [d.id for d in catalogue.documents(both)] == [a]
    for scope in (
        Scope(documents=frozenset({"nobody"})),
        Scope(tags=frozenset({"blue"})),
        Scope(frozenset({b}), frozenset({"big"})),
    ):
        with pytest.raises(ScopeError):
            catalogue.serials(scope)
    catalogue.tag_document(b, add=["blue"], remove=["red"])
    assert catalogue.document(b).tags == {"blue"}


def test_names_that_are_not_text(shelf: Any) -> None:
    name = os.fsdecode(b"caf\xe9 \xff.pdf")
    document = shelf.add(name, "one")
    assert shelf.catalogue.document(document).source == name
    assert [d.id for d in shelf.catalogue.find(name)] == [document]


def test_a_full_path_is_never_ambiguous(shelf: Any) -> None:
    a = shelf.add("x/a.pdf", "one")
    b = shelf.add("y/a.pdf", "two")
    find = shelf.catalogue.find
    assert [d.id for d in find("x/a.pdf")] == [a]
    assert [d.id for d in find("?", path=str(shelf.files / "y" / "a.pdf"))] == [b]
    assert [d.id for d in find("a.pdf")] == [a, b]
    assert [d.id for d in find(b)] == [b]
    assert find("") == find("?") == []


def test_a_stamp_notices_a_rewrite_of_equal_size_and_time(tmp_path: Any) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    before, stat = file_stamp(file), os.stat(file)
    file.write_text("two")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert file_stamp(file) != before


def test_readers_follow_the_writer_and_pinned_ones_do_not(shelf: Any) -> None:
    a = shelf.add("a.pdf", "one")
    with Catalogue(shelf.folder) as reader:
        assert set(reader.view().ids.values()) == {a}
        with reader.pinned():
            before = reader.generation()
            b = shelf.add("b.pdf", "two")
            assert reader.generation() == before
            assert [d.id for d in reader.documents()] == [a]
        assert set(reader.view().ids.values()) == {a, b}
        shelf.catalogue.remove_documents([a])
        assert set(reader.view().ids.values()) == {b}


def test_threads_share_a_catalogue(shelf: Any) -> None:
    document = shelf.add("a.pdf", *[f"text {n}" for n in range(20)])
    shelf.follow = ()
    failures: list[Exception] = []

    def read() -> None:
        try:
            for n in range(40):
                assert shelf.catalogue.pages([f"{document}#p{n % 20 + 1:04d}"])[0].number
                shelf.catalogue.view()
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(10):
        shelf.add(f"other{n}.pdf", f"words {n}")
    for thread in threads:
        thread.join()
    assert not failures
