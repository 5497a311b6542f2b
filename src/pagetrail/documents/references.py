"""Numbered things a page holds or points at: figures, tables, sections, pages, appendices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..mentions import mentions
from ..types import Reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..types import Block

__all__ = ["find_references"]

_NUMBERED_HEADING = re.compile(r"(\d{1,2}(?:\.\d{1,3}){0,4}|[A-Z](?:\.\d{1,3}){1,4})\.?\s+\S")
_TARGETS = frozenset({"heading", "caption"})


def find_references(blocks: Iterable[Block]) -> tuple[Reference, ...]:
    """Return what the blocks of a page hold (``target``) and point at (``mention``), no repeats.

    A caption or heading that starts with a numbered thing is its target, and so is a numbered
    heading for its section.
    """
    found: dict[Reference, None] = {}
    for block in blocks:
        text = block.text
        own = block.kind in _TARGETS
        if own and (number := _NUMBERED_HEADING.match(text)) and block.kind == "heading":
            found[Reference("section", number[1].upper(), "target", block.order)] = None
        if not own and len(text) < 4:
            continue
        for kind, key, start, _ in mentions(text):
            role = "target" if own and start == 0 else "mention"
            found[Reference(kind, key, role, block.order)] = None  # type: ignore[arg-type]
    return tuple(found)
