"""Text layer of a PDF page to raw words with boxes in the displayed frame.

All text comes from one call; per word only the boxes of its first and last character are asked
for, so a page costs a few milliseconds. Every function here runs under `render.LOCK`.
"""

from __future__ import annotations

import ctypes
import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .raw import HYPHEN, INVISIBLE, TURN_SHIFT, UNMAPPED, RawWord

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

__all__ = ["Frame", "TextLayer", "read_layer"]

_BREAK_HYPHEN = "\ufffe"  # PDFium's sign for a hyphen at the end of a line
_TOKEN = re.compile(r"\r\n|[\r\n]|\ufffe|[^\s\ufffe]+")
# Controls, soft hyphens, zero-width marks, byte-order marks and lone surrogates carry no reading.
_DROPPED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u200b\u2060\ufeff\ufff9-\ufffb\uffff\ud800-\udfff]"
)
_FIRST_RTL = "\u0590"
_MODE_INVISIBLE = 3
_MAX_CHARS = 2_000_000  # a page with more is no page; its first part is read


class Frame(NamedTuple):
    """How a page is displayed: visible rectangle in page space (points, y up) and rotation."""

    left: float
    bottom: float
    right: float
    top: float
    rotation: int

    @property
    def width(self) -> float:
        """Displayed width in points."""
        turned = self.rotation in (90, 270)
        return self.top - self.bottom if turned else self.right - self.left

    @property
    def height(self) -> float:
        """Displayed height in points."""
        turned = self.rotation in (90, 270)
        return self.right - self.left if turned else self.top - self.bottom

    def boxes(self, rects: np.ndarray) -> np.ndarray:
        """Turn page rectangles into fractions of the displayed page, not clipped.

        Args:
            rects: float, ``[n, 4]``: left, bottom, right, top in page space.

        Returns:
            float64 ``[n, 4]``: x0, y0, x1, y1, top-left origin.
        """
        import numpy as np

        across = (rects[:, [0, 2]] - self.left) / max(self.right - self.left, 1e-9)
        up = (rects[:, [1, 3]] - self.bottom) / max(self.top - self.bottom, 1e-9)
        across, up = np.sort(across, axis=1), np.sort(up, axis=1)
        if self.rotation == 90:
            x, y = up, across
        elif self.rotation == 180:
            x, y = 1 - across[:, ::-1], up
        elif self.rotation == 270:
            x, y = 1 - up[:, ::-1], 1 - across[:, ::-1]
        else:
            x, y = across, 1 - up[:, ::-1]
        return np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1)


class TextLayer(NamedTuple):
    """The words of a page line by line, and shares of all its characters."""

    lines: tuple[tuple[RawWord, ...], ...]
    characters: int
    invisible_share: float
    unmapped_share: float


class _Style(NamedTuple):
    """What the words of one text object have in common."""

    size: float
    flags: int
    tight: bool


class _Span(NamedTuple):
    """A word before it is measured: its text and character range, inclusive; its line."""

    text: str
    first: int
    last: int
    line: int
    flags: int


@cache
def _functions() -> dict[str, Any]:
    """PDFium's text functions with plain integer handles: three times cheaper to call."""
    import pypdfium2.raw as pdfium

    handle, number, pointer = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
    kinds: dict[str, tuple[Any, ...]] = {
        "FPDFText_CountChars": (number, handle),
        "FPDFText_GetText": (number, handle, number, number, pointer),
        "FPDFText_GetLooseCharBox": (number, handle, number, pointer),
        "FPDFText_GetCharBox": (number, handle, number, pointer, pointer, pointer, pointer),
        "FPDFText_GetTextObject": (handle, handle, number),
        "FPDFText_GetFontSize": (ctypes.c_double, handle, number),
        "FPDFText_GetMatrix": (number, handle, number, pointer),
        "FPDFText_GetUnicode": (ctypes.c_uint, handle, number),
        "FPDFText_IsHyphen": (number, handle, number),
        "FPDFText_HasUnicodeMapError": (number, handle, number),
        "FPDFText_GetCharIndexFromTextIndex": (number, handle, number),
        "FPDFTextObj_GetTextRenderMode": (number, handle),
        "FPDFTextObj_GetFont": (handle, handle),
    }
    return {
        name: ctypes.CFUNCTYPE(*kind)(
            ctypes.cast(getattr(pdfium, name), ctypes.c_void_p).value or 0
        )
        for name, kind in kinds.items()
    }


def read_layer(textpage: int, frame: Frame) -> TextLayer:
    """Return the words of a text page.

    Args:
        textpage: Address of an open ``FPDF_TEXTPAGE``.
        frame: How the page is displayed; words whose centre lies outside are dropped.
    """
    api = _functions()
    text, indices = _page_text(api, textpage)
    spans = _spans(api, textpage, text, indices)
    if not spans:
        return TextLayer((), 0, 0.0, 0.0)
    styles = _styles(api, textpage, spans, frame.rotation)
    boxes = frame.boxes(_rectangles(api, textpage, spans, styles))
    return _assemble(spans, styles, boxes)


