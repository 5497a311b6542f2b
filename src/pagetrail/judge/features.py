"""What the built-in text judge looks at: how much of a question stands on a page, and where."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..types import Page

__all__ = ["Sought", "features", "passages", "sought"]

_WORD = re.compile(r"\d+(?:[.,]\d+)*%?|[^\W\d_]+(?:['’][^\W\d_]+)?")
_POINTER = re.compile(
    r"\b(page|slide|figure|fig|table|section|chapter|appendix|chart|exhibit|equation|note|box)"
    r"s?\.?\s+(\d+(?:\.\d+)*|[A-Z]\b|[IVXL]+\b)",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\bhow (?:many|much|old|long|far|high|large|big|tall)\b|\b(?:number|percent|percentage|"
    r"proportion|amount|total|year|date|rate|ratio|price|cost|value|when|%)\b",
    re.IGNORECASE,
)
_STOP_WORDS = """
    a about above according after all also am among an and any are as at be because been before
    being below between both but by can could did do does doing done down during each either else
    etc few for from further had has have having he her here hers him his how i if in into is it its
    itself just let like list many may me might more most much must my no nor not of off on once one
    only or other our out over own page pages per please same shall she should show shown shows so
    some such than that the their them then there these they this those through to too under until
    up upon us use used using very was we were what when where which while who whom whose why will
    with within would yes you your document figure table slide following given answer
"""
_STOP = frozenset(_STOP_WORDS.split())
_WORDS, _OVERLAP = 110, 30  # of a passage: what the text encoder reads at a time, and shares
_MOST_PASSAGES = 64
_MOST_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class Sought:
    """What a question looks for.

    Attributes:
        terms: Stems of its content words and their weights: names, numbers and long words tell
            more than short common ones. No collection is at hand to count how rare a word is.
        names: Those of ``terms`` that are numbers or begin with a capital within the sentence.
        pairs: Neighbouring content words.
        pointers: Numbered things it points at: kind, number or letter.
        counted: It asks for a number.
    """

    terms: Mapping[str, float]
    names: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    pointers: frozenset[tuple[str, str]]
    counted: bool


def sought(question: str) -> Sought:
    """Return what a question looks for."""
    question = question[:_MOST_CHARACTERS]
    terms: dict[str, float] = {}
    names: set[str] = set()
    order: list[str] = []
    for place, word in enumerate(_WORD.findall(question)):
        low = word.casefold()
        if low in _STOP or (len(low) == 1 and not low.isdigit()):
            continue
        stem = _stem(low)
        named = low[0].isdigit() or (word[0].isupper() and place > 0)
        weight = min(1.4, max(0.6, len(low) / 7)) * (1.5 if named else 1.0)
        terms[stem] = max(weight, terms.get(stem, 0.0))
        order.append(stem)
        if named:
            names.add(stem)
    pointers = {(_kind(kind), key.upper()) for kind, key in _POINTER.findall(question)}
    return Sought(
        terms,
        frozenset(names),
        frozenset(pairwise(order)),
        frozenset(pointers),
        bool(_COUNTED.search(question)),
    )


def passages(page: Page) -> list[str]:
    """Return the page's words in stretches of 110 that overlap by 30; at most 64 of them."""
    words = page.text[:_MOST_CHARACTERS].split()
    step = _WORDS - _OVERLAP
    starts = range(0, max(1, len(words) - _OVERLAP), step)
    return [" ".join(words[i : i + _WORDS]) for i in starts[:_MOST_PASSAGES]] if words else []


def covered(wanted: Sought, text: str) -> float:
    """Return the weighted share of a question's terms in a text, 0..1; 0 without terms."""
    return _share(wanted.terms, set(_stems(text)))


def features(wanted: Sought, page: Page, cosine: float) -> dict[str, float]:
    """Return the judge's features of a page, by name; all within about -1..3.

    Args:
        wanted: What the question looks for.
        page: The page.
        cosine: Of the page's best passage with the question, -1..1.
    """
    blocks = [(block.kind, _stems(block.text[:_MOST_CHARACTERS])) for block in page.blocks]
    stems = [stem for _, found in blocks for stem in found]
    counts = Counter(stems)
    present = set(counts)
    near = max((_share(wanted.terms, set(found)) for _, found in blocks), default=0.0)
    heads = {s for kind, found in blocks if kind in ("heading", "caption") for s in found}
    pairs = set(pairwise(stems))
    tight = max((covered(wanted, text) for text in passages(page)), default=0.0)
    cover = _share(wanted.terms, present)
    times = sum(min(3, counts[term]) for term in wanted.terms) / max(1, len(wanted.terms))
    places = {(r.kind, r.key) for r in page.references if r.role == "target"}
    places |= {("page", str(page.number)), ("page", (page.label or "").upper())}
    digits = sum(word[0].isdigit() for word in stems) / max(1, len(stems))
    pointed = bool(wanted.pointers & places)
    return {
        "bias": 1.0,
        "cosine": cosine,
        "cover_page": cover,
        "cover_passage": tight,
        "cover_block": near,
        "cover_head": _share(wanted.terms, heads),
        "all": float(cover > 0.999),
        "pairs": len(wanted.pairs & pairs) / max(1, len(wanted.pairs)),
        "times": times,
        "names": len(wanted.names & present) / len(wanted.names) if wanted.names else 0.5,
        "pointed": float(pointed),
        "elsewhere": float(bool(wanted.pointers) and not pointed),
        "counted": min(1.0, 4 * digits) if wanted.counted else 0.0,
        "length": math.log1p(len(stems)) / 6,
        "terms": min(1.0, len(wanted.terms) / 12),
    }


def _share(terms: Mapping[str, float], present: set[str]) -> float:
    total = sum(terms.values())
    return sum(w for term, w in terms.items() if term in present) / total if total else 0.0


def _stems(text: str) -> Sequence[str]:
    return [_stem(word) for word in _WORD.findall(text.casefold())]


@lru_cache(maxsize=1 << 15)
def _stem(word: str) -> str:
    """Return a word without its commonest English endings; numbers lose separators and ``%``."""
    if word[0].isdigit():
        return word.rstrip("%").replace(",", "")
    word = word.replace("’", "'").removesuffix("'s")
    for ending in ("ations", "ation", "ings", "ing", "ments", "ment", "ies", "ied", "ers", "er"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    for ending in ("es", "ed", "ly", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word


def _kind(word: str) -> str:
    low = word.lower()
    return {"fig": "figure", "slide": "page"}.get(low, low)
