"""Pointers in text and what they point at."""

from __future__ import annotations

import pytest

from pagetrail.documents.references import find_references
from pagetrail.mentions import mentions
from pagetrail.types import Block, BlockKind, Box, Reference, Word


def block(text: str, kind: BlockKind = "paragraph", order: int = 0) -> Block:
    words = [Word(token, Box(0, 0, 1, 1)) for token in text.split()]
    return Block.of(words, kind=kind, order=order)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see Figure 3.", [("figure", "3")]),
        ("(Fig. 2a)", [("figure", "2A")]),
        ("Figures 3 and 4", [("figure", "3"), ("figure", "4")]),
        ("Tables 1, 2 & 5 list", [("table", "1"), ("table", "2"), ("table", "5")]),
        ("Table A-1", [("table", "A-1")]),
        ("section 4.2.1 of", [("section", "4.2.1")]),
        ("§ 5.4", [("section", "5.4")]),
        ("§5", [("section", "5")]),
        ("Appendix B", [("appendix", "B")]),
        ("on page 17", [("page", "17")]),
        ("pp. 12-14", [("page", "12-14")]),
        ("p. 5", [("page", "5")]),
        ("Note 13 to the", [("note", "13")]),
        ("Eq. (7)", [("equation", "7")]),
        ("Chapter IV", [("chapter", "IV")]),
        ("Exhibit 10.1", [("exhibit", "10.1")]),
        ("slide 3", [("slide", "3")]),
        ("please note I am", []),
        ("the table is set", []),
        ("the figure of 3 men", []),
        ("a page a day", []),
        ("part a of it", []),
        ("sales up 3 %", []),
        ("stable 3", []),
    ],
)
def test_mentions(text: str, found: list[tuple[str, str]]) -> None:
    assert [(m.kind, m.key) for m in mentions(text)] == found


def test_offsets_lead_back_to_the_text() -> None:
    text = "As Table 2 and Figure 5 show"
    assert [text[m.start : m.end] for m in mentions(text)] == ["Table 2", "Figure 5"]


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
