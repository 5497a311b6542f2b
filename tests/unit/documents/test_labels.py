"""Printed page numbers read off the pages."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pagetrail.documents.labels import edges, printed_labels
from pagetrail.types import Block, Box, Page, Word


def test_numbers_behind_the_physical_ones():
    margins = {n: [f"Annual report 2019 | {n - 2}" if n > 2 else "Cover"] for n in range(1, 11)}
    assert printed_labels(margins) == {n: str(n - 2) for n in range(3, 11)}


def test_a_page_without_its_number_gets_the_one_it_must_have():
    margins = {n: [str(n + 100)] for n in range(1, 9)} | {4: ["Figure"], 5: []}
    assert printed_labels(margins)[4] == "104"
    assert printed_labels(margins)[5] == "105"


def test_roman_front_matter_then_arabic():
    front = {1: ["i"], 2: ["ii"], 3: ["iii"], 4: ["iv"]}
    body = {n: [f"- {n - 4} -"] for n in range(5, 12)}
    found = printed_labels(front | body)
    assert [found[n] for n in range(1, 7)] == ["i", "ii", "iii", "iv", "1", "2"]


def test_numbers_equal_to_the_physical_ones_are_not_kept():
    assert printed_labels({n: [f"Page {n} of 9"] for n in range(1, 10)}) == {}


def test_numbers_that_do_not_grow_are_no_page_numbers():
    assert printed_labels({n: ["Edition 2019", "7", "$5", "3.14"] for n in range(1, 10)}) == {}
    assert printed_labels({}) == {}
    assert printed_labels({1: ["5"], 2: ["6"]}) == {}


@settings(max_examples=50)
@given(st.dictionaries(st.integers(1, 60), st.lists(st.text(max_size=30), max_size=3)))
def test_anything_may_stand_in_a_margin(margins):
    assert set(printed_labels(margins)) <= set(margins)


def test_edges_are_short_texts_at_top_and_bottom():
    def block(text: str, order: int, kind="paragraph") -> Block:
        words = [Word(w, Box(0, 0, 1, 1)) for w in text.split()]
        return Block.of(words, kind=kind, order=order)

    texts = ["Title here", "body " * 80, "middle", "more", "also body", "12"]
    blocks = [block(t, n) for n, t in enumerate(texts)] + [block("Foot", 6, "footer")]
    page = Page("d", 1, 600, 800, blocks=tuple(blocks))
    assert edges(page) == ["Title here", "12", "Foot"]
    assert edges(Page("d", 1, 600, 800)) == []
