"""A tiny corpus: six pages of two documents, made on the spot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import Block, Box, Page, Reference, Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import BlockKind

__all__ = ["make_page", "tiny_pages"]

_LINE_CHARACTERS, _LINES = 80, 50  # what fits on a page made here


def make_page(
    document: str,
    number: int,
    blocks: Sequence[tuple[BlockKind, str]],
    *,
    references: Sequence[Reference] = (),
) -> Page:
    """Return an A4 page that holds the given (kind, text) blocks from top to bottom.

    Words stand in lines of 80 equally wide characters, one line per 2 % of the height; a block
    begins on a new line. In a table row `` | `` separates cells. Text that runs over the bottom
    piles up on the last line.
    """
    made: list[Block] = []
    line = 0
    for kind, text in blocks:
        words: list[Word] = []
        breaks: list[int] = []
        column = 0
        for word in text.split():
            if word == "|" and kind == "table_row":
                breaks.append(len(words))
                column += 4
                continue
            if column and column + len(word) > _LINE_CHARACTERS:
                line, column = line + 1, 0
                breaks.append(len(words))
            words.append(Word(word, _box(line, column, len(word))))
            column += len(word) + 1
        level = 1 if kind == "heading" else 0
        order = len(made)
        made.append(Block.of(words, kind=kind, order=order, breaks=breaks, level=level))
        line += 2
    return Page(
        document=document,
        number=number,
        width=595.0,
        height=842.0,
        text_source="layer" if made else "none",
        blocks=tuple(made),
        references=tuple(references),
    )


def _box(line: int, column: int, length: int) -> Box:
    top = min(line, _LINES - 1) / _LINES
    left = min(column, _LINE_CHARACTERS - 1) / _LINE_CHARACTERS
    return Box(left, top, min(1.0, left + length / _LINE_CHARACTERS), top + 0.8 / _LINES)


_TOP = "Community garden, annual report"
# Document, number, and the page's blocks: every kind of block, and each statement on one page only.
_TINY: tuple[tuple[str, int, tuple[tuple[BlockKind, str], ...]], ...] = (
    ("garden", 1, (
        ("header", _TOP),
        ("heading", "A good year for tomatoes"),
        ("paragraph", "The garden harvested 340 kilograms of tomatoes, a third more than before."),
        ("list", "Volunteers gave 1,200 hours of work."),
        ("list", "Four schools visited in spring."),
        ("footer", "Page 1 of 4"),
    )),
    ("garden", 2, (
        ("header", _TOP),
        ("caption", "Table 1: Harvest by crop in kilograms"),
        ("table_row", "Crop | 2021 | 2022"),
        ("table_row", "Beans | 95 | 88"),
        ("table_row", "Pumpkins | 210 | 265"),
        ("footer", "Page 2 of 4"),
    )),
    ("garden", 3, ()),
    ("garden", 4, (("header", _TOP), ("footer", "Page 4 of 4"))),
    ("ferry", 1, (
        ("heading", "Timetable of the island ferry"),
        ("paragraph", "The first boat leaves the harbour at 6.40 and the last one at 22.15."),
    )),
    ("ferry", 2, (
        ("heading", "Fares"),
        ("paragraph", "Bicycles travel free of charge, and dogs pay half the price of a child."),
    )),
)  # fmt: skip
_TINY_REFERENCES = {
    ("garden", 1): [Reference("table", "1", "mention", 2)],
    ("garden", 2): [Reference("table", "1", "target", 1)],
}


def tiny_pages() -> list[Page]:
    """Return six pages of two documents, ``garden`` and ``ferry``; ``garden#p0003`` is empty."""
    return [
        make_page(document, number, blocks, references=_TINY_REFERENCES.get((document, number), ()))
        for document, number, blocks in _TINY
    ]
