"""Links of a PDF page: to pages of its document, and to other files by their names alone."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ..types import Box, Link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .layer import Frame

__all__ = ["file_address", "file_name", "page_links"]

_MAX_LINKS = 2_000
_MAX_ADDRESS = 4096  # bytes
_LONGEST = 255  # characters of a file name
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_PAGE = re.compile(r"(?:^|&)page=(\d{1,6})(?:&|$)")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,5}$")


def page_links(pdf: Any, page: Any, frame: Frame) -> Iterator[Link]:
    """Yield the links of a page that lead to a page of its document or to another file.

    Runs under `render.LOCK`.

    Args:
        pdf: An open `pypdfium2.PdfDocument`.
        page: One of its pages.
        frame: How the page is displayed.
    """
    import numpy as np
    import pypdfium2.raw as pdfium

    if pdfium.FPDFPage_GetAnnotCount(page.raw) <= 0:
        return
    place, link, rect = ctypes.c_int(0), pdfium.FPDF_LINK(), pdfium.FS_RECTF()
    found: list[tuple[tuple[float, ...], int, str]] = []
    for _ in range(_MAX_LINKS):
        if not pdfium.FPDFLink_Enumerate(page.raw, place, link):
            break
        target, file = _target(pdfium, pdf.raw, link)
        if (target or file) and pdfium.FPDFLink_GetAnnotRect(link, rect):
            found.append(((rect.left, rect.bottom, rect.right, rect.top), target, file))
    if not found:
        return
    rects = np.nan_to_num(np.array([rect for rect, _, _ in found], dtype=np.float64))
    boxes = np.clip(frame.boxes(rects), 0.0, 1.0).tolist()
    for box, (_, target, file) in zip(boxes, found, strict=True):
        yield Link(Box(*box), target, file)


def _target(pdfium: Any, document: Any, link: Any) -> tuple[int, str]:
    """Return the 1-based page a link leads to (0: none) and the other file's name (or nothing)."""
    # Asked for its destination, a link to another file answers with a page of this one.
    action = pdfium.FPDFLink_GetAction(link)
    kind = pdfium.FPDFAction_GetType(action) if action else None
    if kind in (pdfium.PDFACTION_REMOTEGOTO, pdfium.PDFACTION_LAUNCH):
        file = file_name(_string(pdfium.FPDFAction_GetFilePath, action))
        if kind == pdfium.PDFACTION_LAUNCH or not file:
            return 0, file
        return _page_elsewhere(pdfium, action), file
    if kind == pdfium.PDFACTION_URI:
        return file_address(_string(pdfium.FPDFAction_GetURIPath, document, action))
    return _page_of(pdfium, document, pdfium.FPDFLink_GetDest(document, link)), ""


def _page_of(pdfium: Any, document: Any, goal: Any) -> int:
    number = pdfium.FPDFDest_GetDestPageIndex(document, goal) + 1 if goal else 0
    return max(number, 0)


def _page_elsewhere(pdfium: Any, action: Any) -> int:
    """Return the page of another file that an action names by number, 0 when by anything else.

    An empty document stands in for that file: names, which are not known here, lead nowhere in it.
    """
    empty = pdfium.FPDF_CreateNewDocument()
    if not empty:
        return 0
    try:
        return _page_of(pdfium, empty, pdfium.FPDFAction_GetDest(empty, action))
    finally:
        pdfium.FPDF_CloseDocument(empty)


def _string(ask: Any, *arguments: Any) -> str:
    """Return what a PDFium function writes into a buffer, at most 4,096 bytes."""
    size = min(ask(*arguments, None, 0), _MAX_ADDRESS)
    if size < 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    ask(*arguments, buffer, size)
    return buffer.raw[: size - 1].decode("utf-8", "replace")


def file_name(path: str) -> str:
    """Return the last part of a path of any system; empty when it has none.

    >>> file_name("..\\\\reports\\\\2020.pdf"), file_name("docs/")
    ('2020.pdf', '')
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    clean = "".join(c for c in name if unicodedata.category(c)[0] != "C").strip()
    return clean[:_LONGEST] if clean.strip(".") else ""


def file_address(address: str) -> tuple[int, str]:
    """Return page (0: none named) and file name of an address beside the document.

    Addresses with a host, such as those of the web, and fragments of the document itself lead to
    no file.

    >>> file_address("other%20report.pdf#page=4"), file_address("https://example.org/a.pdf")
    ((4, 'other report.pdf'), (0, ''))
    """
    path, _, fragment = address.strip().partition("#")
    if path.lower().startswith("file:"):
        path = path[5:]
    elif _SCHEME.match(path) or path.startswith("//") or "?" in path:
        return 0, ""
    name = file_name(unquote(path))
    # An address without a suffix is a name within a web site, not a file.
    if not _SUFFIX.search(name):
        return 0, ""
    page = _PAGE.search(fragment)
    return (int(page[1]) if page else 0), name
