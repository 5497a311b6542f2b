"""MMLongBench-Doc's answer rules by type, stated as they were meant.

Str and None: normalised Levenshtein similarity, 0 below one half; exact for strings whose form is
the answer (addresses of files and sites, pages, telephone numbers, times, dates, emails). Int:
equal numbers. Float: within one percent, or equal after rounding to the fewer decimals; a
percentage may be given as a fraction. List: 0 unless as long as the gold list, else the worst pair
of the sorted items. The published scorer differs in three ways that are not followed: it cuts a
decimal answer to an integer, strips the letters of a unit rather than the unit, and there is a
variant that takes the mean of the pairs.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter

__all__ = ["NOT_ANSWERABLE", "score"]

NOT_ANSWERABLE = "Not answerable"
_UNITS = ("miles", "mile", "million", "billion", "thousand", "percent", "mm", "cm", "km", "kg", "g")
_EXACT = re.compile(
    r"https?://|www\.|\.(?:py|ipynb|pdf)$|^page\b|\b(?:a\.m\.|p\.m\.)|^\d{4}[-–]\d{2}([-–]\d{2})?$"
    r"|[\w.+-]+@[\w-]+\.\w+|^\+?\d[\d ()-]{6,}\d$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?|[-−]?\.\d+")


def score(gold: str, answer: str, kind: str) -> float:
    """Return 0..1: how right an answer is; kind is Str, Int, Float, List or None."""
    if kind == "Int":
        return float(_number(gold) is not None and _number(gold) == _number(answer))
    if kind == "Float":
        return float(_float_equal(_number(gold), _number(answer)))
    if kind == "List":
        return _list_score(_items(gold), _items(answer))
    if kind == "None":
        return float(any(_string_score(g, answer) > 0 for g in (NOT_ANSWERABLE, gold)))
    return _string_score(gold, answer)


def _number(text: str) -> float | None:
    match = _NUMBER.search(text)
    if match is None:
        return None
    return float(match[0].replace(",", "").replace("−", "-"))


def _float_equal(gold: float | None, answer: float | None) -> bool:
    if gold is None or answer is None:
        return False
    for reference in (gold, gold / 100, gold * 100):
        if math.isclose(reference, answer, rel_tol=0.01):
            return True
        places = max(min(_places(reference), _places(answer)), 2)
        if round(reference, places) == round(answer, places):
            return True
    return False


def _places(value: float) -> int:
    return len(str(value).partition(".")[2])


def _clean(text: str) -> str:
    text = text.casefold().strip().strip("\"'").strip()
    for unit in _UNITS:
        text = text.removesuffix(" " + unit).removesuffix(unit + "s" if len(unit) > 2 else "\0")
    return text.strip("()").lstrip("$").rstrip("%.").replace("−", "-").strip()


def _string_score(gold: str, answer: str) -> float:
    g, a = _clean(gold), _clean(answer)
    if _EXACT.search(g):
        return float(g == a)
    longest = max(len(g), len(a))
    if longest == 0:
        return 1.0
    # A distance is at least the difference in length, and at least the characters not shared.
    shared = (Counter(g) & Counter(a)).total()
    if shared / longest < 0.5:
        return 0.0
    similarity = 1.0 - levenshtein(g, a) / longest
    return similarity if similarity >= 0.5 else 0.0


def levenshtein(a: str, b: str) -> int:
    """Return the least number of insertions, deletions and substitutions between two strings."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def _items(text: str) -> list[str]:
    text = text.strip()
    if text.startswith("["):
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = [p.strip(" '\"") for p in text.strip("[]").split(",")]
        return [str(v) for v in value]
    return [p.strip() for p in text.split(";" if ";" in text else ",") if p.strip()]


def _list_score(gold: list[str], answer: list[str]) -> float:
    if len(gold) != len(answer) or not gold:
        return 0.0
    g, a = sorted(map(_clean, gold)), sorted(map(_clean, answer))
    if all(_number(x) is not None and len(x) < 8 for x in g) or _EXACT.search(g[0]):
        numbers = [(_number(x), _number(y)) for x, y in zip(g, a, strict=True)]
        return float(g == a or all(x is not None and x == y for x, y in numbers))
    return min(_string_score(x, y) for x, y in zip(g, a, strict=True))
