"""The question's own pointers: how they are read, and how they become pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.ports import Place, PointerBook
from pagetrail.retrieve.asking import content
from pagetrail.retrieve.pointers import PointerSearch, pointers
from pagetrail.types import Query


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is on page 5?", ["page 5"]),
        ("What is on PAGE 5?", ["page 5"]),
        ("page number 7", ["page 7"]),
        ("see p. 12", ["page 12"]),
        ("the figure at the top of page 6985", ["page 6985"]),
        ("Which is on page iv?", ["page IV"]),
        ("Page A-101 of the plans", ["page A-101"]),
        ("pages 4 and 5", ["page 4", "page 5"]),
        ("on page 4 and on page 5", ["page 4", "page 5"]),
        ("pages 1, 2 and 3", ["page 1", "page 2", "page 3"]),
        ("pages 3-6", ["page 3", "page 4", "page 5", "page 6"]),
        ("from page 3 to page 5", ["page 3", "page 4", "page 5"]),
        ("pp. 3–5", ["page 3", "page 4", "page 5"]),
        ("How many cars appear on page three?", ["page 3"]),
        ("slide 3 and slide 5", ["slide 3", "slide 5"]),
        ("Slides 3, 4 & 7", ["slide 3", "slide 4", "slide 7"]),
        ("In Figure 2", ["figure 2"]),
        ("Fig. 3a against Figs. 4 and 5", ["figure 3A", "figure 4", "figure 5"]),
        ("Figure 3(b)", ["figure 3B"]),
        ("figure S1", ["figure S1"]),
        ("Table 4", ["table 4"]),
        ("in Table1-1?", ["table 1-1"]),
        ("Table 2-4", ["table 2-4"]),
        ("Tables 2-4", ["table 2", "table 3", "table 4"]),
        ("Table II", ["table II"]),
        ("Appendix B", ["appendix B"]),
        ("Appendix A.2", ["appendix A.2"]),
        ("Annex 1", ["appendix 1"]),
        ("Section 3.2", ["section 3.2"]),
        ("§ 4.1", ["section 4.1"]),
        ("footnote 12", ["note 12"]),
        ("equation (3)", ["equation 3"]),
        ("Exhibit IV", ["exhibit IV"]),
        ("figure 1 and table 2", ["figure 1", "table 2"]),
        ("What colour is the car on the cover?", ["page 1"]),
        ("the title page", ["page 1"]),
        ("the third page", ["page 3"]),
        ("the 5th slide", ["page 5"]),
        ("the last page", ["last page"]),
        ("the back cover", ["last page"]),
        ("the second to last page", ["page 2 from the end"]),
        ("the penultimate page", ["page 2 from the end"]),
        ("the first two pages", ["page 1", "page 2"]),
        ("the last two slides", ["last page", "page 2 from the end"]),
        ("the first and last page", ["last page", "page 1"]),
    ],
)
def test_places_are_read_as_written(question, expected):
    assert sorted(map(str, pointers(question))) == sorted(expected)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "How many pages contain tables?",
        "What does each page show on the page I found?",
        "What does the report cover? Is there a cover letter?",
        "What is in a table a reader would want?",
        "How many figures are in this paper?",
        "In 2010, which sections were cut?",
        "Which slide has the most boxes?",
        "Does the website homepage 5 load?",
        "Note that tables can be long.",
        "Was section chief Smith there?",
        "Did the first home page change?",
        "Which pages? Your answer should be a list like ['Page 2', 'Page 4'].",
    ],
)
def test_what_points_nowhere_gives_nothing(question):
    assert pointers(content(question)) == ()


def test_a_range_across_the_whole_document_is_not_spelled_out():
    assert len(pointers("pages 1-400")) == 2


@given(st.text(max_size=200))
def test_any_text_can_be_a_question(text):
    for pointer in pointers(text):
        assert pointer.key
        assert str(pointer)


def test_long_questions_stay_cheap():
    assert len(pointers("page 1, " * 20_000)) == 1
    assert pointers("p" * 100_000) == ()
    assert len(pointers("Table " + "1." * 50_000)) <= 1


def found(book, question, allowed=None, limit=50):
    hits = PointerSearch(book).search(Query(question), limit=limit, allowed=allowed)
    return {h.page: h.score for h in hits}


def test_a_caption_is_surer_than_a_mention(make_book):
    book = make_book(
        {"a": 9, "b": 9},
        things={
            ("figure", "3"): [
                Place("a#p0002", "mention", 4),
                Place("a#p0005", "target", 7),
                Place("b#p0001", "mention", 1),
            ]
        },
    )
    assert isinstance(book, PointerBook)
    scores = found(book, "What does Figure 3 show?")
    assert scores["a#p0005"] == 1.0
    assert scores["a#p0005"] > scores["b#p0001"] > scores["a#p0002"] > 0
    (best, *_) = PointerSearch(book).search(Query("Figure 3"), limit=9, allowed=frozenset("a"))
    assert (best.page, best.block, best.via) == ("a#p0005", 7, "pointer: figure 3")


def test_part_of_a_figure_falls_back_to_the_figure(make_book):
    whole = {("figure", "3"): [Place("a#p0005", "target", 7)]}
    part = {("figure", "3A"): [Place("a#p0006", "target", 1)]}
    assert found(make_book({"a": 9}, things=whole), "Figure 3a") == {"a#p0005": 1.0}
    assert found(make_book({"a": 9}, things=whole | part), "Figure 3a") == {"a#p0006": 1.0}


def test_a_chart_stands_in_for_a_figure(make_book):
    book = make_book({"a": 9}, things={("chart", "2"): [Place("a#p0004", "target", 1)]})
    assert found(book, "Figure 2") == {"a#p0004": 1.0}


def test_the_printed_label_goes_before_the_physical_number(make_book):
    book = make_book({"a": 9, "b": 9}, labels={"a#p0007": "5", "a#p0002": "ii"})
    scores = found(book, "page 5")
    assert scores == {"a#p0007": 1.0, "a#p0005": 0.5, "b#p0005": 1.0}
    assert found(book, "page ii") == {"a#p0002": 1.0}
    assert found(book, "the fifth page", frozenset("a")) == {"a#p0005": 1.0}


def test_sheets_counted_from_the_end(make_book):
    book = make_book({"a": 9, "b": 4})
    assert found(book, "the last page") == {"a#p0009": 1.0, "b#p0004": 1.0}
    assert found(book, "page 7") == {"a#p0007": 1.0}
    assert found(book, "page 70") == {}


def test_scope_and_limit_hold(make_book):
    book = make_book({f"d{n}": 9 for n in range(20)})
    assert len(found(book, "page 5", limit=7)) == 7
    assert found(book, "page 5", frozenset(["d3"])) == {"d3#p0005": 1.0}
    assert found(book, "no pointer here") == {}
