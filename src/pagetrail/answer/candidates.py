"""Short answers that stand in a unit of evidence, each with what speaks for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .tables import table_at
from .terms import Rarity, stems
from .values import codes_in, names_in, values_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .evidence import Weighed
    from .question import Question
    from .tables import Cell

__all__ = ["FITS", "Candidate", "codes_from", "phrases_in", "quantities_in", "runs_in"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer.

    Attributes:
        text: The answer, words as on the page.
        source: The unit it stands in.
        form: How it was found, one word.
        fit: How well it is the kind of thing asked for, 0..1.
        near: How close it stands to what the question is about, 0..1.
        quote: What to quote; empty means the whole unit.
        also: Further blocks it rests on, as (page, block order, quote).
        label: Stems of the label it is the value of, where that stands in another block.
    """

    text: str
    source: Weighed
    form: str
    fit: float
    near: float
    quote: str = ""
    also: tuple[tuple[str, int, str], ...] = ()
    label: frozenset[str] = frozenset()


_CELL = 200  # characters of a cell in which numbers are looked for
_LABELLED = re.compile(
    r"\b(?:tables?|figures?|figs?\.?|pages?|p\.|sections?|chapters?|notes?|no\.|appendix|"
    r"steps?|parts?|exhibit|"
    r"volume|issue|items?|version|question|annex|slide|unit)\s*[-(#]?$",
    re.IGNORECASE,
)

# Which kinds of value answer which kind of question, and how well.
FITS: dict[str, dict[str, float]] = {
    "percentage": {"percentage": 1.0, "number": 0.5},
    "money": {"money": 1.0, "number": 0.7, "percentage": 0.2},
    "number": {"number": 1.0, "money": 0.8, "percentage": 0.7, "time": 0.3},
    "count": {"number": 1.0, "percentage": 0.2, "money": 0.2},
    "year": {"year": 1.0, "date": 0.6},
    "date": {"date": 1.0, "time": 0.7, "year": 0.5},
    "time": {"time": 1.0, "number": 0.2},
}


def quantities_in(question: Question, weighed: Weighed, rarity: Rarity) -> Iterator[Candidate]:
    """Yield the numbers, dates and times of a unit that could answer."""
    fits = FITS[question.kind]
    if weighed.unit.is_row:
        yield from _cells(question, weighed, rarity, fits)
        return
    text = weighed.unit.sight
    spots = _spots(text, question)
    for value in values_in(text):
        fit = fits.get(value.kind, 0.0)
        if not fit or _figure(value.shown) in question.numbers:
            continue
        if question.unit and question.unit in value.shown.replace(" ", ""):
            fit = min(1.0, fit + 0.5)
        if value.shown.isalpha():
            fit *= 0.4  # a spelt number is mostly an aside
        after = text[value.end : value.end + 40]
        if question.head and set(question.head) & set(stems(after)[:3]):
            fit = min(1.0, fit + 0.5) if question.kind in ("count", "number", "money") else fit
        elif question.kind == "count":
            fit *= 0.5
        if _LABELLED.search(text[: value.start]) or (value.start <= 1 and value.shown.isdigit()):
            fit *= 0.2  # the number of a table, page, note or list item
        yield Candidate(
            value.shown, weighed, value.kind, fit, _nearness(spots, value.start, value.end)
        )


def _cells(
    question: Question, weighed: Weighed, rarity: Rarity, fits: dict[str, float]
) -> Iterator[Candidate]:
    """Yield number cells; near is how well label and header together say what is asked."""
    row = table_at(weighed.unit).row(weighed.unit.block.order)
    names = [c for c in row if not c.numeric]
    label = frozenset(s for c in names for s in stems(c.text)).union(*(c.header for c in names[:1]))
    around = dict.fromkeys(weighed.unit.heading, 0.6)
    latest = _latest(row) if not _years(question.terms) else None
    first = latest is None
    for cell in row:
        for value in values_in(cell.text[:_CELL]):
            fit = fits.get(value.kind, 0.0)
            if not fit or _figure(value.shown) in question.numbers:
                continue
            if question.unit and question.unit in value.shown.replace(" ", ""):
                fit = min(1.0, fit + 0.5)
            if not cell.numeric:
                fit *= 0.6
            near = rarity.share(question.terms, label | cell.header, around)
            # Who names no year means the latest; of columns that say nothing about themselves,
            # the first is usually the one meant.
            near = near + (0.05 if first or (latest and latest in cell.header) else 0.0)
            first = False
            yield Candidate(value.shown, weighed, "cell", fit, min(1.0, near))


def _years(stems_: Iterable[str]) -> list[str]:
    return [s for s in stems_ if len(s) == 4 and s.isdigit() and s.startswith(("19", "20"))]


def _latest(row: Sequence[Cell]) -> str | None:
    """Return the latest of the years that head the columns of a row; None unless two differ."""
    years = {y for cell in row if cell.numeric for y in _years(cell.header)}
    return max(years) if len(years) > 1 else None


def _figure(shown: str) -> str:
    found = re.search(r"\d[\d,.]*", shown)
    return found[0].replace(",", "").rstrip(".") if found else shown


def runs_in(question: Question, weighed: Weighed) -> Iterator[Candidate]:
    """Yield the capitalised runs of a unit that the question does not itself contain."""
    text = weighed.unit.sight
    asked = set(question.terms)
    spots = _spots(text, question)
    for value in names_in(text):
        held = stems(value.shown)
        if not held or len(value.shown) < 2 or sum(s in asked for s in held) > len(held) / 2:
            continue
        fit = 0.5 if value.start == 0 and " " not in value.shown else 1.0
        if question.kind == "place" and re.search(
            r"\b(?:in|at|near|from)\s+(?:the\s+)?$", text[: value.start]
        ):
            fit += 0.5
        yield Candidate(value.shown, weighed, "name", fit, _nearness(spots, value.start, value.end))


