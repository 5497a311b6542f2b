"""PDF files through PDFium: pages, pictures, outline, links; the one door to that library.

PDFium keeps process-wide state and is not safe to call from two threads, so everything here holds
one lock; parallel work is done in processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import threading
import unicodedata
from typing import TYPE_CHECKING, Any, Self

from ..errors import DamagedError, PageError, PasswordError
from ..types import OutlineEntry
from .forms import field_lines
from .layer import Frame, read_layer
from .links import page_links
from .pixels import pixel_size
from .raw import RawPage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    import numpy as np

__all__ = ["LOCK", "PdfFile"]

LOCK = threading.RLock()
_SILENCE = logging.NullHandler()

_HEADER_REACH = 1024  # PDFium looks this far for the header; further garbage is cut off here
_GARBAGE_REACH = 1 << 20
_MAX_OUTLINE = 20_000
_MAX_DEPTH = 32
_MAX_TITLE = 500
_PLENTY = 400  # with as many visible characters pictures are not measured
_MAX_OBJECTS = 20_000
_COVER_GRID = 64


class PdfFile:
    """An open PDF; a context manager. Page numbers are 1-based.

    Args:
        path: Where the bytes are.
        source: The path as the user gave it, for messages.
        passwords: Tried in order after none.

    Raises:
        PasswordError: It is encrypted and no given password opens it.
        DamagedError: PDFium cannot make sense of it.
    """

    def __init__(self, path: Path, source: str, passwords: Sequence[str] = ()) -> None:
        import pypdfium2

        self._source = source
        # Its warnings about odd files would reach a terminal that nobody has set up to log.
        logging.getLogger("pypdfium2").addHandler(_SILENCE)
        with LOCK:
            handle, self._held = _open(path, source, passwords)
            self._pdf = pypdfium2.PdfDocument(handle)
            # Forms have to be known before the first page is touched, or their values stay unseen.
            with contextlib.suppress(pypdfium2.PdfiumError):
                self._pdf.init_forms()
            self.page_count = len(self._pdf)
            self.metadata = _metadata(self._pdf)
        if self.page_count < 1:
            self.close()
            raise DamagedError(source, "the PDF holds no page that can be found")
        self.title = self.metadata.pop("title", "")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the document; it cannot be used afterwards."""
        with LOCK:
            self._pdf.close()

    @property
    def outline(self) -> tuple[OutlineEntry, ...]:
        """The table of contents in the order shown; cycles and endless ones are cut."""
        with LOCK:
            return tuple(_outline(self._pdf))

    def label(self, number: int) -> str | None:
        """Return the printed label of a page, None when it is the number itself or absent."""
        with LOCK:
            try:
                label = _tidy(self._pdf.get_page_label(number - 1))
            except (OSError, ValueError):
                return None
        return label if label and label != str(number) else None

    def read(self, number: int) -> RawPage:
        """Return the text layer and what is known about the page.

        Raises:
            PageError: The page object is missing or damaged.
        """
        with LOCK:
            page = self._load(number)
            try:
                return self._read(page, number)
            finally:
                page.close()

    def image(self, number: int, *, dpi: float, max_pixels: int) -> np.ndarray:
        """Return the page as displayed, uint8 RGB ``[height, width, 3]``, white where empty.

        Never larger than ``max_pixels`` and never smaller than one pixel a side.

        Raises:
            PageError: The page object is missing or damaged.
        """
        with LOCK:
            page = self._load(number)
            try:
                frame = _frame(page)
                size = pixel_size(frame.width, frame.height, dpi, max_pixels)
                return _draw(page, self._pdf.formenv, size)
            finally:
                page.close()

    def _load(self, number: int) -> Any:
        import pypdfium2

        if not 1 <= number <= self.page_count:
            raise PageError(self._source, number, f"the file has {self.page_count} pages")
        try:
            return self._pdf[number - 1]
        except pypdfium2.PdfiumError as error:
            raise PageError(
                self._source, number, "the page is damaged and cannot be loaded"
            ) from error

    def _read(self, page: Any, number: int) -> RawPage:
        frame = _frame(page)
        textpage = page.get_textpage()
        try:
            layer = read_layer(_address(textpage.raw), frame)
        finally:
            textpage.close()
        lines = layer.lines
        if self._pdf.formenv:
            lines += tuple(field_lines(page.raw, self._pdf.formenv.raw, frame))
        visible = layer.characters * (1 - layer.invisible_share)
        cover, other = (None, True) if visible >= _PLENTY else _cover(page, frame)
        return RawPage(
            number=number,
            width=frame.width,
            height=frame.height,
            rotation=frame.rotation,
            label=self.label(number),
            lines=lines,
            links=tuple(page_links(self._pdf, page, frame)),
            image_cover=cover,
            invisible_share=layer.invisible_share,
            unmapped_share=layer.unmapped_share,
            has_paths=other,
        )


