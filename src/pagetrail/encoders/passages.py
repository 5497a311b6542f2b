"""Cut a page into passages short enough for the built-in text encoder.

A passage is a run of whole blocks in reading order, about 110 words: long enough to carry its
context, short enough that one statement still shapes the vector. A heading goes with what follows
it. Passages never cross pages, because a page is what is found and cited.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..ports import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..types import Block, Page

__all__ = ["MAX_TOKENS", "MAX_WORDS", "passages"]

MAX_WORDS = 110
MAX_TOKENS = 240  # by estimate; the encoder reads 254 and cuts the rest

# Scripts written without spaces: the tokenizer makes one token of each of these characters.
_WIDE = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
)
_PIECE = re.compile(rf"[{_WIDE}]|\d+|[^\W\d_{_WIDE}]+|[^\s]")
_LONGEST_WORD = 40  # characters; longer runs are unspaced script, URLs or junk
_SENTENCE_END = re.compile(r"[.!?;:。！？؟।]['\"”’)\]]*$")

_Word = tuple[str, int]  # text and estimated tokens


def passages(page: Page) -> list[Passage]:
    """Return the page's passages in reading order; none for a page without words.

    Page headers and footers are left out unless the page holds nothing else. ``block`` of a passage
    is the order of the block that its first word comes from.
    """
    body = [b for b in page.blocks if b.kind not in ("header", "footer")] or page.blocks
    result: list[Passage] = []
    open_blocks: list[tuple[Block, list[_Word]]] = []

    def close(blocks: list[tuple[Block, list[_Word]]]) -> None:
        if blocks:
            text = " ".join(word for _, words in blocks for word, _ in words)
            result.append(Passage(page.id, blocks[0][0].order, text))

    for block, words in _pieces(body):
        if open_blocks and not _fits(open_blocks, words):
            headings = _trailing_headings(open_blocks)
            kept, carried = open_blocks[: len(open_blocks) - headings], open_blocks[-headings:]
            if headings and kept and _fits(carried, words):
                close(kept)
                open_blocks = carried
            else:
                close(open_blocks)
                open_blocks = []
        open_blocks.append((block, words))
    close(open_blocks)
    return result


def _fits(blocks: list[tuple[Block, list[_Word]]], more: list[_Word]) -> bool:
    words = [*(word for _, block_words in blocks for word in block_words), *more]
    return len(words) <= MAX_WORDS and sum(tokens for _, tokens in words) <= MAX_TOKENS


def _trailing_headings(blocks: list[tuple[Block, list[_Word]]]) -> int:
    count = 0
    while count < len(blocks) and blocks[-1 - count][0].kind == "heading":
        count += 1
    return count


def _pieces(blocks: tuple[Block, ...] | list[Block]) -> Iterator[tuple[Block, list[_Word]]]:
    """Yield each block's words, cut into near-equal parts where one passage cannot hold them."""
    for block in blocks:
        words = [
            (part, _tokens(part))
            for word in block.text.split()
            for part in (word[i : i + _LONGEST_WORD] for i in range(0, len(word), _LONGEST_WORD))
        ]
        start, tokens = 0, sum(cost for _, cost in words)
        while start < len(words):
            end = _cut(words, start, tokens)
            yield block, words[start:end]
            tokens -= sum(cost for _, cost in words[start:end])
            start = end


def _cut(words: list[_Word], start: int, tokens: int) -> int:
    """Return where the passage that begins at ``start`` ends; ``tokens`` is the cost of the rest.

    The rest is shared out evenly, so that no scrap remains at the end; within the last quarter the
    cut moves back to the end of a sentence if there is one.
    """
    rest = len(words) - start
    parts = max(-(-rest // MAX_WORDS), -(-tokens // MAX_TOKENS))
    if parts <= 1:
        return len(words)
    limit = start + min(rest, MAX_WORDS)
    taken, end = words[start][1], start + 1
    while end < limit and taken < tokens / parts and taken + words[end][1] <= MAX_TOKENS:
        taken += words[end][1]
        end += 1
    for candidate in range(end, start + (end - start) * 3 // 4, -1):
        if candidate < len(words) and _SENTENCE_END.search(words[candidate - 1][0]):
            return candidate
    return end


def _tokens(word: str) -> int:
    """Estimate the WordPiece tokens of a word: numbers and marks cost more than letters."""
    count = 0
    for piece in _PIECE.findall(word):
        per_token = 2 if piece[0].isdigit() else 7
        count += 1 + (len(piece) - 1) // per_token
    return max(count, 1)
