"""References to the pages that hold what they name."""

import time

import pytest

from pagetrail.graph.digest import Digest, Pointer, Target, digest
from pagetrail.graph.resolve import link_ways, reference_ways, resolve
from pagetrail.testing.corpus import make_page


def document(*pages):
    """Digests of pages given as their blocks, or as one paragraph."""
    return [
        digest(make_page("d", n, [("paragraph", p)] if isinstance(p, str) else p))
        for n, p in enumerate(pages, 1)
    ]


def leads(*pages):
    """(source, target, why) of all references."""
    return [(w.source, w.target, w.why) for w in reference_ways(document(*pages))]


def test_a_caption_is_found_before_and_after_its_mention():
    found = leads("As Table 2 shows", [("caption", "Table 2: Fares")], "see Tables 2 and 3")
    assert found == [(1, 2, "see Table 2"), (3, 2, "see Table 2")]


def test_what_stands_on_the_page_itself_is_no_edge_but_resolved():
    pages = document([("paragraph", "see Table 2"), ("caption", "Table 2: Fares")])
    assert reference_ways(pages) == []
    assert [r.target for r in resolve(pages)] == [1]


def test_a_pointer_without_a_target_leads_nowhere():
    assert leads("see Table 2", "As Table 2 shows") == []


def test_contents_that_repeat_captions_are_not_where_they_stand():
    listed = [("heading", "List of tables")]
    listed += [("paragraph", f"Table {n}: Fares ..... {n}") for n in range(1, 6)]
    assert leads(listed, "see Table 2", "text", [("caption", "Table 2: Fares")]) == [
        (2, 4, "see Table 2")
    ]


def test_of_several_the_one_in_the_same_chapter():
    chapters = [
        [("heading", "Chapter 1 Towns")],
        [("caption", "Table 1: Towns")],
        "text of the first chapter",
        [("heading", "Chapter 2 Fields"), ("paragraph", "see Table 1")],
        "text of the second chapter",
        "more of it",
        [("caption", "Table 1: Fields")],
    ]
    assert leads(*chapters) == [(4, 7, "see Table 1")]


def test_what_goes_on_is_not_where_it_begins():
    pages = [("caption", "Table 1: Towns")], [("caption", "Table 1 (continued): Towns")]
    assert leads(*pages, "see Table 1") == [(3, 1, "see Table 1")]


def test_a_title_tells_which_of_two_is_meant():
    pages = [("heading", "3 Money matters")], "a", [("heading", "3 Staff on duty")]
    assert leads(*pages, "see Section 3, “Money matters”, there") == [(4, 1, "see Section 3")]


@pytest.mark.parametrize(
    "text",
    [
        "under Section 3 of the Fisheries Act",
        "Section 3 or 15(d) of the Securities Exchange Act",
        "pursuant to 18 U.S.C. Section 3 and so on",
        "the Internal Revenue Code Section 3",
        "clause (b) of sub-section 3",
        "as Table 3 of [5] shows",
        "Table 3 in Smith et al. says",
        "Exhibit 3 to Form 8-K filed today",
        "Item 3 of Regulation S-K requires",
        "page 3 of the Guide",
        "(Smith, 2020, p. 3)",
        "Proceedings of 2020, pages 3-9",
        "Page 3 of 12",
        "Section 3(a) notices",
    ],
)
def test_pointers_into_other_documents(text):
    holds = [
        ("heading", "3 Methods"),
        ("caption", "Table 3: Fares"),
        ("heading", "Exhibit 3 A map"),
        ("heading", "Item 3. Disputes"),
    ]
    assert leads(text, "text", holds) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Section 3 of this report", "see Section 3"),
        ("Note 3 to the consolidated financial statements", "see Note 3"),
        ("Item 3 of Part I", "see Item 3"),
        ("Table 3 in Section 9", "see Table 3"),
    ],
)
def test_pointers_into_the_document_itself(text, why):
    holds = [
        ("heading", "3 Methods"),
        ("caption", "Table 3: Fares"),
        ("heading", "Note 3. Taxes"),
        ("heading", "Item 3. Disputes"),
    ]
    assert leads(text, "text", holds) == [(1, 3, why)]


