"""The integer by which indexes name a page, and what every index hands back.

A page's key is ``document serial << 20 | page number``. Serials are never used twice, so a key
that an index still holds after its document was removed can never come to mean another page, and
whoever has the key knows the document and the number without a look-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["MAX_PAGES", "NUMBER_BITS", "Found", "key_range", "page_key", "split_key"]

NUMBER_BITS = 20
MAX_PAGES = (1 << NUMBER_BITS) - 1
"""Largest page number that a key can hold: 1,048,575."""


def page_key(serial: int, number: int) -> int:
    """Return the key of a page; ``number`` is 1-based and at most `MAX_PAGES`.

    >>> page_key(3, 7)
    3145735
    """
    return serial << NUMBER_BITS | number


def split_key(key: int) -> tuple[int, int]:
    """Return document serial and page number of a key.

    >>> split_key(3145735)
    (3, 7)
    """
    return key >> NUMBER_BITS, key & MAX_PAGES


def key_range(serial: int) -> tuple[int, int]:
    """Return the lowest and the highest key that a document's pages can have."""
    return serial << NUMBER_BITS, serial << NUMBER_BITS | MAX_PAGES


@dataclass(frozen=True, slots=True)
class Found:
    """What a channel found: pages, best first, none twice.

    Attributes:
        keys: int64, page keys.
        scores: float32, higher is better, comparable within one search.
        blocks: int32, order of the page's best block; -1 where the channel does not know it.
    """

    keys: np.ndarray
    scores: np.ndarray
    blocks: np.ndarray

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def nothing(cls) -> Found:
        """Return an empty result."""
        import numpy as np

        return cls(np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.int32))
