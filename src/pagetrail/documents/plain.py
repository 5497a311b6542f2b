"""Markdown and plain text as pages: one grid gives both the word boxes and the picture.

Words stand on a fixed grid, so pages are the same on every machine, whatever fonts it has; the
picture fits each word into its box.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..errors import PageError
from ..types import Block, Box, OutlineEntry, Word
from .pieces import COLUMNS, Piece, from_markdown, from_text, looks_like_markdown
from .pixels import pixel_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    import numpy as np

__all__ = ["HEIGHT", "WIDTH", "PlainFile"]

WIDTH, HEIGHT = 595.0, 842.0  # A4, points
_MARGIN = 50.0
_CELL = (WIDTH - 2 * _MARGIN) / COLUMNS
_LINE = 14.0
_GAP = 7.0  # between pieces
_LETTERS = 0.8  # of a line's height is the word's box
_MAX_BYTES = 20_000_000
_MARKDOWN_BYTES = 2_000_000  # beyond this Markdown is read as plain text
_FONTS = ("DejaVuSansMono.ttf", "LiberationMono-Regular.ttf", "Menlo.ttc", "consola.ttf")
_WIDE_FONTS = ("NotoSansCJK-Regular.ttc", "DejaVuSans.ttf", "Arial Unicode.ttf", "msgothic.ttc")


class _Strip(NamedTuple):
    """Rows of a piece that stand on one page, the first of them at height ``y`` in points."""

    piece: Piece
    first: int
    end: int
    y: float


class PlainFile:
    """An open text file; a context manager. Page numbers are 1-based.

    Args:
        path: Where the bytes are.
        source: The path as the user gave it, for messages.
        encoding: As told by `sniff`.
    """

    def __init__(self, path: Path, source: str, encoding: str) -> None:
        self._source = source
        with path.open("rb") as stream:
            data = stream.read(_MAX_BYTES)
            cut = bool(stream.read(1))
        text = data.decode(encoding, "replace")
        named = path.suffix.lower() in (".md", ".markdown")
        marked = len(data) <= _MARKDOWN_BYTES and (named or looks_like_markdown(text))
        self._pages = list(_paginated(from_markdown(text) if marked else from_text(text)))
        self.page_count = len(self._pages)
        self.caveat = f"only the first {_MAX_BYTES // 1_000_000} MB are read" if cut else ""
        self.metadata: dict[str, str] = {}
        self.outline = tuple(self._headings())
        self.title = next((e.title for e in self.outline if e.level == 1), "")

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
        """Forget the text."""
        self._pages.clear()

    def blocks(self, number: int) -> tuple[Block, ...]:
        """Return the page's blocks in reading order, with the boxes that `image` draws into."""
        blocks: list[Block] = []
        for strip in self._strips(number):
            words: list[Word] = []
            breaks: list[int] = []
            for run_starts, placed in _placed(strip):
                if run_starts and words:
                    breaks.append(len(words))
                words.extend(placed)
            if words:
                piece = strip.piece
                block = Block.of(
                    words, kind=piece.kind, order=len(blocks), breaks=breaks, level=piece.level
                )
                blocks.append(block)
        return tuple(blocks)

    def image(self, number: int, *, dpi: float, max_pixels: int) -> np.ndarray:
        """Draw the page, uint8 RGB ``[height, width, 3]``, black on white."""
        import numpy as np
        from PIL import Image, ImageDraw

        size = pixel_size(WIDTH, HEIGHT, dpi, max_pixels)
        picture = Image.new("RGB", size, "white")
        pen, fonts = ImageDraw.Draw(picture), _Fonts()
        for strip in self._strips(number):
            for _, words in _placed(strip):
                for word in words:
                    _write(pen, fonts, word, size)
        return np.asarray(picture)

    def _strips(self, number: int) -> list[_Strip]:
        if not 1 <= number <= self.page_count:
            raise PageError(self._source, number, f"the file has {self.page_count} pages")
        return self._pages[number - 1]

    def _headings(self) -> Iterator[OutlineEntry]:
        found = (
            OutlineEntry(strip.piece.text[:500], strip.piece.level, number)
            for number, page in enumerate(self._pages, 1)
            for strip in page
            if strip.piece.level and strip.first == 0
        )
        yield from islice(found, 20_000)