def _page_text(api: dict[str, Any], page: int) -> tuple[str, Sequence[int] | None]:
    """Return all text and, where the two are numbered apart, each character's index."""
    count = min(api["FPDFText_CountChars"](page), _MAX_CHARS)
    if count <= 0:
        return "", None
    buffer = ctypes.create_string_buffer(2 * (count + 1))
    written = api["FPDFText_GetText"](page, 0, count, ctypes.addressof(buffer))
    text = buffer.raw[: 2 * max(written - 1, 0)].decode("utf-16-le", "surrogatepass")
    indices = None
    if len(text) != count:  # dropped characters, or pairs of units for one character
        find = api["FPDFText_GetCharIndexFromTextIndex"]
        indices = [find(page, i) for i in range(len(text))]
    return _widen(api, page, text, indices), indices


def _widen(api: dict[str, Any], page: int, text: str, indices: Sequence[int] | None) -> str:
    """Restore characters beyond U+FFFF, which the text call cuts to their lower 16 bits.

    The first place of each distinct character tells whether it was cut.
    """
    if text.isascii():
        return text
    unicode = api["FPDFText_GetUnicode"]

    def at(place: int) -> int:
        return int(unicode(page, indices[place] if indices else place))

    cut = {c for c in set(text) if ord(c) > 0x7F and at(text.index(c)) > 0xFFFF}
    if not cut:
        return text
    units = list(text)
    for place, unit in enumerate(units):
        if unit in cut and 0xFFFF < (code := at(place)) <= 0x10FFFF:
            units[place] = chr(code)
    return "".join(units)


def _spans(api: dict[str, Any], page: int, text: str, indices: Sequence[int] | None) -> list[_Span]:
    """Cut the text at white space and line ends."""
    spans: list[_Span] = []
    clean = not _DROPPED.search(text.replace("\r\n", " "))
    line = 0
    for token in _TOKEN.finditer(text):
        word = token[0]
        first, last = token.start(), token.end() - 1
        if word[0] in "\r\n":
            line += 1
            continue
        if indices is not None:
            first, last = indices[first], indices[last]
        if word == _BREAK_HYPHEN:
            if api["FPDFText_IsHyphen"](page, first):
                _hyphenate(spans, first, line, joined=token.start() > 0)
                line += 1
            continue
        flags = 0
        if not clean:
            flags = HYPHEN if word[-1] == "\u00ad" else 0
            word = _DROPPED.sub("", word) + ("-" if flags else "")
        if word:
            spans.append(_Span(word, first, last, line, flags))
    return spans


def _hyphenate(spans: list[_Span], index: int, line: int, *, joined: bool) -> None:
    """Let the word before a break hyphen end with it."""
    if joined and spans and spans[-1].line == line and spans[-1].last == index - 1:
        before = spans[-1]
        spans[-1] = _Span(before.text + "-", before.first, index, line, before.flags | HYPHEN)
    else:
        spans.append(_Span("-", index, index, line, HYPHEN))


