"""A question without the instruction on how to write its answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.retrieve.asking import content


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("How many? Answer in int format.", "How many?"),
        ("What is it? Please write the answer in list format.", "What is it?"),
        ("What is it?Answer in millions.", "What is it?"),
        ("What share? Answer in percentage terms, round to 2 decimal places.", "What share?"),
        ("What share? round your answer to three decimal places", "What share?"),
        ("List the pages. The answer should be formatted as ['Page 2'].", "List the pages."),
        ("Which are they? Give them in alphabetical order.", "Which are they?"),
    ],
)
def test_the_instruction_goes(question, kept):
    assert content(question) == kept


@pytest.mark.parametrize(
    "question",
    [
        "In Table 3, list the values of the last column",
        "In 2010, give the results of the survey",
        "What was the answer in the second survey?",
        "Which share of answers must be corrected?",
        "Round your answer",
        "",
    ],
)
def test_the_question_stays(question):
    assert content(question) == question


@given(st.text(max_size=300))
def test_never_empties_a_question(text):
    assert content(text).strip() or not text.strip()
