"""Tables, lists, claims and weights: the parts that the reader is made of."""

from __future__ import annotations

import math

import pytest

from pagetrail.answer.claims import verdict_on
from pagetrail.answer.evidence import units_of, weigh
from pagetrail.answer.kinds import kind_of
from pagetrail.answer.lists import counts_in, items_text, lists_in
from pagetrail.answer.question import understand
from pagetrail.answer.rank import weights
from pagetrail.answer.superlative import extremes_in
from pagetrail.answer.tables import number_of, table_at
from pagetrail.answer.terms import Rarity, stem, stems
from pagetrail.types import Hit, Page, Query, Ranking

from .pages import page


def weighed(question: str, *pages: Page):
    asked = understand(question)
    ranking = Ranking.of(Query(question), [Hit(p.id, float(-i)) for i, p in enumerate(pages)])
    units = units_of(pages)
    best, rarity = weigh(asked, units, ranking)
    return asked, units, best, rarity


ACCOUNTS = page(
    ("table_row", "In millions|2023|2022"),
    ("table_row", "Net sales|$|46,298|$|51,761"),
    ("table_row", "Net loss|(35)|(12)"),
    ("table_row", "Share of sales|31|%|29|%"),
)


def test_headers_are_found_above_each_cell() -> None:
    rows = [u for u in units_of([ACCOUNTS]) if u.is_row]
    sales, loss = table_at(rows[1]), table_at(rows[2])
    assert [c.text for c in sales.row(1)] == ["Net sales", "$ 46,298", "$ 51,761"]
    assert [sorted(c.header) for c in loss.row(2)] == [["million"], ["2023"], ["2022"]]
    assert [c.numeric for c in loss.row(2)] == [False, True, True]
    assert [c.text for c in loss.row(3)] == ["Share of sales", "31 %", "29 %"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("(1,234)", -1234.0), ("42%", 42.0), ("$ 5.50", 5.5), ("−3", -3.0), ("n/a", None), ("", None)],
)
def test_number_of(text: str, value: float | None) -> None:
    assert number_of(text) == value


def test_header_rows_give_context_to_the_rows_below() -> None:
    rows = units_of([ACCOUNTS])
    assert "2023" in rows[2].heading
    assert "35" not in rows[3].heading


def test_units_are_sentences_and_rows_in_order() -> None:
    made = page(
        "Dr. Lee left at 5 p.m. on Monday. She came back. • First • Second", ("table_row", "a|b")
    )
    assert [u.text for u in units_of([made])] == [
        "Dr. Lee left at 5 p.m. on Monday.",
        "She came back.",
        "• First",
        "• Second",
        "a b",
    ]


def test_text_without_full_stops_is_cut() -> None:
    made = page(" ".join(f"w{i}" for i in range(500)))
    units = units_of([made])
    assert max(len(u.words) for u in units) <= 120
    assert sum(len(u.words) for u in units) == 500


def test_running_headers_weigh_less() -> None:
    made = page(("header", "Harbour fees in winter"), "Harbour fees in winter")
    _, _, best, _ = weighed("What are the harbour fees in winter?", made)
    assert best[0].unit.block.kind == "paragraph"


def test_items_text() -> None:
    assert items_text(["a", "b"]) == "a, b"
    assert items_text(["a, x", "b"]) == "a, x; b"


def test_lists_under_a_heading_and_in_a_sentence() -> None:
    made = page(
        ("heading", "Ports of call"),
        ("list", "• Oban"),
        ("list", "• Tobermory"),
        ("heading", "Fares"),
    )
    asked, units, best, _ = weighed("List the ports of call.", made)
    head = next(w for w in best if w.unit.text == "Ports of call")
    (found,) = lists_in(asked, head, units[1:])
    assert found.text == "Oban, Tobermory"
    assert [a[2] for a in found.also] == ["• Oban", "• Tobermory"]
    asked, _, best, _ = weighed(
        "Which islands are served?", page("The islands served are Mull, Kerrera and Lismore.")
    )
    assert any(c.text == "Mull, Kerrera, Lismore" for c in lists_in(asked, best[0], []))


def test_items_are_counted_only_when_the_heading_names_them() -> None:
    made = page(("heading", "Ports of call"), ("list", "• Oban"), ("list", "• Tobermory"))
    asked, units, best, _ = weighed("How many ports are there?", made)
    head = next(w for w in best if w.unit.text == "Ports of call")
    assert [c.text for c in counts_in(asked, head, units[1:])] == ["2"]
    asked, _, _, _ = weighed("How many boats are there?", made)
    assert counts_in(asked, head, units[1:]) == []


@pytest.mark.parametrize(
    ("question", "text", "verdict"),
    [
        ("Are dogs allowed on deck?", "Dogs are allowed on deck.", "Yes"),
        ("Are dogs allowed on deck?", "Dogs are not allowed on deck.", "No"),
        ("Did fares increase in winter?", "Fares decreased in winter.", "No"),
        ("Does the ferry carry 40 cars?", "The ferry carries 40 cars.", "Yes"),
        ("Does the ferry carry 40 cars?", "The ferry carries 30 cars.", "No"),
        ("Are dogs allowed on deck?", "The harbour has two cranes.", None),
    ],
)
def test_claims(question: str, text: str, verdict: str | None) -> None:
    asked, _, best, _ = weighed(question, page(text))
    found = verdict_on(asked, best)
    assert (found[0].text if found else None) == verdict


def test_extremes_need_three_numbers() -> None:
    made = page(("table_row", "Route|Cars"), ("table_row", "North|10"), ("table_row", "South|20"))
    asked, units, best, rarity = weighed("Which route has the most cars?", made)
    assert list(extremes_in(asked, best, units, rarity)) == []


def test_stems_and_rarity() -> None:
    assert stems("The studies measured boxes") == ("studi", "measur", "box")
    assert stem("carries") == stem("carry")
    rarity = Rarity([{"a", "b"}, {"a"}, {"a"}])
    assert rarity("b") > rarity("a")
    assert rarity.share(["a", "b"], ["b"], {}) > 0.5
    assert rarity.share(["a"], [], {"a": 0.5}) == pytest.approx(0.5)
    assert rarity.share([], ["a"], {}) == 0.0


def test_weights_are_complete_and_finite() -> None:
    tables = weights()
    assert set(tables) == {"quantity", "phrase", "sentence", "gate", "threshold"}
    assert all(math.isfinite(v) and abs(v) < 20 for t in tables.values() for v in t.values())
    assert 0.0 < tables["threshold"]["confidence"] < 1.0


def test_options_make_a_choice() -> None:
    assert kind_of("left or right?", "left or right?", ("left", "right")) == "choice"
    assert kind_of("is it so?", "is it so?", ("Yes", "No")) == "yes_no"
