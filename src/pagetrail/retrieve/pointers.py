"""The question's own pointers: what it says about *where* to look.

"on page 5", "page iv", "pages 3-6", "slide 3", "the cover", "the last page", "the first two pages",
"Figure 2", "Figs. 3 and 4", "Table 4", "Appendix B", "Section 3.2", "footnote 12". The grammar
below is the way English writes such things, not a list of questions that were seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..types import Hit, split_page_id
from .asking import content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ports import PointerBook
    from ..types import Query

__all__ = ["Pointer", "PointerSearch", "pointers"]

# How sure a place is to be the one that is meant.
_SURE = 1.0
_OTHER_NUMBER = 0.5  # the 5th page of a document where another page is labelled "5"
_MENTION_ALONE = 0.4  # the text speaks of Figure 3, and no caption was found in this document
_MENTION_BESIDE = 0.2  # it does, and the caption stands on another page

_LONGEST_RANGE = 50  # "pages 1-400" names a document rather than a place

# Every way to write a kind of numbered thing; longer words first, so that none hides another.
_KINDS: dict[str, str] = {
    "page": r"pages?|pgs?\.?|pp\.|p\.",
    "slide": r"slides?",
    "figure": r"figures?|figs?\.?|diagrams?|illustrations?",
    "table": r"tables?|tabs?\.",
    "chart": r"charts?|graphs?",
    "exhibit": r"exhibits?",
    "appendix": r"appendix|appendices|appendixes|annex(?:es)?",
    "section": r"sections?|sect?s?\.|§+",
    "chapter": r"chapters?|chaps?\.",
    "equation": r"equations?|eqn?s?\.?",
    "note": r"(?:foot|end)?notes?",
    "box": r"box(?:es)?",
}
_PAGE_KINDS = ("page", "slide")
# The next kind to try when a document numbers no such thing.
_STAND_INS = {
    "figure": ("chart",),
    "chart": ("figure",),
    "exhibit": ("figure",),
    "section": ("chapter",),
    "chapter": ("section",),
}

_CARDINALS = """one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen twenty"""
_ORDINALS = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"""
_NUMBER_WORDS = {word: n for n, word in enumerate(_CARDINALS.split(), 1)}
_ORDINAL_WORDS = {word: n for n, word in enumerate(_ORDINALS.split(), 1)}
_ANY_NUMBER_WORD = "|".join(_NUMBER_WORDS)

_DIGITS = r"\d{1,4}(?:\.\d{1,3})*(?:\s?\([a-z]\)|[a-zA-Z](?![a-zA-Z]))?"
_LETTER = r"[A-Z](?:[.-]?\d{1,3}(?:\.\d{1,3})*)?(?![a-zA-Z'’])"
_ROMAN_UPPER = r"(?=[IVXLC])(?:C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?![a-zA-Z'’])"
_ROMAN_LOWER = r"(?=[ivxlc])(?:c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})(?![a-zA-Z'’])"
_PAGE_KEY = (  # a lone I is left out: "the page I saw"
    rf"(?:[A-Z]{{1,2}}-?\d{{1,4}}|{_DIGITS}|{_ROMAN_LOWER}|(?!I\b){_ROMAN_UPPER}"
    rf"|(?i:{_ANY_NUMBER_WORD})\b)"
)
_THING_KEY = rf"(?:{_DIGITS}|{_ROMAN_UPPER}|{_LETTER}|(?i:{_ANY_NUMBER_WORD})\b)"
_TO = r"\s*(?:-|–|—|\bto\b|\bthrough\b|\bthru\b)\s*"
_AND = r"\s*(?:,?\s*\b(?:and|or)\b|,\s*&|,|&)\s*"


def _numbered(kind: str, words: str) -> re.Pattern[str]:
    key = _PAGE_KEY if kind in _PAGE_KINDS else _THING_KEY
    again = rf"(?i:(?:{words})\s*)?"
    return re.compile(
        rf"(?<![\w-])(?i:{words})\s*(?i:(?:numbers?|nos?\.?|#)\s*)?\(?"
        rf"(?P<keys>{key}(?:(?:{_TO}|{_AND}){again}{key})*)"
    )