def _styles(api: dict[str, Any], page: int, spans: list[_Span], rotation: int) -> list[_Style]:
    """Return size, visibility, turn and box quality of each word, asked once per text object."""
    owner, seen, fonts = api["FPDFText_GetTextObject"], dict[int, _Style](), dict[int, bool]()
    matrix = (ctypes.c_float * 6)()
    styles = []
    for span in spans:
        handle = owner(page, span.first) or 0
        style = seen.get(handle)
        if style is None:
            style = _style(api, page, span.first, matrix)
            font = (api["FPDFTextObj_GetFont"](handle) or 0) if handle else 0
            if font not in fonts:
                fonts[font] = _bare(api, page, span.first, style)
            turn = ((rotation // 90 - style.flags) % 4) << TURN_SHIFT
            style = _Style(style.size, turn | _marks(api, page, span.first, handle), fonts[font])
            seen[handle] = style
        styles.append(style)
    return styles


def _style(api: dict[str, Any], page: int, index: int, matrix: Any) -> _Style:
    """Return size and, in place of flags, the quarter turns against the clock in page space."""
    a, b, c, d = 1.0, 0.0, 0.0, 1.0
    if api["FPDFText_GetMatrix"](page, index, ctypes.addressof(matrix)):
        a, b, c, d = matrix[0], matrix[1], matrix[2], matrix[3]
    size = abs(api["FPDFText_GetFontSize"](page, index)) * math.hypot(c, d)
    if not math.isfinite(size) or not math.isfinite(a + b):
        return _Style(0.0, 0, tight=False)
    quarter = 0 if b == 0 and a > 0 else round(math.atan2(b, a) / (math.pi / 2))
    return _Style(size, quarter, tight=False)


def _marks(api: dict[str, Any], page: int, index: int, handle: int) -> int:
    hidden = handle and api["FPDFTextObj_GetTextRenderMode"](handle) == _MODE_INVISIBLE
    unmapped = api["FPDFText_HasUnicodeMapError"](page, index) == 1
    return (INVISIBLE if hidden else 0) | (UNMAPPED if unmapped else 0)


def _bare(api: dict[str, Any], page: int, index: int, style: _Style) -> bool:
    """Tell whether a font states no or absurd heights, so that its letters have to be asked."""
    loose, tight = _loose(api, page, index), _tight(api, page, index)
    upright = style.flags % 2 == 0
    across = loose[3] - loose[1] if upright else loose[2] - loose[0]
    return loose == tight or not 0.6 * style.size <= across <= 2.5 * style.size


def _loose(api: dict[str, Any], page: int, index: int) -> tuple[float, float, float, float]:
    box = (ctypes.c_float * 4)()
    api["FPDFText_GetLooseCharBox"](page, index, ctypes.addressof(box))
    left, top, right, bottom = box
    return left, bottom, right, top


def _tight(api: dict[str, Any], page: int, index: int) -> tuple[float, float, float, float]:
    box = (ctypes.c_double * 4)()
    left = ctypes.addressof(box)
    api["FPDFText_GetCharBox"](page, index, left, left + 8, left + 16, left + 24)
    return box[0], box[2], box[1], box[3]


def _rectangles(
    api: dict[str, Any], page: int, spans: list[_Span], styles: list[_Style]
) -> np.ndarray:
    """Return left, bottom, right, top of each word in page space, float64 ``[n, 4]``."""
    import numpy as np

    # Each box is left, top, right, bottom.
    raw = np.zeros((len(spans), 2, 4), dtype=np.float32)
    address, loose = raw.ctypes.data, api["FPDFText_GetLooseCharBox"]
    for span in spans:
        loose(page, span.first, address)
        loose(page, span.last, address + 16)
        address += 32
    ends = raw.astype(np.float64)
    ends = np.nan_to_num(ends, nan=0.0, posinf=0.0, neginf=0.0)
    low, high = ends.min(axis=1), ends.max(axis=1)
    rects = np.stack([low[:, 0], low[:, 3], high[:, 2], high[:, 1]], axis=1)
    # Two ends do not tell where a word lies that is bent over lines or an arc (its ends share
    # neither row nor column), whose font has no height, or that mixes writing directions.
    apart = np.abs(ends[:, 0] - ends[:, 1])
    odd = (apart[:, 0] > 1) & (apart[:, 1] > 1)
    odd |= (rects[:, 2] <= rects[:, 0]) | (rects[:, 3] <= rects[:, 1])
    for place, span in enumerate(spans):
        tight = styles[place].tight
        if tight or odd[place] or (not span.text.isascii() and max(span.text) >= _FIRST_RTL):
            rects[place] = _outline(api, page, span, rects[place], alone=tight)
    return rects


def _outline(
    api: dict[str, Any], page: int, span: _Span, given: np.ndarray, *, alone: bool
) -> Sequence[float]:
    """Return the box around all of a word's characters, and around ``given`` unless ``alone``."""
    boxes = [_tight(api, page, i) for i in range(span.first, min(span.last, span.first + 999) + 1)]
    boxes = [b for b in boxes if b[2] > b[0] and b[3] > b[1] and math.isfinite(sum(b))]
    if not alone or not boxes:
        boxes.append((given[0], given[1], given[2], given[3]))
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)


def _assemble(spans: list[_Span], styles: list[_Style], boxes: np.ndarray) -> TextLayer:
    """Drop what is not displayed, clip the rest, and group it by line."""
    import numpy as np

    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    inside = ((centres >= 0) & (centres <= 1)).all(axis=1).tolist()
    rows = np.clip(boxes, 0.0, 1.0).tolist()
    lines: list[list[RawWord]] = []
    current, total, invisible, unmapped = -1, 0, 0, 0
    for span, style, (x0, y0, x1, y1), shown in zip(spans, styles, rows, inside, strict=True):
        if not shown:
            continue
        if span.line != current:
            lines.append([])
            current = span.line
        flags = style.flags | span.flags
        lines[-1].append(RawWord(span.text, x0, y0, x1, y1, style.size, flags))
        count = len(span.text)
        total += count
        invisible += count if flags & INVISIBLE else 0
        unmapped += count if flags & UNMAPPED else 0
    return TextLayer(
        tuple(map(tuple, lines)), total, invisible / max(total, 1), unmapped / max(total, 1)
    )
