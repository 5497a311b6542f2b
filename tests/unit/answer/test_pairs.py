"""Forms, figures over captions, headers read as one, ranges: values found by their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pagetrail.answer.evidence import units_of
from pagetrail.answer.extract import ExtractiveReader
from pagetrail.answer.question import understand
from pagetrail.answer.tables import table_at
from pagetrail.answer.terms import stems
from pagetrail.types import Block, Box, Hit, Page, Query, Ranking, Word

from .pages import line_words, page

if TYPE_CHECKING:
    from pagetrail.ports import Draft


def drafts(question: str, *pages: Page) -> list[Draft]:
    query = Query(question)
    ranking = Ranking.of(query, [Hit(p.id, float(-i)) for i, p in enumerate(pages)])
    return list(ExtractiveReader().read(query, ranking, pages))


FORM = page(
    ("heading", "Loan of equipment"),
    ("table_row", "Borrower|Item lent"),
    ("table_row", "Ruth Amberg|2 microscopes"),
    ("table_row", "Approved on|Approved by"),
    ("table_row", "3 May 2021|Paul Keller"),
    ("table_row", "Days lent"),
    ("table_row", "14"),
    "Room for return: Building 7",
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who approved the loan?", "Paul Keller"),
        ("When was the loan approved?", "3 May 2021"),
        ("Who is the borrower?", "Ruth Amberg"),
        ("What is the room for return?", "Building 7"),
    ],
)
def test_fields_of_a_form_are_found_by_their_labels(question: str, answer: str) -> None:
    best = drafts(question, FORM)[0]
    assert best.text == answer
    assert answer in best.quote


def test_a_field_cites_its_label_as_well() -> None:
    best = drafts("Who approved the loan?", FORM)[0]
    assert best.also == ((FORM.id, 3, "Approved on Approved by"),)


def test_figures_stand_over_their_captions() -> None:
    made = page(
        ("table_row", "7.5 m|81%|312"), ("table_row", "visits a year|happy readers|opening days")
    )
    assert drafts("How many opening days are there?", made)[0].text == "312"


def test_columns_of_a_longer_table_are_no_form() -> None:
    made = page(
        ("table_row", "Town|Mayor"), ("table_row", "Aken|Ida Holm"), ("table_row", "Bork|Jan Roos")
    )
    forms = {n for d in drafts("Who is the mayor of Bork?", made) for n in d.features}
    assert "field" not in forms


def joined_header() -> Page:
    """A table whose header was read as one cell."""
    shown = (("Group", 0.05), ("2019", 0.25), ("2020", 0.45), ("Share", 0.65))
    words = [Word(w, Box(x, 0.1, x + 0.05, 0.115)) for w, x in shown]
    header = Block.of(words, kind="table_row", order=0)
    rows = []
    for i, cells in enumerate(("A|120|150|44%", "D|310|290|56%"), 1):
        held: list[Word] = []
        breaks = []
        for j, cell in enumerate(cells.split("|")):
            if j:
                breaks.append(len(held))
            held += line_words(cell, 0.1 + 0.02 * i, 0.05 + 0.2 * j)
        rows.append(Block.of(held, kind="table_row", order=i, breaks=breaks))
    return Page("doc", 1, 612, 792, text_source="layer", blocks=(header, *rows))


def test_headers_read_as_one_cell_are_cut_at_the_columns() -> None:
    units = units_of([joined_header()])
    row = table_at(units[1]).row(1)
    assert [sorted(c.header) for c in row] == [["group"], ["2019"], ["2020"], ["shar"]]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many members did group D have in 2019?", "310"),
        ("How many members did group A have in 2020?", "150"),
        ("How many members does group D have?", "290"),
    ],
)
def test_rows_are_named_by_letters_and_the_latest_year_is_meant(question: str, answer: str) -> None:
    assert drafts(question, joined_header())[0].text == answer


def test_a_number_matches_the_range_it_lies_in() -> None:
    made = page(
        ("table_row", "Weight of parcel|Postage"),
        ("table_row", "1 to 5 kg|4.20"),
        ("table_row", "6 to 20 kg|9.90"),
    )
    first = drafts("How much postage for a parcel of 8 kg?", made)[0]
    assert first.text == "9.90"


def test_the_caption_under_a_table_tells_what_its_rows_are() -> None:
    made = page(
        ("table_row", "Rust|48%"),
        ("table_row", "Frost|31%"),
        ("table_row", "Moss|21%"),
        ("caption", "Figure 4 Causes of cracked bridges, share of all"),
    )
    assert drafts("Which is the main cause of cracked bridges?", made)[0].text == "Rust"


def test_letters_alone_are_names() -> None:
    assert stems("Where does line D end?")[-1] == "d"
    assert stems("D") == ("d",)
    assert "a" not in stems("A boat")
    assert "d" not in stems("I'd go")


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What does a day ticket cost?", "money"),
        ("What was the income in 2019?", "money"),
        ("What was the delay in minutes?", "number"),
        ("What day is the meeting?", "date"),
    ],
)
def test_kinds(question: str, kind: str) -> None:
    assert understand(question).kind == kind
