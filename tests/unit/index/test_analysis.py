from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagetrail.index.analysis import MAX_TERMS, analyzer, prepare, query_terms


def terms(text: str) -> set[str]:
    return set(analyzer().analyze(prepare(text)))


@pytest.mark.parametrize(
    ("printed", "asked"),
    [
        ("Revenue was $1,234,567 in 2019", "1234567"),
        ("Revenue was 1234567", "1,234,567"),
        ("grew by 5.3%", "5.3 percent?"),
        ("see section 2.1.3.", "Section 2.1.3"),
        ("part AB-123 fits", "ab123"),
        ("part AB-123 fits", "AB-123"),
        ("part AB-123 fits", "the 123"),
        ("the U.S. economy", "US economy"),
        ("the efﬁcient ofﬁce", "efficient office"),
        ("naïve café façade", "naive cafe"),
        ("naive cafe", "Café"),
        ("２０１９年の売上高", "2019"),
        ("第三季度营业收入增长", "营业收入"),
        ("第三季度营业收入增长", "收"),
        ("東京都の人口", "東京"),
        ("서울의 인구는", "서울의"),
        ("ประเทศไทยมีประชากร", "ประชากร"),
        ("السَّلَامُ عَلَيْكُمْ", "السلام"),
        ("ﺍﻟﺴﻼﻡ ﻋﻠﻴﻜﻢ", "السلام"),
        ("עִבְרִית", "עברית"),
        ("٢٠١٩", "2019"),
        ("हिन्दी भाषा", "हिन्दी"),
        ("Revenue¹ rose", "revenue"),
        ("the company\u2019s employees", "company employee"),
        ("soft\u00adhyphen", "softhyphen"),
        ("ΑΘΗΝΑ", "αθηνα"),
        ("Москва", "москва"),
    ],
)
def test_what_is_printed_can_be_found(printed: str, asked: str) -> None:
    wanted = query_terms(asked)
    assert wanted
    assert set(wanted) & terms(printed), (wanted, terms(printed))


def test_a_chinese_word_is_told_from_its_characters() -> None:
    assert "收入" in query_terms("收入")
    assert "收入" not in terms("入口收费")


def test_words_of_asking_count_only_when_alone() -> None:
    assert query_terms("What is the revenue of the company?") == ["revenu", "compani"]
    assert query_terms("How many are there?") == ["how", "mani", "are", "there"]
    assert query_terms("") == query_terms("?!… —") == []


def test_long_questions_are_cut() -> None:
    many = " ".join(f"word{n}" for n in range(5000))
    assert len(query_terms(many)) == MAX_TERMS
    assert query_terms("x" * 10_000) == []


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(), max_size=60))
def test_any_text_becomes_terms_without_error(text: str) -> None:
    for term in query_terms(text):
        assert term.split() == [term]
    analyzer().analyze(prepare(text))


@pytest.mark.parametrize(
    "unit", ["a-", "1-", "a1-", "1,", "1,000", "a.", "x", "'s", "营", "\u0301", "²"]
)
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    text = unit * 100_000
    started = time.process_time()
    analyzer().analyze(prepare(text))
    assert time.process_time() - started < 3
