"""A fake text encoder, and the contract that every text encoder keeps."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from ..ports import Encoder
from ..types import Vectors
from .corpus import tiny_pages
from .rules import rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from ..types import Page

__all__ = ["HashEncoder", "check_encoder"]

require = rules("an encoder")


class HashEncoder:
    """A fake `Encoder`: texts that share words are near, nothing else; no model, no state.

    Each lower-case word adds +1 or -1 to one of 64 places chosen by its hash; the sum is scaled to
    unit length. A page has one vector per block.
    """

    name = "hash"
    revision = "1"
    dimension = 64

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text."""
        return self._vectors([[text] for text in texts])

    def encode_pages(self, pages: Sequence[Page]) -> Vectors:
        """Return one vector per block; none for a page without words."""
        return self._vectors([[block.text for block in page.blocks] for page in pages])

    def _vectors(self, items: list[list[str]]) -> Vectors:
        import numpy as np

        rows = [self._vector(text) for item in items for text in item]
        data = np.array(rows, np.float32).reshape(len(rows), self.dimension)
        offsets = np.cumsum([0, *map(len, items)], dtype=np.int64)
        return Vectors(data, offsets, self.name, self.revision)

    def _vector(self, text: str) -> np.ndarray:
        import numpy as np

        vector = np.zeros(self.dimension)
        for word in re.findall(r"\w+", text.lower()):
            code = int.from_bytes(
                hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little"
            )
            vector[code % self.dimension] += 1 if code >> 63 else -1
        length = float(np.linalg.norm(vector))
        if length == 0:  # no words, or words that cancel out
            vector[0] = length = 1.0
        return vector / length


_ODD_TEXTS = (
    "",
    " \n\t",
    "?",
    "\x00\x07",
    "\ud800 lone surrogate",
    "橋は1932年に開通した。",
    "\u202eمتى افتتح الجسر؟",
    "e\u0301" * 300,
    "x" * 5000,
    "the same word " * 2000,
)


def check_encoder(encoder: Encoder, *, reads_text: bool = True) -> None:
    """Check that an encoder keeps to the contract of `ports.Encoder`.

    Args:
        encoder: What to check; a few dozen short texts and pages are encoded.
        reads_text: It encodes pages by their words, so that a page's own sentence must find the
            page. Switch off for encoders that need page images, whose pages are then not encoded.

    Raises:
        AssertionError: A rule is broken; the message names it.
    """
    require(isinstance(encoder, Encoder), "has the attributes and methods of ports.Encoder")
    require(bool(encoder.name) and bool(encoder.revision), "has a name and a revision")
    require(encoder.dimension > 0, "has a positive dimension")
    _check_queries(encoder)
    if reads_text:
        _check_pages(encoder)


def _check_queries(encoder: Encoder) -> None:
    import numpy as np

    texts = ["When does the last ferry leave?", "How many kilograms of tomatoes?", *_ODD_TEXTS]
    _well_formed(encoder, encoder.encode_queries([]), [0])
    together = encoder.encode_queries(texts)
    _well_formed(encoder, together, [1] * len(texts))
    again = encoder.encode_queries(tuple(texts))
    require(np.array_equal(together.data, again.data), "gives the same vectors for the same texts")
    backwards = encoder.encode_queries(texts[::-1]).data[::-1]
    require(_same(together.data, backwards), "keeps the order of the texts")
    alone = np.concatenate([encoder.encode_queries([text]).data for text in texts])
    require(_same(together.data, alone), "gives a text the same vector alone and among others")
    require(not _same(together.data[:1], together.data[1:2]), "tells different texts apart")


def _check_pages(encoder: Encoder) -> None:
    import numpy as np

    pages = tiny_pages()
    _well_formed(encoder, encoder.encode_pages([]), [0])
    together = encoder.encode_pages(pages)
    counts = np.diff(together.offsets).tolist()
    _well_formed(encoder, together, counts)
    for page, count in zip(pages, counts, strict=True):
        require((count > 0) == bool(page.blocks), f"gives vectors to pages with words ({page.id})")
    alone = [encoder.encode_pages([page]) for page in pages]
    require([len(v.data) for v in alone] == counts, "cuts a page the same alone and among others")
    parts = np.concatenate([v.data for v in alone])
    require(_same(together.data, parts), "gives a page the same vectors alone and among others")
    for text, number in (
        ("The first boat leaves the harbour at 6.40 and the last one at 22.15", 4),
        ("Bicycles travel free of charge, and dogs pay half the price of a child.", 5),
    ):
        scores = together.data @ encoder.encode_queries([text]).data[0]
        best = int(np.searchsorted(together.offsets, int(scores.argmax()), side="right")) - 1
        require(best == number, f"finds {pages[number].id} by a sentence of its own")


def _well_formed(encoder: Encoder, vectors: Vectors, counts: list[int]) -> None:
    import numpy as np

    expected = np.cumsum([0, *counts]) if counts != [0] else np.zeros(1)
    rows = int(expected[-1])
    data, offsets = vectors.data, vectors.offsets
    require(data.dtype == np.float32 and offsets.dtype == np.int64, "returns float32 and int64")
    require(data.shape == (rows, encoder.dimension), "returns [rows, dimension]")
    require(np.array_equal(offsets, expected), "returns offsets from 0 to the number of rows")
    require(vectors.model == encoder.name, "signs vectors with its name")
    require(vectors.revision == encoder.revision, "signs vectors with its revision")
    lengths = np.linalg.norm(data, axis=1)
    require(bool(np.all(np.abs(lengths - 1) < 1e-3)), "returns finite vectors of unit length")


def _same(left: np.ndarray, right: np.ndarray) -> bool:
    return bool(((left * right).sum(axis=1) > 0.9999).all())
