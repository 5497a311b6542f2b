"""The integer by which indexes name a page.

A page's key is ``document serial << 20 | page number``. Serials are never used twice, so a key
that an index still holds after its document was removed can never come to mean another page, and
whoever has the key knows the document and the number without a look-up.
"""

from __future__ import annotations

__all__ = ["MAX_PAGES", "NUMBER_BITS", "key_range", "page_key", "split_key"]

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
