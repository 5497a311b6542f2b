"""What a running pipeline may ask of a library: its channels, its pages, and nothing else.

Part of the composition root: `retrieve` knows channels by name only, `index` knows keys only; here
names and keys become hits with page ids, inside the caller's scope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .errors import NotFoundError
from .graph.similar import alike
from .index.ensemble import Ensemble
from .index.keys import split_key
from .ports import Blend, Found
from .retrieve.cost import channels_of, judged
from .types import Edge, page_id, split_page_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .encoding import Encoders
    from .index.catalogue import Catalogue
    from .index.graph import PageGraph
    from .index.lexical import Lexical
    from .index.segments import VectorIndex
    from .judging import Judges
    from .ports import Encoder
    from .retrieve.names import NameIndex
    from .retrieve.pipeline import Pipeline
    from .retrieve.pointers import PointerSearch
    from .types import Page, Query, Scope, Similarity, Verdict

__all__ = ["Channels"]

_EXACT = "?exact"  # behind a channel's name: score every page, however many there are
_BUILT_IN = "dense"  # the channel of the built-in text encoder


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
        encoders: The encoders that were added, each a channel.
        judges: Give verdicts on pages.
        graph: Where pages lead.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        lexical: Lexical,
        vectors: VectorIndex,
        encoder: Encoder,
        pointers: PointerSearch,
        names: NameIndex,
        encoders: Encoders,
        judges: Judges,
        graph: PageGraph,
    ) -> None:
        self._catalogue = catalogue
        self._lexical = lexical
        self._vectors = vectors
        self._encoder = encoder
        self._pointers = pointers
        self._names = names
        self._encoders = encoders
        self._judges = judges
        self._graph = graph
        self._view = catalogue.view()
        self._scopes: dict[Scope, frozenset[int] | None] = {}

    def find(self, channel: str, query: Query, limit: int) -> Found:
        """Return a channel's best pages within the query's scope.

        Raises:
            NotFoundError: There is no such channel.
        """
        ways: dict[str, Callable[[Query, int], Found]] = {
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
        if channel.removesuffix(_EXACT) == _BUILT_IN or self._encoders.has(channel):
            return self._nearest(channel, query, limit)
        raise self._unknown(channel)

    def require(self, pipeline: Pipeline) -> None:
        """Check that what a pipeline asks is there, before the first model is loaded.

        Raises:
            NotFoundError: There is no such channel or judge, or a judge's model is not named.
        """
        known = self.names()
        for channel in channels_of(pipeline):
            if channel not in known:
                raise self._unknown(channel)
        for judge, _ in judged(pipeline, 0):
            self._judges.require(judge)

    def _unknown(self, channel: str) -> NotFoundError:
        name = channel.partition("?")[0]
        return NotFoundError(
            f"no channel {name!r} in this library; there are {', '.join(self.names())}; an encoder "
            f"gets this name by `pagetrail encode add SPEC --name {name}`"
        )

    def names(self) -> list[str]:
        """Return the names of all channels."""
        added = self._encoders.records()
        return sorted({_BUILT_IN, "pointer", "names", *self._lexical.channels, *added})

    def blend(
        self, channels: Sequence[str], weights: Sequence[float], query: Query, limit: int
    ) -> Blend | None:
        """Return the best pages by the weighted sum of several channels of vectors."""
        plain = [name.removesuffix(_EXACT) for name in channels]
        if not all(name == _BUILT_IN or self._encoders.has(name) for name in plain):
            return None
        documents = self._serials(query)
        asked = [(name, self._question(name, query)) for name in channels]
        given = [
            (name, vectors, weight)
            for (name, vectors), weight in zip(asked, weights, strict=True)
            if vectors is not None
        ]
        if not given:
            return Blend(Found.nothing(), {name: np.empty(0) for name in channels})
        indexes = {name: self._index(name) for name, _, _ in given}
        if len({id(index) for index in indexes.values()}) < len(given):
            return None  # one encoder asked in two ways: each way is a search of its own
        scorer = Ensemble(list(indexes.values()))
        found = scorer.search(
            [vectors for _, vectors, _ in given],
            [weight for _, _, weight in given],
            limit=limit,
            documents=documents,
        )
        seen = self._view.visible(found.found)
        rows = np.flatnonzero(np.isin(found.found.keys, seen.keys))
        # A channel that the question asks nothing of gave 0.
        parts = {name: np.zeros(len(rows)) for name in channels}
        return Blend(
            seen, parts | {n: found.parts[index.channel][rows] for n, index in indexes.items()}
        )

    def rescore(self, channel: str, query: Query, keys: Sequence[int]) -> Found:
        """Return a vector channel's exact scores of the pages named.

        Raises:
            NotFoundError: There is no such channel of vectors.
        """
        vectors = self._question(channel, query)
        if vectors is None:
            return Found.nothing()
        return self._view.visible(self._index(channel).rescore(vectors, keys))

    def judge(self, judge: str, query: Query, ids: Sequence[str]) -> Sequence[Verdict]:
        """Return a judge's verdicts on pages, in the order asked."""
        return self._judges.judge(judge, query, ids)

    def neutral(self, judge: str) -> float:
        """Return the probability with which a judge says nothing of a page."""
        return self._judges.neutral(judge)

    def neighbours(self, query: Query, ids: Sequence[str]) -> Mapping[str, Sequence[Edge]]:
        """Return where the library's page graph leads from pages, within the query's scope."""
        keys = self.page_keys(ids)
        found = self._graph.neighbours(keys, self._view, self._serials(query))
        return {page: found[key] for page, key in zip(ids, keys, strict=True)}

    def alike(
        self, rule: Similarity, query: Query, ids: Sequence[str]
    ) -> Mapping[str, Sequence[Edge]]:
        """Return the ``similar`` edges of pages by a rule, within each page's document.

        Raises:
            NotFoundError: There is no such channel of vectors.
        """
        name = rule.channel
        if name != _BUILT_IN and not self._encoders.has(name):
            raise self._unknown(name)
        serials = self._serials(query)
        found: dict[str, Sequence[Edge]] = dict.fromkeys(ids, ())
        for document in sorted({split_page_id(page)[0] for page in ids}):
            keys = self._catalogue.page_keys(document)
            if not keys or (serials is not None and split_key(keys[0])[0] not in serials):
                continue
            pages = self.page_ids(keys)
            near = alike(self._index(name).means(keys), rule)
            for page, joined in zip(pages, near, strict=True):
                if page in found:
                    found[page] = [Edge(pages[row], "similar", w, "alike") for row, w in joined]
        return found

    def _index(self, channel: str) -> VectorIndex:
        name = channel.partition("?")[0]
        return self._vectors if name == _BUILT_IN else self._encoders.index(name)

    def _question(self, channel: str, query: Query) -> np.ndarray | None:
        """Return the question's vectors for a channel; None when there is nothing to ask."""
        channel = channel.removesuffix(_EXACT)
        if channel != _BUILT_IN:
            return self._encoders.question(channel, query)
        if not query.text.strip():
            return None
        return self._encoder.encode_queries([query.text]).data

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

    def _nearest(self, channel: str, query: Query, limit: int) -> Found:
        documents = self._serials(query)
        exact = channel.endswith(_EXACT)
        vectors = self._question(channel, query)
        if vectors is None:
            return Found.nothing()
        index = self._index(channel)
        found = index.search(vectors, limit=limit, documents=documents, exact=exact)
        return self._view.visible(found)

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
