"""One line's picture to characters and where each stands: the recogniser behind `ocr`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np

__all__ = ["Line", "Recogniser", "split_words"]

_HEIGHT = 48  # pixels, fixed by the model
_STRIDE = 8  # pixels of width per step of its output
_RIM = 5  # pixels
_FAINT = 0.35  # of a line's usual contrast: less is no ink
_PADDING = 16  # grey pixels behind the line; cut off sharply, last characters are lost
_NARROWEST = 64
_WIDEST = 6400
# White space the recogniser passed over: a step of so many usual ones and so much wider.
_LOST_STEPS = 2.5
_LOST_HEIGHTS = 0.6


class Line(NamedTuple):
    """A line as read.

    Attributes:
        text: Its characters, spaces included.
        centres: Where each character stands, in fractions of the line's length.
        confidence: Mean probability of its characters, 0..1; 0 when nothing was read.
        height: Its height in fractions of its length.
        gaps: Where nothing is drawn: start and end of each empty stretch, in the same fractions.
        reverse: It was read from the far end of the cut-out.
    """

    text: str
    centres: tuple[float, ...]
    confidence: float
    height: float = 0.0
    gaps: tuple[tuple[float, float], ...] = ()
    reverse: bool = False


class Recogniser:
    """The text recogniser of PP-OCRv6: picture in, most likely character per step out.

    Args:
        path: ONNX file whose metadata hold the characters, one per line.
        threads: Threads per run.
    """

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        # Lines come in many widths; an arena would keep room for the widest of each.
        options.enable_cpu_mem_arena = False
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self._input = self._session.get_inputs()[0].name
        characters = self._session.get_modelmeta().custom_metadata_map["character"].split("\n")
        if characters and not characters[-1]:
            characters.pop()
        self._characters = ["", *characters, " "]

    def read(self, crop: np.ndarray) -> Line:
        """Read one line.

        Args:
            crop: uint8 BGR, ``[height, width, 3]``, text running from left to right.
        """
        import numpy as np

        pixels, width = _normalise(crop)
        gaps = _gaps(pixels[0, 1, :, :width])
        (steps,) = self._session.run(None, {self._input: pixels})[0]
        best = steps.argmax(axis=1)
        # Greedy CTC: repeats are one character, class 0 is the blank between them.
        kept = best > 0
        kept[1:] &= best[1:] != best[:-1]
        places = np.flatnonzero(kept)
        if not len(places):
            return Line("", (), 0.0)
        text = "".join(self._characters[i] for i in best[places])
        centres = np.minimum(places * _STRIDE / width, 1.0)
        confidence = float(steps[places, best[places]].mean())
        return Line(text, tuple(centres.tolist()), confidence, _HEIGHT / width, gaps)


def _gaps(picture: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return the empty stretches of a line's picture, one channel ``[48, width]``."""
    import numpy as np

    # The rim shows tails of the neighbouring lines.
    contrast = np.ptp(picture[_RIM:-_RIM], axis=0)
    empty = contrast < _FAINT * np.percentile(contrast, 90)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], empty, [0])))) / max(len(empty), 1)
    return tuple((float(a), float(b)) for a, b in edges.reshape(-1, 2))


def _normalise(crop: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the model's input, float32 ``[1, 3, 48, w]`` in -1..1, and the width of the line."""
    import cv2
    import numpy as np

    height, width = crop.shape[:2]
    width = min(max(1, math.ceil(width * _HEIGHT / height)), _WIDEST)
    padded = -(-max(width + _PADDING, _NARROWEST) // _STRIDE) * _STRIDE
    pixels = np.zeros((1, 3, _HEIGHT, padded), dtype=np.float32)
    resized = cv2.resize(crop, (width, _HEIGHT)).astype(np.float32)
    pixels[0, :, :, :width] = resized.transpose(2, 0, 1) / 127.5 - 1
    return pixels, width


def split_words(line: Line) -> Iterator[tuple[str, float, float]]:
    """Yield each word with its start and end in fractions of the line's length.

    Words part at spaces and where the recogniser dropped one: at a step much wider than usual
    between characters of writing that has spaces. A word reaches into the space around it.
    """
    text, centres = line.text, line.centres
    usual = _usual_step(line)
    lost = max(_LOST_STEPS * usual, usual + _LOST_HEIGHTS * line.height)
    start = 0.0
    first = 0
    for index in range(len(text) + 1):
        if index == len(text):
            if text[first:].strip():
                yield text[first:].strip(), start, 1.0
            return
        edge: float | None = None
        after = index
        if text[index].isspace():
            edge, after = _snapped(line, centres[index]), index + 1
        elif (
            index > first
            and usual
            and centres[index] - centres[index - 1] > lost
            and _spaced(text[index - 1])
            and _spaced(text[index])
        ):
            edge = _snapped(line, (centres[index] + centres[index - 1]) / 2)
        if edge is not None:
            if text[first:index].strip():
                yield text[first:index].strip(), start, edge
            first, start = after, edge


def _snapped(line: Line, place: float) -> float:
    """Return the middle of the white space nearest to a place between two words.

    The model names a character up to a step early or late; the picture knows better.
    """
    reach = 0.5 * line.height
    best, worth = place, 0.0
    for start, end in line.gaps:
        middle = (start + end) / 2
        away = max(0.0, start - place, place - end)
        if away < reach and start > 0 and end < 1 and end - start - 0.3 * away > worth:
            best, worth = middle, end - start - 0.3 * away
    return best


def _usual_step(line: Line) -> float:
    """Return the usual distance between neighbouring characters; 0 when too few to tell."""
    pairs = zip(line.centres, line.centres[1:], line.text, line.text[1:], strict=False)
    steps = sorted(b - a for a, b, c, d in pairs if not c.isspace() and not d.isspace())
    return steps[len(steps) // 2] if len(steps) >= 4 else 0.0


def _spaced(character: str) -> bool:
    """Return whether a character belongs to writing that puts spaces between words."""
    return ord(character) < 0x2E80 or character in "€™"
