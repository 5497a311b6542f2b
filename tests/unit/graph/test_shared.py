"""Rare names: what counts as one, and which pages share it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.graph.shared import MOST_PAGES, NameBook, names_of
from pagetrail.types import Block, Page

if TYPE_CHECKING:
    from pagetrail.types import BlockKind


def page(number: int, *texts: str, kind: BlockKind = "paragraph") -> Page:
    blocks = tuple(Block(" ".join(t.split()), kind, n, b"") for n, t in enumerate(texts))
    return Page("d", number, 600, 800, blocks=blocks)


def book(*pages: Page) -> NameBook:
    made = NameBook()
    for one in pages:
        made.add(one)
    return made


def texts(text: str) -> list[str]:
    return sorted(name.text for name in names_of(page(1, text)))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The bank sold Alpine Holdings in May.", ["Alpine Holdings"]),
        ("In Alpine Holdings, Gull Island's ferry", ["Alpine Holdings", "Gull Island"]),
        ("the Bank of England and others", ["Bank of England"]),
        ("Gull Island and Old Quay", ["Gull Island", "Gull Island and Old Quay", "Old Quay"]),
        ("Heron and Ibis of", ["Heron and Ibis"]),
        ("Only One word", ["Only One"]),
        ("However Paris is large", []),
        ("Dr. J. Smith (Blue Heron) spoke", ["Blue Heron", "J Smith"]),
        ("One Two Three Four Five Six Seven", []),
        ("the NASA office", ["NASA"]),
        ("THE ANNUAL RESULTS", ["ANNUAL RESULTS"]),
        ("standard ISO9001 and model XB-21 of FY2019 and Q3", ["ISO9001", "XB-21"]),
        ("10MB in 25km", []),
        ("sold 12,345 for $1.2345 and 98.76%", ["$1.2345", "12,345", "98.76%"]),
        ("in 1998 and 2024, 12000 and 123", []),
        ("", []),
    ],
)
def test_what_is_a_name(text: str, names: list[str]) -> None:
    assert texts(text) == names


def test_running_heads_name_nothing_and_names_end_with_their_cell() -> None:
    assert names_of(page(1, "Alpine Holdings", kind="header")) == []
    row = Block("North Sea Gull Island", "table_row", 0, b"", breaks=(2,))
    found = names_of(Page("d", 1, 600, 800, blocks=(row,)))
    assert sorted(name.text for name in found) == ["Gull Island", "North Sea"]


def test_two_ways_to_print_a_number_or_name_are_one() -> None:
    found = book(
        page(1, "ALPINE HOLDINGS", "paid 12,345"), page(2, "of Alpine Holdings", "12345")
    ).ways()
    assert [(w.source, w.target, w.kind) for w in found] == [(1, 2, "shared")]
    assert found[0].weight == pytest.approx(1 - 0.5 * 0.5)


def test_rarer_names_weigh_more_and_the_rarest_is_the_reason() -> None:
    pages = [
        page(1, "Alpine Holdings", "Gull Island"),
        page(2, "Alpine Holdings", "Gull Island"),
        page(3, "Gull Island"),
    ]
    ways = {(w.source, w.target): w for w in book(*pages).ways()}
    assert ways[1, 2].weight == pytest.approx(1 - 1 / 2 * 2 / 3)
    assert ways[1, 2].why == 'shares "Alpine Holdings"'
    assert ways[1, 3].weight == ways[2, 3].weight == pytest.approx(1 / 3)


def test_a_name_on_many_pages_joins_none() -> None:
    for count in range(2, 8):
        pages = [page(n, "the Alpine Holdings group") for n in range(1, count + 1)]
        pairs = count * (count - 1) // 2 if count <= MOST_PAGES else 0
        assert len(book(*pages).ways()) == pairs


def test_numbers_of_pages_are_no_names_in_a_long_document() -> None:
    pages = [page(1, "see 1234"), page(2, "see 1234"), page(1300, "the end")]
    assert book(*pages).ways() == []
    assert len(book(*pages[:2]).ways()) == 1


def test_marks_are_the_rare_ones_and_few() -> None:
    many = ", ".join(f"Alpine Holding{chr(97 + n)}" for n in range(20))
    pages = [page(1, many), *(page(n, "the Gull Island ferry") for n in range(2, 9))]
    marks = book(*pages).marks()
    assert len(marks[1]) == 8
    assert all(text.startswith("Alpine") for _, text in marks[1])
    assert marks[2] == ()
    # Pages with the same names choose the same of them.
    assert book(page(5, many)).marks()[5] == marks[1]


words = st.sampled_from(["Alpine", "Holdings", "of", "12,345", "XB-21", "(Gull", "Island)", "the"])


@given(st.lists(st.lists(words, max_size=30), max_size=25))
def test_edges_are_few_sound_and_once_per_pair(content: list[list[str]]) -> None:
    pages = [page(n, " ".join(text) or "x") for n, text in enumerate(content, 1)]
    ways = book(*pages).ways()
    assert len({(w.source, w.target) for w in ways}) == len(ways)
    assert all(w.source < w.target and 0 < w.weight < 1 for w in ways)
    degree = [sum(n in (w.source, w.target) for w in ways) for n in range(1, len(pages) + 1)]
    assert max(degree, default=0) <= 5
    assert all(a.weight >= b.weight for a, b in pairwise(ways))


def test_hostile_text_is_bounded() -> None:
    text = " ".join(f"Alpine{n} Holding{n}, {n * 7919 + 100003}" for n in range(20_000))
    assert len(names_of(page(1, text, "A" * 100_000, "\ud800Alpine \ud800Holdings"))) <= 48