_PATTERNS = {kind: _numbered(kind, words) for kind, words in _KINDS.items()}
_SEPARATED = re.compile(rf"({_TO})|{_AND}")
_SHEET = r"(?:pages?|slides?)"
_ORDINAL = "|".join([*_ORDINAL_WORDS, r"\d{1,3}(?:st|nd|rd|th)"])
_NTH = re.compile(
    rf"\b(?P<nth>{_ORDINAL})(?:\s*(?:,|and|&)\s*(?:the\s+)?(?P<also>{_ORDINAL}|last))?\s+{_SHEET}\b",
    re.IGNORECASE,
)
_FIRST_FEW = re.compile(
    rf"\b(?P<end>first|last)\s+(?P<count>\d{{1,2}}|{_ANY_NUMBER_WORD})\s+{_SHEET}\b", re.IGNORECASE
)
_LAST = re.compile(
    rf"\b(?P<before>second[\s-]+(?:to[\s-]+)?(?:the[\s-]+)?|penultimate\s+)?"
    rf"(?:(?<=penultimate\s)|last|final)\s*{_SHEET}\b|\bback\s+cover\b",
    re.IGNORECASE,
)
_COVER = re.compile(
    r"\b(?:cover|front|title|opening)\s+(?:page|slide)\b|\bfront\s+cover\b"
    r"|\b(?:the|its)\s+cover\b(?!\s+letter)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Pointer:
    """One place a question names.

    Attributes:
        kind: As in `types.Reference`; ``page`` and ``slide`` mean sheets of the document.
        key: The number or letter, upper case ("3", "2.1", "B", "IV"); for sheets a number below
            zero counts from the end ("-1" is the last).
        physical: The sheet is counted, not named by what is printed on it ("the third page").
    """

    kind: str
    key: str
    physical: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The key, then what else it may be printed as: "3A" is a part of "3"."""
        whole = re.fullmatch(r"(\d+(?:\.\d+)*)[A-Z]", self.key)
        return (self.key, whole[1]) if whole else (self.key,)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind, then those that stand in where a document has none of it."""
        return (self.kind, *_STAND_INS.get(self.kind, ()))

    def __str__(self) -> str:
        if self.kind in _PAGE_KINDS and self.key.startswith("-"):
            back = int(self.key[1:])
            return f"last {self.kind}" if back == 1 else f"{self.kind} {back} from the end"
        return f"{self.kind} {self.key}"


def pointers(question: str) -> tuple[Pointer, ...]:
    """Return the places that a question names, each once, in the order of the grammar's kinds.

    >>> [str(p) for p in pointers("What do Figures 2 and 3 on page iv show?")]
    ['page IV', 'figure 2', 'figure 3']
    """
    found: dict[Pointer, None] = {}
    for kind, pattern in _PATTERNS.items():
        for match in pattern.finditer(question):
            for key in _expand(match["keys"], plural_or_sheet=_is_range(kind, match[0])):
                found[Pointer(kind, key)] = None
    for pointer in _counted(question):
        found[pointer] = None
    return tuple(found)


def _is_range(kind: str, text: str) -> bool:
    """Return whether a hyphen between numbers means "to": it does after "pages" and any plural,
    while "Table 2-4" is the fourth table of chapter 2."""
    word = re.match(r"[^\W\d]+", text)
    return kind in _PAGE_KINDS or (word is not None and word[0].lower().endswith("s"))


def _expand(keys: str, *, plural_or_sheet: bool) -> list[str]:
    """Return the single keys of "2, 3 and 5" or "3-6"."""
    # A hyphen inside a key is hidden for the moment.
    keys = re.sub(r"(?<=[A-Z])-(?=\d)", "\0", keys)
    if not plural_or_sheet:
        keys = re.sub(r"(?<=\d)-(?=\d)", "\0", keys)
    pieces = _SEPARATED.split(keys)
    singles: list[str] = []
    for position in range(0, len(pieces), 2):
        key = _key(pieces[position])
        ranged = position > 0 and pieces[position - 1] is not None
        if ranged and singles and key.isdigit() and singles[-1].isdigit():
            first, last = int(singles[-1]), int(key)
            if first < last <= first + _LONGEST_RANGE:
                singles.extend(str(n) for n in range(first + 1, last))
        if key:
            singles.append(key)
    return singles


def _key(text: str) -> str:
    bare = re.sub(r"^(?:[a-zA-Z§]+\.?\s+)(?=\S)", "", text.strip())
    word = _NUMBER_WORDS.get(bare.lower())
    if word is not None:
        return str(word)
    return re.sub(r"[\s()]", "", bare).replace("\0", "-").upper()


def _counted(question: str) -> list[Pointer]:
    """Return sheets named by their place: the cover, the third page, the last two slides."""
    sheets: list[int] = []
    if _COVER.search(question):
        sheets.append(1)
    sheets.extend(-2 if match["before"] else -1 for match in _LAST.finditer(question))
    for match in _NTH.finditer(question):
        sheets.extend(_ordinal(match[name]) for name in ("nth", "also") if match[name])
    for match in _FIRST_FEW.finditer(question):
        count = min(_number(match["count"]), 20)
        first = match["end"].lower() == "first"
        sheets.extend(range(1, count + 1) if first else range(-1, -count - 1, -1))
    return [Pointer("page", str(n), physical=True) for n in dict.fromkeys(sheets) if n]


def _ordinal(text: str) -> int:
    lower = text.lower()
    return -1 if lower == "last" else _ORDINAL_WORDS.get(lower) or int(lower[:-2])


def _number(text: str) -> int:
    return _NUMBER_WORDS.get(text.lower()) or int(text)


class PointerSearch:
    """The channel that knows nothing but what the question points at; no pointer, no hits.

    A hit scores 1 where the thing itself stands (its caption, the page with that printed label),
    less where the text only mentions it or where the page is the fifth but is not labelled "5".
    """

    def __init__(self, book: PointerBook) -> None:
        self._book = book

    def search(self, query: Query, *, limit: int, allowed: frozenset[str] | None) -> list[Hit]:
        """Return the pages pointed at, best first, each with the pointer in ``via``."""
        best: dict[str, Hit] = {}
        for pointer in pointers(content(query.text)):
            find = self._sheets if pointer.kind in _PAGE_KINDS else self._things
            for page, (score, block) in find(pointer, allowed, limit).items():
                if page not in best or score > best[page].score:
                    best[page] = Hit(page, score, via=f"pointer: {pointer}", block=block)
        return sorted(best.values(), key=lambda h: (-h.score, h.page))[:limit]

    def _sheets(
        self, pointer: Pointer, allowed: frozenset[str] | None, limit: int
    ) -> dict[str, tuple[float, int | None]]:
        labelled: Sequence[str] = ()
        if not pointer.physical:
            labelled = self._book.labelled(pointer.key, allowed=allowed, limit=limit)
        found: dict[str, tuple[float, int | None]] = dict.fromkeys(labelled, (_SURE, None))
        documents = {split_page_id(page)[0] for page in labelled}
        if re.fullmatch(r"-?\d{1,6}", pointer.key):
            for page in self._book.numbered(int(pointer.key), allowed=allowed, limit=limit):
                other = split_page_id(page)[0] in documents
                found.setdefault(page, (_OTHER_NUMBER if other else _SURE, None))
        return found

    def _things(
        self, pointer: Pointer, allowed: frozenset[str] | None, limit: int
    ) -> dict[str, tuple[float, int | None]]:
        found: dict[str, tuple[float, int | None]] = {}
        for kind in pointer.kinds:
            for key in pointer.keys:
                places = self._book.places(kind, key, allowed=allowed, limit=limit)
                captioned = {split_page_id(p.page)[0] for p in places if p.role == "target"}
                for place in places:
                    document = split_page_id(place.page)[0]
                    mention = _MENTION_BESIDE if document in captioned else _MENTION_ALONE
                    score = _SURE if place.role == "target" else mention
                    if score > found.get(place.page, (0.0, None))[0]:
                        found[place.page] = (score, place.block)
                if found:
                    return found
        return found
