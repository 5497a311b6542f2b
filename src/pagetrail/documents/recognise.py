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
_LAG = 0.0  # from the start of a step to the middle of the character it names, in steps
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
        reverse: It was read from the far end of the cut-out.
    """

    text: str
    centres: tuple[float, ...]
    confidence: float
    height: float = 0.0
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
        (steps,) = self._session.run(None, {self._input: pixels})[0]
        best = steps.argmax(axis=1)
        # Greedy CTC: repeats are one character, class 0 is the blank between them.
        kept = best > 0
        kept[1:] &= best[1:] != best[:-1]
        places = np.flatnonzero(kept)
        if not len(places):
            return Line("", (), 0.0)
        text = "".join(self._characters[i] for i in best[places])
        centres = np.clip((places + _LAG) * _STRIDE / width, 0.0, 1.0)
        confidence = float(steps[places, best[places]].mean())
        return Line(text, tuple(centres.tolist()), confidence, _HEIGHT / width)


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
            edge, after = centres[index], index + 1
        elif (
            index > first
            and usual
            and centres[index] - centres[index - 1] > lost
            and _spaced(text[index - 1])
            and _spaced(text[index])
        ):
            edge = (centres[index] + centres[index - 1]) / 2
        if edge is not None:
            if text[first:index].strip():
                yield text[first:index].strip(), start, edge
            first, start = after, edge


def _usual_step(line: Line) -> float:
    """Return the usual distance between neighbouring characters; 0 when too few to tell."""
    pairs = zip(line.centres, line.centres[1:], line.text, line.text[1:], strict=False)
    steps = sorted(b - a for a, b, c, d in pairs if not c.isspace() and not d.isspace())
    return steps[len(steps) // 2] if len(steps) >= 4 else 0.0


def _spaced(character: str) -> bool:
    """Return whether a character belongs to writing that puts spaces between words."""
    return ord(character) < 0x2E80 or character in "€™"
