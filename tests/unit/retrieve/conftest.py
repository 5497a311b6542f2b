"""A small world for pipelines: channels are tables of scores, pages are numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import settings

from pagetrail.errors import NotFoundError
from pagetrail.graph.similar import alike
from pagetrail.ports import Blend, Found
from pagetrail.types import Edge, Page, Query, Verdict, page_id, split_page_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pagetrail.ports import Place
    from pagetrail.types import Similarity

# A loaded machine must not fail a property for being slow.
settings.register_profile("retrieve", deadline=None, max_examples=50)
settings.load_profile("retrieve")


@dataclass
class World:
    """`ports.Resources` over given scores: channel to page id to score.

    ``vectors`` names the channels that score every page; ``verdicts`` is judge to page id to what
    it says: a probability, an outcome, or a whole verdict. ``edges`` is the page graph, ``points``
    channel to page id to the mean vector of the page, ``silence`` judge to the probability with
    which it says nothing.
    """

    channels: Mapping[str, Mapping[str, float]]
    total: int = 10
    asked: list[tuple[str, int]] = field(default_factory=list)
    vectors: tuple[str, ...] = ()
    verdicts: Mapping[str, Mapping[str, float | str | Verdict]] = field(default_factory=dict)
    edges: Mapping[str, Sequence[Edge]] = field(default_factory=dict)
    points: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    silence: dict[str, float] = field(default_factory=dict)

    def find(self, channel: str, query: Query, limit: int) -> Found:
        self.asked.append((channel, limit))
        if channel not in self.channels:
            raise NotFoundError(f"no channel {channel!r}")
        scores = self.channels[channel]
        ids = sorted(scores, key=lambda p: (-scores[p], p))[:limit]
        blocks = np.full(len(ids), 3, np.int32) if channel == "blocks" else None
        keys = np.array(self.page_keys(ids), np.int64)
        return Found(keys, np.array([scores[p] for p in ids], float), blocks)

    def blend(
        self, channels: Sequence[str], weights: Sequence[float], query: Query, limit: int
    ) -> Blend | None:
        if not set(channels) <= set(self.vectors):
            return None
        self.asked.append((" + ".join(channels), limit))
        pages = sorted({page for name in channels for page in self.channels[name]})
        own = {c: np.array([self.channels[c].get(p, 0.0) for p in pages]) for c in channels}
        total = sum(w * own[c] for c, w in zip(channels, weights, strict=True))
        best = np.lexsort((pages, -total))[:limit]
        keys = np.array(self.page_keys([pages[i] for i in best]), np.int64)
        return Blend(Found(keys, total[best]), {c: own[c][best] for c in channels})

    def rescore(self, channel: str, query: Query, keys: Sequence[int]) -> Found:
        if channel not in self.vectors:
            raise NotFoundError(f"no channel {channel!r}")
        scores = self.channels[channel]
        known = [k for k, page in zip(keys, self.page_ids(keys), strict=True) if page in scores]
        own = [scores[page] for page in self.page_ids(known)]
        return Found(np.array(known, np.int64), np.array(own, float))

    def judge(self, judge: str, query: Query, ids: Sequence[str]) -> Sequence[Verdict]:
        if judge not in self.verdicts:
            raise NotFoundError(f"no judge {judge!r}")
        self.asked.append((judge, len(ids)))
        said = [self.verdicts[judge][page] for page in ids]
        return [
            what
            if isinstance(what, Verdict)
            else Verdict(page, what, reason="told to", calls=1)
            if what in ("unparsed", "failed")
            else Verdict(page, "judged", probability=what, calls=1, tokens=10)
            for page, what in zip(ids, said, strict=True)
        ]

    def neutral(self, judge: str) -> float:
        return self.silence.get(judge, 0.5)

    def neighbours(self, query: Query, ids: Sequence[str]) -> Mapping[str, Sequence[Edge]]:
        return {page: self.edges.get(page, ()) for page in ids}

    def alike(
        self, rule: Similarity, query: Query, ids: Sequence[str]
    ) -> Mapping[str, Sequence[Edge]]:
        if rule.channel not in self.points:
            raise NotFoundError(f"no channel {rule.channel!r}")
        found: dict[str, Sequence[Edge]] = {}
        for document in {split_page_id(page)[0] for page in ids}:
            stored = self.points[rule.channel]
            pages = sorted(p for p in stored if split_page_id(p)[0] == document)
            near = alike(np.array([stored[p] for p in pages], float), rule)
            for page, joined in zip(pages, near, strict=True):
                found[page] = [Edge(pages[row], "similar", w, "alike") for row, w in joined]
        return {page: found.get(page, ()) for page in ids}

    def page_keys(self, ids: Sequence[str]) -> Sequence[int]:
        # Not in the order of the ids, so that ties cannot be right by luck.
        return [1_000_000 * (200 - ord(i[0])) + 10_000 - split_page_id(i)[1] for i in ids]

    def page_ids(self, keys: Sequence[int]) -> Sequence[str]:
        return [page_id(chr(200 - k // 1_000_000), 10_000 - k % 1_000_000) for k in keys]

    def page_total(self, query: Query) -> int:
        return self.total

    def pages(self, ids: Sequence[str]) -> Sequence[Page]:
        return [Page(*split_page_id(i), width=600, height=800) for i in ids]


@dataclass
class Book:
    """`ports.PointerBook` over plain tables; a document is (page count, labels by number)."""

    documents: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)
    things: Mapping[tuple[str, str], Sequence[Place]] = field(default_factory=dict)

    def places(
        self, kind: str, key: str, *, allowed: frozenset[str] | None, limit: int
    ) -> Sequence[Place]:
        found = [p for p in self.things.get((kind, key), ()) if _inside(p.page, allowed)]
        return sorted(found, key=lambda p: (p.role == "mention", p.page))[:limit]

    def labelled(self, label: str, *, allowed: frozenset[str] | None, limit: int) -> Sequence[str]:
        found = (p for p, own in self.labels.items() if own.upper() == label.upper())
        return sorted(p for p in found if _inside(p, allowed))[:limit]

    def numbered(self, number: int, *, allowed: frozenset[str] | None, limit: int) -> Sequence[str]:
        found = []
        for document, count in self.documents.items():
            wanted = number if number > 0 else count + 1 + number
            if 1 <= wanted <= count and (allowed is None or document in allowed):
                found.append(page_id(document, wanted))
        return sorted(found)[:limit]


def _inside(page: str, allowed: frozenset[str] | None) -> bool:
    return allowed is None or split_page_id(page)[0] in allowed


@pytest.fixture
def world() -> World:
    return World(
        {
            "words": {"a#p0001": 3.0, "a#p0002": 1.0},
            "meaning": {"a#p0001": 0.2, "a#p0002": 0.5, "a#p0003": 0.4},
            "blocks": {"a#p0002": 2.0},
            "pointer": {"a#p0004": 1.0},
            "nothing": {},
        }
    )


@pytest.fixture
def query() -> Query:
    return Query("where is it?")


@pytest.fixture(scope="session")
def make_world() -> type[World]:
    return World


@pytest.fixture(scope="session")
def make_book() -> type[Book]:
    return Book
