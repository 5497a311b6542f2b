"""Lists: the items under a heading that matches, the members of an enumeration; and their count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .candidates import Candidate
from .terms import stems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .evidence import Unit, Weighed
    from .question import Question

__all__ = ["counts_in", "items_text", "lists_in"]

_OPENER = re.compile(
    r"\b(?:include[sd]?|including|such as|are|were|namely|consists? of|comprises?|as follows|"
    r"e\.g\.,?|between|"
    r"among|of|from|with|in)\b:?\s+|:\s+",
    re.IGNORECASE,
)
_COMMA = re.compile(r"\s*(?:,|;)\s*(?:and|or|&)?\s*|\s+(?:and|or|&)\s+", re.IGNORECASE)
_MARK = re.compile(r"^(?:[•●▪■◦‣∙·○➢➤►✓*–—-]|\(?[a-z0-9ivx]{1,3}[.)])\s+", re.IGNORECASE)
_MOST_ITEMS = 24
_LONGEST_ITEM = 14


def items_text(items: Sequence[str]) -> str:
    """Join items by commas, or by semicolons where an item itself holds a comma."""
    return ("; " if any("," in i for i in items) else ", ").join(items)


def lists_in(question: Question, weighed: Weighed, following: Sequence[Unit]) -> list[Candidate]:
    """Return the lists that a unit introduces or holds, each as one candidate.

    Args:
        question: What is asked.
        weighed: The unit.
        following: The next units of the page, in reading order.
    """
    found = []
    below = _below(weighed, following)
    if len(below) >= 2:
        items = [_MARK.sub("", u.text).strip(" .,;") for u in below]
        also = tuple((u.page.id, u.block.order, u.text) for u in below)
        found.append(
            Candidate(items_text(items), weighed, "items", 1.0, _about(question, weighed), "", also)
        )
    for items in _enumerations(weighed.unit.sight):
        fresh = [i for i in items if not set(stems(i)) <= set(question.terms)]
        if len(fresh) >= 2:
            found.append(
                Candidate(items_text(fresh), weighed, "enumeration", 0.7, _about(question, weighed))
            )
    return found


def counts_in(question: Question, weighed: Weighed, following: Sequence[Unit]) -> list[Candidate]:
    """Return how many items stand under a unit that names what is counted, when that is safe."""
    below = _below(weighed, following)
    marked = [u for u in below if u.block.kind == "list" or _MARK.match(u.sight)]
    named = set(question.head) & weighed.unit.stems
    if len(marked) < 2 or len(marked) != len(below) or not named:
        return []
    also = tuple((u.page.id, u.block.order, u.text) for u in marked)
    return [
        Candidate(str(len(marked)), weighed, "counted", 0.6, _about(question, weighed), "", also)
    ]


def _about(question: Question, weighed: Weighed) -> float:
    return len(set(question.head) & weighed.unit.stems) / max(1, len(question.head))


def _below(weighed: Weighed, following: Sequence[Unit]) -> list[Unit]:
    """Return the run of list items or short lines that follows a unit."""
    unit = weighed.unit
    leads = unit.block.kind in ("heading", "caption") or unit.text.rstrip().endswith((":", "?"))
    if not (leads or len(unit.words) <= _LONGEST_ITEM):
        return []
    run: list[Unit] = []
    marked = bool(following) and _is_item(following[0])
    for u in following[:_MOST_ITEMS]:
        if u.block.kind in ("heading", "header", "footer", "caption", "table_row"):
            break
        if marked != _is_item(u) or (not marked and len(u.words) > _LONGEST_ITEM):
            break
        run.append(u)
    return run


def _is_item(unit: Unit) -> bool:
    return unit.block.kind == "list" or _MARK.match(unit.sight) is not None


def _enumerations(text: str) -> list[list[str]]:
    """Return the members of "a, b and c" in a sentence, tried from each word that may open it."""
    found = []
    for opener in [*_OPENER.finditer(text)][:8]:
        tail = re.split(
            r"[.;](?:\s|$)|\s(?:which|that|when|while|because)\s", text[opener.end() :]
        )[0]
        items = [i.strip(" .:") for i in _COMMA.split(tail)]
        items = [i for i in items if i]
        if 2 <= len(items) <= _MOST_ITEMS and all(len(i.split()) <= 8 for i in items):
            found.append(items)
    return found
