"""The built-in reader takes values, cells, names and lists from the pages word for word."""

from __future__ import annotations

import time

import pytest

from pagetrail.answer.extract import ExtractiveReader
from pagetrail.answer.values import codes_in, names_in, values_in
from pagetrail.testing import tiny_pages
from pagetrail.types import Hit, Page, Query, Ranking

from .pages import page

HARBOUR = [
    page(
        ("heading", "Harbour report 2021"),
        "The harbour master is Fiona Campbell, who took office on 3 March 2019.",
        "In 2021 the port handled 2,104 ships, and 42% of households own a boat. Dredging cost "
        "$4.5 million.",
        ("caption", "Table 1: Passengers by route"),
        ("table_row", "Route|2020|2021"),
        ("table_row", "Oban to Mull|1,481|2,950"),
        ("table_row", "Kerrera shuttle|310|275"),
        ("table_row", "Lismore line|990|1,020"),
        ("table_row", "Total|2,781|4,245"),
        number=1,
    ),
    page(
        ("heading", "Safety equipment on board"),
        ("list", "• Life rafts"),
        ("list", "• Fire blankets"),
        ("list", "• Signal flares"),
        ("heading", "Rules"),
        "Dogs are allowed on the upper deck. Smoking is not allowed anywhere on board.",
        "The engine room temperature must stay below 40 °C or 104 °F.",
        number=2,
    ),
]


def read(question: str, pages: list[Page] | None = None) -> list[str]:
    pages = pages or HARBOUR
    query = Query(question)
    ranking = Ranking.of(query, [Hit(p.id, float(-i)) for i, p in enumerate(pages)])
    return [d.text for d in ExtractiveReader().read(query, ranking, pages)]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many ships did the port handle in 2021?", "2,104"),
        ("What percentage of households own a boat?", "42%"),
        ("How much did dredging cost?", "$4.5 million"),
        ("Who is the harbour master?", "Fiona Campbell"),
        ("When did the harbour master take office?", "3 March 2019"),
        ("How many passengers took the Lismore line in 2021?", "1,020"),
        ("How many passengers took the Lismore line in 2020?", "990"),
        ("How many passengers took the route Oban to Mull in 2020?", "1,481"),
        ("Which route had the most passengers in 2021?", "Oban to Mull"),
        ("Which route had the fewest passengers in 2020?", "Kerrera shuttle"),
        ("Are dogs allowed on the upper deck?", "Yes"),
        ("Is smoking allowed on board?", "No"),
        ("List the safety equipment on board.", "Life rafts, Fire blankets, Signal flares"),
        ("What must the temperature in the engine room stay below, in Celsius?", "40 °C"),
    ],
)
def test_answers(question: str, answer: str) -> None:
    assert read(question)[0] == answer


def test_quotes_and_pages_of_drafts() -> None:
    query = Query("How many passengers took the Lismore line in 2021?")
    ranking = Ranking.of(query, [Hit(p.id, 1.0) for p in HARBOUR])
    (best, *_) = ExtractiveReader().read(query, ranking, HARBOUR)
    assert best.page == HARBOUR[0].id
    assert best.quote == "Lismore line 990 1,020"
    assert best.block == 7


def test_similarity_is_used_and_sees_the_question_and_units() -> None:
    seen: list[str] = []

    def similar(question: str, texts: object) -> list[float]:
        seen.extend([question, *texts])  # type: ignore[misc]
        return [1.0 if "dogs" in t else 0.0 for t in texts]  # type: ignore[attr-defined]

    pages = [p for p in tiny_pages() if p.blocks]
    query = Query("What about animals?")
    ranking = Ranking.of(query, [Hit(p.id, 1.0) for p in pages])
    drafts = ExtractiveReader(similarity=similar).read(query, ranking, pages)
    assert seen[0] == "What about animals?"
    assert "dogs" in drafts[0].quote


def test_nothing_to_read() -> None:
    query = Query("How many?")
    assert list(ExtractiveReader().read(query, Ranking(query), [])) == []


def test_values() -> None:
    text = "On 3 March 2019 fares rose 5.5% to $1,200.50, about 30 minutes at 14:30; see 2018."
    assert [(v.kind, v.shown) for v in values_in(text)] == [
        ("date", "3 March 2019"),
        ("percentage", "5.5%"),
        ("money", "$1,200.50"),
        ("number", "30 minutes"),
        ("time", "14:30"),
        ("year", "2018"),
    ]
    assert all(text[v.start : v.end] == v.shown for v in values_in(text))


def test_names() -> None:
    found = [v.shown for v in names_in("the bank State Bank of India and Dr. Ann Lee met in Oban")]
    assert found == ["State Bank of India", "Dr. Ann Lee", "Oban"]


def test_codes_and_addresses() -> None:
    text = "Call 01983 873655, mail a.b@x.org, see www.ferry.org/fares; pin P1.1, no 272318-001."
    assert [(v.kind, v.shown) for v in codes_in(text)] == [
        ("phone", "01983 873655"),
        ("email", "a.b@x.org"),
        ("link", "www.ferry.org/fares"),
        ("code", "P1.1"),
        ("code", "272318-001"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 9000,
        "a " * 4500,
        "1," * 4500,
        "A." * 4500,
        "which " * 1500,
        "www." * 2000,
        "(1" * 4500,
    ],
)
def test_hostile_text_costs_little(text: str) -> None:
    start = time.process_time()
    read(text, [page(" ".join(text.split())), page(("table_row", " ".join(text.split())))])
    assert time.process_time() - start < 2.0
