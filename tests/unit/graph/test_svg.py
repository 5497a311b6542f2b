"""The picture: every page and edge is in it, within its bounds, and nothing else gets in."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from pagetrail.graph.shown import SHOWN, DocumentGraph, OuterEdge, ShownEdge, ShownPage
from pagetrail.graph.svg import svg

SPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title></text><script>alert('&')</script>]]>\x00\x1b[31m\ufffe\udce9<a href=\"x\">"
ARC = re.compile(r"M(\d+) ([\d.]+)A(\d+) ([\d.]+) 0 0 [01] (\d+) ([\d.]+)")


def many(pages, every=3):
    """Return a graph of many pages, with an edge of every kind from each to several others."""
    edges = [
        ShownEdge(n, n + step, kind, 0.5, f"{kind} of {n}")
        for n in range(1, pages + 1)
        for step, kind in enumerate(SHOWN, 1)
        if n + step <= pages
        and (n % every == 0 or kind == "next")
        and (kind != "next" or step == 1)
    ]
    edges += [ShownEdge(pages, 1, "link", 1.0, "link"), ShownEdge(1, pages, "twin", 1.0, "")]
    shown = tuple(ShownPage(n, None, f"Page {n}") for n in range(1, pages + 1))
    return DocumentGraph("d0c", "folder/report.pdf", shown, tuple(edges))


def groups(text):
    """Return the edges' paths by kind."""
    root = ET.fromstring(text)
    return {
        group.get("class").split()[1]: list(group)
        for group in root.iter(f"{SPACE}g")
        if group.get("class", "").startswith("edge ")
    }


def texts(text):
    return ["".join(found.itertext()) for found in ET.fromstring(text).iter(f"{SPACE}text")]


def test_every_edge_tells_its_words(small):
    text = svg(small())
    told = {
        kind: ["".join(path.itertext()) for path in paths] for kind, paths in groups(text).items()
    }
    assert told == {
        "next": [f"p. {n} → p. {n + 1}: the next page" for n in (1, 2, 3)],
        "similar": ["p. 2 ↔ p. 3: alike, 0.75"],
        "reference": ["p. 1 → p. 3: see Table 2"],
    }


def test_pages_stand_in_order_with_number_label_and_title(small):
    graph = small()
    named = replace(graph.pages[1], label="iv")
    root = ET.fromstring(svg(replace(graph, pages=(graph.pages[0], named, *graph.pages[2:]))))
    circles = [c for c in root.iter(f"{SPACE}circle") if c.get("class") == "page"]
    heights = [int(circle.get("cy")) for circle in circles]
    assert len(heights) == 4
    assert heights == sorted(set(heights))
    written = ["".join(found.itertext()) for found in root.iter(f"{SPACE}text")]
    assert [found for found in written if found.isdigit()] == ["1", "2", "3", "4"]
    assert "Refunds" in written
    assert "(iv) Second page" in written


def test_the_legend_names_only_the_kinds_that_are_there(small):
    written = texts(svg(small()))
    assert {"reading order 3", "reference 1", "similar 1"} <= set(written)
    assert "4 pages, 5 edges, 1 to other documents" in written
    assert not any(found.startswith(("link", "nearly")) for found in written)


def test_edges_to_other_documents_are_counted_beside_their_page(small):
    text = svg(small())
    (mark,) = (found for found in texts(text) if found.startswith("+1"))
    assert mark == '+1other/notes.pdf, p. 12: shares "Alpine Holdings"'


@pytest.mark.parametrize("pages", [2, 8, 300, 2000])
def test_arcs_join_their_pages_and_stay_inside_the_picture(pages):
    graph = many(pages)
    text = svg(graph)
    root = ET.fromstring(text)
    width, height = int(root.get("width")), int(root.get("height"))
    at = {
        number: int(circle.get("cy"))
        for number, circle in enumerate(
            (c for c in root.iter(f"{SPACE}circle") if c.get("class") == "page"), 1
        )
    }
    assert max(at.values()) < height
    drawn = 0
    for kind, paths in groups(text).items():
        for edge, path in zip((e for e in graph.edges if e.kind == kind), paths, strict=True):
            drawn += 1
            if kind == "next":
                assert path.get("d").endswith(f" {at[edge.source]}V{at[edge.target]}")
                continue
            x, start, reach, _, end_x, end = map(float, ARC.fullmatch(path.get("d")).groups())
            assert abs(start - at[edge.source]) <= 3
            assert abs(end - at[edge.target]) <= 3
            assert x == end_x
            left = kind in ("section", "shared", "similar", "twin")
            assert (reach < x) if left else (x + reach < width)
    assert drawn == len(graph.edges)


def test_arcs_bulge_away_from_the_titles():
    def sweep(source, target, kind):
        pages = tuple(ShownPage(n, None, "") for n in (1, 2))
        edge = ShownEdge(source, target, kind, 1.0, "")
        (path,) = groups(svg(DocumentGraph("d0c", "a.pdf", pages, (edge,))))[kind]
        return path.get("d").split()[5]

    # Clockwise is to the right on the way down, and to the left on the way up.
    assert (sweep(1, 2, "link"), sweep(2, 1, "link")) == ("1", "0")
    assert sweep(1, 2, "similar") == "0"


def test_the_text_grows_with_pages_and_edges_and_no_faster():
    small, large = many(500, every=1), many(2000, every=1)
    assert len(svg(large)) < 4.2 * len(svg(small))


def test_hostile_text_stays_text(small):
    pages = ([("heading", HOSTILE)], [], [], [])
    graph = small(why=HOSTILE, name=HOSTILE, other=HOSTILE, pages=pages)
    labelled = replace(graph.pages[0], label=HOSTILE)
    text = svg(replace(graph, pages=(labelled, *graph.pages[1:])))
    root = ET.fromstring(text)
    assert {element.tag.removeprefix(SPACE) for element in root.iter()} == {
        "svg", "title", "style", "defs", "clipPath", "marker", "rect", "path", "text", "tspan",
        "g", "circle",
    }  # fmt: skip
    assert "<script>alert('&')</script>" in "".join(root.find(f"{SPACE}title").itertext())
    assert not set("\x00\x1b\ufffe\udce9") & set(text)
    text.encode("utf-8")


def test_nothing_is_fetched_or_run(small):
    text = svg(small())
    assert re.findall(r"https?://[^\"' ]+", text) == ["http://www.w3.org/2000/svg"]
    assert set(re.findall(r"url\((.)", text)) == {"#"}
    assert not re.search(r"<script|href|@import|@font-face|\son\w+=", text)
    assert "prefers-color-scheme:dark" in text


def test_graphs_without_edges_or_pages_are_pictures_too(small):
    assert groups(svg(replace(small(), edges=(), outer=()))) == {}
    assert "0 pages, 0 edges" in texts(svg(DocumentGraph("d0c", "a.pdf", (), ())))


def test_a_page_may_stand_alone_with_its_way_out():
    outer = OuterEdge(7, "e1f", "b.pdf", 2, "twin", 0.9, "nearly the same words")
    graph = DocumentGraph("d0c", "a.pdf", (ShownPage(7, None, ""),), (), (outer,))
    assert "1 page, 0 edges, 1 to other documents" in texts(svg(graph))
