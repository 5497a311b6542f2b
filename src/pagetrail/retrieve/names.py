"""Documents that a question names: "in Costco's 10-K of 2021", "the Camry brochure".

A name is what stands in the file name and the title. Words that many documents share in their names
("report", "final") tell nothing and count little; a word that one document alone has counts most.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NameIndex", "name_words"]

_WORD = re.compile(r"[^\W\d_]+|\d+")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_SHORTEST = 3  # letters; shorter words are names by accident ("v2", "en", "of")
_CODE = 12  # a run of letters and digits this long, both in it, is a hash and no name
_MOST = 5  # documents that one question can name
_YEAR = re.compile(r"(?:19|20)\d\d")
# Words of language and of filing, which name nothing by themselves.
_WORDS = """the and for with from this that are was how what which who why when where not all its
our your final draft copy new report document paper slides presentation manual guide user file scan
page version"""
_COMMON = frozenset(_WORDS.split())


def name_words(name: str, title: str = "") -> set[str]:
    """Return the words by which a document can be named, lower case.

    "BESTBUY_2023_10K.pdf" gives ``bestbuy``, ``2023`` and, with its letter, ``10k``.
    """
    stem = _EXTENSION.sub("", name)
    words: set[str] = set()
    for piece in re.split(r"[\W_]+", f"{stem} {title}".lower()):
        mixed = any(c.isdigit() for c in piece) and any(c.isalpha() for c in piece)
        if mixed and len(piece) >= _CODE:
            continue
        words.update({piece} if mixed else _WORD.findall(piece))
    return {w for w in words if len(w) >= _SHORTEST} - _COMMON


class NameIndex:
    """Which documents a question names; built from all names, cheap to ask.

    Args:
        documents: Id, file name and title of each.
    """

    def __init__(self, documents: Iterable[tuple[str, str, str]]) -> None:
        self._holders: dict[str, set[str]] = defaultdict(set)
        self._total = 0
        for document, name, title in documents:
            self._total += 1
            for word in name_words(name, title):
                self._holders[word].add(document)

    def named(self, question: str) -> list[tuple[str, float, str]]:
        """Return the documents named: id, score 0..1, and the words that name it; best first.

        The score is how rare the matched words are together among all names, relative to a word
        that a single document has. Nothing is returned for words that a fifth of all names share.
        """
        weights: dict[str, float] = defaultdict(float)
        matched: dict[str, list[str]] = defaultdict(list)
        for word in self._asked(question):
            holders = self._holders.get(word, ())
            if not holders or 5 * len(holders) > max(self._total, 5):
                continue
            weight = math.log(self._total / len(holders)) / math.log(max(self._total, 2))
            for document in holders:
                weights[document] += weight
                matched[document].append(word)
        # A year alone is in too many questions to name a document; beside a name it settles which.
        weights = {d: w for d, w in weights.items() if not all(map(_YEAR.fullmatch, matched[d]))}
        ranked = sorted(weights, key=lambda d: (-weights[d], d))[:_MOST]
        return [(d, min(1.0, weights[d]), " ".join(matched[d])) for d in ranked]

    def _asked(self, question: str) -> list[str]:
        """Return the question's words as names write them: also two neighbours as one word."""
        words = re.findall(r"[^\W_]+", re.sub(r"['’]s\b", "", question.lower()))
        plain = [w for piece in words for w in {piece, *_WORD.findall(piece)}]
        joined = [a + b for a, b in pairwise(words)]
        return list(dict.fromkeys(w for w in (*plain, *joined) if len(w) >= _SHORTEST))
