"""Characters as a reader means them: letter forms folded, right-to-left text in logical order."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["fold", "has_rtl", "is_rtl"]

_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LTR = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u052f]")
# Forms that differ from the plain letters in looks only: Latin and Armenian ligatures, Hebrew and
# Arabic presentation forms, full-width Latin, radicals, mathematical alphabets. Superscripts and
# fractions stay, since folding them changes what is said.
_FORMS = re.compile(
    "[\u2f00-\u2fd5\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufb4f\ufb50-\ufdfb\ufe70-\ufefc"
    "\uff01-\uff5e\U0001d400-\U0001d7ff]+"
)
_TATWEEL = re.compile("(?<=[\u0600-\u06ff])\u0640+(?=[\u0600-\u06ff])")
# One glyph stands for lam and alef; turning a line around by characters leaves alef first. After
# another alef, a hamza-bearing alef before lam is no Arabic spelling, so it can be put right.
_LAM_ALEF = re.compile("(?<=\u0627)([\u0622\u0623\u0625])\u0644")


def has_rtl(text: str) -> bool:
    """Return whether any letter of the text is written from right to left."""
    return not text.isascii() and _RTL.search(text) is not None


def is_rtl(text: str) -> bool:
    """Return whether most letters of the text are written from right to left."""
    if text.isascii():
        return False
    right = len(_RTL.findall(text))
    return right > 0 and right > len(_LTR.findall(text))


def fold(word: str) -> str:
    """Return a word with letter forms folded to plain letters, composed, without white space.

    >>> fold("e\u0301\ufb03cace")
    'éfficace'
    >>> fold("10\u00b2")
    '10²'
    """
    if word.isascii():
        return word
    text = _FORMS.sub(lambda m: unicodedata.normalize("NFKC", m[0]), word)
    text = unicodedata.normalize("NFC", text)
    if _RTL.search(text):
        text = _LAM_ALEF.sub("\u0644\\1", _TATWEEL.sub("", text))
    return "".join(text.split())
