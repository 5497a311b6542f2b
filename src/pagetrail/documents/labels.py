"""Printed page numbers, found on the pages themselves when the file does not tell them.

A reader who says "page 5" means the number printed in the margin. Few PDFs carry page labels, but
in most a number in the header or footer grows by one from page to page; the pages vote on how far
it is ahead of or behind the physical number.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..types import Page

__all__ = ["edges", "printed_labels"]

_NUMBER = re.compile(r"(?<![\w.,/$€£%-])(?:\d{1,4}|[ivxl]{1,7})(?![\w/%-]|[.,]\d)")
_ROMAN = re.compile(r"x{0,4}(?:l?x{0,3})(?:ix|iv|v?i{0,3})")
_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50}
_FEWEST = 3  # pages that must agree
_SHARE = 0.5  # of the pages between the first and the last that agree
_EDGE_BLOCKS = 2
_LONGEST_EDGE = 200  # characters; longer blocks are body text at the edge of the page


def edges(page: Page) -> list[str]:
    """Return the short texts at a page's top and bottom, where page numbers stand."""
    blocks = page.blocks
    near = {*blocks[:_EDGE_BLOCKS], *blocks[-_EDGE_BLOCKS:]}
    return [
        b.text
        for b in blocks
        if b.kind in ("header", "footer") or (b in near and len(b.text) <= _LONGEST_EDGE)
    ]


def printed_labels(margins: Mapping[int, Sequence[str]]) -> dict[int, str]:
    """Return the printed label of each page that has one and differs from its number.

    Args:
        margins: Physical number to what stands in the page's margins (`edges`).

    Arabic and small Roman numbers are looked at apart, so that "i, ii, iii, 1, 2, ..." is found.
    A page inside a run whose own number cannot be read gets the one that it must have.
    """
    labels: dict[int, str] = {}
    for roman in (False, True):
        votes: dict[int, set[int]] = defaultdict(set)
        for number, texts in margins.items():
            for printed in _numbers(texts, roman=roman):
                votes[printed - number].add(number)
        run = _best(votes)
        if run is None:
            continue
        offset, pages = run
        for number in range(min(pages), max(pages) + 1):
            if number in margins and number + offset > 0:
                label = _as_roman(number + offset) if roman else str(number + offset)
                if number in pages or number not in labels:
                    labels[number] = label
    return {number: label for number, label in labels.items() if label != str(number)}


def _best(votes: Mapping[int, set[int]]) -> tuple[int, set[int]] | None:
    """Return the offset that most pages agree on, if enough do, and these pages."""
    counted = Counter({offset: len(pages) for offset, pages in votes.items()})
    for offset, count in counted.most_common(1):
        pages = votes[offset]
        if count >= _FEWEST and count >= _SHARE * (max(pages) - min(pages) + 1):
            return offset, pages
    return None


def _numbers(texts: Sequence[str], *, roman: bool) -> set[int]:
    found = {token for text in texts for token in _NUMBER.findall(text)}
    if not roman:
        return {int(token) for token in found if token.isdigit()}
    return {_from_roman(token) for token in found if token.isalpha() and _ROMAN.fullmatch(token)}


def _from_roman(text: str) -> int:
    values = [_VALUES[letter] for letter in text]
    return sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))


def _as_roman(number: int) -> str:
    text = ""
    for value, letters in (
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ):
        while number >= value:
            text += letters
            number -= value
    return text
