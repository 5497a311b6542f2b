"""Numbered things named in a text."""

import pytest

from pagetrail.mentions import mentions


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
        ("Item 7A.", [("item", "7A")]),
        ("Figure5.Programming", [("figure", "5")]),
        ("slide 3", [("slide", "3")]),
        ("please note I am", []),
        ("the table is set", []),
        ("the figure of 3 men", []),
        ("a page a day", []),
        ("part a of it", []),
        ("sales up 3 %", []),
        ("stable 3", []),
        ("pins P2.0 and P 3", []),
    ],
)
def test_mentions(text: str, found: list[tuple[str, str]]) -> None:
    assert [(m.kind, m.key) for m in mentions(text)] == found


def test_offsets_lead_back_to_the_text() -> None:
    text = "As Table 2 and Figure 5 show"
    assert [text[m.start : m.end] for m in mentions(text)] == ["Table 2", "Figure 5"]
