"""True quotes are found with the boxes of their words; false ones are not."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pagetrail.answer.ground import find_quote, ground
from pagetrail.ports import Draft
from pagetrail.types import Box, Page

from .pages import page

REPORT = page(
    ("heading", "Ferry services in 2021"),
    "The company carried 2,104 passengers a day, which was 42% more than in\n2020. The well-\n"
    "known route to Oban made up a third of the traf-\nfic and lost −3.65% of its share.",
    ("table_row", "Route|2020|2021"),
    ("table_row", "Oban – Mull|1,481|2,104"),
    ("table_row", "Net loss|(35)|(12)"),
    "He said: “We’re ﬁne — for now.” The cost was $4.5 million.",
)


def covers(boxes: tuple[Box, ...], inner: Box) -> bool:
    return any(
        b.x0 <= inner.x0 + 1e-4
        and b.x1 >= inner.x1 - 1e-4
        and b.y0 <= inner.y0 + 1e-4
        and b.y1 >= inner.y1 - 1e-4
        for b in boxes
    )


@pytest.mark.parametrize(
    "quote",
    [
        "carried 2,104 passengers a day",
        "CARRIED 2104 PASSENGERS",
        "more than in 2020",
        "The well-known route",
        "wellknown route",
        "a third of the traffic and lost",
        "traf- fic",
        "lost -3.65% of its share",
        "Oban - Mull 1,481 2,104",
        "Net loss (35)",
        '"We\'re fine - for now."',
        "$4.5 million",
        "of its share. Route 2020",
        "The company carried … a third of the traffic",
        "carried 2,104 ... $4.5 million",
    ],
)
def test_true_quotes(quote: str) -> None:
    citation = find_quote(quote, REPORT)
    assert citation.verified, quote
    assert citation.boxes
    assert citation.page == REPORT.id


@pytest.mark.parametrize(
    "quote",
    [
        "carried 2,105 passengers a day",
        "carried 104 passengers",
        "carried 2,10 passengers",
        "lost 3.65% of its share",
        "lost -3.6% of its share",
        "42 more than in 2020",
        "passengers carried 2,104",
        "$4.5 billion",
        "€4.5 million",
        "Oban - Mull 2,104 1,481",
        "carried 2,104 passengers per day",
        "$4.5 million … carried 2,104",
        "art of the",
        "",
        "—",
        "…",
    ],
)
def test_false_quotes(quote: str) -> None:
    citation = find_quote(quote, REPORT)
    assert not citation.verified, quote
    assert citation.boxes == ()
    assert citation.quote == quote


def test_one_box_per_line_and_per_cell() -> None:
    two_lines = find_quote("more than in 2020.", REPORT)
    assert len(two_lines.boxes) == 2
    row = find_quote("Oban – Mull 1,481 2,104", REPORT)
    assert len(row.boxes) == 3
    assert all(a.x1 < b.x0 for a, b in zip(row.boxes, row.boxes[1:], strict=False))


def test_quote_is_in_the_pages_own_words() -> None:
    assert find_quote("WE'RE FINE - FOR NOW", REPORT).quote == "“We’re ﬁne — for now.”"


def test_prefers_the_block_named() -> None:
    twice = page("The fee is 5 euros.", "Later: the fee is 5 euros.")
    first = find_quote("the fee is 5 euros", twice)
    second = find_quote("the fee is 5 euros", twice, block=1)
    assert first.boxes[0].y0 < second.boxes[0].y0


def test_ocr_confusions_count_only_on_words_read_by_ocr() -> None:
    text = "The rnodern bui1ding has a sma11 terrninal for 120 passengers and good cornmunications"
    quote = "The modern building has a small terminal for 120 passengers"
    assert find_quote(quote, page(text, source="ocr")).verified
    assert not find_quote(quote, page(text)).verified
    assert not find_quote(quote.replace("120", "12O1"), page(text, source="ocr")).verified
    assert not find_quote(quote.replace("120", "128"), page(text, source="ocr")).verified


def test_ocr_may_lose_one_letter_of_a_long_word_but_not_change_its_sense() -> None:
    scan = page("Total revenue was 30 milion dollars and comittee members agreed", source="ocr")
    assert find_quote("dollars and committee members agreed", scan).verified
    other = page("Total revenue was 30 millions of dollars in all", source="ocr")
    assert not find_quote("Total revenue was 30 billions of dollars", other).verified
    assert not find_quote("Total revenue was 80 millions of dollars", other).verified


def test_marks_inside_words() -> None:
    soft = page("The co\u00adoperation of naïve résumé writers, 5 g of salt; p < 0.05")
    assert find_quote("cooperation of naïve résumé writers", soft).verified
    assert find_quote("5g of salt", soft).verified
    assert not find_quote("p > 0.05", soft).verified


def test_text_in_other_scripts() -> None:
    other = page("日本語 の 文書 です", "هذا مستند عربي")
    assert find_quote("日本語の文書", other).verified
    assert find_quote("مستند عربي", other).verified
    assert not find_quote("عربي مستند", other).verified


def test_empty_page() -> None:
    assert not find_quote("anything", Page("doc", 1, 10, 10)).verified


VOCABULARY = (
    "the ferry carried 2,104 passengers in 2021 42% of (35) $4.5 well-known “quoted” don’t e.g. "
    "A&B 3.65 −7 x² ﬁnal naïve Q4 12/05/2021 C++ — • to be million all"
)
WORDS = st.lists(
    st.sampled_from(VOCABULARY.split()),
    min_size=4,
    max_size=60,
)


def _random_page(words: list[str], seed: int, number: int = 1) -> Page:
    chance = random.Random(seed)
    blocks = []
    while words:
        size = chance.randint(1, 14)
        kind = chance.choice(["paragraph", "table_row", "list"])
        mark = "|" if kind == "table_row" else "\n"
        taken, words = words[:size], words[size:]
        text = taken[0]
        for w in taken[1:]:
            text += (mark if chance.random() < 0.3 else " ") + w
        blocks.append((kind, text))
    return page(*blocks, number=number)


@settings(max_examples=200, deadline=None)
@given(WORDS, st.integers(0, 1000), st.data())
def test_any_run_of_words_is_found_where_it_stands(
    words: list[str], seed: int, data: st.DataObject
) -> None:
    made = _random_page(words, seed)
    everything = [w for b in made.blocks for w in b.words]
    start = data.draw(st.integers(0, len(everything) - 1))
    end = data.draw(st.integers(start + 1, min(len(everything), start + 25)))
    run = everything[start:end]
    assume(any(c.isalnum() for w in run for c in w.text))
    citation = find_quote(" ".join(w.text for w in run), made)
    assert citation.verified
    # Where the run stands only once, the boxes are those of its own words.
    joined, wanted = (
        "".join(t for t in texts if any(c.isalnum() for c in t))
        for texts in (words, [w.text for w in run])
    )
    assume(sum(joined.startswith(wanted, i) for i in range(len(joined))) == 1)
    for word in run:
        if any(c.isalnum() for c in word.text):
            assert covers(citation.boxes, word.box)


@settings(max_examples=200, deadline=None)
@given(WORDS, st.integers(0, 1000), st.data())
def test_a_changed_digit_is_never_verified(
    words: list[str], seed: int, data: st.DataObject
) -> None:
    made = _random_page(words, seed)
    text = " ".join(words)
    digits = [i for i, c in enumerate(text) if c in "0123456789"]
    assume(digits)
    at = data.draw(st.sampled_from(digits))
    other = data.draw(st.sampled_from([d for d in "123456789" if d != text[at]]))
    assert not find_quote(text[:at] + other + text[at + 1 :], made).verified


@settings(max_examples=200, deadline=None)
@given(WORDS, st.integers(0, 1000), st.data())
def test_swapped_words_are_never_verified(words: list[str], seed: int, data: st.DataObject) -> None:
    made = _random_page(words, seed)
    at = data.draw(st.integers(0, len(words) - 2))
    a, b = words[at], words[at + 1]
    assume(a != b and all(any(c.isalnum() for c in w) for w in (a, b)))
    swapped = [*words[:at], b, a, *words[at + 2 :]]
    assert not find_quote(" ".join(swapped), made).verified


def test_a_quote_on_a_dense_page_takes_less_than_five_milliseconds() -> None:
    words = [f"word{i % 97} number {i}" for i in range(270)]
    big = page(*[" ".join(words[i : i + 30]) for i in range(0, 270, 30)], source="ocr")
    find_quote(words[0], big)  # the first use fills the tables of folded words
    start = time.process_time()
    for _ in range(5):
        assert find_quote(" ".join(words[150:156]), big).verified
        assert not find_quote(" ".join(words[150:155]) + " 9999", big).verified
    assert (time.process_time() - start) / 10 < 0.005


def test_ground_gives_one_citation_per_place() -> None:
    second = page("Other text here.", number=2)
    draft = Draft(
        "x",
        REPORT.id,
        1,
        "carried 2,104 passengers",
        1.0,
        also=((second.id, 0, "Other text"), ("gone#p0009", 0, "x")),
    )
    citations = ground(draft, [second, REPORT])
    assert [c.verified for c in citations] == [True, True, False]
    assert [c.page for c in citations] == [REPORT.id, second.id, "gone#p0009"]
