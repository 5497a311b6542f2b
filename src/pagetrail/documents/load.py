"""Files to pages: find them, tell what they are, open them, read page by page."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..errors import LimitError, NotFoundError
from ..types import Page
from .images import ImageFile
from .office import convert
from .plain import HEIGHT, WIDTH, PlainFile
from .quality import assess
from .raw import RawPage
from .references import find_references
from .render import PdfFile
from .sniff import sniff
from .structure import build_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np

    from ..config import DocumentSettings
    from ..ports import TextReader
    from ..types import OutlineEntry

__all__ = ["Source", "find_files", "open_source"]

_SWITCHED_OFF = "This page has to be read from its picture, and reading pictures is switched off."


class Source(Protocol):
    """An open document. Page numbers are 1-based; only one thread may use it at a time.

    Attributes:
        caveat: Why only a part of the file is offered, one line; empty when all of it is.
    """

    @property
    def page_count(self) -> int: ...

    @property
    def title(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, str]: ...

    @property
    def caveat(self) -> str: ...

    @property
    def outline(self) -> tuple[OutlineEntry, ...]: ...

    def page(self, document: str, number: int, reader: TextReader | None) -> Page:
        """Read one page; ``reader`` is asked when its text layer cannot be used.

        Raises:
            PageError: The page cannot be read; the others can.
        """
        ...

    def image(self, number: int, *, dpi: float, max_pixels: int) -> np.ndarray:
        """Return the page as displayed, uint8 RGB ``[height, width, 3]``.

        Raises:
            PageError: The page cannot be drawn.
        """
        ...


def find_files(paths: Iterable[Path | str]) -> Iterator[Path]:
    """Yield the files named and those in the folders named, in the order of their names.

    Hidden files and folders, and what is neither file nor folder, are passed over in folders;
    links are followed, a folder is entered once. What a file is, is not looked at here.

    Raises:
        NotFoundError: A path does not exist.
    """
    entered: set[tuple[int, int]] = set()
    for path in map(Path, paths):
        if path.is_dir():
            yield from _walk(path, entered)
        elif os.path.lexists(path):
            yield path
        else:
            raise NotFoundError(f"{path}: there is no such file or folder")


def _walk(folder: Path, entered: set[tuple[int, int]]) -> Iterator[Path]:
    stack = [folder]
    while stack:
        path = stack.pop()
        try:
            if path.is_dir():
                state = path.stat()
                if (state.st_dev, state.st_ino) in entered:
                    continue
                entered.add((state.st_dev, state.st_ino))
                names = sorted(name for name in os.listdir(path) if not name.startswith("."))
                stack.extend(path / name for name in reversed(names))
            elif path.is_file() or not path.exists():
                yield path  # a link to nothing is told when it is opened
        except OSError:
            # A folder that cannot be looked into is told as well, not passed over.
            yield path


@contextmanager
def open_source(
    path: Path,
    source: str,
    *,
    settings: DocumentSettings,
    passwords: Sequence[str] = (),
    scratch: Path | None = None,
    converting: Callable[[], None] = lambda: None,
) -> Iterator[Source]:
    """Open a file of any kind that is read.

    Args:
        path: Where the bytes are.
        source: The path as the user gave it, for messages.
        settings: Limits and resolution.
        passwords: Tried in order when the file is encrypted.
        scratch: Folder that keeps a conversion for the next opening; None uses a passing one.
        converting: Called before another program converts the file, which may take long.

    Raises:
        DocumentError: The file cannot be read, and why.
    """
    kind = sniff(path, source)
    size = path.stat().st_size
    if size > settings.max_file_bytes:
        raise LimitError(source, f"the file has {size} bytes, over the limit of max_file_bytes")
    with ExitStack() as stack:
        if kind.family == "office":
            if scratch is None:
                scratch = Path(stack.enter_context(tempfile.TemporaryDirectory("-pagetrail")))
            converting()
            seconds = settings.office_seconds
            path = convert(path, source, kind.format, folder=scratch, seconds=seconds)
        if kind.family == "image":
            yield _Picture(stack.enter_context(ImageFile(path, source)))
        elif kind.family == "text":
            yield _Plain(stack.enter_context(PlainFile(path, source, kind.format)))
        else:
            yield _Pdf(stack.enter_context(PdfFile(path, source, passwords)), settings)


class _Pdf:
    """Pages with a text layer, a picture, or both."""

    def __init__(self, file: PdfFile, settings: DocumentSettings) -> None:
        self._file, self._settings = file, settings
        self.page_count, self.title, self.metadata = file.page_count, file.title, file.metadata
        self.caveat = ""

    @property
    def outline(self) -> tuple[OutlineEntry, ...]:
        return self._file.outline

    def page(self, document: str, number: int, reader: TextReader | None) -> Page:
        def picture() -> np.ndarray:
            return self.image(number, dpi=self._settings.dpi, max_pixels=self._settings.max_pixels)

        return _read(document, self._file.read(number), picture, reader)

    def image(self, number: int, *, dpi: float, max_pixels: int) -> np.ndarray:
        return self._file.image(number, dpi=dpi, max_pixels=max_pixels)


class _Picture:
    """Frames of a picture file; all their text comes from OCR."""

    def __init__(self, file: ImageFile) -> None:
        self._file = file
        self.page_count, self.title, self.metadata = file.page_count, file.title, file.metadata
        self.caveat = file.caveat

    @property
    def outline(self) -> tuple[OutlineEntry, ...]:
        return self._file.outline

    def page(self, document: str, number: int, reader: TextReader | None) -> Page:
        width, height = self._file.size(number)
        raw = RawPage(number, width, height, image_cover=1.0)
        # Decoded even when there is no reader: a frame that cannot be seen is not read.
        picture = self._file.image(number)
        page = _read(document, raw, lambda: picture, reader)
        if self._file.notes:
            self.caveat = self._file.notes[0]
            page = replace(page, notes=page.notes + self._file.notes)
        return page

    def image(self, number: int, *, dpi: float, max_pixels: int) -> np.ndarray:
        return self._file.image(number, dpi=dpi, max_pixels=max_pixels)


class _Plain:
    """Text laid out by us: blocks are known, nothing has to be found again."""

    def __init__(self, file: PlainFile) -> None:
        self._file = file
        self.page_count, self.title, self.metadata = file.page_count, file.title, file.metadata
        self.caveat = file.caveat
        self.outline = file.outline

    def page(self, document: str, number: int, reader: TextReader | None) -> Page:
        del reader
        blocks = self._file.blocks(number)
        return Page(
            document=document,
            number=number,
            width=WIDTH,
            height=HEIGHT,
            text_source="layer" if blocks else "none",
            blocks=blocks,
            references=find_references(blocks),
        )

    def image(self, number: int, *, dpi: float, max_pixels: int) -> np.ndarray:
        return self._file.image(number, dpi=dpi, max_pixels=max_pixels)


def _read(
    document: str, raw: RawPage, picture: Callable[[], np.ndarray], reader: TextReader | None
) -> Page:
    """Judge the text layer, ask for OCR where it does not serve, and put the page together."""
    verdict = assess(raw)
    reading = None
    if verdict.needs_ocr and reader is not None:
        pixels = picture()
        # A page of one colour holds nothing to read.
        if pixels.min() != pixels.max():
            reading = reader.read(pixels)
    page = build_page(
        document=document,
        number=raw.number,
        label=raw.label,
        width=raw.width,
        height=raw.height,
        lines=raw.lines,
        ocr=reading,
        verdict=verdict,
        links=raw.links,
    )
    if verdict.needs_ocr and reader is None and not page.blocks:
        page = replace(page, notes=(*page.notes, _SWITCHED_OFF))
    return page
