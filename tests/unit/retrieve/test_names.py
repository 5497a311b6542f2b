"""Documents that a question names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.retrieve.names import NameIndex, name_words

FILES = [
    ("a", "COSTCO_2021_10K.pdf", ""),
    ("b", "BESTBUY_2023_10K.pdf", ""),
    ("c", "camry_ebrochure.pdf", "Toyota Camry"),
    ("d", "final report 2021 (3).pdf", ""),
    ("e", "0e94b4197b10096b1f4c699701570fbf.pdf", ""),
    *((f"x{n}", f"minutes-{n}.pdf", "") for n in range(30)),
]
INDEX = NameIndex(FILES)


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("What are total assets for Costco in 2021?", "a"),
        ("What are Best Buy's gross margins?", "b"),
        ("what does BESTBUY report?", "b"),
        ("Which colours has the Toyota?", "c"),
    ],
)
def test_the_named_document_comes_first(question, document):
    assert INDEX.named(question)[0][0] == document


@pytest.mark.parametrize(
    "question",
    ["", "What does the report say?", "What happened in 2021?", "Who wrote the minutes?", "fbf?"],
)
def test_what_names_nothing_gives_nothing(question):
    assert INDEX.named(question) == []


def test_a_year_settles_which_of_two():
    index = NameIndex([("a", "acme_2019.pdf", ""), ("b", "acme_2020.pdf", ""), *FILES])
    (first, high, words), (second, low, _) = index.named("Acme's profit in 2020?")
    assert (first, second) == ("b", "a")
    assert words == "acme 2020"
    assert 0 < low < high <= 1


def test_names_are_cut_into_words():
    assert name_words("BESTBUY_2023_10K.pdf") == {"bestbuy", "2023", "10k"}
    assert name_words("0e94b4197b10096b1f4c699701570fbf.pdf") == set()


@given(st.lists(st.tuples(st.text(), st.text(), st.text()), max_size=8), st.text())
def test_any_names_and_questions_will_do(documents, question):
    for _, score, words in NameIndex(documents).named(question):
        assert 0 <= score <= 1
        assert words
