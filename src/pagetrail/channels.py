"""What a running pipeline may ask of a library: its channels, its pages, and nothing else.

Part of the composition root: `retrieve` knows channels by name only, `index` knows keys only; here
names and keys become hits with page ids, inside the caller's scope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .errors import NotFoundError
from .index.keys import split_key
from .ports import Found
from .types import page_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .index.catalogue import Catalogue
    from .index.lexical import Lexical
    from .index.segments import VectorIndex
    from .ports import Blend, Encoder
    from .retrieve.names import NameIndex
    from .retrieve.pointers import PointerSearch
    from .types import Page, Query, Scope, Verdict

__all__ = ["Channels"]


class Channels:
    """The channels of one library for one question; implements `ports.Resources`.

    One view of the catalogue is held throughout, so that what another process removes meanwhile
    cannot leave a key without its page.

    Args:
        catalogue: The truth; its view at construction decides what may be seen.
        lexical: Search by words.
        vectors: The built-in encoder's vectors.
        encoder: Encodes the question.
        pointers: Resolves what the question itself points at.
        names: Knows which documents a question names.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        lexical: Lexical,
        vectors: VectorIndex,
        encoder: Encoder,
        pointers: PointerSearch,
        names: NameIndex,
    ) -> None:
        self._catalogue = catalogue
        self._lexical = lexical
        self._vectors = vectors
        self._encoder = encoder
        self._pointers = pointers
        self._names = names
        self._view = catalogue.view()
        self._scopes: dict[Scope, frozenset[int] | None] = {}

    def find(self, channel: str, query: Query, limit: int) -> Found:
        """Return a channel's best pages within the query's scope.

        Raises:
            NotFoundError: There is no such channel.
        """
        ways: dict[str, Callable[[Query, int], Found]] = {
            "dense": self._dense,
            "pointer": self._pointed,
            "names": self._named,
        }
        if channel in ways:
            return ways[channel](query, limit)
        if channel in self._lexical.channels:
            documents = self._serials(query)
            return self._view.visible(
                self._lexical.search(query.text, channel, limit=limit, documents=documents)
            )
        known = ", ".join(sorted({*ways, *self._lexical.channels}))
        raise NotFoundError(f"no channel {channel!r} in this library; there are {known}")

    def blend(
        self, channels: Sequence[str], weights: Sequence[float], query: Query, limit: int
    ) -> Blend | None:
        """Return the best pages by the weighted sum of several channels of vectors."""
        del channels, weights, query, limit
        return None

    def rescore(self, channel: str, query: Query, keys: Sequence[int]) -> Found:
        """Return a vector channel's exact scores of the pages named."""
        del query, keys
        raise NotFoundError(f"no channel of vectors {channel!r} in this library")

    def judge(self, judge: str, query: Query, ids: Sequence[str]) -> Sequence[Verdict]:
        """Return a judge's verdicts on pages, in the order asked."""
        del query, ids
        raise NotFoundError(f"no judge {judge!r}")

    def page_ids(self, keys: Sequence[int]) -> Sequence[str]:
        """Return the ids of pages, in the order asked."""
        ids = self._view.ids
        return [page_id(ids[serial], number) for serial, number in map(split_key, keys)]

    def page_keys(self, ids: Sequence[str]) -> Sequence[int]:
        """Return the numbers of pages, in the order asked."""
        return self._catalogue.keys(ids)

    def page_total(self, query: Query) -> int:
        """Return the number of pages in the query's scope."""
        return self._catalogue.page_total(self._serials(query))

    def pages(self, ids: Sequence[str]) -> Sequence[Page]:
        """Return pages by id, in the order asked."""
        return self._catalogue.pages(ids)

    def _serials(self, query: Query) -> frozenset[int] | None:
        if query.scope not in self._scopes:
            self._scopes[query.scope] = self._catalogue.serials(query.scope)
        return self._scopes[query.scope]

    def _dense(self, query: Query, limit: int) -> Found:
        documents = self._serials(query)
        if not query.text.strip():
            return Found.nothing()
        vector = self._encoder.encode_queries([query.text]).data[0]
        return self._view.visible(self._vectors.search(vector, limit=limit, documents=documents))

    def _named(self, query: Query, limit: int) -> Found:
        serials = self._serials(query)
        if serials is not None and len(serials) == 1:
            return Found.nothing()  # within one document its name tells nothing
        keys: list[int] = []
        scores: list[float] = []
        ways: dict[int, str] = {}
        for document, score, words in self._names.named(query.text):
            pages = self._catalogue.page_keys(document)[: limit - len(keys)]
            if pages and (serials is None or split_key(pages[0])[0] in serials):
                keys += pages
                scores += [score] * len(pages)
                ways |= dict.fromkeys(pages, f"name: {words}")
        found = Found(np.array(keys, np.int64), np.array(scores, np.float32), ways=ways)
        return self._view.visible(found)

    def _pointed(self, query: Query, limit: int) -> Found:
        serials = self._serials(query)
        allowed = None
        if serials is not None:
            ids = self._view.ids
            allowed = frozenset(ids[serial] for serial in serials if serial in ids)
        hits = self._pointers.search(query, limit=limit, allowed=allowed)
        keys = self.page_keys([hit.page for hit in hits])
        found = Found(
            np.array(keys, np.int64),
            np.array([hit.score for hit in hits], np.float32),
            np.array([-1 if hit.block is None else hit.block for hit in hits], np.int32),
            {key: hit.via for key, hit in zip(keys, hits, strict=True)},
        )
        return self._view.visible(found)
