"""Is it still the same model? Vectors of a fixed question and a fixed picture, kept and compared.

Names and revisions say what a model claims to be. What it does may change without them: a processor
with another size, a library that reads a config differently, a projection filled at random. The
vectors of one question and one picture notice all of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..ports import ImageEncoder

if TYPE_CHECKING:
    from ..ports import Encoder

__all__ = ["TOLERANCE", "check_probe", "probe", "probe_picture"]

PROBE_TEXT = "Which page shows the total revenue for 2019?"

TOLERANCE = 0.02
"""Most by which a probe's cosine may differ from 1.

Half precision, another device or another batch move a vector a little: bfloat16 keeps 8 bits, an
error of .4 % per number, which averages out over hundreds of numbers but adds up over layers. On
models of two layers it costs 1e-5 to 2e-4, and the two ways in which transformers resizes a picture
up to 1e-5; deep models are left a hundred times that. Another checkpoint, a missing projection or
another size of picture gives .1 to 1.
"""

_MOST_VECTORS = 64  # of the picture; spread evenly, so that a moved grid shows
_CELL = 14


def probe_picture() -> np.ndarray:
    """Return the fixed picture, uint8 RGB ``[448, 336, 3]``: stripes, colours and a gradient."""
    rows, columns = np.mgrid[0:448, 0:336]
    picture = np.full((448, 336, 3), 255, np.uint8)
    stripes = (rows // _CELL % 3 == 0) & (columns > 40) & (columns < 300) & (rows < 200)
    picture[stripes] = (32, 32, 32)
    picture[240:330, 40:160] = (200, 30, 30)
    picture[270:330, 190:300] = (20, 90, 200)
    shade = (columns[350:430, 40:300] * 255 // 336).astype(np.uint8)
    picture[350:430, 40:300] = shade[:, :, None]
    return picture


def probe(encoder: ImageEncoder | Encoder) -> np.ndarray:
    """Return the vectors of the fixed question and picture, float32 ``[n, dimension]``.

    The question's come first; of an encoder of text they are all. Of an encoder with many vectors
    per picture at most 64 are taken.

    Raises:
        ModelError: The model cannot encode them.
    """
    return np.concatenate(_halves(encoder))


def check_probe(encoder: ImageEncoder | Encoder, stored: np.ndarray) -> None:
    """Check that an encoder still gives what it gave when a library was built with it.

    The mean cosine must lie within `TOLERANCE` of 1, for the question's vectors and for the
    picture's. Pooled vectors are means over patches that clustering put together: a patch on a
    border may change sides and renumber the rest, so each is compared with its nearest.

    Raises:
        ModelError: It does not: another model, other settings, or missing weights.
    """
    question, picture = _halves(encoder)
    stored = np.asarray(stored, np.float32)
    advice = (
        "use the model and settings that the library was built with, or drop it and add it anew"
    )
    if stored.ndim != 2 or stored.shape[1] != question.shape[1]:
        raise ModelError(
            f"{encoder.name} gives {question.shape[1]} numbers per vector, the library was built "
            f"with {stored.shape[-1]}; {advice}"
        )
    agreement = _agreement(stored[: len(question)], question, nearest=False)
    if isinstance(encoder, ImageEncoder):
        pooled = encoder.settings.get("pool", "1") != "1"
        seen = _agreement(stored[len(question) :], picture, nearest=pooled)
        agreement = float(np.minimum(agreement, seen))  # one that is no number stays so
    if not agreement >= 1 - TOLERANCE:  # what is no number agrees with nothing
        raise ModelError(
            f"{encoder.name} is not the model that the library was built with: its vectors agree "
            f"only to {agreement:.3f} (cosine; {1 - TOLERANCE:.2f} is needed); {advice}"
        )


def _halves(encoder: ImageEncoder | Encoder) -> tuple[np.ndarray, np.ndarray]:
    question = encoder.encode_queries([PROBE_TEXT]).data
    if not isinstance(encoder, ImageEncoder):
        return question.astype(np.float32), np.empty((0, question.shape[1]), np.float32)
    picture = encoder.encode_images([probe_picture()]).data
    places = np.linspace(0, len(picture) - 1, min(len(picture), _MOST_VECTORS)).astype(np.int64)
    return question.astype(np.float32), picture[places].astype(np.float32)


def _agreement(stored: np.ndarray, now: np.ndarray, *, nearest: bool) -> float:
    """Return the mean cosine of two sets of unit vectors; 0 when their numbers differ."""
    if not len(stored) or not len(now):
        return 0.0
    cosines = stored @ now.T
    if nearest:
        return float(cosines.max(axis=1).mean())
    return float(np.diagonal(cosines).mean()) if len(stored) == len(now) else 0.0
