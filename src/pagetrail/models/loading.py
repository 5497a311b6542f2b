"""What chat models and cross-encoders on this machine share: their names, and pictures for them."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from typing import Any

from ..errors import ModelError
from ..weights import fingerprint, need, translated

__all__ = ["folder_of", "open_picture", "revision_of"]

_COMMIT = re.compile(r"[0-9a-f]{40}")
_MOST_RATIO = 150  # some processors refuse pictures beyond 200 times as long as wide
_LEAST_SIDE = 28  # and some those smaller than a patch
_LARGEST = 80_000_000  # pixels of a picture that is opened; PIL itself warns above 89 million


def folder_of(model: str) -> Path | None:
    """Return the folder that a model is loaded from; None for a name on the hub."""
    path = Path(model).expanduser()
    looks = model.startswith(("/", "./", "../", "~")) or model in (".", "..")
    try:
        return path if looks or path.is_dir() else None
    except OSError:
        return None


def revision_of(model: str, revision: str) -> str:
    """Return the hub's commit of a model, or the `fingerprint` of its folder.

    For a branch or tag the commit is asked of the hub, or of its cache here when the hub is out of
    reach; weights are not loaded.

    Raises:
        ModelError: There is no such model.
        MissingExtraError: The extra ``local`` is not installed.
    """
    folder = folder_of(model)
    if folder is not None:
        if not folder.is_dir():
            raise ModelError(f"{model}: there is no such folder")
        return fingerprint(folder)
    if _COMMIT.fullmatch(revision):
        return revision
    hub = need("transformers.utils.hub", "transformers")
    with translated(model, hub=True):
        found = hub.cached_file(model, "config.json", revision=revision or None)
        # In the hub's cache a file stands under .../snapshots/<commit>/.
        commit = hub.extract_commit_hash(str(found), None)
    return str(commit or revision or "unknown")


def open_picture(data: bytes, pixels: int | None) -> Any:
    """Return a picture as RGB, scaled down to so many pixels, and not too thin for a processor.

    Args:
        data: Bytes of a PNG, JPEG or the like.
        pixels: Most pixels; None: as it comes.

    Raises:
        ModelError: It cannot be opened, or is too large to be.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as opened:
            width, height = opened.size
            if width * height > _LARGEST:
                raise ModelError(f"a picture of {width} x {height} pixels is too large")
            image = opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ModelError("a picture for the model cannot be opened; give PNG or JPEG") from error
    if pixels is not None and width * height > pixels:
        scale = math.sqrt(pixels / (width * height))
        size = max(1, int(width * scale)), max(1, int(height * scale))
        image = image.resize(size, Image.Resampling.LANCZOS)
    width, height = image.size
    least = max(_LEAST_SIDE, -(-max(width, height) // _MOST_RATIO))
    if min(width, height) < least:
        padded = Image.new("RGB", (max(width, least), max(height, least)), "white")
        padded.paste(image)
        image = padded
    return image