# --- opening -------------------------------------------------------------------------------------


def _open(path: Path, source: str, passwords: Sequence[str]) -> tuple[Any, bytes]:
    """Return a document handle and the bytes that must outlive it (empty when read from disk)."""
    import pypdfium2.raw as pdfium

    with path.open("rb") as stream:
        head = stream.read(_GARBAGE_REACH)
        start = head.find(b"%PDF-")
        data = head[start:] + stream.read() if start > _HEADER_REACH else b""
    name = os.fsencode(path) + b"\0"
    encrypted = False
    for password in [None, *_spellings(passwords)]:
        if data:
            handle = pdfium.FPDF_LoadMemDocument64(data, len(data), password)
        else:
            handle = pdfium.FPDF_LoadDocument(name, password)
        if handle:
            return handle, data
        code = pdfium.FPDF_GetLastError()
        if code != pdfium.FPDF_ERR_PASSWORD:
            raise DamagedError(source, _fault(pdfium, code))
        encrypted = True
    if encrypted and passwords:
        raise PasswordError(source, "encrypted, and none of the given passwords opens it")
    raise PasswordError(source, "encrypted: give the password that opens it")


def _fault(pdfium: Any, code: int) -> str:
    if code == pdfium.FPDF_ERR_SECURITY:
        return "encrypted in a way that cannot be read; save it without protection"
    return "not a readable PDF: damaged or cut off; open and save it again in another program"


def _spellings(passwords: Sequence[str]) -> list[bytes]:
    """Return each password as the bytes that files of different ages were locked with."""
    spelled: dict[bytes, None] = {}
    for password in passwords:
        if not password or "\0" in password:
            continue
        for form in (password, *(unicodedata.normalize(f, password) for f in ("NFC", "NFKC"))):
            spelled[form.encode("utf-8", "surrogateescape") + b"\0"] = None
            spelled[form.encode("latin-1", "ignore") + b"\0"] = None
    spelled.pop(b"\0", None)
    return list(spelled)


def _metadata(pdf: Any) -> dict[str, str]:
    pairs = ((key, _tidy(_text(pdf.get_metadata_value, key))) for key in pdf.METADATA_KEYS)
    return {_snake(key): value for key, value in pairs if value}


