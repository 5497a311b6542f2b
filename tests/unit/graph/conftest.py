"""A small page graph as every format has to show it."""

import pytest

from pagetrail.graph.shown import show_graph
from pagetrail.testing.corpus import make_page
from pagetrail.types import Document, Edge, page_id

PAGES = ([("heading", "Refunds")], [("paragraph", "Second page")], [("paragraph", "Third")], [])


def inside(number):
    return page_id("d0c", number)


@pytest.fixture
def small():
    """Return a function that makes a graph of four pages, with a reason and paths of one's own.

    1 sees 3, 2 and 3 are alike, 3 shares a name with another document, 4 has reading order alone;
    both directions of every edge are given, as they are stored.
    """

    def make(why="see Table 2", name="folder/report.pdf", other="other/notes.pdf", pages=PAGES):
        ways = {n: [] for n in range(1, 5)}
        for n in range(1, 4):
            ways[n].append(Edge(inside(n + 1), "next", 1.0, "the next page"))
            ways[n + 1].append(Edge(inside(n), "previous", 1.0, "the page before"))
        ways[1].append(Edge(inside(3), "reference", 0.9, why))
        ways[3].append(Edge(inside(1), "referred", 0.9, why))
        ways[2].append(Edge(inside(3), "similar", 0.75, "alike"))
        ways[3].append(Edge(inside(2), "similar", 0.75, "alike"))
        ways[3].append(Edge(page_id("e1f", 12), "shared", 0.5, 'shares "Alpine Holdings"'))
        document = Document("d0c", name, content_hash="", page_count=4, status="indexed")
        made = [make_page("d0c", n, blocks) for n, blocks in enumerate(pages, 1)]
        return show_graph(document, made, ways, {"e1f": other})

    return make
