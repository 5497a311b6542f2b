"""Pointers in text and what they point at."""

from __future__ import annotations

from pagetrail.documents.references import find_references
from pagetrail.types import Block, BlockKind, Box, Reference, Word


def block(text: str, kind: BlockKind = "paragraph", order: int = 0) -> Block:
    words = [Word(token, Box(0, 0, 1, 1)) for token in text.split()]
    return Block.of(words, kind=kind, order=order)


def test_captions_and_numbered_headings_are_targets() -> None:
    found = find_references(
        [
            block("4.2 Waiting times", "heading", 0),
            block("Figure 3: Waiting times, from Table 1", "caption", 1),
            block("As Figure 3 shows, and Figure 3 again", "paragraph", 2),
            block("Appendix B Glossary", "heading", 3),
        ]
    )
    assert found == (
        Reference("section", "4.2", "target", 0),
        Reference("figure", "3", "target", 1),
        Reference("table", "1", "mention", 1),
        Reference("figure", "3", "mention", 2),
        Reference("appendix", "B", "target", 3),
    )
