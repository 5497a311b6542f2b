"""Pages with nearly the same words, found without comparing every page with every other one.

A page's sketch is 64 smallest hashes (MinHash, Broder 1997) of its shingles, which are runs of
three words: the share of equal places in two sketches estimates the Jaccard similarity J of their
sets of shingles, with a standard error of sqrt(J (1 - J) / 64), at most .063. Of the sketch, 20
places make 5 bands of 4; pages that agree in a whole band are compared. That finds a pair with a
chance of 1 - (1 - J^4)^5: .28 at J = .5, .75 at .7, .93 at .8, .995 at .9.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from ..edges import agreement
from .ways import Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..types import Page

__all__ = ["LEAST", "TwinBook", "bands_of", "sketch_of"]

LEAST = 0.7
"""Estimated Jaccard similarity from which on two pages are twins."""

_PLACES, _BANDS, _ROWS = 64, 5, 4
_RUN = 3  # words of a shingle
_FEWEST, _MOST = 30, 8192  # words of a page: fewer say too little, more are not looked at
_DEGREE = 4  # twins of a page
_AHEAD = 3  # pages of one band, in order, that each is compared with
_STEP = 2048  # shingles hashed at a time

_random = np.random.default_rng(20261130)
_FACTORS = _random.integers(0, 1 << 63, _PLACES, np.uint64) * np.uint64(2) + np.uint64(1)
_TERMS = _random.integers(0, 1 << 63, _PLACES, np.uint64)
_JOIN = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)


def sketch_of(page: Page) -> bytes:
    """Return the sketch of a page's words, 64 numbers of 16 bit; empty for under 30 words.

    Upper and lower case are alike; running heads and feet are left out, and so is what follows
    after 8,192 words.
    """
    words: list[str] = []
    for block in page.blocks:
        if block.kind not in ("header", "footer"):
            words += block.text.casefold().split(" ")
        if len(words) >= _MOST:
            break
    if len(words) < _FEWEST:
        return b""
    sums = np.fromiter(
        (zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words[:_MOST]), np.uint64
    )
    last = len(sums) - _RUN + 1
    shingles = np.unique(_mix(sum(sums[i : i + last] * _JOIN[i] for i in range(_RUN))))
    least = np.full(_PLACES, np.iinfo(np.uint64).max, np.uint64)
    for at in range(0, len(shingles), _STEP):
        hashed = shingles[at : at + _STEP, None] * _FACTORS + _TERMS
        np.minimum(least, hashed.min(axis=0), out=least)
    # The least of many numbers has a small first part, so its bits are mixed before 16 are kept.
    return (_mix(least) >> np.uint64(48)).astype("<u2").tobytes()


def bands_of(sketch: bytes) -> tuple[int, ...]:
    """Return the bands of a sketch as 64-bit hashes, signed; none for an empty one."""
    if not sketch:
        return ()
    rows = np.frombuffer(sketch, "<u8", _BANDS * _ROWS // 4)
    return tuple(
        _mix(rows + np.arange(1, _BANDS + 1, dtype=np.uint64) * _JOIN[0]).view("<i8").tolist()
    )


class TwinBook:
    """The sketches of a document's pages, which are handed in one at a time."""

    def __init__(self) -> None:
        self._sketches: dict[int, bytes] = {}

    def add(self, page: Page) -> None:
        """Take in a page."""
        if sketch := sketch_of(page):
            self._sketches[page.number] = sketch

    def sketch(self, number: int) -> bytes:
        """Return the sketch of a page; empty when it has none."""
        return self._sketches.get(number, b"")

    def ways(self) -> list[Way]:
        """Return one edge per pair of twins, weighted by the estimated similarity.

        Of a form that fills a thousand pages each is compared with the next three of its band
        only, and a page has at most four twins.
        """
        pairs: dict[tuple[int, int], float] = {}
        for source, target in self._pairs():
            if (source, target) not in pairs:
                pairs[source, target] = agreement(self._sketches[source], self._sketches[target])
        degree: dict[int, int] = defaultdict(int)
        ways = []
        for (source, target), share in sorted(pairs.items(), key=lambda p: (-p[1], p[0])):
            if share >= LEAST and max(degree[source], degree[target]) < _DEGREE:
                degree[source] += 1
                degree[target] += 1
                ways.append(Way(source, target, "twin", share, "nearly the same words"))
        return ways

    def _pairs(self) -> Iterator[tuple[int, int]]:
        buckets: dict[int, list[int]] = defaultdict(list)
        for number, sketch in sorted(self._sketches.items()):
            for band in bands_of(sketch):
                near = buckets[band]
                yield from ((other, number) for other in near)
                near.append(number)
                del near[:-_AHEAD]


def _mix(values: np.ndarray) -> np.ndarray:
    """Return 64-bit numbers with all bits mixed (the finaliser of SplitMix64, Steele 2014)."""
    mixed = values ^ (values >> np.uint64(30))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed = mixed * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
