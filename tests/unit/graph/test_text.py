"""The page graph as lines: numbers, then pages with their edges in words."""

from pagetrail.graph.text import graph_lines


def test_every_page_says_where_it_leads(small):
    assert list(graph_lines(small())) == [
        "folder/report.pdf",
        "pages        4",
        "edges        next 3, reference 1, similar 1; 1 to other documents",
        "without reading order:",
        "mean degree  1.00 other pages",
        "no edge      1 page",
        "components   2",
        "",
        "page 1: Refunds",
        "  p. 1  the next page -> p. 2",
        "  p. 1  see Table 2 -> p. 3",
        "page 2: Second page",
        "  p. 2  the next page -> p. 3",
        "  p. 2  alike, 0.75 <-> p. 3",
        "page 3: Third",
        "  p. 3  the next page -> p. 4",
        '  p. 3  shares "Alpine Holdings" -> other/notes.pdf, p. 12',
        "page 4: no text",
    ]


def test_a_single_page_says_what_leads_to_it_as_well(small):
    assert list(graph_lines(small().only(page=3))) == [
        "page 3: Third",
        "  p. 3  see Table 2 <- p. 1",
        "  p. 3  the next page <- p. 2",
        "  p. 3  alike, 0.75 <-> p. 2",
        "  p. 3  the next page -> p. 4",
        '  p. 3  shares "Alpine Holdings" -> other/notes.pdf, p. 12',
    ]
