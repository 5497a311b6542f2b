"""Numbered things named in a text: figures, tables, sections, pages, appendices."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Mention", "mentions"]

# One alternation: word, number; longer words first. Plural words take lists ("Figures 3 and 4").
_KINDS = {
    "figure": "figure", "figures": "figure", "fig": "figure", "figs": "figure",
    "table": "table", "tables": "table", "tab": "table", "tbl": "table",
    "section": "section", "sections": "section", "sec": "section", "sect": "section",
    "page": "page", "pages": "page", "p": "page", "pp": "page", "pg": "page",
    "appendix": "appendix", "appendices": "appendix", "annex": "appendix",
    "chart": "chart", "charts": "chart", "graph": "chart", "graphs": "chart",
    "slide": "slide", "slides": "slide", "note": "note", "notes": "note",
    "equation": "equation", "equations": "equation", "eq": "equation", "eqs": "equation",
    "eqn": "equation", "chapter": "chapter", "chapters": "chapter", "ch": "chapter",
    "chap": "chapter", "box": "box", "boxes": "box", "exhibit": "exhibit", "exhibits": "exhibit",
    "algorithm": "algorithm", "algorithms": "algorithm", "listing": "listing", "item": "item",
    "items": "item", "part": "part", "step": "step", "map": "map", "schedule": "schedule",
}  # fmt: skip
_NUMBER = r"(?:[A-Z]{1,2}[.\-–]?)?\d{1,4}(?:[.\-–]\d{1,3})*[A-Za-z]?(?![\w%])"
_KEY = rf"(?:{_NUMBER}|[IVXLC]{{1,6}}(?!\w)|[A-Z](?:\.\d{{1,2}})*(?![\w'’]))"
_MENTION = re.compile(
    r"(\b(?:" + "|".join(sorted(_KINDS, key=len, reverse=True)) + r")|§{1,2})"
    r"(?:\.\s*|\s+|\s*(?=[\d(]))(?:no\.?\s*|number\s+|\()?"
    rf"((?-i:{_KEY}))",
    re.IGNORECASE,
)
_MORE = re.compile(rf"\s*(?:,|&|and|or|to|through|,\s*and)\s*({_KEY})")
# Words that are also plain English: their letter keys ("note I", "part A") need a capital word.
_LETTERED = frozenset({"appendix", "exhibit", "section", "part", "schedule", "box", "annex"})
_AROUND = "([{<.,;:!?)]}>0123456789-–—/\"'“”‘’"


class Mention(NamedTuple):
    """A numbered thing named in a text; ``start`` and ``end`` are character offsets."""

    kind: str
    key: str
    start: int
    end: int


def mentions(text: str) -> list[Mention]:
    """Return the figures, tables, sections, pages and so on that a text names.

    Lists and plurals give one mention per number.

    >>> [(m.kind, m.key) for m in mentions("see Figures 3 and 4, Table A-1 or pp. 12")]
    [('figure', '3'), ('figure', '4'), ('table', 'A-1'), ('page', '12')]
    """
    found: list[Mention] = []
    if not _may_point(text):
        return found
    for match in _MENTION.finditer(text):
        word = match[1].lower()
        kind = _KINDS.get(word, "section")
        key = match[2]
        if not _sound(kind, match[1], key):
            continue
        # "P2" and "P 0" are names of other things than pages.
        if match[1] == "P" and text[match.end(1)] != ".":
            continue
        found.append(Mention(kind, _tidy(key), match.start(), match.end()))
        end = match.end()
        # A list goes on only after a number: "Table 2 and I" names one table.
        while key[-1:].isdigit() and (more := _MORE.match(text, end)) and more[1][-1].isdigit():
            found.append(Mention(kind, _tidy(more[1]), more.start(1), more.end()))
            end = more.end()
    return found


def _may_point(text: str) -> bool:
    """Return whether one of the words occurs at all, many times faster than the pattern does."""
    if "§" in text:
        return True
    for token in text.lower().split():
        word = token.strip(_AROUND)
        if word in _KINDS or (
            "." in word and word.partition(".")[0].rstrip("0123456789") in _KINDS
        ):
            return True
    return False


def _sound(kind: str, word: str, key: str) -> bool:
    """Return whether word and key make a pointer rather than plain prose."""
    if word in ("p", "P", "ch", "Ch", "tab", "part", "step", "map", "item", "note", "box"):
        return key[-1:].isdigit() or key[0].isdigit()
    if any(c.isdigit() for c in key):
        return True
    if len(key) == 1 and key in "AI":
        return kind in _LETTERED and word[0].isupper()
    return word[0].isupper() or kind in ("section", "appendix", "figure", "table")


def _tidy(key: str) -> str:
    return key.replace("–", "-").rstrip(".").upper()
