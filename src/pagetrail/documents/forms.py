"""What was filled into a PDF's form fields; text layers do not hold it.

Values are placed inside their fields' rectangles, left to right; where exactly a viewer draws each
letter is not told by the file. Every function here runs under `render.LOCK`.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from .raw import RawWord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .layer import Frame

__all__ = ["field_lines"]

_MAX_FIELDS = 2_000
_MAX_BYTES = 20_000
_USUAL_SIZE = 12.0  # points, of a letter in a field that leaves it open
_LETTER = 0.55  # width of an average letter, in sizes


def field_lines(page: Any, forms: Any, frame: Frame) -> Iterator[tuple[RawWord, ...]]:
    """Yield the rows of words in the page's visible text and choice fields.

    Args:
        page: An open page of a document whose form environment is ``forms``.
        forms: The environment's raw handle.
        frame: How the page is displayed.
    """
    import pypdfium2.raw as pdfium

    kinds = (
        pdfium.FPDF_FORMFIELD_TEXTFIELD,
        pdfium.FPDF_FORMFIELD_COMBOBOX,
        pdfium.FPDF_FORMFIELD_LISTBOX,
    )
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_FIELDS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            if pdfium.FPDFAnnot_GetSubtype(annotation) != pdfium.FPDF_ANNOT_WIDGET:
                continue
            unseen = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
            if pdfium.FPDFAnnot_GetFlags(annotation) & unseen:
                continue
            if pdfium.FPDFAnnot_GetFormFieldType(forms, annotation) in kinds:
                yield from _rows(
                    _value(pdfium, forms, annotation), _rect(pdfium, annotation), frame
                )
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _value(pdfium: Any, forms: Any, annotation: Any) -> str:
    size = pdfium.FPDFAnnot_GetFormFieldValue(forms, annotation, None, 0)
    if not 2 < size <= _MAX_BYTES:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    pdfium.FPDFAnnot_GetFormFieldValue(forms, annotation, buffer, size)
    return bytes(buffer)[: size - 2].decode("utf-16-le", "ignore")


def _rect(pdfium: Any, annotation: Any) -> tuple[float, float, float, float]:
    rect = pdfium.FS_RECTF()
    pdfium.FPDFAnnot_GetRect(annotation, rect)
    return rect.left, rect.bottom, rect.right, rect.top


def _rows(
    value: str, rect: tuple[float, float, float, float], frame: Frame
) -> Iterator[tuple[RawWord, ...]]:
    """Share the field's rectangle out among the rows of its value, and each row among words."""
    import numpy as np

    rows = [row.split() for row in value.splitlines() if row.split()]
    box = frame.boxes(np.nan_to_num(np.array([rect], dtype=np.float64)))[0].tolist()
    x0, y0, x1, y1 = (min(1.0, max(0.0, edge)) for edge in box)
    if not rows or x1 <= x0 or y1 <= y0:
        return
    tall = (y1 - y0) / len(rows)
    size = min(_USUAL_SIZE, 0.75 * tall * frame.height)
    for place, words in enumerate(rows):
        letters = sum(map(len, words)) + len(words) - 1
        step = min((x1 - x0) / letters, _LETTER * size / max(frame.width, 1e-9))
        top, at, line = y0 + place * tall, x0, list[RawWord]()
        for word in words:
            end = at + step * len(word)
            line.append(RawWord(word, at, top, min(end, x1), top + tall, size))
            at = end + step
        yield tuple(line)
