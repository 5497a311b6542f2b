"""What is kept of a page: targets apart from pointers, contents, the numbers at its rim."""

import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.graph.digest import Entry, digest
from pagetrail.testing.corpus import make_page
from pagetrail.types import Box, Link, Page

KINDS = st.sampled_from(
    ["heading", "paragraph", "list", "table_row", "caption", "header", "footer"]
)


def of(*blocks, number=1):
    return digest(make_page("d", number, blocks))


def targets(*blocks):
    return {(t.kind, t.key) for t in of(*blocks).targets}


def pointers(*blocks):
    return [(p.kind, p.key) for p in of(*blocks).pointers]


@pytest.mark.parametrize(
    ("kind", "text", "target"),
    [
        ("caption", "Figure 3: Waiting times", ("figure", "3")),
        ("paragraph", "Table 4: Fares by year", ("table", "4")),
        ("paragraph", "Table4.Fares", ("table", "4")),
        ("table_row", "Fare | Table 6: Results | by year", ("table", "6")),
        ("heading", "NOTE 7. Income taxes", ("note", "7")),
        ("heading", "Item 7A. Market risk", ("item", "7A")),
        ("heading", "4.2 Methods", ("section", "4.2")),
        ("list", "4.2 Methods The garden was", ("section", "4.2")),
        ("paragraph", "B FURTHER RESULTS", ("section", "B")),
        ("table_row", "are used 12 | 5.4 Human judgement", ("section", "5.4")),
        ("heading", "Appendix B Glossary", ("appendix", "B")),
    ],
)
def test_what_stands_here(kind, text, target):
    assert target in targets((kind, text))
    assert target not in pointers((kind, text))


@pytest.mark.parametrize(
    "text",
    ["Figure 3 shows the times", "3.5 million people came", "Table 4 and others", "B is a letter"],
)
def test_a_sentence_is_no_caption(text):
    assert not targets(("paragraph", text))


def test_a_line_that_goes_on_with_a_name_only_points():
    filler = "As everyone who has waited there for some time will know, in the winter see"
    found = of(("paragraph", f"{filler} Table 4. It lists"))
    assert not found.targets
    assert [(p.kind, p.key) for p in found.pointers] == [("table", "4")]
    pointer = found.pointers[0]
    assert pointer.before.endswith("winter see ")
    assert pointer.after == ". It lists"


def test_a_pointer_keeps_bounded_words_around():
    found = of(("paragraph", "word " * 100 + "Table 4" + " word" * 100))
    assert len(found.pointers[0].before) == 60
    assert len(found.pointers[0].after) == 90


def test_continued_captions_say_so():
    (first,) = of(("caption", "Table 4: Fares")).targets
    (second,) = of(("caption", "Table 4 (continued): Fares")).targets
    assert (first.continued, second.continued) == (False, True)


def test_running_heads_are_told_apart():
    (found,) = of(("header", "40 | Chapter 3 Problems"), ("paragraph", "Text")).targets
    assert found.running
    assert (found.kind, found.key) == ("chapter", "3")
    assert not of(("footer", "Page 3"), ("paragraph", "Text")).targets


def test_contents_by_leaders_and_by_name():
    lines = [
        ("paragraph", f"{title} ........ {page}")
        for title, page in zip("ABCDE", range(2, 7), strict=True)
    ]
    lines = [(kind, f"Part {text}") for kind, text in lines]
    found = of(*lines)
    assert found.contents
    assert found.entries[0] == Entry("Part A", 2)
    assert not found.targets
    assert not found.pointers
    named = of(("heading", "Contents"), *(("list", f"{n} Some title") for n in (3, 5, 5, 9)))
    assert [e.page for e in named.entries] == [3, 5, 5, 9]


def test_a_table_of_figures_is_no_contents():
    rows = [("table_row", f"Revenue of a kind ...... | {n}") for n in (912, 31, 500, 22, 740, 3)]
    assert not of(*rows).contents
    rows = [("table_row", f"Revenue | {n} | {n + 40}") for n in range(10, 20)]
    assert not of(*rows).contents


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("see the notes overleaf for more", ["+1"]),
        ("the results on the next page", ["+1"]),
        ("as on the previous page", ["-1"]),
        ("the map (opposite page) shows", ["opposite"]),
        ("the table below lists them", ["+1?"]),
        ("the preceding figure shows it", ["-1?"]),
        ("quite the opposite holds", []),
    ],
)
def test_pages_beside(text, keys):
    assert [p.key for p in of(("paragraph", text)).pointers] == keys


def test_a_table_that_is_on_the_page_is_not_looked_for_elsewhere():
    below = ("paragraph", "the table below lists them"), ("table_row", "a | 1")
    assert not of(*below).pointers
    assert of(*reversed(below)).pointers[0].key == "+1?"


def test_numbers_at_the_rim():
    found = of(
        ("header", "Annual report 2020 | 17"),
        ("paragraph", "There were 44 trees in the garden and nobody counted the 12 bushes."),
        ("footer", "3 | www.example.org"),
    )
    assert set(found.printed) == {2020, 17, 3}


def test_links_to_other_files_are_left_out():
    box = Box(0, 0, 1, 1)
    page = Page("d", 1, 1, 1, links=(Link(box, 3), Link(box, 0), Link(box, 4, "other.pdf")))
    assert digest(page).links == (3,)


def test_ends_of_tables():
    rows = ("table_row", "Year | Fare | Trips"), ("table_row", "2020 | 3 | 12")
    found = of(("paragraph", "A text above"), *rows)
    assert found.end.header == "Year Fare Trips"
    assert len(found.end.columns) == 3
    assert found.end.kinds[0] == "table_row"


@given(
    st.lists(
        st.tuples(
            KINDS,
            st.text("aT1.: |-", min_size=1).filter(lambda t: set(t.split()) - {"|"}),
        ),
        max_size=6,
    )
)
def test_any_text_is_taken(blocks):
    found = digest(make_page("d", 1, blocks))
    assert len(pickle.dumps(found)) < 60_000


def test_hostile_pages_stay_small_and_linear():
    def spent(times):
        page = make_page("d", 1, [("paragraph", "see Table 4 below, 1 overleaf " * 60)] * times)
        started = time.process_time()
        found = digest(page)
        assert len(pickle.dumps(found)) < 200_000
        return time.process_time() - started

    assert spent(40) < 40 * max(spent(10), 0.001)
