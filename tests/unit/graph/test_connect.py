"""Documents joined: pages come one at a time, edges go both ways and stay few."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from pagetrail.edges import PageNode
from pagetrail.graph import connect
from pagetrail.graph.connect import Collector, similar_ways
from pagetrail.graph.ways import BACKWARDS
from pagetrail.testing.corpus import make_page
from pagetrail.types import Box, Link, OutlineEntry, Page

if TYPE_CHECKING:
    import pytest

BOX = Box(0, 0, 1, 1)
FILLER = "many plain words follow here so that a page is long enough to be compared with others "


def joined(
    pages: list[Page], outline: tuple[OutlineEntry, ...] = (), means: np.ndarray | None = None
) -> dict[int, PageNode]:
    collector = Collector()
    for page in pages:
        collector.add(page)
    assert collector.numbers == [page.number for page in pages]
    nodes = collector.connect(outline, means)
    assert [node.number for node in nodes] == collector.numbers
    return {node.number: node for node in nodes}


def kinds(node: PageNode, target: int) -> set[str]:
    return {kind for number, kind, _, _ in node.ways if number == target}


def page(number: int, *texts: str, links: tuple[Link, ...] = ()) -> Page:
    made = make_page("d", number, [("paragraph", text) for text in texts])
    return Page("d", number, 595, 842, blocks=made.blocks, links=links)


def test_every_kind_of_edge_is_found_and_goes_both_ways() -> None:
    pages = [
        page(1, "For the money see Table 7 below.", links=(Link(BOX, 4),)),
        page(2, "The ferry Blue Marigold sails."),
        make_page("d", 3, [("caption", "Table 7: Money"), ("table_row", "Fare | 12")]),
        page(4, "A ferry, Blue Marigold, rests.", FILLER * 3),
        page(5, FILLER * 3, "rests."),
    ]
    outline = (OutlineEntry("One", 1, 1), OutlineEntry("Two", 1, 3), OutlineEntry("A", 2, 4))
    means = np.array([[1, 0], [1, 0.01], [0, 1], [-1, 0], [0, -1]], float)
    nodes = joined(pages, outline, means)
    assert {"link", "linked"} <= kinds(nodes[1], 4) | kinds(nodes[4], 1)
    assert "reference" in kinds(nodes[1], 3)
    assert "referred" in kinds(nodes[3], 1)
    assert "shared" in kinds(nodes[2], 4) & kinds(nodes[4], 2)
    assert "similar" in kinds(nodes[1], 2) & kinds(nodes[2], 1)
    assert "section" in kinds(nodes[1], 2) & kinds(nodes[2], 1)
    assert "parent" in kinds(nodes[4], 3)
    assert "child" in kinds(nodes[3], 4)
    assert "twin" in kinds(nodes[4], 5) & kinds(nodes[5], 4)
    for node in nodes.values():
        for target, kind, weight, why in node.ways:
            assert (node.number, BACKWARDS[kind], weight, why) in nodes[target].ways
            assert 0 < weight <= 1


def test_links_to_missing_pages_to_itself_and_to_other_files() -> None:
    links = (Link(BOX, 9), Link(BOX, 1), Link(BOX, 0, "b.pdf"), Link(BOX, 3, "b.pdf"))
    nodes = joined([page(1, "text", links=(*links, *links)), page(3, "text")])
    assert nodes[1].ways == nodes[3].ways == ()
    assert nodes[1].files == (("b.pdf", 1, "link to b.pdf"), ("b.pdf", 3, "link to b.pdf"))


def test_a_page_that_everything_leads_to_keeps_few_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [page(n, f"text {n}", links=(Link(BOX, 1), Link(BOX, 1))) for n in range(1, 60)]
    nodes = joined(pages)
    assert Counter(kind for _, kind, _, _ in nodes[1].ways)["linked"] == 16
    assert all(len({w[:2] for w in node.ways}) == len(node.ways) for node in nodes.values())
    monkeypatch.setattr(connect, "_MOST", 1000)
    assert Counter(kind for _, kind, _, _ in joined(pages)[1].ways)["linked"] == 58


def test_marks_and_sketches() -> None:
    nodes = joined([page(1, "the Blue Marigold", FILLER * 3), page(2, "few")])
    assert [text for _, text in nodes[1].names] == ["Blue Marigold"]
    assert len(nodes[1].sketch) == 128
    assert len(nodes[1].bands) == 5
    assert (nodes[2].sketch, nodes[2].bands) == (b"", ())


def test_nothing_and_one_page() -> None:
    assert joined([]) == {}
    assert joined([Page("d", 7, 1, 1)])[7] == PageNode(7)


def test_of_a_long_document_pages_in_a_row_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_TOGETHER", 4)
    means = np.tile(np.eye(2), (5, 1))
    ways = list(similar_ways(list(range(11, 21)), means))
    assert all((w.source - 11) // 4 == (w.target - 11) // 4 for w in ways)
    assert all(w.source < w.target and (w.target - w.source) % 2 == 0 for w in ways)
    assert {w.source for w in ways} == {11, 12, 15, 16}


def test_pages_without_vectors_and_opposite_ones_are_not_similar() -> None:
    means = np.array([[0, 0], [1, 0], [-1, 0]], float)
    assert list(similar_ways([1, 2, 3], means)) == []