def test_printed_numbers_and_not_physical_ones():
    pages = [[("paragraph", "A front page"), ("footer", "")][:1]] * 2
    pages += [
        [("paragraph", "see page 4" if n == 1 else "text of the page"), ("footer", str(n))]
        for n in range(1, 7)
    ]
    assert leads(*pages) == [(3, 6, "on page 4")]


def test_physical_numbers_where_none_are_printed():
    assert leads("see page 3", "a", "b") == [(1, 3, "on page 3")]
    assert leads("see page 9", "a", "b") == []


def test_ranges():
    captions = [[("caption", f"Figure {n}: Towns")] for n in (1, 2, 3)]
    assert [w[1] for w in leads("see Figs. 1-3", *captions)] == [2, 3, 4]
    # "3-1" may also be one number.
    assert leads("see Figure 3-4", "a", [("caption", "Figure 3-4: Towns")]) == [
        (1, 3, "see Figure 3-4")
    ]


def test_parts_and_other_names():
    assert leads("see Fig. 2a", [("caption", "Figure 2: Towns")])[0][1] == 2
    assert leads("see Appendix B", [("heading", "B Proofs")])[0][1] == 2
    assert leads("see Note 8, Debt, there", [("heading", "8. Debt")])[0][1] == 2


def test_a_chapter_opens_before_its_running_head():
    pages = "See Chapter 3", [("heading", "3 Problems")], "text"
    running = [("header", "Chapter 3 Problems"), ("paragraph", "text")]
    assert leads(*pages, running, running) == [(1, 2, "see Chapter 3")]
    assert leads("See Chapter 3", "text", running, running) == [(1, 3, "see Chapter 3")]


def test_pages_beside():
    table = [("table_row", "Town | 3"), ("table_row", "Field | 4")]
    assert leads("as the table below shows", table) == [(1, 2, "the table below")]
    assert leads("as the table below shows", "text") == []
    assert leads("text", "continued from previous page") == [(2, 1, "from previous page")]
    assert leads("see overleaf", "text") == [(1, 2, "overleaf")]
    assert leads("text", "text (opposite page)", "text")[0][:2] == (2, 3)
    assert leads("text (opposite page)", "text") == []


def test_weights_are_in_their_range_and_surer_for_captions():
    sure = reference_ways(document("see Table 1", [("caption", "Table 1: Towns")]))[0]
    unsure = reference_ways(document("see Table 1", [("paragraph", "Table 1 Towns of it")]))[0]
    assert 0 < unsure.weight < sure.weight <= 1


def test_one_edge_for_the_same_words():
    assert len(leads("see Table 1. Table 1 says", [("caption", "Table 1: Towns")])) == 1


def test_links_once_a_pair_and_less_from_contents():
    pages = [
        Digest(1, links=(2, 3, 3, 4, 9), contents=True),
        Digest(2, links=(2, 4)),
        Digest(3),
        Digest(4),
    ]
    ways = {(w.source, w.target): w.weight for w in link_ways(pages)}
    assert set(ways) == {(1, 2), (1, 3), (1, 4), (2, 4)}
    assert ways[2, 4] == 1.0
    assert ways[1, 4] < 0.5


def test_hostile_documents_take_linear_time():
    def spent(count):
        here = (Target("table", "1", 1.0),)
        points = (Pointer("table", "1", "Table 1"), Pointer("beside", "opposite", "")) * 20
        pages = [Digest(n, printed=(n,), targets=here, pointers=points) for n in range(1, count)]
        started = time.process_time()
        assert all(w.source != w.target for w in reference_ways(pages))
        return time.process_time() - started

    assert spent(320) < 20 * max(spent(80), 0.001)
