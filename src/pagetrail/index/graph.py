"""The page graph: where each page leads, kept in the catalogue and read in microseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import Edge, page_id
from .keys import split_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .catalogue import Catalogue, View

__all__ = ["PageGraph"]


class PageGraph:
    """Reads the edges of pages; safe to share between threads."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def neighbours(
        self, keys: Sequence[int], view: View, documents: frozenset[int] | None = None
    ) -> dict[int, list[Edge]]:
        """Return where pages lead, by key, in order of kind, then weight, then page id.

        Args:
            keys: Page keys; every one has an entry in the result.
            view: Decides what may be seen.
            documents: Serials of the documents that edges may lead to; None for all.
        """
        found: dict[int, list[Edge]] = {}
        for key in keys:
            serial, number = split_key(key)
            document = view.ids.get(serial)
            found[key] = []
            if document is None or (documents is not None and serial not in documents):
                continue
            rows = self._catalogue.rows(
                "SELECT key FROM pages WHERE key IN (?, ?) ORDER BY key DESC", (key - 1, key + 1)
            )
            for (other,) in rows:
                after = other > key
                found[key].append(
                    Edge(
                        page_id(document, number + (1 if after else -1)),
                        "next" if after else "previous",
                        1.0,
                        "the next page" if after else "the page before",
                    )
                )
        return found
