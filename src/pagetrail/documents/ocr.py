"""Page image to words: OCR by rapidocr's detector and recogniser, all offline.

The recogniser costs nearly all the time, about in proportion to the pixels it sees. So each line is
read at its own width instead of being padded to its batch, and how a page lies is found out from a
few lines, which are read anyway when it lies upright.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ModelError
from ..ports import Reading
from ..types import Box, Word
from .recognise import Line, Recogniser, split_words

if TYPE_CHECKING:
    import numpy as np

__all__ = ["RapidReader"]

_DETECTOR = "PP-OCRv6_det_small.onnx"
_RECOGNISER = "PP-OCRv6_rec_small.onnx"
_SMALLEST = 8  # pixels a side below which nothing can be read
_LARGEST = 3200  # longest side that is looked at; larger pictures are reduced
_STRIP = 2.5  # height to width from which a picture is read in tiles
_SAMPLE = 4  # lines that tell which way up a page lies
_SURE = 0.9  # mean confidence of an upright sample
_MARGIN = 0.08
_SLACK = 0.08  # of the line's height, by which a word's box is made longer at both ends
_LOWEST = 0.5  # lines read with less confidence are noise


class _Found(NamedTuple):
    """A detected line: corner points clockwise from its top left, pixels, and its cut-out."""

    quad: np.ndarray
    crop: np.ndarray

    @property
    def is_tall(self) -> bool:
        """Whether the text runs down the page; its cut-out has been turned to the left then."""
        across, down = self._sides()
        # The rule by which rapidocr turns what it cuts out.
        return down >= 1.5 * max(across, 1)

    @property
    def runs_down(self) -> float:
        """How strongly the line runs up or down the page: its length by its height, else 0."""
        across, down = self._sides()
        one, two, _, four = self.quad
        # Corners of a long, slanting line are sorted by x, so its edges need not be level.
        step = two - one if across >= down else four - one
        ratio = max(across, down) / max(min(across, down), 1)
        return ratio if abs(step[1]) > abs(step[0]) else 0.0

    @property
    def runs_across(self) -> float:
        """How strongly the line runs across the page: its length by its height, else 0."""
        across, down = self._sides()
        return 0.0 if self.runs_down else max(across, down) / max(min(across, down), 1)

    def _sides(self) -> tuple[int, int]:
        """Return width and height of the cut-out before it was turned, pixels."""
        import numpy as np

        one, two, three, four = self.quad
        across = max(np.linalg.norm(one - two), np.linalg.norm(three - four))
        down = max(np.linalg.norm(one - four), np.linalg.norm(two - three))
        return int(across), int(down)


class RapidReader:
    """Reads pictures with the models that come inside the rapidocr package; thread-safe.

    Args:
        threads: Threads per model run.
        detector_side: Longest side, in pixels, of the picture in which lines are looked for.
    """

    def __init__(self, *, threads: int = 1, detector_side: int = 960) -> None:
        self._threads = threads
        self._side = detector_side
        self._lock = threading.Lock()
        self._engine: Any = None
        self._recogniser: Recogniser | None = None

    def read(self, image: np.ndarray) -> Reading:
        """Return the words of a picture.

        Args:
            image: uint8 RGB, ``[height, width, 3]``.

        Raises:
            ModelError: The models are missing from the installed package.
        """
        if image.ndim != 3 or min(image.shape[:2]) < _SMALLEST:
            return Reading(())
        with self._lock:
            self._build()
            turn, lines = self._read(_reduced(image))
        weight = sum(len(line.text) for line in lines)
        sure = sum(line.confidence * len(line.text) for line in lines)
        return Reading(tuple(line.words for line in lines), turn, sure / weight if weight else 0.0)

    def _build(self) -> None:
        if self._engine is not None:
            return
        import cv2
        import rapidocr

        folder = Path(rapidocr.__file__).parent / "models"
        for name in (_DETECTOR, _RECOGNISER):
            # Given a missing file rapidocr would download it, which must never happen unasked.
            if not (folder / name).is_file():
                raise ModelError(f"rapidocr comes without {name}; reinstall rapidocr")
        cv2.setNumThreads(self._threads)
        self._engine = rapidocr.RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.use_cls": False,
                "Global.model_root_dir": str(folder),
                "Det.model_path": str(folder / _DETECTOR),
                "Det.limit_side_len": self._side,
                "Det.limit_type": "max",
                "EngineConfig.onnxruntime.intra_op_num_threads": self._threads,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )
        self._recogniser = Recogniser(folder / _RECOGNISER, threads=self._threads)

    def _read(self, image: np.ndarray) -> tuple[int, list[_ReadLine]]:
        import numpy as np

        found = self._detect(image)
        turn = 0
        if _lies_sideways(found):
            turn = 90
            image = np.ascontiguousarray(np.rot90(image, -1))
            found = self._detect(image)
        assert self._recogniser is not None
        height, width = image.shape[:2]
        known, flipped = self._which_way_up(found)
        if flipped:
            # The same lines seen from the other side; they need not be looked for again.
            turn += 180
            found = [_upended(item, width, height) for item in found]
        lines = []
        for place, item in enumerate(found):
            line = known.get(place) or self._recognise(item)
            if line.text.strip() and line.confidence >= _LOWEST:
                words = _words(line, item, turn, width, height)
                if words:
                    lines.append(_ReadLine(words, line.text, line.confidence))
        return turn, lines

    def _recognise(self, item: _Found) -> Line:
        """Read one line; one that runs down the page is tried both ways."""
        import numpy as np

        assert self._recogniser is not None
        line = self._recogniser.read(item.crop)
        if item.is_tall and line.confidence < _SURE:
            other = self._recogniser.read(np.ascontiguousarray(np.rot90(item.crop, 2)))
            if other.confidence > line.confidence:
                return other._replace(reverse=True)
        return line

    def _which_way_up(self, found: list[_Found]) -> tuple[dict[int, Line], bool]:
        """Read a few lines, and again upside down when they make little sense.

        Returns:
            The lines read by their place, and whether the page stands on its head.
        """
        import numpy as np

        assert self._recogniser is not None
        level = [i for i, item in enumerate(found) if not item.is_tall]
        # Neither stubs nor whole lines: words enough to judge, cheap enough to read twice.
        level.sort(key=lambda i: abs(found[i].crop.shape[1] / found[i].crop.shape[0] - 8))
        sample = level[:_SAMPLE]
        known = {i: self._recogniser.read(found[i].crop) for i in sample}
        if not known or _confidence(list(known.values())) >= _SURE:
            return known, False
        other = {
            i: self._recogniser.read(np.ascontiguousarray(np.rot90(found[i].crop, 2)))
            for i in sample
        }
        upright, upended = (_confidence(list(lines.values())) for lines in (known, other))
        return (other, True) if upended > upright + _MARGIN else (known, False)

    def _detect(self, image: np.ndarray) -> list[_Found]:
        """Find lines; a long strip is looked at in tiles, since reduced it could not be read."""
        import numpy as np

        height, width = image.shape[:2]
        across = width > height
        long, short = max(height, width), min(height, width)
        if long <= _STRIP * short:
            return self._detect_tile(image)
        tile, shared = int(1.5 * max(short, 320)), 160
        found: list[_Found] = []
        start = 0
        while True:
            end = min(start + tile, long)
            part = image[:, start:end] if across else image[start:end]
            low = start + shared / 2 if start else 0
            high = end - shared / 2 if end < long else long
            for item in self._detect_tile(np.ascontiguousarray(part)):
                quad = item.quad + ([start, 0] if across else [0, start])
                centre = quad[:, 0 if across else 1].mean()
                # A line in the overlap is seen twice; the tile it lies deeper in keeps it.
                if low <= centre < high:
                    found.append(_Found(quad.astype(np.float32), item.crop))
            if end == long:
                return found
            start = end - shared

    def _detect_tile(self, image: np.ndarray) -> list[_Found]:
        import numpy as np
        from rapidocr.main import RapidOCRError

        operations: dict[str, Any] = {}
        try:
            crops, result = self._engine.detect_and_crop(image, operations)
        except RapidOCRError:  # its way of saying that there is no text
            return []
        shift = operations.get("padding_1", {"left": 0, "top": 0})
        quads = np.asarray(result.boxes, dtype=np.float32) - [shift["left"], shift["top"]]
        return [
            _Found(quad.astype(np.float32), crop)
            for quad, crop in zip(quads, crops, strict=True)
            if min(crop.shape[:2]) >= 2
        ]


class _ReadLine(NamedTuple):
    """A line with its words placed on the picture as given."""

    words: tuple[Word, ...]
    text: str
    confidence: float


def _reduced(image: np.ndarray) -> np.ndarray:
    """Return the picture in the channel order of the models (BGR), reduced when it is huge."""
    import cv2
    import numpy as np

    height, width = image.shape[:2]
    # Of a long strip the short side counts, since it is read in tiles.
    side = min(max(height, width), _STRIP * min(height, width))
    if side > _LARGEST:
        factor = _LARGEST / side
        size = (max(1, int(width * factor)), max(1, int(height * factor)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(image[:, :, ::-1])


def _lies_sideways(found: list[_Found]) -> bool:
    """Return whether most text runs down the page, weighted by how long the lines are."""
    down = sum(item.runs_down for item in found if item.runs_down >= 2)
    across = sum(item.runs_across for item in found if item.runs_across >= 2)
    return down > 1.5 * across


def _upended(item: _Found, width: int, height: int) -> _Found:
    """Return a line as it stands on the picture turned by 180 degrees."""
    import numpy as np

    quad = np.array([width, height], dtype=np.float32) - item.quad[[2, 3, 0, 1]]
    return _Found(quad, np.ascontiguousarray(np.rot90(item.crop, 2)))


def _confidence(lines: list[Line]) -> float:
    """Return the mean confidence of lines, weighted by their characters."""
    weight = sum(len(line.text) for line in lines)
    return sum(line.confidence * len(line.text) for line in lines) / weight if weight else 0.0


def _words(line: Line, item: _Found, turn: int, width: int, height: int) -> tuple[Word, ...]:
    """Place a line's words on the picture as given, in fractions of it."""
    words = []
    for text, start, end in split_words(line):
        slack = _SLACK * line.height
        reach = max(0.0, start - slack), min(1.0, end + slack)
        corners = _stretch(item, *reach, reverse=line.reverse)
        x0, y0 = corners[:, 0].min() / width, corners[:, 1].min() / height
        x1, y1 = corners[:, 0].max() / width, corners[:, 1].max() / height
        words.append(Word(text, _turned_back(x0, y0, x1, y1, turn)))
    return tuple(words)


def _stretch(item: _Found, start: float, end: float, *, reverse: bool) -> np.ndarray:
    """Return the corners of a stretch of a line, given as fractions of its length."""
    import numpy as np

    if reverse:
        start, end = 1 - end, 1 - start
    one, two, three, four = item.quad
    if item.is_tall:  # the line runs from the top edge to the bottom edge
        near, far = (one, four), (two, three)
    else:
        near, far = (one, two), (four, three)
    return np.stack([a + (b - a) * part for a, b in (near, far) for part in (start, end)])


def _turned_back(x0: float, y0: float, x1: float, y1: float, turn: int) -> Box:
    """Return a box of the upright picture on the picture as given; all in fractions."""
    x0, y0, x1, y1 = (min(1.0, max(0.0, float(v))) for v in (x0, y0, x1, y1))
    if turn == 90:
        return Box(y0, 1 - x1, y1, 1 - x0)
    if turn == 180:
        return Box(1 - x1, 1 - y1, 1 - x0, 1 - y0)
    if turn == 270:
        return Box(1 - y1, x0, 1 - y0, x1)
    return Box(x0, y0, x1, y1)
