"""Pages made by hand for the answer tests."""

from __future__ import annotations

from pagetrail.types import Block, BlockKind, Box, Page, Word

WIDTH = 0.009  # of one character


def line_words(text: str, y: float, x: float = 0.1) -> list[Word]:
    """Words of one line from ``x`` on, boxes as wide as their letters."""
    words = []
    for word in text.split():
        words.append(Word(word, Box(x, y, x + WIDTH * len(word), y + 0.015)))
        x += WIDTH * (len(word) + 1)
    return words


def block(
    text: str,
    *,
    kind: BlockKind = "paragraph",
    order: int = 0,
    y: float = 0.1,
    source: str = "layer",
) -> Block:
    """A block; ``\\n`` starts a new line, in a table row ``|`` a cell in a column of its own."""
    words: list[Word] = []
    breaks: list[int] = []
    parts = text.split("|") if kind == "table_row" else text.split("\n")
    for i, part in enumerate(parts):
        if words:
            breaks.append(len(words))
        if kind == "table_row":
            words += line_words(part, y, 0.05 + 0.2 * i)
        else:
            words += line_words(part, y + 0.02 * i)
    return Block.of(words, kind=kind, order=order, breaks=breaks, source=source)  # type: ignore[arg-type]


def page(
    *blocks: str | tuple[BlockKind, str],
    document: str = "doc",
    number: int = 1,
    source: str = "layer",
) -> Page:
    """A page of blocks, top to bottom; a bare text is a paragraph."""
    made = []
    y = 0.05
    for order, given in enumerate(blocks):
        kind, text = ("paragraph", given) if isinstance(given, str) else given
        made.append(block(text, kind=kind, order=order, y=y, source=source))  # type: ignore[arg-type]
        y += 0.02 * (text.count("\n") + 2)
    return Page(document, number, 612, 792, text_source=source, blocks=tuple(made))  # type: ignore[arg-type]
