"""The typed answer rules, by hand-worked examples."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_FILE = Path(__file__).resolve().parents[2] / "bench" / "mmlongbench.py"
_SPEC = importlib.util.spec_from_file_location("mmlongbench", _FILE)
assert _SPEC is not None
assert _SPEC.loader is not None
rules = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(rules)


@pytest.mark.parametrize(
    ("kind", "gold", "given", "expected"),
    [
        ("Int", "8", "8", 1.0),
        ("Int", "8", "8 boats", 1.0),
        ("Int", "3", "3.9", 0.0),
        ("Int", "1862", "1,862", 1.0),
        ("Int", "8", "eight", 0.0),
        ("Float", "0.5", "0.5", 1.0),
        ("Float", "100", "101", 1.0),
        ("Float", "100", "102", 0.0),
        ("Float", "21%", "0.21", 1.0),
        ("Float", "$1577.00", "$1,577", 1.0),
        ("Float", "2.4%", "", 0.0),
        ("Str", "Less well-off", "less well-off", 1.0),
        ("Str", "abcd", "abxx", 0.5),
        ("Str", "abcd", "axxx", 0.0),
        ("Str", "team", "tea", 0.75),
        ("Str", "2009-07", "2009-08", 0.0),
        ("Str", "a@b.org", "a@b.com", 0.0),
        ("Str", "5 kilometers", "5 kilo", 0.5),
        ("List", "['a b', 'c d']", "c d, a b", 1.0),
        ("List", "['a b', 'c d']", "a b", 0.0),
        ("List", "['abcd', 'efgh']", "abcd, efxx", 0.5),
        ("List", "[14, 15]", "15; 14", 1.0),
        ("List", "[14, 15]", "15; 13", 0.0),
        ("None", "Not answerable", "Not answerable", 1.0),
        ("None", "Not answerable", "42", 0.0),
    ],
)
def test_score(kind: str, gold: str, given: str, expected: float) -> None:
    assert rules.score(gold, given, kind) == pytest.approx(expected)


def test_levenshtein() -> None:
    assert rules.levenshtein("kitten", "sitting") == 3
    assert rules.levenshtein("", "abc") == 3
