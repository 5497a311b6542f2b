"""All edges of a document, from its pages handed in one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from ..edges import EdgeKind, PageNode, Similarity
from .continued import continued_ways
from .digest import digest
from .outline import outline_ways
from .resolve import link_ways, reference_ways
from .shared import NameBook
from .similar import alike
from .twins import TwinBook, bands_of
from .ways import Way, both_ways

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np

    from ..types import OutlineEntry, Page
    from .digest import Digest

__all__ = ["ALIKE", "VERSION", "Collector", "similar_ways"]

VERSION = 1
"""Of this code: a document joined by an older one is joined again. Raise it with every change of
what is found."""

ALIKE = Similarity(k=5, quantile=0.9)
"""When two pages are similar: both among the most similar tenth of all pairs of the document, and
one among the other's five nearest."""

_TOGETHER = 2048  # pages among which similar ones are looked for; work grows with its square
_MOST = 16  # edges of one kind that a page keeps: a contents page is linked to from everywhere
_FILES = 16  # links to other files that are kept of a page
_KINDS = {kind: place for place, kind in enumerate(get_args(EdgeKind))}


class Collector:
    """A document's pages on their way to a graph; of each page a few thousand bytes are kept."""

    def __init__(self) -> None:
        self._digests: list[Digest] = []
        self._names = NameBook()
        self._twins = TwinBook()
        self._files: dict[int, tuple[tuple[str, int, str], ...]] = {}

    def add(self, page: Page) -> None:
        """Take in a page; pages come by rising number."""
        self._digests.append(digest(page))
        self._names.add(page)
        self._twins.add(page)
        if files := _files(page):
            self._files[page.number] = files

    @property
    def numbers(self) -> list[int]:
        """The numbers of the pages taken in, in order."""
        return [one.number for one in self._digests]

    def connect(
        self, outline: Sequence[OutlineEntry], means: np.ndarray | None = None
    ) -> list[PageNode]:
        """Return every page with its edges and marks, in order of number.

        Each pair of pages has one edge of a kind, its strongest; a page keeps at most 16 edges of
        each kind.

        Args:
            outline: The document's own.
            means: The mean of each page's vectors, float ``[pages, dimension]``, zeros for a page
                without any; None to leave similar pages out.
        """
        ends = _best(both_ways(self._ways(outline, means)))
        marks = self._names.marks()
        nodes = []
        for number in self.numbers:
            sketch = self._twins.sketch(number)
            ways = tuple(
                (way.target, way.kind, way.weight, way.why) for way in _kept(ends.get(number, {}))
            )
            files = self._files.get(number, ())
            nodes.append(PageNode(number, ways, marks[number], sketch, bands_of(sketch), files))
        return nodes

    def _ways(self, outline: Sequence[OutlineEntry], means: np.ndarray | None) -> Iterator[Way]:
        numbers = self.numbers
        known = set(numbers)
        for ways in (
            outline_ways(outline, self._digests),
            link_ways(self._digests),
            reference_ways(self._digests),
            continued_ways(self._digests),
            self._names.ways(),
            self._twins.ways(),
            () if means is None else similar_ways(numbers, means),
        ):
            # A link or a line of the outline may name a page that could not be read.
            yield from (way for way in ways if way.target in known and way.source in known)


def similar_ways(
    numbers: Sequence[int], means: np.ndarray, rule: Similarity = ALIKE
) -> Iterator[Way]:
    """Yield edges between pages whose vectors are near, each pair once.

    Of a document of more than 2,048 pages, so many pages in a row are compared with each other.

    Args:
        numbers: The pages.
        means: The mean of each page's vectors, float ``[pages, dimension]``.
        rule: When two pages are similar; it must be symmetric.
    """
    for first in range(0, len(numbers), _TOGETHER):
        part = numbers[first : first + _TOGETHER]
        for row, joined in enumerate(alike(means[first : first + _TOGETHER], rule)):
            for other, cosine in joined:
                if other > row and cosine > 0:
                    yield Way(part[row], part[other], "similar", min(1.0, cosine), "alike")


def _best(ways: Iterable[Way]) -> dict[int, dict[tuple[int, EdgeKind], Way]]:
    """Return the strongest edge of each page to each other one of each kind, by source."""
    best: dict[int, dict[tuple[int, EdgeKind], Way]] = {}
    for way in ways:
        mine = best.setdefault(way.source, {})
        known = mine.get((way.target, way.kind))
        if known is None or known.weight < way.weight:
            mine[way.target, way.kind] = way
    return best


def _kept(ways: dict[tuple[int, EdgeKind], Way]) -> Iterator[Way]:
    """Yield a page's edges by kind, the strongest first, then the nearest; at most 16 of a kind."""
    counts: dict[EdgeKind, int] = {}
    for way in sorted(
        ways.values(),
        key=lambda w: (_KINDS[w.kind], -w.weight, abs(w.target - w.source), w.target),
    ):
        counts[way.kind] = counts.get(way.kind, 0) + 1
        if counts[way.kind] <= _MOST:
            yield way


def _files(page: Page) -> tuple[tuple[str, int, str], ...]:
    """Return a page's links to other files, each once."""
    found = dict.fromkeys((link.file, max(1, link.target)) for link in page.links if link.file)
    return tuple((file, number, f"link to {file}") for file, number in found)[:_FILES]
