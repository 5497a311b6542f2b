"""JSON out of replies: one value or a fault in words."""

from __future__ import annotations

import pytest

from pagetrail.errors import UsageError
from pagetrail.models.schema import ReplyFaultError, check_schema, read_json, read_reply


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (" \n[1, 2]\n", [1, 2]),
        ("3", 3),
        ('"text"', "text"),
        ("null", None),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Here:\n```\n{"a": {"b": [1]}}\n```\nDone.', {"a": {"b": [1]}}),
        ('The answer is {"a": "}{"}, I think.', {"a": "}{"}),
        ("As noted [see below] in {braces}: [1, [2]].", [1, [2]]),
        ("```python\nx = {}\n```\n```json\n7\n```", 7),
    ],
)
def test_one_value_is_found(text, value):
    assert read_json(text) == value


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        ("yes", "no JSON"),
        ("The answer is 3.", "no JSON"),
        ('{"a": 1} {"a": 2}', "2 JSON values"),
        ("```\n1\n```\n```\n2\n```", "2 JSON values"),
        ('{"a": {"a": 1}', "cannot be read"),
        ('{"a": 1, "b": {"a": 2},}', "cannot be read"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ("[" * 100_000, "deeply"),
        ('Sure: {"a": ' + "[" * 200 + "]" * 200 + "}", "deeply"),
        ("x" * 1_000_001, "too long"),
    ],
)
def test_anything_else_is_a_fault(text, fault):
    with pytest.raises(ReplyFaultError, match=fault):
        read_json(text)


def test_a_million_brackets_cost_little():
    with pytest.raises(ReplyFaultError):
        read_json("{ " * 400_000)


def test_the_schema_is_checked_and_the_place_named():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "integer"}}},
    }
    assert read_reply('{"a": [1]}', schema) == {"a": [1]}
    with pytest.raises(ReplyFaultError, match=r"at \['a'\]\[1\]: 'x' is not of type 'integer'"):
        read_reply('{"a": [1, "x"]}', schema)


def test_a_bad_schema_is_the_callers_mistake():
    with pytest.raises(UsageError, match="schema"):
        check_schema({"type": 3})


def test_references_to_the_web_are_not_followed():
    schema = {"$ref": "https://example.com/schema.json"}
    with pytest.raises(UsageError, match=r"not in it: https://example\.com"):
        read_reply("{}", schema)
