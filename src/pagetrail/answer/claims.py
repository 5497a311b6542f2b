"""Yes or no: does the best sentence say the same as the question, or the opposite?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .candidates import Candidate
from .terms import stem, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .evidence import Weighed
    from .question import Question

__all__ = ["verdict_on"]

_NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|can't|don't|doesn't|didn't|isn't|aren't|wasn't|weren't|won't|"
    r"without|none|"
    r"neither|nor|unable|avoid|prohibited|unless|fail(?:s|ed)? to|instead of|rather than)\b",
    re.IGNORECASE,
)
_OPPOSITES = (
    "increase decrease", "increase decline", "rise fall", "higher lower", "more less", "more fewer",
    "above below", "before after", "open close", "enable disable", "allow prohibit", "allow forbid",
    "include exclude", "support oppose", "favor oppose", "agree disagree", "approve disapprove",
    "same different", "always never", "required optional", "possible impossible", "left right",
    "success failure", "accept reject", "active inactive", "available unavailable", "free paid",
    "maximum minimum", "largest smallest", "gain loss", "gain lose", "improve worsen",
    "majority minority", "all none", "internal external", "public private", "add remove",
    "grow shrink",
)  # fmt: skip
_ALONE = 0.62  # below this share of the question covered, silence is not a "no"


def _pairs() -> dict[str, set[str]]:
    table: dict[str, set[str]] = {}
    for pair in _OPPOSITES:
        a, b = (stem(w) for w in pair.split())
        table.setdefault(a, set()).add(b)
        table.setdefault(b, set()).add(a)
    return table


def verdict_on(question: Question, best: Sequence[Weighed]) -> list[Candidate]:
    """Return "Yes" or "No" with the sentence it follows from; empty when none is close enough.

    It is "No" when the closest sentence negates what the question does not, says the opposite of
    one of its words, or gives another number of the same place; it never is for mere silence.
    """
    opposites = _pairs()
    found = []
    for weighed in best[:3]:
        if weighed.covered < _ALONE * 0.8:
            continue
        against = _contradicts(question, weighed.unit.sight, weighed.unit.stems, opposites)
        word = "No" if against else "Yes"
        sure = min(1.0, weighed.covered) * (1.0 if weighed.own > _ALONE else 0.7)
        found.append(Candidate(word, weighed, "claim", sure, weighed.own))
    return found


def _contradicts(
    question: Question, text: str, held: frozenset[str], opposites: dict[str, set[str]]
) -> bool:
    asked = {stem(w) for w in words(question.text)}
    negated = bool(_NEGATION.search(text)) != question.negated
    said = {stem(w) for w in words(text)}
    opposed = any(opposites.get(s, set()) & said and s not in said for s in asked)
    numbers = {n for n in question.numbers if len(n) < 3 or not n.startswith(("19", "20"))}
    stated = {w.rstrip("%") for w in words(text) if w[0].isdigit()}
    other = bool(numbers) and not (numbers & stated) and bool(stated)
    del held
    return (negated != opposed) or other
