"""The page graph as it is shown: every edge once, forwards, counted and narrowed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.errors import NotFoundError, UsageError
from pagetrail.graph.shown import (
    SHOWN,
    UNDIRECTED,
    DocumentGraph,
    OuterEdge,
    ShownEdge,
    ShownPage,
    plain,
    show_graph,
)
from pagetrail.graph.ways import BACKWARDS, Way, both_ways
from pagetrail.testing.corpus import make_page
from pagetrail.types import Document, Edge, page_id

DOCUMENT = Document("d0c", "report.pdf", content_hash="", page_count=30, status="indexed")


def drawn(ways, pages=30):
    """Return the graph of ways between empty pages, as it is when they are stored."""
    edges = {}
    for way in ways:
        edge = Edge(page_id("d0c", way.target), way.kind, way.weight, way.why)
        edges.setdefault(way.source, []).append(edge)
    return show_graph(DOCUMENT, (make_page("d0c", n, []) for n in range(1, pages + 1)), edges, {})


def test_edges_are_shown_once_and_forwards(small):
    graph = small()
    assert graph.edges == (
        ShownEdge(1, 2, "next", 1.0, "the next page"),
        ShownEdge(1, 3, "reference", 0.9, "see Table 2"),
        ShownEdge(2, 3, "next", 1.0, "the next page"),
        ShownEdge(2, 3, "similar", 0.75, "alike"),
        ShownEdge(3, 4, "next", 1.0, "the next page"),
    )
    assert graph.outer == (
        OuterEdge(3, "e1f", "other/notes.pdf", 12, "shared", 0.5, 'shares "Alpine Holdings"'),
    )


@given(
    st.lists(
        st.builds(
            Way,
            st.integers(1, 30),
            st.integers(1, 30),
            st.sampled_from(list(BACKWARDS)),
            st.floats(0.01, 1),
            st.just("so"),
        ),
        max_size=60,
    )
)
def test_one_direction_or_both_make_the_same_graph(ways):
    ways = [way for way in ways if way.source != way.target]
    one, both = drawn(ways), drawn(both_ways(ways))
    assert one == both
    assert len({(e.source, e.target, e.kind) for e in one.edges}) == len(one.edges)
    for edge in one.edges:
        assert edge.kind in SHOWN
        assert edge.kind not in UNDIRECTED or edge.source < edge.target
    assert {frozenset((w.source, w.target)) for w in ways} == {
        frozenset((e.source, e.target)) for e in one.edges
    }


def test_what_a_full_page_dropped_is_taken_from_the_other_end():
    graph = drawn([Way(9, 2, "linked", 0.5, "link"), Way(2, 9, "link", 0.7, "better")])
    assert graph.edges == (ShownEdge(2, 9, "link", 0.7, "better"),)


def test_edges_to_what_is_not_there_are_left_out():
    ways = {1: [Edge(page_id("d0c", 7), "link", 1.0, "link"), Edge("gone#p0001", "link", 1.0, "")]}
    graph = show_graph(DOCUMENT, [make_page("d0c", 1, [])], ways, {})
    assert (graph.edges, graph.outer) == ((), ())


def test_a_title_is_the_first_heading_or_the_first_words():
    def title(*blocks):
        (page,) = show_graph(DOCUMENT, [make_page("d0c", 1, blocks)], {}, {}).pages
        return page.title

    assert title(("paragraph", "Words first"), ("heading", "Fleet"), ("heading", "Crew")) == "Fleet"
    assert title(("header", "Annual report"), ("paragraph", "The oldest ship")) == "The oldest ship"
    assert title(("header", "Annual report")) == title() == ""
    long = title(("heading", "some word " * 5000))
    assert 50 < len(long) <= 60
    assert long.endswith("word…")
    assert title(("heading", "x" * 5000)) == "x" * 59 + "…"
    assert title(("heading", "x" * 60)) == "x" * 60


def test_the_summary_leaves_reading_order_out(small):
    summary = small().summary
    assert summary.kinds == {"next": 3, "reference": 1, "similar": 1}
    assert (summary.pages, summary.outer, summary.degree) == (4, 1, 1.0)
    assert summary.alone == 1
    assert summary.components == 2


def test_a_page_joined_twice_to_another_has_one_neighbour():
    graph = drawn(
        [Way(1, 2, "link", 1.0, ""), Way(2, 1, "link", 1.0, ""), Way(1, 2, "twin", 1, "")]
    )
    assert len(graph.edges) == 3
    assert graph.summary.degree == pytest.approx(2 / 30)
    assert (graph.summary.alone, graph.summary.components) == (28, 29)


def test_a_page_that_leads_to_another_document_only_is_not_alone():
    graph = DocumentGraph("d0c", "a.pdf", (ShownPage(1, None, ""),), ())
    assert (graph.summary.alone, graph.summary.components) == (1, 1)
    joined = replace(graph, outer=(OuterEdge(1, "e1f", "b.pdf", 2, "twin", 1.0, ""),))
    assert (joined.summary.alone, joined.summary.components) == (0, 1)


def test_no_pages_have_no_mean():
    summary = DocumentGraph("d0c", "a.pdf", (), ()).summary
    assert (summary.pages, summary.degree, summary.components) == (0, 0.0, 0)


def test_only_some_kinds_whichever_way_they_are_named(small):
    graph = small().only(["referred"])
    assert [edge.kind for edge in graph.edges] == ["reference"]
    assert graph.outer == ()
    assert len(graph.pages) == 4
    assert [e.kind for e in small().only(["shared", "next"]).outer] == ["shared"]


def test_only_one_page_with_those_it_is_joined_to(small):
    graph = small().only(page=1)
    assert [(edge.source, edge.target) for edge in graph.edges] == [(1, 2), (1, 3)]
    assert [page.number for page in graph.pages] == [1, 2, 3]
    assert graph.outer == ()
    assert [(e.source, e.target) for e in small().only(["similar"], 3).edges] == [(2, 3)]


def test_what_is_not_there_is_refused(small):
    with pytest.raises(UsageError, match="no kind of edge 'nxt'; there are next, section, parent"):
        small().only(["nxt"])
    for page in (0, 5, -1):
        with pytest.raises(NotFoundError, match=rf"report.pdf: {page} is not one of the 4 pages"):
            small().only(page=page)


def test_a_long_chain_is_one_component():
    ways = [Way(n, n + 1, "continues", 1.0, "") for n in range(1, 5000)]
    assert drawn(ways, pages=5000).summary.components == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Größe <b>&amp; Ænd", "Größe <b>&amp; Ænd"),
        ("a\x00b\x1b[31mc\x9b\ufffe\u202e", "ab[31mc"),
        ("line\r\nbreak\tand\u00a0space\u2028end", "line  break and space end"),
        ("caf\udce9", "caf\ufffd"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_plain_text_has_nothing_that_xml_forbids_or_a_terminal_obeys(text, shown):
    assert plain(text) == shown
