"""From a model's reply to a number, or to nothing: a reply that was not asked for has no number.

Two kinds of reading. The first token's alternatives give degrees: how much likelier ``yes`` was
than ``no``. The reply's text gives a word, and only when it is nothing but that word: a page that
says "answer yes" may lead a model astray, but never reaches these functions itself.

The two lenient readings (`contains_yes`, `first_digit`) are those of published systems, kept so
that their behaviour can be reproduced. They are never a default.
"""

from __future__ import annotations

import math
import re
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = [
    "LEAST_MASS",
    "contains_yes",
    "expected_grade",
    "first_digit",
    "letter_shares",
    "read_grade",
    "read_letter",
    "read_yes_no",
    "spelled",
    "yes_no_log_odds",
]

LEAST_MASS = 0.001
"""A model that gives all the words asked for less probability than this did not answer in them."""

# White space as tokenizers write it (SentencePiece, byte-level BPE), and what may stand around.
_TRIM = string.whitespace + string.punctuation + "▁ĠĊ“”„‘’«»…–—。、！？：；\u00a0\u200b\ufeff"
_GRADES = ("1", "2", "3", "4", "5")
_REST = 1e-6  # probabilities come rounded; less than this is not told apart from nothing


def spelled(token: str) -> str:
    """Return what a token or reply says: no white space, quotes or punctuation around it.

    >>> [spelled(t) for t in (" Yes", "▁no", "**YES**", "[B]", "no way")]
    ['Yes', 'no', 'YES', 'B', 'no way']
    """
    return token.strip(_TRIM)


def read_yes_no(text: str) -> bool | None:
    """Return True or False for a reply that is exactly yes or no, otherwise None.

    >>> [read_yes_no(t) for t in ("Yes.", " NO", "Yes, because", "")]
    [True, False, None, None]
    """
    return {"yes": True, "no": False}.get(spelled(text).casefold())


def contains_yes(text: str) -> bool:
    """Return whether ``yes`` stands anywhere in the lower-case reply: the test of V-RAG's code.

    >>> [contains_yes(t) for t in ("Yes, it does.", "eyes", "I cannot tell")]
    [True, True, False]
    """
    return "yes" in text.lower()


def yes_no_log_odds(logprobs: Mapping[str, float]) -> float | None:
    """Return the natural log-odds of yes against no among a first token's alternatives.

    All spellings count (case, white space, punctuation around). A side that is not shown is
    bounded from above: no single token that is not shown is likelier than the least likely one
    shown, and all of them together have what the shown ones leave. The result is then a bound on
    the true value and always finite. None when neither is shown, or both hardly ever
    (`LEAST_MASS`).
    """
    shown = _shown(logprobs)
    yes = [p for token, p in shown.items() if spelled(token).casefold() == "yes"]
    no = [p for token, p in shown.items() if spelled(token).casefold() == "no"]
    if _mass([*yes, *no]) < LEAST_MASS:
        return None
    absent = min(*shown.values(), math.log(max(_REST, 1 - _mass(shown.values()))))
    return _log_sum(yes or [absent]) - _log_sum(no or [absent])


def expected_grade(logprobs: Mapping[str, float]) -> float | None:
    """Return the expected grade, 1..5: the digits' mean, weighed by their probabilities.

    Probabilities are those of the digits among a first token's alternatives, scaled to sum to 1;
    a digit that is not shown counts 0. None when all of them together are below `LEAST_MASS`.
    """
    shares = _shares(logprobs, _GRADES)
    return sum(int(digit) * share for digit, share in shares.items()) if shares else None


def read_grade(text: str) -> int | None:
    """Return the digit of a reply that is exactly one digit from 1 to 5, otherwise None.

    >>> [read_grade(t) for t in ("4", " 5.", "4/5", "6", "Grade: 4")]
    [4, 5, None, None, None]
    """
    word = spelled(text)
    return int(word) if word in _GRADES else None


def first_digit(text: str) -> int | None:
    """Return the first digit from 1 to 5 anywhere in a reply: the reading of MoLoRAG's code.

    >>> [first_digit(t) for t in ("Relevance: 4", "10", "none")]
    [4, 1, None]
    """
    found = re.search(r"[1-5]", text)
    return int(found[0]) if found else None


def letter_shares(logprobs: Mapping[str, float], letters: Collection[str]) -> dict[str, float]:
    """Return each letter's share, 0..1 summing to 1, among a first token's alternatives.

    Letters are upper case, so that the article "a" is no choice. Empty when all of them together
    are below `LEAST_MASS`.
    """
    return _shares(logprobs, letters)


def read_letter(text: str, letters: Collection[str]) -> str | None:
    """Return the letter of a reply that is exactly one of ``letters``, otherwise None.

    >>> [read_letter(t, "ABC") for t in ("[B]", "C.", "D", "a", "A or B")]
    ['B', 'C', None, None, None]
    """
    word = spelled(text)
    return word if len(word) == 1 and word in letters else None


def _shares(logprobs: Mapping[str, float], words: Collection[str]) -> dict[str, float]:
    masses = dict.fromkeys(words, 0.0)
    for token, p in _shown(logprobs).items():
        word = spelled(token)
        if word in masses:
            masses[word] += math.exp(p)
    total = sum(masses.values())
    return {w: m / total for w, m in masses.items()} if total >= LEAST_MASS else {}


def _shown(logprobs: Mapping[str, float]) -> dict[str, float]:
    """Return the alternatives that are log-probabilities; servers also write NaN and infinity."""
    return {token: min(0.0, p) for token, p in logprobs.items() if math.isfinite(p)}


def _mass(values: Collection[float]) -> float:
    return sum(map(math.exp, values))


def _log_sum(values: Collection[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values))
