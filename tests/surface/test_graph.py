"""The page graph of a real library: it comes with documents, survives kills, and goes with them."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import pagetrail
from pagetrail import writing
from pagetrail.index.graph import PageGraph
from pagetrail.types import split_page_id

REPORT = Path(__file__).resolve().parents[2] / "examples" / "annual-report.pdf"


@pytest.fixture(scope="module")
def joined(tmp_path_factory):
    """A library with one document of eight pages; nobody changes it."""
    root = tmp_path_factory.mktemp("graph")
    shutil.copy(REPORT, root / "report.pdf")
    with pagetrail.open(root / "library", settings=settings()) as library:
        library.add(root / "report.pdf")
    return root


@pytest.fixture
def library(joined, tmp_path):
    shutil.copytree(joined, tmp_path / "copy")
    with pagetrail.open(tmp_path / "copy" / "library", settings=settings()) as library:
        yield library


def settings():
    return pagetrail.load_settings(documents={"workers": 1, "ocr": False})


def edges(library):
    """Return every edge as a document would print them: page, page, kind, by number."""
    catalogue = library._catalogue
    graph, view = PageGraph(catalogue), catalogue.view()
    return {
        (*map(split_page_id, (page, edge.page)), edge.kind)
        for document in library.documents()
        for page, found in graph.document_edges(document.id, view).items()
        for edge in found
    }


def run(library, *statements):
    raw = sqlite3.connect(library.path / "catalogue.db")
    for statement in statements:
        raw.execute(statement)
    raw.commit()
    raw.close()


def test_adding_joins_the_pages(library):
    found = {kind for _, _, kind in edges(library)}
    assert {"next", "previous", "link", "linked", "reference", "shared", "similar"} <= found
    assert library.doctor() == []


def test_a_search_joins_what_a_killed_run_left(library):
    before = edges(library)
    run(library, "DELETE FROM edges", "DELETE FROM marks", "UPDATE graphs SET version = 0")
    assert {kind for _, _, kind in edges(library)} == {"next", "previous"}
    library.search("ferries")
    assert edges(library) == before
    assert library.doctor() == []


def test_a_search_does_not_wait_for_a_whole_library(library, monkeypatch):
    run(library, "DELETE FROM edges", "DELETE FROM marks", "UPDATE graphs SET version = 0")
    monkeypatch.setattr("pagetrail.searching._FEW", 0)
    library.search("ferries")
    assert {kind for _, _, kind in edges(library)} == {"next", "previous"}
    library.add([])
    library.add(library.documents()[0].source)
    assert {kind for _, _, kind in edges(library)} == {"next", "previous"}
    with library._writing() as open_library:
        open_library.catch_up()
    assert "link" in {kind for _, _, kind in edges(library)}


def test_an_older_graph_is_found_again(library, monkeypatch):
    monkeypatch.setattr("pagetrail.writing.VERSION", writing.VERSION + 1)
    monkeypatch.setattr("pagetrail.searching.VERSION", writing.VERSION)
    before = edges(library)
    run(library, "DELETE FROM edges")
    library.search("ferries")
    assert edges(library) == before


def test_a_library_of_earlier_tables_gets_its_graph(library, tmp_path):
    before = edges(library)
    library.close()
    run(
        library,
        "DROP TABLE edges",
        "DROP TABLE marks",
        "DROP TABLE graphs",
        "PRAGMA user_version = 2",
    )
    with pagetrail.open(library.path, settings=settings()) as old:
        old.search("ferries")
        assert edges(old) == before


def test_a_damaged_page_keeps_no_document_from_being_added(library, tmp_path):
    run(
        library,
        "UPDATE bodies SET body = x'01ff' WHERE key = (SELECT max(key) FROM bodies)",
        "UPDATE graphs SET version = 0",
    )
    (tmp_path / "more.md").write_text("# More\n\nThe Marigold sails.\n")
    (added,) = library.add(tmp_path / "more.md")
    assert added.status == "indexed"
    assert library.search("Marigold").hits
    library.doctor(repair=True)
    library.add(library.document("report.pdf").source)
    assert "link" in {kind for _, _, kind in edges(library)}
    assert library.doctor() == []


def test_copies_are_twins_across_documents_until_one_is_removed(library, tmp_path):
    shutil.copy(REPORT, tmp_path / "again.pdf")
    library.add(tmp_path / "again.pdf")
    catalogue = library._catalogue
    keys = catalogue.page_keys(library.document("report.pdf").id)
    found = PageGraph(catalogue).neighbours(keys, catalogue.view())
    assert {e.kind for near in found.values() for e in near} >= {"twin", "shared", "next"}
    other = library.document("again.pdf").id
    assert any(e.page.startswith(other) for near in found.values() for e in near)
    library.remove("again.pdf")
    found = PageGraph(catalogue).neighbours(keys, catalogue.view())
    assert not any(e.page.startswith(other) for near in found.values() for e in near)
    assert library.doctor() == []


def test_means_are_the_same_both_ways(library):
    catalogue = library._catalogue
    keys = catalogue.page_keys(library.document("report.pdf").id)
    with library._writing() as open_library:
        vectors = open_library._vectors
        means = vectors.means([*keys, 5])
        np.testing.assert_allclose(vectors.fresh_means(keys), means[:-1], atol=1e-6)
        assert not means[-1].any()
        assert np.linalg.norm(means[0]) > 0.1
        assert vectors.fresh_means([]).shape == (0, vectors.dimension)


WALKS = (
    "walk:judge=text,budget=50,batch=1,start=bm25",
    "molorag:channel=dense,judge=text,hops=3",
    "molorag:channel=dense,judge=text,mode=full",
)


@pytest.mark.parametrize("recipe", WALKS)
def test_a_walk_never_leaves_its_scope_nor_meets_what_was_removed(library, tmp_path, recipe):
    """A near copy of the document shares every name with it and is a twin of every page."""
    shutil.copy(REPORT, tmp_path / "again.pdf")
    (added,) = library.add(tmp_path / "again.pdf", tags="other")
    copy = library.document(added.document).id
    question = "How many passengers did the Old Quay have?"
    everywhere = walked(library, question, recipe)
    assert {page.startswith(copy) for page in everywhere} == {True, False}
    inside = walked(library, question, recipe, documents="report.pdf")
    assert len(inside) > 1
    assert not any(page.startswith(copy) for page in inside)
    assert all(page.startswith(copy) for page in walked(library, question, recipe, tags="other"))
    library.remove("again.pdf")
    assert not any(page.startswith(copy) for page in walked(library, question, recipe))


def walked(library, question, recipe, **scope):
    """Return every page that a walk names: in the ranking, and in its trail from end to end."""
    found = library.explain(question, pipeline=recipe, limit=100, **scope)
    visits = [visit for step in found.trace.steps for visit in step.visits]
    assert visits
    ends = {visit.origin for visit in visits if visit.origin}
    return {hit.page for hit in found.ranking.hits} | {visit.page for visit in visits} | ends
