"""What a question can point at comes and goes with its pages, and never leaves the scope."""

from dataclasses import replace

import pytest

from pagetrail.index.changes import CatalogueWriter
from pagetrail.index.folder import create_folder
from pagetrail.index.lock import WriterLock
from pagetrail.index.places import PlaceBook
from pagetrail.ports import Place
from pagetrail.testing import make_page
from pagetrail.types import Document, Reference


@pytest.fixture
def catalogue(tmp_path):
    folder = create_folder(tmp_path / "library", version="test")
    with WriterLock(folder.lock) as lock, CatalogueWriter(folder, lock) as writer:
        yield writer


def add(catalogue, name, pages, *, places=()):
    """Store pages, given as (label, references), and return the document's id."""
    begun = catalogue.begin_document(
        name, path=f"/{name}", content_hash=name.encode().hex() * 8, stamp="1"
    )
    catalogue.put_pages(
        [
            replace(
                make_page(begun.document, n, [("paragraph", "words")], references=references),
                label=label,
            )
            for n, (label, references) in enumerate(pages, 1)
        ]
    )
    document = Document(begun.document, name, "", len(pages), "indexed")
    catalogue.finish_document(document, places=places)
    return begun.document


def figure(key, role):
    return Reference("figure", key, role, 0)


def test_targets_come_before_mentions_and_scopes_hold(catalogue):
    one = add(
        catalogue, "one.pdf", [(None, [figure("3", "mention")]), (None, [figure("3", "target")])]
    )
    two = add(catalogue, "two.pdf", [(None, [figure("3", "mention")])])
    book = PlaceBook(catalogue)
    found = book.places("figure", "3", allowed=None, limit=10)
    assert found[0] == Place(f"{one}#p0002", "target", 0)
    assert {p.page for p in found[1:]} == {f"{one}#p0001", f"{two}#p0001"}
    only = book.places("figure", "3", allowed=frozenset({two}), limit=10)
    assert [p.page for p in only] == [f"{two}#p0001"]
    assert book.places("figure", "3", allowed=frozenset(), limit=10) == []
    assert len(book.places("figure", "3", allowed=None, limit=1)) == 1
    assert book.places("table", "3", allowed=None, limit=10) == []


def test_labels_and_numbers(catalogue):
    one = add(catalogue, "one.pdf", [("iv", []), ("1", []), ("A-1", [])])
    two = add(catalogue, "two.pdf", [(None, []), (None, [])])
    book = PlaceBook(catalogue)
    assert book.labelled("IV", allowed=None, limit=5) == [f"{one}#p0001"]
    assert book.labelled("a-1", allowed=None, limit=5) == [f"{one}#p0003"]
    assert book.labelled("2", allowed=None, limit=5) == []
    assert set(book.numbered(2, allowed=None, limit=5)) == {f"{one}#p0002", f"{two}#p0002"}
    assert set(book.numbered(-1, allowed=None, limit=5)) == {f"{one}#p0003", f"{two}#p0002"}
    assert book.numbered(3, allowed=frozenset({two}), limit=5) == []
    assert book.numbered(0, allowed=None, limit=5) == []


def test_the_outline_names_places_on_pages_that_were_read(catalogue):
    one = add(
        catalogue,
        "one.pdf",
        [(None, []), (None, [])],
        places=[("appendix", "B", 2), ("section", "3.2", 1), ("section", "9", 99)],
    )
    book = PlaceBook(catalogue)
    assert book.places("appendix", "B", allowed=None, limit=5) == [
        Place(f"{one}#p0002", "target", None)
    ]
    assert [p.page for p in book.places("section", "3.2", allowed=None, limit=5)] == [
        f"{one}#p0001"
    ]
    assert book.places("section", "9", allowed=None, limit=5) == []


def test_places_leave_with_their_document(catalogue):
    one = add(catalogue, "one.pdf", [("iv", [figure("3", "target")])], places=[("section", "1", 1)])
    catalogue.remove_documents([one])
    book = PlaceBook(catalogue)
    assert book.places("figure", "3", allowed=None, limit=5) == []
    assert book.places("section", "1", allowed=None, limit=5) == []
    assert book.labelled("iv", allowed=None, limit=5) == []
    for table in ("places", "labels"):
        assert catalogue.rows(f"SELECT count(*) FROM {table}") == [(0,)]
