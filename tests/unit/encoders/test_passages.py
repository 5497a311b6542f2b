"""Cutting pages into passages: nothing lost, nothing too long, headings stay with their text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.encoders.passages import MAX_WORDS, passages
from pagetrail.testing import make_page, tiny_pages
from pagetrail.types import Block, Page


def page(*blocks: tuple[str, str]) -> Page:
    made = tuple(Block(text, kind, order, b"") for order, (kind, text) in enumerate(blocks))
    return Page("d", 1, 595, 842, blocks=made)


def words(count: int, stem: str = "word") -> str:
    return " ".join([stem] * count)


def test_an_empty_page_has_no_passages():
    assert passages(page()) == []


def test_short_blocks_are_joined_in_reading_order():
    (only,) = passages(page(("heading", "Fares"), ("paragraph", "Dogs pay half."), ("list", "End")))
    assert (only.text, only.block, only.page) == ("Fares Dogs pay half. End", 0, "d#p0001")


def test_headers_and_footers_are_left_out_unless_alone():
    both = passages(page(("header", "Top"), ("paragraph", "Body"), ("footer", "7")))
    assert [(p.text, p.block) for p in both] == [("Body", 1)]
    alone = passages(page(("header", "Top"), ("footer", "7")))
    assert [p.text for p in alone] == ["Top 7"]


def test_whole_blocks_stay_together():
    found = passages(page(*[("paragraph", words(60, f"w{i}")) for i in range(3)]))
    assert [p.block for p in found] == [0, 1, 2]


def test_a_heading_goes_with_what_follows():
    found = passages(
        page(("paragraph", words(90)), ("heading", "Title"), ("paragraph", words(60, "body")))
    )
    assert [p.block for p in found] == [0, 1]
    assert found[1].text.startswith("Title body")


def test_table_rows_are_joined_and_numbers_cost_more():
    rows = [("table_row", f"Row{i} 1,234.5 6,789.0 12.25 %") for i in range(40)]
    found = passages(page(*rows))
    assert len(found) > 40 * 5 / MAX_WORDS
    assert all(p.text.startswith("Row") for p in found)


def test_long_blocks_are_cut_evenly_at_sentence_ends():
    sentence = "This is a sentence of exactly eleven words in all here."
    found = passages(page(("paragraph", " ".join([sentence] * 21))))
    assert len(found) >= 3
    assert all(p.text.endswith("here.") and p.block == 0 for p in found)
    assert min(len(p.text.split()) for p in found) > MAX_WORDS // 2


def test_script_without_spaces_is_cut_by_characters():
    text = "橋は一九三二年に開通した" * 100
    found = passages(page(("paragraph", text)))
    assert "".join(p.text.replace(" ", "") for p in found) == text
    assert all(len(p.text) <= 260 for p in found)


def test_a_huge_block_takes_linear_time():
    start = time.process_time()
    assert len(passages(page(("paragraph", words(200_000))))) > 1800
    assert time.process_time() - start < 5


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["heading", "paragraph", "list", "table_row", "caption"]),
            st.lists(st.text("abz1.,中é-", min_size=1, max_size=60), min_size=1, max_size=300),
        ),
        max_size=6,
    )
)
def test_every_word_is_in_one_passage_in_order(blocks):
    made = page(*[(kind, " ".join(ws)) for kind, ws in blocks])
    found = passages(made)
    joined = "".join(p.text for p in found).replace(" ", "")
    assert joined == "".join(b.text for b in made.blocks).replace(" ", "")
    assert all(0 < len(p.text.split()) <= MAX_WORDS for p in found)
    assert [p.block for p in found] == sorted(p.block for p in found)


def test_tiny_pages_have_passages_where_they_have_words():
    assert [bool(passages(p)) for p in tiny_pages()] == [bool(p.blocks) for p in tiny_pages()]


@pytest.mark.parametrize("number", range(6))
def test_made_pages_have_sound_boxes(number):
    for block in tiny_pages()[number].blocks:
        boxes = block.word_boxes()
        assert len(boxes) == len(block.text.split(" "))
        assert all(0 <= b.x0 < b.x1 <= 1 and 0 <= b.y0 < b.y1 <= 1 for b in boxes)


def test_made_table_rows_keep_their_cells():
    (row,) = make_page("d", 1, [("table_row", "Beans in cans | 95 | 88")]).blocks
    assert row.lines() == ["Beans in cans", "95", "88"]
