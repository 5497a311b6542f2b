"""Letter forms and direction."""

from __future__ import annotations

import pytest

from pagetrail.documents.bidi import fold, has_rtl, is_rtl


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("plain", "plain"),
        ("\ufb01nal", "final"),
        ("o\ufb03ce", "office"),
        ("\uff12\uff10\uff12\uff11", "2021"),
        ("\U0001d465", "x"),
        ("10\u00b2", "10\u00b2"),
        ("\u00bd", "\u00bd"),
        ("cafe\u0301", "caf\u00e9"),
        ("\ufe8d\ufedf\ufe8c", "\u0627\u0644\u0626"),
        ("\u0627\u0625\u0644\u0646", "\u0627\u0644\u0625\u0646"),
        ("\u0645\u0640\u0640\u0631", "\u0645\u0631"),
    ],
)
def test_fold(word: str, plain: str) -> None:
    assert fold(word) == plain


def test_folding_never_leaves_white_space_inside() -> None:
    for code in [*range(0x80, 0x3000), *range(0xF900, 0xFFFE)]:
        folded = fold("a" + chr(code) + "b")
        assert folded.split() == [folded]


def test_direction() -> None:
    assert is_rtl("\u05e9\u05dc\u05d5\u05dd 2021")
    assert not is_rtl("plain 2021")
    assert not is_rtl("A long English line with \u05e9\u05dc")
    assert has_rtl("A long English line with \u05e9\u05dc")
