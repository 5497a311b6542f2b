"""Words to compare: stems of the words that carry meaning, and how rare each one is."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Rarity", "stem", "stems", "words"]

_WORD = re.compile(r"\d+(?:[.,]\d+)*%?|[^\W\d_]+(?:['’][^\W\d_]+)?")

# Words that say how a question is put, not what it is about.
_NOISE = """
    a about above according after all also am among an and any are as at be because been before
    being below between both but by can could did do does doing done down during each either
    else etc few for from further had has have having he her here hers him his how i if in into
    is it its itself just let like may me might more most much must my no nor not of off on once
    one ones only or other our out over own per please same shall she should so some such than
    that the their them then there these they this those through to too under until up upon us
    use used using very was we were what when where which while who whom whose why will with
    within would yes you your following given mention mentioned many answer tell s t d ll re ve
"""
_STOP = frozenset(_NOISE.split())
# A capital letter by itself that is not a sentence's first word names something: "line D".
_LETTER = re.compile(r"(?<=[\w,(] )[ADST](?![\w'’.&])|(?<=\()[ADST](?=\))|^\W{0,2}[ADST]\W{0,2}$")


def words(text: str) -> list[str]:
    """Return words and numbers in lower case, in order; thousands separators are dropped."""
    return [
        w.replace(",", "") if w[0].isdigit() else w.replace("’", "'")
        for w in _WORD.findall(text.casefold())
    ]


_DOERS = ("ion", "or", "er")
_ENDINGS = (*("ational", "ation", "ations", "ing", "ment", "edly", "ed", "ly", "al", *_DOERS, "e"),)


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """Return a word without its commonest English endings; numbers stay whole.

    >>> [stem(w) for w in ("studies", "boxes", "measured", "measuring", "glass", "2015")]
    ['studi', 'box', 'measur', 'measur', 'glass', '2015']
    """
    w = word.removesuffix("'s")
    if w[:1].isdigit():
        return w.rstrip("%")
    if len(w) > 4 and w.endswith("ies"):
        return w[:-2]
    if len(w) > 4 and w.endswith(("ches", "shes", "xes", "sses", "zes")):
        w = w[:-2]
    elif len(w) > 3 and w.endswith("s") and not w.endswith(("ss", "us", "is")):
        w = w[:-1]
    for ending in _ENDINGS:
        # Shorter words that end like that are mostly no doers or deeds: order, million.
        if w.endswith(ending) and len(w) - len(ending) >= (5 if ending in _DOERS else 4):
            w = w[: -len(ending)]
            break
    if w.endswith("y") and len(w) > 3:
        w = w[:-1] + "i"
    if len(w) > 4 and w[-1] == w[-2] and w[-1] not in "aeiouls":
        w = w[:-1]
    return w


@lru_cache(maxsize=1 << 13)
def stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words that carry meaning, in order, repetitions kept."""
    held = [stem(w) for w in words(text) if w not in _STOP]
    if text.isupper() and " " in text:
        return tuple(held)
    return (*held, *(m[0].strip(" .,:;()-").casefold() for m in _LETTER.finditer(text)))


class Rarity:
    """How telling a stem is among the texts at hand: ``ln(1 + n / (1 + texts that hold it))``.

    Args:
        texts: Stems of each text (sentence, row) to be weighed against one another.
    """

    def __init__(self, texts: Sequence[Iterable[str]]) -> None:
        self._total = len(texts)
        self._held = Counter(s for text in texts for s in set(text))

    def __call__(self, stem: str) -> float:
        return math.log(1.0 + (1.0 + self._total) / (1.0 + self._held[stem]))

    def share(
        self, wanted: Iterable[str], found: Iterable[str], extra: Mapping[str, float]
    ) -> float:
        """Return the weight of ``wanted`` stems that are ``found``, as a share 0..1.

        Args:
            wanted: Stems to look for.
            found: Stems that count in full.
            extra: Stems that count in part (those of a heading or table header above), 0..1 each.
        """
        have = set(found)
        total = hit = 0.0
        for s in set(wanted):
            weight = self(s)
            total += weight
            hit += weight * (1.0 if s in have else extra.get(s, 0.0))
        return hit / total if total else 0.0
