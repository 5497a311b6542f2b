"""A fake encoder of pictures, and the contract that every encoder of pictures keeps."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from ..ports import ImageEncoder, ImageQueries, QueryVariants
from ..types import Grid, Vectors
from .rules import rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

__all__ = ["PatchEncoder", "check_image_encoder"]

require = rules("an encoder of pictures")

_COLOURS = {
    "black": (0, 0, 0),
    "white": (255, 255, 255),
    "grey": (128, 128, 128),
    "red": (220, 30, 30),
    "green": (30, 160, 60),
    "blue": (30, 60, 200),
    "yellow": (250, 220, 40),
    "orange": (245, 140, 30),
    "purple": (140, 50, 170),
    "brown": (120, 75, 35),
}
_WORDS = 22  # further numbers, where words that name no colour go
_SIDE = 4  # patches along each side of a picture


class PatchEncoder:
    """A fake `ImageEncoder` that sees colours; no model, no state.

    A picture is cut into 4 x 4 patches. A patch's vector holds, for each of ten colours, the share
    of its pixels that are nearest to that colour, scaled to unit length; a picture's vector is made
    from the mean of the shares. A question finds pictures by the colours that it names (``red``,
    ``the blue box``): one number is set for each colour. Any other word goes to one of 22 further
    numbers by its hash, where pictures have nothing, so it scores 0 with every picture.

    Args:
        late: Keep one vector per patch, with a grid, and one per word of a question.
        name: What it calls itself.
        revision: Of which revision it says it is.
        pool: With ``late``: merge patches row by row, so many at a time, as pooling would.
    """

    dimension = len(_COLOURS) + _WORDS
    pixels = 65_536

    def __init__(
        self, *, late: bool = False, name: str = "patches", revision: str = "1", pool: int = 1
    ) -> None:
        if not 1 <= pool <= _SIDE * _SIDE:
            raise ValueError(f"pool must be between 1 and {_SIDE * _SIDE}, not {pool}")
        self.late, self.name, self.revision, self.pool = late, name, revision, pool

    @property
    def settings(self) -> Mapping[str, str]:
        """``pool`` where it merges patches."""
        return {"pool": str(self.pool)} if self.late and self.pool > 1 else {}

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, or one per word when late."""
        import numpy as np

        words = [re.findall(r"\w+", text.lower())[:64] or [""] for text in texts]
        if self.late:
            return self._vectors([[self._word(w) for w in item] for item in words])
        return self._vectors([[np.sum([self._word(w) for w in item], axis=0)] for item in words])

    def encode_images(self, images: Sequence[np.ndarray]) -> Vectors:
        """Return one vector per picture, or one per patch when late."""
        import numpy as np

        patches = [self._patches(image) for image in images]
        if not self.late:
            return self._vectors([[shares.mean(axis=0)] for shares in patches])
        owners = np.arange(_SIDE * _SIDE, dtype=np.int32) // self.pool
        pooled = [
            [shares[owners == owner].mean(axis=0) for owner in range(int(owners[-1]) + 1)]
            for shares in patches
        ]
        return self._vectors(pooled, tuple(Grid(_SIDE, _SIDE, owners.copy()) for _ in images))

    def encode_image_queries(self, images: Sequence[np.ndarray]) -> Vectors:
        """Return what `encode_images` returns, without grids."""
        found = self.encode_images(images)
        return Vectors(found.data, found.offsets, found.model, found.revision)

    def _patches(self, image: np.ndarray) -> np.ndarray:
        """Return per patch the share of each colour, ``[16, dimension]``."""
        import numpy as np

        height, width = image.shape[:2]
        palette = np.array(list(_COLOURS.values()), np.int32)
        shares = np.zeros((_SIDE * _SIDE, self.dimension))
        for place in range(_SIDE * _SIDE):
            row, column = divmod(place, _SIDE)
            top, left = row * height // _SIDE, column * width // _SIDE
            bottom = max(top + 1, (row + 1) * height // _SIDE)
            right = max(left + 1, (column + 1) * width // _SIDE)
            # A sixteenth of the pixels tells as much, and tests run on slow machines.
            step = 4 if min(bottom - top, right - left) >= 16 else 1
            pixels = image[top:bottom:step, left:right:step].reshape(-1, 1, 3).astype(np.int32)
            nearest = ((pixels - palette) ** 2).sum(axis=2).argmin(axis=1)
            shares[place, : len(palette)] = np.bincount(nearest, minlength=len(palette))
            shares[place] /= shares[place].sum()
        return shares

    def _word(self, word: str) -> np.ndarray:
        import numpy as np

        vector = np.zeros(self.dimension)
        if word in _COLOURS:
            vector[list(_COLOURS).index(word)] = 1
        else:
            digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=2).digest()
            vector[len(_COLOURS) + int.from_bytes(digest, "little") % _WORDS] = 1
        return vector

    def _vectors(self, items: list[list[np.ndarray]], grids: tuple[Grid, ...] = ()) -> Vectors:
        import numpy as np

        rows = [row / np.linalg.norm(row) for item in items for row in item]
        data = np.array(rows, np.float32).reshape(len(rows), self.dimension)
        offsets = np.cumsum([0, *map(len, items)], dtype=np.int64)
        return Vectors(data, offsets, self.name, self.revision, grids)


_TEXTS = (
    "Which page shows a red box?",
    "How much was paid in 2019?",
    "",
    " \n\t",
    "\x00\x07",
    "\ud800 lone surrogate",
    "橋は1932年に開通した。",
    "e\u0301" * 300,
    "x" * 5000,
    "the same word " * 100,
)


def check_image_encoder(encoder: ImageEncoder, *, tolerance: float = 1e-3) -> None:
    """Check that an encoder keeps to the contract of `ports.ImageEncoder`, and of further powers.

    Args:
        encoder: What to check; some dozens of texts and pictures are encoded.
        tolerance: Most by which a cosine may differ from 1 between a picture alone and the same
            picture in a batch.

    Raises:
        AssertionError: A rule is broken; the message names it.
    """
    require(isinstance(encoder, ImageEncoder), "has the attributes and methods of its Protocol")
    require(bool(encoder.name) and bool(encoder.revision), "has a name and a revision")
    require(encoder.dimension > 0, "has a positive dimension")
    require(encoder.pixels > 0, "says how many pixels it can make use of")
    settings = dict(encoder.settings)
    strings = all(isinstance(part, str) for pair in settings.items() for part in pair)
    require(strings, "describes its settings by strings")
    _check_texts(encoder, tolerance)
    _check_pictures(encoder, tolerance)
    if isinstance(encoder, ImageQueries):
        _well_formed(encoder, encoder.encode_image_queries([]), 0)
        _well_formed(encoder, encoder.encode_image_queries(_pictures()[:2]), 2)
    if isinstance(encoder, QueryVariants):
        require(bool(encoder.variants), "names its variants")
        for variant in encoder.variants:
            _well_formed(encoder, encoder.encode_queries_as(variant, []), 0)
            _well_formed(encoder, encoder.encode_queries_as(variant, _TEXTS[:3]), 3)


def _check_texts(encoder: ImageEncoder, tolerance: float) -> None:
    _well_formed(encoder, encoder.encode_queries([]), 0)
    together = encoder.encode_queries(_TEXTS)
    _well_formed(encoder, together, len(_TEXTS))
    alone = [encoder.encode_queries([text]) for text in _TEXTS]
    _agree(together, alone, tolerance, "gives a text the same vectors alone and among others")
    require(not _same(alone[0], alone[1], tolerance), "tells different texts apart")
    backwards = encoder.encode_queries(_TEXTS[::-1])
    _agree(backwards, alone[::-1], tolerance, "keeps the order of the texts")


def _check_pictures(encoder: ImageEncoder, tolerance: float) -> None:
    images = _pictures()
    _well_formed(encoder, encoder.encode_images([]), 0)
    together = encoder.encode_images(images)
    _well_formed(encoder, together, len(images))
    _check_grids(together)
    alone = [encoder.encode_images([image]) for image in images]
    _agree(together, alone, tolerance, "gives a picture the same vectors alone and among others")
    require(not _same(alone[0], alone[1], tolerance), "tells different pictures apart")
    backwards = encoder.encode_images(images[::-1])
    _agree(backwards, alone[::-1], tolerance, "keeps the order of the pictures")
    _check_grids(backwards)


def _check_grids(vectors: Vectors) -> None:
    import numpy as np

    if not vectors.grids:
        return
    require(len(vectors.grids) == len(vectors), "gives a grid to every picture or to none")
    for grid, count in zip(vectors.grids, np.diff(vectors.offsets).tolist(), strict=True):
        require(grid.rows > 0 and grid.columns > 0, "gives grids with rows and columns")
        require(grid.cells.dtype == np.int32, "gives grids of int32")
        require(grid.cells.shape == (grid.rows * grid.columns,), "gives grids [rows * columns]")
        low, high = int(grid.cells.min()), int(grid.cells.max())
        require(low >= -1 and high < count, "points from its grids at the picture's own vectors")
        # Models that also look at the page as a whole have vectors that stand for no patch.
        used = len(np.unique(grid.cells[grid.cells >= 0]))
        require(2 * used >= count, "has a place on the grid for most of a picture's vectors")


def _well_formed(encoder: ImageEncoder, vectors: Vectors, items: int) -> None:
    import numpy as np

    data, offsets = vectors.data, vectors.offsets
    require(data.dtype == np.float32 and offsets.dtype == np.int64, "returns float32 and int64")
    require(data.ndim == 2 and data.shape[1] == encoder.dimension, "returns [rows, dimension]")
    require(len(offsets) == items + 1 and offsets[0] == 0, "returns one more offset than items")
    require(int(offsets[-1]) == len(data), "returns offsets that end at the number of rows")
    require(bool((np.diff(offsets) > 0).all()), "gives every item a vector")
    require(vectors.model == encoder.name, "signs vectors with its name")
    require(vectors.revision == encoder.revision, "signs vectors with its revision")
    lengths = np.linalg.norm(data, axis=1)
    require(bool(np.all(np.abs(lengths - 1) < 1e-3)), "returns finite vectors of unit length")


def _agree(together: Vectors, alone: Sequence[Vectors], tolerance: float, rule: str) -> None:
    for item, single in enumerate(alone):
        first, last = together.offsets[item], together.offsets[item + 1]
        part = Vectors(together.data[first:last], single.offsets, single.model, single.revision)
        require(_same(part, single, tolerance), rule)


def _same(left: Vectors, right: Vectors, tolerance: float) -> bool:
    if left.data.shape != right.data.shape:
        return False
    return bool(((left.data * right.data).sum(axis=1) > 1 - tolerance).all())


def _pictures() -> list[np.ndarray]:
    """Return pictures of a page's shape and of odd shapes."""
    import numpy as np

    noise = np.random.default_rng(7)
    page = np.full((280, 200, 3), 255, np.uint8)
    page[40:120, 30:150] = _COLOURS["red"]
    lines = np.full((280, 200, 3), 255, np.uint8)
    lines[::7] = 0
    grey = np.repeat(noise.integers(0, 256, (120, 90, 1), np.uint8), 3, axis=2)
    return [
        page,
        lines,
        np.full((64, 64, 3), 255, np.uint8),
        grey,
        noise.integers(0, 256, (97, 211, 3), np.uint8),
        np.zeros((1, 1, 3), np.uint8),
        noise.integers(0, 256, (3000, 10, 3), np.uint8),
        noise.integers(0, 256, (10, 3000, 3), np.uint8),
    ]
