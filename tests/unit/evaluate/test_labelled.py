"""Reading labelled questions that strangers wrote."""

from __future__ import annotations

import json

import pytest

from pagetrail.errors import NotFoundError, UsageError
from pagetrail.evaluate.labelled import LabelledQuestion, read_questions

GOOD = {"id": "q1", "question": "How many?", "doc": "a.pdf", "evidence_pages": [2, 5, 2]}


def write(folder, *lines):
    rows = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    (folder / "questions.jsonl").write_bytes(b"\n".join(rows))
    return read_questions(folder)


def test_a_question_has_its_pages(tmp_path):
    asked, skipped = write(tmp_path, {**GOOD, "answer": "two", "unknown": [1]})
    assert asked == [LabelledQuestion(1, "q1", "How many?", "a.pdf", frozenset({2, 5}))]
    assert skipped == []


def test_without_an_id_the_line_is_its_name(tmp_path):
    bare = {key: value for key, value in GOOD.items() if key != "id"}
    asked, _ = write(tmp_path, b"", bare, b"  ", {**bare, "id": 7})
    assert [(q.line, q.id) for q in asked] == [(2, "2"), (4, "7")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "it is not JSON in UTF-8"),
        (b'{"question": "\xff"}', "it is not JSON in UTF-8"),
        (b"[" * 5000, "it is not JSON in UTF-8"),
        (b"[1]", "it is not a JSON object"),
        ({**GOOD, "question": "  "}, "it has no question"),
        ({**GOOD, "question": 3}, "it has no question"),
        ({**GOOD, "doc": None}, "it has no doc"),
        ({**GOOD, "evidence_pages": "3"}, "evidence_pages is not a list of page numbers"),
        ({**GOOD, "evidence_pages": None}, "evidence_pages is not a list of page numbers"),
        ({**GOOD, "evidence_pages": [True]}, "evidence_pages is not a list of page numbers"),
        ({**GOOD, "evidence_pages": [1.0]}, "evidence_pages is not a list of page numbers"),
    ],
)
def test_a_bad_line_is_told_by_number_and_the_next_one_counts(tmp_path, line, reason):
    asked, skipped = write(tmp_path, GOOD, line, GOOD)
    assert [q.line for q in asked] == [1, 3]
    assert [(s.line, s.reason, s.wrong) for s in skipped] == [(2, reason, True)]
    assert str(skipped[0]) == f"line 2: {reason}"


@pytest.mark.parametrize(
    "more", [{"evidence_pages": []}, {"answerable": False}, {"pages_in_range": False}]
)
def test_nothing_to_find_is_no_mistake(tmp_path, more):
    asked, skipped = write(tmp_path, {**GOOD, **more})
    assert asked == []
    assert [(s.reason, s.wrong) for s in skipped] == [("it has no evidence to find", False)]
    assert skipped[0].as_json() == {"line": 1, "reason": skipped[0].reason, "wrong": False}


def test_odd_line_breaks_stay_within_their_line(tmp_path):
    """A line separator of Unicode in a text is a character of it; a mark at the start is none."""
    content = json.dumps({**GOOD, "question": "one\u2028two"}, ensure_ascii=False).encode()
    asked, skipped = write(tmp_path, b"\xef\xbb\xbf" + content + b"\r", GOOD)
    assert [q.text for q in asked] == ["one\u2028two", "How many?"]
    assert skipped == []


def test_no_file_is_one_clear_line(tmp_path):
    with pytest.raises(NotFoundError, match=r"holds no questions\.jsonl"):
        read_questions(tmp_path)
    with pytest.raises(NotFoundError, match=r"holds no questions\.jsonl"):
        read_questions(tmp_path / "nowhere")
    (tmp_path / "questions.jsonl").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        read_questions(tmp_path)
