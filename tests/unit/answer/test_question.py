"""What a question asks for is seen from its words alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.answer.question import understand


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("How many bridges cross the river?", "count"),
        ("What is the total number of bridges?", "count"),
        ("What percentage of households own a boat?", "percentage"),
        ("How many percent of adults swim?", "percentage"),
        ("How much did the harbour spend on dredging? Answer in millions.", "money"),
        ("How long does the crossing take?", "number"),
        ("What is the maximum voltage of the pump?", "number"),
        ("In which year was the pier built?", "year"),
        ("When was the pier built?", "date"),
        ("What is the deadline for applications?", "date"),
        ("What time does the last boat leave?", "time"),
        ("Who signed the contract?", "name"),
        ("Where is the head office?", "place"),
        ("Is the harbour open in winter?", "yes_no"),
        ("Do dogs travel free of charge? Answer 'yes' or 'no'.", "yes_no"),
        ("Is the button on the left or right? Answer 'left' or 'right'.", "choice"),
        ("Which one is larger, the north pier or the south pier?", "choice"),
        ("List all the ports of call.", "list"),
        ("What are the opening hours of the offices?", "list"),
        ("Which pages show a map?", "pointer"),
        ("How does the report define net tonnage?", "definition"),
        ("Which age group has the highest percentage of swimmers?", "phrase"),
        ("What happens when the alarm sounds?", "phrase"),
    ],
)
def test_kind(text: str, kind: str) -> None:
    assert understand(text).kind == kind


def test_boilerplate_and_wishes_are_left_out() -> None:
    asked = understand(
        "According to the report, how many ferries run in winter? Please give me an integer."
    )
    assert asked.text == "how many ferries run in winter?"
    assert "integer" not in asked.terms
    assert "report" not in asked.terms


def test_names_numbers_and_options() -> None:
    asked = understand("Did the Port of Oban carry more than 2,104 cars in 2021?")
    assert asked.numbers == ("2104", "2021")
    assert any("Oban" in n for n in asked.names)
    offered = understand("Is the key on the left or right side? Answer 'left' or 'right'.")
    assert offered.options == ("left", "right")
    assert understand("Which option is meant by 'Deep clean'?").names == ("Deep clean",)


@pytest.mark.parametrize(
    ("text", "extreme"),
    [
        ("Which route has the most passengers?", "max"),
        ("Which route has the lowest fare?", "min"),
        ("Which route goes to Oban?", None),
    ],
)
def test_extremes(text: str, extreme: str | None) -> None:
    assert understand(text).extreme == extreme


def test_what_has_to_be_worked_out_or_seen() -> None:
    assert understand("What is the difference between the two fares?").computed
    assert understand("How many more cars were carried in 2020 than in 2021?").computed
    assert not understand("How many cars were carried in 2020?").computed
    assert understand("What colour is the logo?").visual
    assert not understand("What is the fare to Mull?").visual


def test_units_and_explanations() -> None:
    assert understand("What is the water temperature in Celsius?").unit == "°C"
    assert understand("How should the deck be cleaned?").explains
    assert not understand("Who cleans the deck?").explains


@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    asked = understand(text)
    assert asked.kind
    assert asked == understand(text)
