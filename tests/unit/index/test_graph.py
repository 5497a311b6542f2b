"""The stored page graph: it comes and goes with documents and never leads out of the scope."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pagetrail.edges import Edge, EdgeKind, PageNode
from pagetrail.errors import CorruptError, VersionError
from pagetrail.index.doctor import examine
from pagetrail.index.graph import PageGraph
from pagetrail.index.graph_writer import put_graph, waiting
from pagetrail.index.nodes import KINDS, decode_marks, decode_node, encode_node
from pagetrail.index.repair import drop_page
from pagetrail.types import Page

SKETCH, OTHER = bytes(range(128)), bytes(range(128, 256))


def join(shelf: Any, nodes: Any = None) -> None:
    """Give every waiting document a graph, by default with an edge from each page to each."""
    for serial in waiting(shelf.catalogue, 1, 100):
        document = shelf.catalogue.view().ids[serial]
        numbers = [key & 0xFFFFF for key in shelf.catalogue.page_keys(document)]
        made = [
            PageNode(
                n,
                tuple((m, "section", 0.5, "together") for m in numbers),
                ((7, "Alpine Holdings"), (n, f"page {n}")),
                SKETCH,
                (70, 71),
                (("b.pdf", 2, "link to b.pdf"),),
            )
            for n in numbers
        ]
        put_graph(shelf.catalogue, serial, made if nodes is None else nodes, version=1)


def edges(shelf: Any, name: str, number: int, *scope: str) -> list[Edge]:
    catalogue = shelf.catalogue
    view = catalogue.view()
    (key,) = catalogue.keys([f"{catalogue.find(name)[0].id}#p{number:04d}"])
    ids = {catalogue.find(s)[0].id for s in scope}
    documents = frozenset(s for s, i in view.ids.items() if i in ids) if scope else None
    return PageGraph(catalogue).neighbours([key], view, documents)[key]


def kinds(found: list[Edge]) -> list[str]:
    return [edge.kind for edge in found]


def counts(shelf: Any) -> list[int]:
    return [
        shelf.catalogue.rows(f"SELECT count(*) FROM {t}")[0][0]
        for t in ("edges", "marks", "graphs")
    ]


@pytest.fixture
def plain(shelf: Any) -> Any:
    shelf.follow = ()
    shelf.catalogue.rows("PRAGMA synchronous = OFF")
    return shelf


# --- bytes ---------------------------------------------------------------------------------------

hashes = st.integers(-(2**63), 2**63 - 1)
nodes = st.builds(
    PageNode,
    number=st.integers(1, 1_000_000),
    ways=st.lists(
        st.tuples(st.integers(1, 2**20), st.sampled_from(KINDS), st.floats(0.001, 1), st.text())
    ).map(tuple),
    names=st.lists(st.tuples(hashes, st.text()), max_size=8).map(tuple),
    sketch=st.sampled_from([b"", SKETCH]),
    bands=st.lists(hashes, max_size=5).map(tuple),
    files=st.lists(st.tuples(st.text(), st.integers(1, 9), st.text()), max_size=3).map(tuple),
)


@given(nodes)
def test_what_is_stored_comes_back(node: PageNode) -> None:
    data = encode_node(node)
    back = decode_node(node.number, data)
    assert [(t, k, w) for t, k, _, w in back.ways] == [(t, k, w) for t, k, _, w in node.ways]
    off = [abs(a[2] - b[2]) for a, b in zip(back.ways, node.ways, strict=True)]
    assert max(off, default=0) <= 0.51 / 65535
    assert (back.names, back.sketch, back.bands) == (node.names, node.sketch, node.bands)
    assert back.files == node.files
    assert decode_marks(data) == (node.sketch, (*(m for m, _ in node.names), *node.bands))


@given(nodes, st.data())
def test_a_changed_byte_is_an_error(node: PageNode, data: Any) -> None:
    body = bytearray(encode_node(node))
    place = data.draw(st.integers(0, len(body) - 1))
    body[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises((CorruptError, VersionError)):
        decode_node(node.number, bytes(body))
    cut = bytes(body[: data.draw(st.integers(0, len(body) - 1))])
    with pytest.raises((CorruptError, VersionError)):
        decode_node(node.number, cut)


def test_every_kind_has_a_code() -> None:
    assert set(KINDS) == set(get_args(EdgeKind))


# --- within a document ---------------------------------------------------------------------------


def test_edges_of_a_page_in_order(plain: Any) -> None:
    plain.add("a.pdf", "one", "two", "three")
    ways = (
        (3, "similar", 0.9, "alike"),
        (1, "section", 0.2, "s"),
        (3, "section", 0.4, "s"),
        (2, "link", 1.0, "to itself"),
        (9, "link", 1.0, "to nowhere"),
        (1, "link", 0.3, "link"),
    )
    join(plain, [PageNode(2, ways)])
    found = edges(plain, "a.pdf", 2)
    assert [(e.kind, e.page[-1]) for e in found] == [
        ("next", "3"),
        ("previous", "1"),
        ("section", "3"),
        ("section", "1"),
        ("link", "1"),
        ("similar", "3"),
    ]
    assert found[2].weight == pytest.approx(0.4, abs=1e-5)
    assert found[5].why == "alike"
    assert kinds(edges(plain, "a.pdf", 3)) == ["previous"]


def test_without_a_graph_there_is_reading_order(plain: Any) -> None:
    plain.add("a.pdf", "one", "two")
    assert waiting(plain.catalogue, 1, 9) == [1]
    assert kinds(edges(plain, "a.pdf", 1)) == ["next"]
    assert edges(plain, "a.pdf", 1, "a.pdf") == edges(plain, "a.pdf", 1)


def test_a_whole_document(plain: Any) -> None:
    document = plain.add("a.pdf", "one", "two", "three")
    plain.add("b.pdf", "one")
    join(plain)
    graph, view = PageGraph(plain.catalogue), plain.catalogue.view()
    found = graph.document_edges(document, view)
    assert list(found) == [f"{document}#p{n:04d}" for n in (1, 2, 3)]
    assert kinds(found[f"{document}#p0002"]) == ["next", "previous", "section", "section"]
    assert graph.document_edges("nothing", view) == {}


# --- across documents ----------------------------------------------------------------------------


def test_shared_names_twins_and_links_lead_to_other_documents_in_scope(plain: Any) -> None:
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        plain.add(name, f"{name} one", f"{name} two")
    join(plain)
    found = edges(plain, "a.pdf", 1)
    assert kinds(found) == ["next", "section", "link", *["shared"] * 4, *["twin"] * 4]
    assert found[2].page == plain.catalogue.find("b.pdf")[0].id + "#p0002"
    assert found[3].why == 'shares "page 1"'  # on 3 pages, the other name on 6
    assert found[3].weight == pytest.approx(1 - 2 / 3 * 5 / 6)
    narrow = edges(plain, "a.pdf", 1, "a.pdf", "c.pdf")
    other = plain.catalogue.find("c.pdf")[0].id
    assert {e.page.partition("#")[0] for e in narrow if e.kind in ("shared", "twin")} == {other}
    assert "link" not in kinds(narrow)
    assert kinds(edges(plain, "a.pdf", 1, "a.pdf")) == ["next", "section"]
    assert edges(plain, "a.pdf", 1, "b.pdf") == []


def test_a_name_on_many_pages_of_the_library_is_not_rare(plain: Any) -> None:
    for n in range(9):
        plain.add(f"{n}.pdf", f"text {n}")
        join(plain, [PageNode(1, names=((7, "Alpine Holdings"),))])
        found = kinds(edges(plain, "0.pdf", 1))
        assert found == ["shared"] * (min(n, 5) if n < 8 else 0)


def test_pages_of_one_band_are_twins_only_if_their_sketches_agree(plain: Any) -> None:
    for name, sketch in (("a", SKETCH), ("b", OTHER), ("c", SKETCH[:100] + OTHER[:28])):
        plain.add(name, name)
        join(plain, [PageNode(1, sketch=sketch, bands=(70,))])
    (found,) = edges(plain, "a", 1)
    assert found.kind == "twin"
    assert found.page.startswith(plain.catalogue.find("c")[0].id)
    assert found.weight == 50 / 64


def test_a_link_to_a_name_of_several_files_leads_to_the_one_beside(plain: Any) -> None:
    for name in ("x/a.pdf", "y/b.pdf", "x/b.pdf", "z/b.pdf", "y/c.pdf", "w/a.pdf"):
        plain.add(name, name, f"{name} two")
    join(plain)
    goal = plain.catalogue.find("x/b.pdf")[0].id
    found = [e for e in edges(plain, "x/a.pdf", 1) if e.kind == "link"]
    assert [e.page for e in found] == [f"{goal}#p0002"]
    assert "link" not in kinds(edges(plain, "w/a.pdf", 1))


# --- with documents ------------------------------------------------------------------------------


def test_a_copy_has_the_edges_of_its_twin(plain: Any) -> None:
    plain.add("a.pdf", "one", "two")
    join(plain)
    document = plain.add("copy.pdf", "one", "two")
    assert waiting(plain.catalogue, 1, 9) == []
    found = edges(plain, "copy.pdf", 1, "copy.pdf")
    assert [(e.kind, e.page) for e in found] == [
        (kind, f"{document}#p0002") for kind in ("next", "section")
    ]
    assert "twin" in kinds(edges(plain, "copy.pdf", 1))
    plain.catalogue.remove_documents([document])
    assert counts(plain) == [2, 8, 1]
    assert kinds(edges(plain, "a.pdf", 1)) == ["next", "section"]


def test_removal_and_replacement_leave_nothing_behind(plain: Any) -> None:
    old = plain.add("a.pdf", "one", "two")
    plain.add("b.pdf", "three")
    join(plain)
    plain.add("a.pdf", "new one", "new two")
    assert plain.catalogue.find(old) == []
    assert counts(plain)[0] == 1
    assert waiting(plain.catalogue, 1, 9) == [3]
    join(plain)
    plain.catalogue.remove_documents([d.id for d in plain.catalogue.documents()])
    assert counts(plain) == [0, 0, 0]


def test_a_document_that_is_read_again_waits_when_it_is_complete(plain: Any) -> None:
    begun = plain.begin("a.pdf", "content")
    plain.catalogue.put_pages([_page(begun.document, 1), _page(begun.document, 2)])
    assert waiting(plain.catalogue, 1, 9) == []
    plain.finish(begun.document, 3, status="partial", reason="page 3")
    join(plain)
    assert plain.begin("a.pdf", "content", retry=True).action == "resumed"
    assert waiting(plain.catalogue, 1, 9) == []
    assert kinds(edges(plain, "a.pdf", 1)) == ["next", "section"]
    join(plain, [])
    plain.finish(begun.document, 3)
    assert waiting(plain.catalogue, 1, 9) == [1]


def test_an_older_version_waits_and_a_removed_document_gets_nothing(plain: Any) -> None:
    document = plain.add("a.pdf", "one")
    join(plain)
    assert waiting(plain.catalogue, 2, 9) == [1]
    plain.catalogue.remove_documents([document])
    put_graph(plain.catalogue, 1, [PageNode(1, names=((7, "x"),))], version=1)
    assert counts(plain) == [0, 0, 0]


def test_a_dropped_page_takes_its_edges_and_marks(plain: Any) -> None:
    document = plain.add("a.pdf", "one", "two", "three")
    join(plain)
    drop_page(plain.catalogue, plain.catalogue.page_keys(document)[1])
    assert counts(plain) == [2, 8, 0]
    assert [e.page for e in edges(plain, "a.pdf", 1)] == [f"{document}#p0003"]


# --- damage --------------------------------------------------------------------------------------


def test_damage_is_found_and_joined_again(shelf: Any) -> None:
    shelf.add("a.pdf", "one", "two")
    shelf.add("b.pdf", "three")
    join(shelf)
    assert examine(shelf.catalogue, shelf.lexical) == []
    for statement, what in (
        ("UPDATE edges SET body = x'0102' WHERE page & 1 = 1", "damaged"),
        ("DELETE FROM marks WHERE mark = 70", "damaged"),
        ("DELETE FROM graphs WHERE document = 1", "never joined"),
        ("INSERT INTO marks VALUES (5, 99 << 20)", "do not exist"),
        ("INSERT INTO edges VALUES (99 << 20, x'01')", "do not exist"),
        ("INSERT INTO graphs VALUES (99, 1)", "do not exist"),
    ):
        with shelf.catalogue.transaction():
            shelf.catalogue.rows(statement)
        if "body" in statement:
            with pytest.raises(CorruptError, match="doctor --repair"):
                edges(shelf, "a.pdf", 1)
        assert any(what in f.what for f in examine(shelf.catalogue, shelf.lexical))
        found = examine(shelf.catalogue, shelf.lexical, repair=True)
        assert all(f.repaired for f in found)
        assert examine(shelf.catalogue, shelf.lexical) == []
        join(shelf)
        assert kinds(edges(shelf, "a.pdf", 1, "a.pdf")) == ["next", "section"]
        assert counts(shelf)[0] == 3


def test_pages_without_vectors_are_no_damage(shelf: Any) -> None:
    begun = shelf.begin("a.pdf", "content")
    blank = Page(begun.document, 2, 1.0, 1.0)
    shelf.catalogue.put_pages([_page(begun.document, 1), blank])
    shelf.finish(begun.document, 2)
    shelf.catch_up()
    assert examine(shelf.catalogue, shelf.lexical) == []


# --- any sequence --------------------------------------------------------------------------------

operations = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "begin", "remove", "retry", "drop", "join", "join"]),
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    max_size=14,
)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(operations)
def test_every_edge_leads_to_another_living_page_in_scope(plain: Any, steps: Any) -> None:
    catalogue = plain.catalogue
    catalogue.remove_documents([d.id for d in catalogue.documents()])
    for what, name, content in steps:
        _step(plain, what, f"{name}.pdf", content)
        view = catalogue.view()
        keys = [key for d in catalogue.documents() for key in catalogue.page_keys(d.id)]
        alive = {view.page_id(key) for key in keys}
        for scope in (None, frozenset(list(view.ids)[::2]), frozenset(list(view.ids)[:1])):
            ids = set(view.ids.values()) if scope is None else {view.ids[s] for s in scope}
            for key, found in PageGraph(catalogue).neighbours(keys, view, scope).items():
                assert len({(e.page, e.kind) for e in found}) == len(found)
                for edge in found:
                    assert edge.page in alive
                    assert edge.page.partition("#")[0] in ids
                    assert edge.page != view.page_id(key)
                    assert 0 < edge.weight <= 1
    join(plain)
    stored = {p for (p,) in catalogue.rows("SELECT page FROM edges")}
    assert {p for (p,) in catalogue.rows("SELECT page FROM marks")} <= stored
    assert stored <= {p for (p,) in catalogue.rows("SELECT key FROM pages")}


def _step(shelf: Any, what: str, name: str, content: int) -> None:
    texts = [f"text {n} of {content}" for n in range(1, content + 2)]
    present = shelf.catalogue.find(name)
    if what == "add":
        shelf.add(name, *texts)
    elif what == "begin":
        begun = shelf.begin(name, "\f".join(texts))
        if not begun.complete:
            shelf.catalogue.put_pages([_page(begun.document, 1)])
    elif what == "join":
        join(shelf)
    elif present and what == "remove":
        shelf.catalogue.remove_documents([present[0].id])
    elif present and what == "drop":
        for key in shelf.catalogue.page_keys(present[0].id)[:1]:
            drop_page(shelf.catalogue, key)
    elif present and what == "retry":
        begun = shelf.begin(name, "\f".join(texts), retry=True)
        if not begun.complete:
            shelf.finish(begun.document, len(texts), status="partial", reason="page 1")


def _page(document: str, number: int) -> Any:
    from index_shelf import page  # loaded by conftest

    return page(document, number)
