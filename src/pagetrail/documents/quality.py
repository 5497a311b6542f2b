"""Whether a page's text layer can be believed, and whether OCR is worth its seconds."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .raw import INVISIBLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .raw import RawPage

__all__ = ["LayerVerdict", "assess"]

_SHORT = 200  # visible characters below which a picture may hold the page's real content
_BIG_PICTURE = 0.4
_UNMAPPED = 0.3
_JUNK = 0.12
_ENOUGH = 40  # characters before letter statistics say anything


@dataclass(frozen=True, slots=True)
class LayerVerdict:
    """What to do with a text layer.

    Attributes:
        trusted: Its words may be searched and cited.
        needs_ocr: The page should be read by OCR, instead of the layer or in addition to it.
        reason: Why, in a few words, for the page's notes.
    """

    trusted: bool
    needs_ocr: bool
    reason: str = ""


# The letter pairs that make up most running text in languages written with Latin letters.
_COMMON = """
th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve
co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no
ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts
mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab gh ty op wo
sa ay ex ke fr oo av ag if ap gr od bo sp rd do uc bu ei ov by rm ep tt oc fa ef cu rn sc gi
da yo cr cl du ga qu ue ff ba ey ls va um pp ua up lu go ht ru ug ds lt pi rc rr eg au ck ew
mu br bi pt ak pu ui rg ib tl ny ki rk ys ob mm fu ph og ms ye ud mb ip ub oi rl gu dr hr cc
za je sk sz zi ij aa oe uw ao nn ks kt
"""
_PAIRS = frozenset(_COMMON.split())
_WORD = re.compile(r"[A-Za-zÀ-ɏ]{2,}")
# What stands between spaces in print: a word of two letters or more, a number, a few short words.
_TOKEN = re.compile(
    r"[(\[\"'“‘]*(?:[^\W\d_]{2,}(?:[-'’/][^\W\d_]+)*|[aAIàyeoO&]|[$€£]?[\d.,/:%-]+)[.,;:!?)\]\"'”’]*"
)
_SOUND = 0.45
_PRIVATE = re.compile("[\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")
_SYMBOL_FONT = re.compile("[\uf020-\uf0ff]")  # bullets and dingbats of symbol fonts


def assess(page: RawPage) -> LayerVerdict:
    """Judge a text layer by what it says and how it is drawn.

    OCR is asked for when there is no usable layer, and beside a good but short layer when a picture
    covers much of the page.
    """
    words = [w for line in page.lines for w in line]
    count = sum(len(w.text) for w in words)
    if count == 0:
        drawn = page.has_paths or bool(page.image_cover)
        return LayerVerdict(False, drawn, "it is empty") if drawn else LayerVerdict(True, False)
    reason = _fault(page, [w.text for w in words], count)
    if reason:
        return LayerVerdict(False, True, reason)
    cover = page.image_cover or 0.0
    if cover > _BIG_PICTURE and count < _SHORT:
        hidden = sum(len(w.text) for w in words if w.flags & INVISIBLE)
        if hidden > 0.5 * count:
            return LayerVerdict(False, True, "it is a short hidden one under a picture")
        return LayerVerdict(True, True, "a picture covers much of the page and the layer is short")
    return LayerVerdict(True, False)


def _fault(page: RawPage, words: Sequence[str], count: int) -> str:
    """Return what makes the layer useless, empty when nothing does."""
    text = " ".join(words)
    ascii_only = text.isascii()
    if not ascii_only:
        private = len(_PRIVATE.findall(text)) - len(_SYMBOL_FONT.findall(text))
        if private > _JUNK * count or (count < _ENOUGH and private > 0.5 * count):
            return "its characters have no meaning outside the file's own fonts"
        if _mixed_scripts(text) > 0.3:
            return "its letters are a jumble of alphabets"
    latin = _WORD.findall(text)
    letters = sum(map(len, latin))
    # A sample of the words tells as much as all of them.
    likeness = _likeness(latin[:: 1 + len(latin) // 150]) if letters >= _ENOUGH else None
    if page.unmapped_share > _UNMAPPED and (likeness is None or likeness < 0.6):
        return "its fonts do not say which characters they show"
    # A scanner's hidden layer has to be better, since nobody reads it while writing.
    need = 0.5 if page.invisible_share > 0.5 else 0.42
    if likeness is not None and letters > 0.25 * count and likeness < need:
        return "its letters do not form words"
    if page.invisible_share > 0.5 and len(words) >= 10:
        sound = sum(_TOKEN.fullmatch(word) is not None for word in words)
        if sound < _SOUND * len(words):
            return "it is a hidden one full of torn words"
    return ""


def _likeness(words: Sequence[str]) -> float:
    """Return the share of neighbouring letters, 0..1, that running text is made of.

    About .85 for English, .7-.8 for other European languages, .3 for letters at random.
    """
    good = total = 0
    for word in words:
        low = word.lower()
        for a in range(len(low) - 1):
            total += 1
            if low[a : a + 2] in _PAIRS:
                good += 1
    return good / max(total, 1)


def _mixed_scripts(text: str) -> float:
    """Return the share of non-Latin words that mix alphabets: what a wrong mapping looks like."""
    mixed = total = 0
    for word in set(text.split()):
        if word.isascii() or len(word) < 3:
            continue
        scripts = {s for c in word if c.isalpha() and (s := _script(c))}
        total += 1
        mixed += len(scripts) > 2 or (len(scripts) == 2 and "ODD" in scripts)
    return mixed / total if total >= 5 else 0.0


def _script(character: str) -> str:
    code = ord(character)
    if code < 0x250 or 0x1E00 <= code < 0x2000:
        return "LATIN"
    if 0x2E80 <= code < 0xA000 or 0xAC00 <= code < 0xD7B0 or 0xF900 <= code < 0xFB00:
        return "CJK"  # these mix with each other in ordinary writing
    name = unicodedata.name(character, "ODD").partition(" ")[0]
    return "" if name in ("MODIFIER", "FULLWIDTH", "DOUBLE-STRUCK", "SCRIPT") else name
