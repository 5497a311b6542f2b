import json

import pytest

from pagetrail.shallow import DEEPEST, loads


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "text", ['{"a": [1, "x"]}', b'{"a": [1, "x"]}', '{"a": [1, "x"]}'.encode("utf-16")]
)
def test_json_is_read_as_ever(text):
    assert loads(text) == {"a": [1, "x"]}


def test_the_deepest_is_read_and_one_more_is_not():
    assert loads(nested(DEEPEST)) == json.loads(nested(DEEPEST))
    with pytest.raises(ValueError, match="deeply"):
        loads(nested(DEEPEST + 1))
    with pytest.raises(ValueError, match="deeply"):
        loads(b"[" * 1_000_000)


def test_many_brackets_beside_one_another_are_not_deep():
    assert loads("[" + ",".join(["[]"] * 1000) + "]") == [[]] * 1000


@pytest.mark.parametrize("text", ["", "{", b"\xff\xff\xff"])
def test_what_is_not_json_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"."):
        loads(text)


def test_options_are_handed_on():
    with pytest.raises(ZeroDivisionError):
        loads("[NaN]", parse_constant=lambda name: 1 / 0)