def _snake(key: str) -> str:
    """``CreationDate`` to ``creation_date``."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in key).lstrip("_")


def _text(ask: Any, *arguments: object) -> str:
    try:
        return str(ask(*arguments))
    except (UnicodeDecodeError, ValueError):
        return ""


def _tidy(text: str) -> str:
    """Return one clean line of at most 500 characters."""
    kept = (c if unicodedata.category(c)[0] != "C" else " " for c in text[: 4 * _MAX_TITLE])
    return " ".join("".join(kept).split())[:_MAX_TITLE]


def _address(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


# --- outline ---------------------------------------------------------------------------


def _outline(pdf: Any) -> Iterator[OutlineEntry]:
    """Walk the bookmarks depth first; each object is entered once, so cycles end."""
    import pypdfium2.raw as pdfium

    document, seen = pdf.raw, set[int]()
    # The stack holds, per level, the next bookmark to visit there.
    stack = [pdfium.FPDFBookmark_GetFirstChild(document, None)]
    while stack and len(seen) < _MAX_OUTLINE:
        mark = stack[-1]
        address = _address(mark)
        if not address or address in seen:
            stack.pop()
            continue
        seen.add(address)
        stack[-1] = pdfium.FPDFBookmark_GetNextSibling(document, mark)
        title = _tidy(_bookmark_title(pdfium, mark))
        if title:
            target = pdfium.FPDFBookmark_GetDest(document, mark)
            number = pdfium.FPDFDest_GetDestPageIndex(document, target) + 1 if target else 0
            yield OutlineEntry(title, len(stack), max(number, 0))
        if len(stack) < _MAX_DEPTH:
            stack.append(pdfium.FPDFBookmark_GetFirstChild(document, mark))


def _bookmark_title(pdfium: Any, mark: Any) -> str:
    size = pdfium.FPDFBookmark_GetTitle(mark, None, 0)
    if size < 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFBookmark_GetTitle(mark, buffer, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")


# --- geometry, pictures --------------------------------------------------------------------------


def _frame(page: Any) -> Frame:
    left, bottom, right, top = page.get_bbox()
    return Frame(left, bottom, right, top, page.get_rotation())


def _draw(page: Any, forms: Any, size: tuple[int, int]) -> np.ndarray:
    """Render onto white at exactly ``size`` (width, height), annotations and forms included."""
    import numpy as np
    import pypdfium2.raw as pdfium

    width, height = size
    pixels = np.full((height, width, 4), 255, dtype=np.uint8)
    bitmap = pdfium.FPDFBitmap_CreateEx(
        width, height, pdfium.FPDFBitmap_BGRx, pixels.ctypes.data, width * 4
    )
    if not bitmap:
        raise MemoryError(f"no memory for a picture of {width} x {height} pixels")
    try:
        flags = pdfium.FPDF_ANNOT | pdfium.FPDF_REVERSE_BYTE_ORDER
        where = (0, 0, width, height, 0)
        pdfium.FPDF_RenderPageBitmap(bitmap, page.raw, *where, flags)
        if forms:
            pdfium.FPDF_FFLDraw(forms.raw, bitmap, page.raw, *where, flags)
    finally:
        pdfium.FPDFBitmap_Destroy(bitmap)
    return np.ascontiguousarray(pixels[:, :, :3])


def _cover(page: Any, frame: Frame) -> tuple[float, bool]:
    """Return the share of the page under pictures, and whether anything but text is drawn."""
    import numpy as np
    import pypdfium2

    grid = np.zeros((_COVER_GRID, _COVER_GRID), dtype=bool)
    other = False
    rects = []
    for index, item in enumerate(page.get_objects(max_depth=3)):
        kind = item.type
        other = other or kind != pypdfium2.raw.FPDF_PAGEOBJ_TEXT
        if kind == pypdfium2.raw.FPDF_PAGEOBJ_IMAGE:
            try:
                rects.append(_placed(item))
            except pypdfium2.PdfiumError:
                continue
        if index >= _MAX_OBJECTS:
            break
    if rects:
        boxes = np.clip(frame.boxes(np.nan_to_num(np.array(rects, dtype=np.float64))), 0.0, 1.0)
        cells = np.stack(
            [np.floor(boxes[:, :2] * _COVER_GRID), np.ceil(boxes[:, 2:] * _COVER_GRID)]
        )
        for (x0, y0), (x1, y1) in cells.transpose(1, 0, 2).astype(int).tolist():
            grid[y0:y1, x0:x1] = True
    return float(grid.mean()), other


def _placed(item: Any) -> tuple[float, float, float, float]:
    """Return an object's bounds in page space, also where it stands in nested forms."""
    left, bottom, right, top = item.get_bounds()
    corners = [(left, bottom), (right, bottom), (left, top), (right, top)]
    container = item.container
    while container is not None:
        matrix = container.get_matrix()
        corners = [matrix.on_point(x, y) for x, y in corners]
        container = container.container
    across, up = zip(*corners, strict=True)
    return min(across), min(up), max(across), max(up)