def _paginated(pieces: Iterable[Piece]) -> Iterator[list[_Strip]]:
    """Fill pages top down; a piece that does not fit runs on, a heading moves as a whole."""
    bottom = HEIGHT - _MARGIN
    page: list[_Strip] = []
    y = _MARGIN
    for piece in pieces:
        line = _LINE * piece.scale
        if page:
            y += _GAP * piece.scale
        needed = line * (piece.rows + 2 if piece.level else 1)
        if page and (piece.new_page or y + min(needed, bottom - _MARGIN) > bottom):
            yield page
            page, y = [], _MARGIN
        first = 0
        while first < piece.rows:
            fitting = int((bottom - y) / line + 1e-6)
            end = min(piece.rows, first + max(fitting, 0 if page else 1))
            if end > first:
                page.append(_Strip(piece, first, end, y))
                y += line * (end - first)
                first = end
            if first < piece.rows:
                yield page
                page, y = [], _MARGIN
    yield page  # an empty file is one empty page


def _placed(strip: _Strip) -> Iterator[tuple[bool, list[Word]]]:
    """Yield, run by run, whether it starts a line or cell, and its words with boxes."""
    scale = strip.piece.scale
    line, cell = _LINE * scale, _CELL * scale
    for run in strip.piece.runs:
        if not strip.first <= run.row < strip.end:
            continue
        top = strip.y + (run.row - strip.first) * line + line * (1 - _LETTERS) / 2
        y0, y1 = top / HEIGHT, min(1.0, (top + line * _LETTERS) / HEIGHT)
        words = []
        for text, at, width in run.words():
            x0 = (_MARGIN + at * cell) / WIDTH
            x1 = min(1.0, (_MARGIN + (at + width) * cell) / WIDTH)
            words.append(Word(text, Box(min(x0, 0.999), y0, x1, y1)))
        yield run.starts or run.row == strip.first, words


class _Fonts:
    """Fonts by size and need; the first that the machine has, else Pillow's own."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], Any] = {}

    def get(self, size: int, *, wide: bool) -> Any:
        """Return a font of about ``size`` pixels; ``wide`` for characters beyond Latin."""
        if (size, wide) not in self._known:
            self._known[size, wide] = self._load(size, (*_WIDE_FONTS, *_FONTS) if wide else _FONTS)
        return self._known[size, wide]

    @staticmethod
    def _load(size: int, names: Iterable[str]) -> Any:
        from PIL import ImageFont

        for name in names:
            try:
                return ImageFont.truetype(name, size)
            except OSError:
                continue
        return ImageFont.load_default(size)


def _write(pen: Any, fonts: _Fonts, word: Word, size: tuple[int, int]) -> None:
    """Draw a word so that all of it stays inside its box."""
    width, height = size
    x0, y0 = word.box.x0 * width, word.box.y0 * height
    room, tall = (word.box.x1 * width) - x0, (word.box.y1 * height) - y0
    wide = max(word.text) > "\u024f"
    letters = max(1, int(tall * 0.85))
    font = fonts.get(letters, wide=wide)
    left, top, right, bottom = font.getbbox(word.text)
    over = max((right - left) / max(room, 1), (bottom - top) / max(tall, 1))
    if over > 1 and letters > 1:
        font = fonts.get(max(1, int(letters / over)), wide=wide)
        left, top, right, bottom = font.getbbox(word.text)
    # One common baseline per line, unless the word would leave its box.
    ascent = fonts.get(letters, wide=wide).getmetrics()[0]
    y = y0 + tall * 0.78 - ascent if over <= 1 else y0 - top
    y = min(max(y, y0 - top), y0 + tall - bottom) if bottom - top <= tall else y0 - top
    pen.text((x0 - left, y), word.text, font=font, fill="black")
