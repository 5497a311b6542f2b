"""GraphML: what other programs read back is what was in the graph."""

import xml.etree.ElementTree as ET

import pytest

from pagetrail.graph.graphml import graphml

HOSTILE = "</data>]]><!--&lt;'\"\x00\x1b[31m\ufffe\u202e\udce9 </graphml>"
SPACE = "{http://graphml.graphdrawing.org/xmlns}"


def read(text):
    """Return declared keys, nodes and edges, as any reader of GraphML would."""
    root = ET.fromstring(text)
    keys = {k.get("id"): (k.get("for"), k.get("attr.type")) for k in root.iter(f"{SPACE}key")}
    (graph,) = root.iter(f"{SPACE}graph")
    assert graph.get("edgedefault") == "directed"

    def values(element):
        found = {data.get("key"): data.text for data in element}
        assert all(keys[key][0] == element.tag.removeprefix(SPACE) for key in found)
        return found

    nodes = {node.get("id"): values(node) for node in graph.iter(f"{SPACE}node")}
    edges = [(e.get("source"), e.get("target"), values(e)) for e in graph.iter(f"{SPACE}edge")]
    return keys, nodes, edges


def test_every_page_and_edge_is_there_with_typed_values(small):
    graph = small()
    keys, nodes, edges = read(graphml(graph))
    assert keys == {
        "document": ("node", "string"),
        "number": ("node", "int"),
        "label": ("node", "string"),
        "title": ("node", "string"),
        "kind": ("edge", "string"),
        "weight": ("edge", "double"),
        "why": ("edge", "string"),
    }
    assert nodes["d0c#p0001"] == {
        "document": "folder/report.pdf",
        "number": "1",
        "title": "Refunds",
    }
    assert nodes["e1f#p0012"] == {"document": "other/notes.pdf", "number": "12"}
    assert len(nodes) == 5
    assert edges[1] == (
        "d0c#p0001",
        "d0c#p0003",
        {"kind": "reference", "weight": "0.9", "why": "see Table 2"},
    )
    assert edges[-1][:2] == ("d0c#p0003", "e1f#p0012")
    assert len(edges) == len(graph.edges) + len(graph.outer)
    assert {end for source, target, _ in edges for end in (source, target)} <= nodes.keys()


def test_networkx_reads_it(small):
    networkx = pytest.importorskip("networkx")
    read_back = networkx.parse_graphml(graphml(small()))
    assert read_back.is_directed()
    assert read_back.nodes["d0c#p0003"]["number"] == 3
    found = sorted((*edge[:2], edge[2]["kind"]) for edge in read_back.edges(data=True))
    graph = small()
    assert found == sorted(
        [(f"d0c#p{e.source:04}", f"d0c#p{e.target:04}", e.kind) for e in graph.edges]
        + [("d0c#p0003", "e1f#p0012", "shared")]
    )
    (similar,) = (d for *_, d in read_back.edges(data=True) if d["kind"] == "similar")
    assert similar["weight"] == 0.75


def test_hostile_text_stays_text(small):
    pages = ([("heading", HOSTILE)], [], [], [])
    graph = small(why=HOSTILE, name=HOSTILE, other=HOSTILE, pages=pages)
    _, nodes, edges = read(graphml(graph))
    shown = "</data>]]><!--&lt;'\"[31m\ufffd </graphml>"
    assert nodes["d0c#p0001"]["title"] == " ".join(shown.split())
    assert nodes["d0c#p0001"]["document"] == nodes["e1f#p0012"]["document"] == shown
    assert edges[1][2]["why"] == shown
    assert len(edges) == 6


def test_a_graph_without_pages_is_still_a_graph(small):
    from dataclasses import replace

    _, nodes, edges = read(graphml(replace(small(), pages=(), edges=(), outer=())))
    assert (nodes, edges) == ({}, [])