_ASKS_FOR = {
    "email": re.compile(r"\be-?mail", re.IGNORECASE),
    "link": re.compile(r"\b(?:links?|url|web ?site|web|address)\b", re.IGNORECASE),
    "phone": re.compile(r"\b(?:tele)?phone|\bfax\b|\bcall\b", re.IGNORECASE),
    "code": re.compile(
        r"\b(?:codes?|numbers?|no|ids?|identifiers?|models?|ports?|pins?|versions?|modules?|parts?|"
        r"case|courses?|symbols?)\b",
        re.IGNORECASE,
    ),
}


def codes_from(question: Question, weighed: Weighed) -> Iterator[Candidate]:
    """Yield codes, emails, links and telephone numbers, where the question asks for such."""
    wanted = {kind for kind, pattern in _ASKS_FOR.items() if pattern.search(question.text)}
    if not wanted:
        return
    text = weighed.unit.sight
    spots = _spots(text, question)
    for value in codes_in(text):
        if value.kind in wanted and value.shown.casefold() not in question.text.casefold():
            near = _nearness(spots, value.start, value.end)
            yield Candidate(value.shown, weighed, value.kind, 1.0, near)


_COPULA = re.compile(
    r"\b(?:is|are|was|were|means|refers to|stands for|defined as|consists? of|includes?|"
    r"including|such as|called|"
    r"known as|by|to|because|if|when)\b\s+|[:：]\s+|\s[-–—]\s"
)
_CONDITION = re.compile(
    r"^\W{0,4}(?:[^\s:]{1,20}(?: \d)?: )?"
    r"(?:if|when|once|before|after|to|for|while|in case)\b[^,]*,\s+",
    re.IGNORECASE,
)
_EDGES = " .,;:•●▪■·○▶►➢>–—-"
_CLAUSE = re.compile(r"[,;:()\[\]•●▪■]\s*|\s[-–—]\s|\.\s|(?<=\S)—(?=\S)")


def phrases_in(
    question: Question, weighed: Weighed, following: Sequence[str]
) -> Iterator[Candidate]:
    """Yield clauses, predicates, cells and labelled values of a unit, and the unit itself.

    Args:
        question: What is asked.
        weighed: The unit.
        following: Texts of the next units on the page, for a label or heading that precedes.
    """
    unit = weighed.unit
    if unit.is_row:
        yield from _text_cells(question, weighed)
        return
    text = unit.sight
    asked = set(question.terms)
    spots = _spots(text, question)
    seen: set[str] = set()
    pieces: list[tuple[str, int, int, str]] = [("whole", 0, len(text), text)]
    pieces += [("predicate", m.end(), len(text), text[m.end() :]) for m in _COPULA.finditer(text)]
    main = _CONDITION.match(text)
    if main:
        pieces.append(("consequent", main.end(), len(text), text[main.end() :]))
    at = 0
    for m in [*_CLAUSE.finditer(text), None]:
        end = m.start() if m else len(text)
        pieces.append(("clause", at, end, text[at:end]))
        at = m.end() if m else end
    for form, start, end, piece in pieces:
        shown = piece.strip(_EDGES)
        held = stems(shown)
        if not shown or shown in seen or not (held or re.search(r"\w", shown)):
            continue
        seen.add(shown)
        fresh = sum(s not in asked for s in held) / len(held) if held else 0.5
        if fresh == 0.0:
            continue
        yield Candidate(shown, weighed, form, fresh, _nearness(spots, start, end))
    if following and (len(unit.words) <= 14 or text.rstrip().endswith((":", "?"))):
        for depth, after in enumerate(following[:2]):
            held = stems(after)
            fresh = sum(s not in asked for s in held) / len(held) if held else 0.0
            if fresh:
                yield Candidate(after.strip(), weighed, "next", fresh, 1.0 / (1 + depth), after)


def _text_cells(question: Question, weighed: Weighed) -> Iterator[Candidate]:
    table = table_at(weighed.unit)
    row = table.row(weighed.unit.block.order)
    labels = table.is_labels(weighed.unit.block.order)
    asked = set(question.terms)
    head = set(question.head)
    for cell in row:
        held = stems(cell.text)
        fresh = sum(s not in asked for s in held) / len(held) if held else 0.0
        others = {s for c in row if c is not cell for s in stems(c.text)}
        if not fresh:
            continue
        near = len(asked & (others | cell.header)) / max(1, len(asked))
        bonus = 0.3 if head & cell.header else 0.0
        form = "label_cell" if labels else "cell"
        yield Candidate(cell.text, weighed, form, fresh, min(1.0, near + bonus))
    if len(row) > 1:
        yield Candidate(weighed.unit.text, weighed, "row", 0.5, 0.5)


def _spots(text: str, question: Question) -> list[tuple[int, int]]:
    """Return where words of the question stand in a text."""
    asked = set(question.terms)
    return [
        (m.start(), m.end())
        for m in re.finditer(r"[\w%’']+", text)
        if (s := stems(m[0])) and s[0] in asked
    ]


def _nearness(spots: Sequence[tuple[int, int]], start: int, end: int) -> float:
    """Return 0..1: how close the nearest four words of the question stand, in characters."""
    gaps = sorted(max(a - end, start - b, 0) for a, b in spots if b <= start or a >= end)[:4]
    if not gaps:
        return 0.0
    return sum(1.0 / (1.0 + g / 25.0) for g in gaps) / 4
