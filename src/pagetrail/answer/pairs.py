"""Labels and their values: forms, figures over their captions, "Label: value" on one line."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from .candidates import FITS, Candidate
from .tables import table_at
from .terms import stems
from .values import names_in, values_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .evidence import Unit, Weighed
    from .question import Question
    from .tables import Cell
    from .terms import Rarity

__all__ = ["pairs_in"]

_LABEL_WORDS = 7
_VALUE_WORDS = 25
_ONE_LINE = re.compile(r"^\W{0,8}((?:[^\s:]{1,40} ){0,6}[^\s:]{1,40})\s?:\s+(\S.*)$")
_SPLIT = re.compile(r"\S[.;?!]\s+[A-Z]")
_OPENS_VALUE = re.compile(r"[\d@]")


def pairs_in(
    question: Question,
    weighed: Weighed,
    rows: Mapping[tuple[str, int], Unit],
    rarity: Rarity,
) -> Iterator[Candidate]:
    """Yield the values of labels that share words with the question.

    A label's value stands beside it in a row of two cells, below it in a form, above it where
    figures are set over their captions, or after a colon. ``near`` is the share of the label that
    the question says, and of the question that the label says, together.

    Args:
        question: What is asked.
        weighed: The unit that holds the labels.
        rows: Table rows of the pages read, by page id and block order.
        rarity: Of the words on these pages.
    """
    unit = weighed.unit
    if not unit.is_row:
        match = _ONE_LINE.match(unit.sight)
        if match and not _SPLIT.search(match[2]):
            yield from _values(question, weighed, match[1], match[2], "pair", rarity)
        return
    table = table_at(unit)
    at = table.blocks.index(unit.block.order)
    row = table.rows[at]
    if len(row) == 2 and _is_label(row[0].text):
        yield from _values(question, weighed, row[0].text, row[1].text, "pair", rarity)
    for step, form in ((1, "field"), (-1, "tile")):
        if not 0 <= at + step < len(table.rows):
            continue
        other = table.rows[at + step]
        if form == "field" and not _ends(table.rows, at):
            continue
        source = rows.get((unit.page.id, table.blocks[at + step]))
        if source is None:
            continue
        moved = replace(weighed, unit=source)
        label_row = ((unit.page.id, unit.block.order, unit.text),)
        for label in row:
            if not _is_label(label.text):
                continue
            for value in _aligned(label, other, row):
                if form == "tile" and not _OPENS_VALUE.search(value.text[:4]):
                    continue
                for found in _values(question, moved, label.text, value.text, form, rarity):
                    yield replace(found, also=label_row, label=frozenset(stems(label.text)))


def _is_label(text: str) -> bool:
    return len(text.split()) <= _LABEL_WORDS and not _OPENS_VALUE.search(text)


def _aligned(label: Cell, other: Sequence[Cell], row: Sequence[Cell]) -> list[Cell]:
    """Return the cell of another row that stands over or under a label and no other label."""
    found = []
    for cell in other:
        over = [c for c in row if c.box.x0 < cell.box.x1 and cell.box.x0 < c.box.x1]
        if over == [label]:
            found.append(cell)
    return found[:1]


def _ends(rows: Sequence[Sequence[Cell]], at: int) -> bool:
    """Whether the row after the next is no further row of values under the same labels."""
    if at + 2 >= len(rows):
        return True
    below, after = rows[at + 1], rows[at + 2]
    if len(below) != len(after):
        return True
    sorts = [[bool(_OPENS_VALUE.search(c.text)) for c in row] for row in (below, after)]
    return sorts[0] != sorts[1]


def _values(
    question: Question, weighed: Weighed, label: str, value: str, form: str, rarity: Rarity
) -> Iterator[Candidate]:
    held = frozenset(stems(label))
    if not held & set(question.terms) or len(value.split()) > _VALUE_WORDS:
        return
    said = rarity.share(held, question.terms, {})
    asked = rarity.share(question.terms, held, dict(weighed.extra))
    near = (said + asked) / 2
    fits = FITS.get(question.kind)
    if fits is not None:
        for found in values_in(value[:200]):
            if fit := fits.get(found.kind, 0.0):
                yield Candidate(found.shown, weighed, form, fit, near)
        return
    fit = 1.0
    if question.kind in ("name", "place"):
        first = next(iter(names_in(value)), None)
        fit = 1.0 if first and first.start == 0 and not re.search(r"\d", value) else 0.2
    yield Candidate(value.strip(" .,;"), weighed, form, fit, near)
