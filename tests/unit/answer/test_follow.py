"""Quotes are followed across a page by where their words stand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagetrail.answer.follow import Follower
from pagetrail.answer.ground import QuoteFinder
from pagetrail.types import Block, Box, Page, Word

SIZE, WIDE = 10.0, 6.0  # height of a line and width of a letter, in points


def placed(*lines):
    """Words at places: each line is (left, top, text); in the order given."""
    words, boxes = [], []
    for left, top, text in lines:
        x = float(left)
        for word in text.split():
            words.append(word)
            boxes.append(Box(x, top, x + WIDE * len(word), top + SIZE))
            x += WIDE * (len(word) + 1)
    return words, boxes


def cut(word):
    return (word.strip(".,?-").casefold(),) if word.strip(".,?-") else ()


def follow(lines, quote):
    words, boxes = placed(*lines)
    found = Follower(words, boxes, cut).find(quote)
    return None if found is None else " ".join(words[i] for i in found)


# Two columns, read line by line across both.
COLUMNS = [
    (0, 0, "We set the rank"), (200, 0, "with a learning"),
    (0, 12, "of modules to 64."), (200, 12, "rate of 3 and"),
    (0, 24, "The batch is 8."), (200, 24, "a warm start."),
]  # fmt: skip


def test_a_sentence_in_a_column_that_was_read_across():
    quote = "set the rank of modules to 64. The batch"
    assert follow(COLUMNS, quote) == quote
    assert follow(COLUMNS, "with a learning rate of 3 and a warm start.") is not None


@pytest.mark.parametrize(
    "quote",
    [
        "set the rank of modules to 65.",
        "set the rank modules of to 64.",
        "set the rank The batch is 8.",  # a line left out
        "of modules to 64. We set the rank",  # upwards
        "the rank",  # too short
        "64 of of of",
        "",
    ],
)
def test_what_does_not_stand_there_is_not_found(quote):
    assert follow(COLUMNS, quote) is None


CELLS = [
    (0, 0, "Is this in the"), (300, 0, "Yes"),
    (0, 12, "Transition Strategy?"), (300, 12, "No"),
    (0, 40, "Torque"), (100, 40, "149 lb"), (200, 40, "151 lb"),
    (100, 52, "(202 Nm)"), (200, 52, "(205 Nm)"),
]  # fmt: skip


def test_cells_of_several_lines_and_rows_across_them():
    # The cell is read with its neighbour's word in between, the row with the cells' second lines.
    order = [
        CELLS[0],
        CELLS[1],
        CELLS[2],
        CELLS[3],
        CELLS[4],
        CELLS[5],
        CELLS[7],
        CELLS[6],
        CELLS[8],
    ]
    assert follow(order, "Is this in the Transition Strategy?") is not None
    assert follow(order, "Torque 149 lb 151 lb") == "Torque 149 lb 151 lb"
    assert follow(order, "151 lb (205 Nm)") == "151 lb (205 Nm)"
    assert follow(order, "Torque 151 lb 149 lb") is None


def test_words_divided_at_the_end_of_a_line():
    lines = [(0, 0, "a deep convolu-"), (200, 0, "beside it"), (0, 12, "tional network")]
    assert follow(lines, "deep convolutional network") == "deep convolu- tional network"
    assert follow(lines, "deep convolutinal network") is None


def test_marks_with_nothing_to_compare_are_passed_over():
    lines = [(0, 0, "Profit -"), (0, 12, "- of 12 ferries")]
    assert follow(lines, "Profit of 12 ferries") == "Profit of 12 ferries"


def test_the_rest_of_a_number_is_no_end():
    def halves(word):
        return (word[:-1], "%") if word.endswith("%") else (word,)

    words, boxes = placed((0, 0, "rose by 12%"))
    assert Follower(words, boxes, halves).find("rose by 12") is None
    assert Follower(words, boxes, halves).find("rose by 12%") == [0, 1, 2]


def test_a_citation_of_words_that_were_read_apart_boxes_them_alone():
    words, boxes = placed(*COLUMNS)
    parts = [(0, 8), (8, 16), (16, len(words))]
    scaled = [Box(b.x0 / 400, b.y0 / 400, b.x1 / 400, b.y1 / 400) for b in boxes]
    blocks = [
        Block.of(list(map(Word, words[a:b], scaled[a:b])), order=n, kind="table_row")
        for n, (a, b) in enumerate(parts)
    ]
    page = Page("d", 1, 400, 400, blocks=tuple(blocks))
    found = QuoteFinder(page).find("set the rank of modules to 64.")
    assert found.verified
    assert found.quote == "set the rank of modules to 64."
    assert all(box.x1 < 0.45 for box in found.boxes)
    assert not QuoteFinder(page).find("set the rank of modules to 65.").verified


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from("abcdefgh"), min_size=4, max_size=24), st.integers(2, 6), st.data())
def test_every_stretch_of_a_column_is_found_however_it_was_read(words, width, data):
    lines = [words[i : i + width] for i in range(0, len(words), width)]
    placed_lines = [(0, 12 * n, " ".join(line)) for n, line in enumerate(lines)]
    read = data.draw(st.permutations(placed_lines))
    first = data.draw(st.integers(0, len(words) - 3))
    last = data.draw(st.integers(first + 3, len(words)))
    quote = " ".join(words[first:last])
    assert follow(read, quote) == quote
