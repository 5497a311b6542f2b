"""Tables, lists and sentences that go on on the next page."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from .ways import Way

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .digest import Digest, End

__all__ = ["continued_ways"]

_WORDS = 3  # spaces that a broken-off sentence has at least
_OFF = 3  # hundredths of the page's width by which columns may differ
_BROKEN = re.compile(r"[\w,–—(]-?$")
_MARKER = re.compile(r"\(?(\d{1,3})[.)]\s")


def continued_ways(digests: Sequence[Digest]) -> list[Way]:
    """Return edges from pages whose last table, list or sentence goes on on the next page.

    Args:
        digests: One per page that was read, by number; pages that are missing join nothing.
    """
    ways = []
    for page, after in pairwise(digests):
        if after.number != page.number + 1 or page.contents or after.contents:
            continue
        weight, why = max(
            _table(page.end, after), _list(page.end, after.begin), _sentence(page.end, after.begin)
        )
        if weight:
            ways.append(Way(page.number, after.number, "continues", weight, why))
    return ways


def _table(end: End, after: Digest) -> tuple[float, str]:
    """Return how sure it is that a table goes on: said so, same heads, or same columns."""
    begin = after.begin
    why = "the table goes on"
    if begin.continued:
        return 0.95, why if begin.columns else "continued"
    if not (end.columns and begin.columns and end.kinds[0] == "table_row"):
        return 0.0, ""
    if end.header and end.header == begin.header:
        return 0.9, why
    if begin.kinds[0] != "table_row":
        return 0.0, ""
    pairs = zip(end.columns, begin.columns, strict=False)
    same = sum(abs(a - b) <= _OFF for a, b in pairs)
    most = max(len(end.columns), len(begin.columns))
    if most >= 2 and same == most:
        return 0.8, why
    return (0.5, why) if most >= 3 and same >= 0.6 * most else (0.0, "")


def _list(end: End, begin: End) -> tuple[float, str]:
    """Return how sure it is that a list goes on: its numbers follow, or both edges are lists."""
    if not (end.kinds and begin.kinds and end.kinds[0] == begin.kinds[0] == "list"):
        return 0.0, ""
    last, first = _MARKER.match(end.starts[0]), _MARKER.match(begin.starts[0])
    if last and first:
        follows = int(first[1]) == int(last[1]) + 1
        return (0.8, "the list goes on") if follows else (0.0, "")
    return 0.5, "the list goes on"


def _sentence(end: End, begin: End) -> tuple[float, str]:
    """Return how sure it is that a sentence goes on: broken off here, small letter there."""
    if not begin.starts or not begin.starts[0][:1].islower() or " " not in begin.starts[0]:
        return 0.0, ""
    for tail in end.tails:
        if tail.count(" ") >= _WORDS and _BROKEN.search(tail):
            return (0.7 if tail.endswith("-") else 0.6), "the sentence goes on"
    return 0.0, ""
