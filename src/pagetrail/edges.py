"""The nouns of the page graph: ways from one page to another, and when two pages are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .errors import UsageError

__all__ = ["Edge", "EdgeKind", "PageNode", "Similarity", "agreement"]

# How one page leads to another, told from where one stands: after "reference" the text points at
# the other page, after "referred" the other page points here.
EdgeKind = Literal[
    "next", "previous", "section", "parent", "child", "link", "linked", "reference", "referred",
    "continues", "continued", "shared", "similar", "twin",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from one page to another.

    Attributes:
        page: Id of the page that it leads to.
        kind: What the two pages have to do with each other:

            ``next``, ``previous``: reading order. ``section``: the same section of the outline;
            ``parent``, ``child``: the section around it, or one inside it. ``link``: a link of
            the file. ``reference``: the text says "see Table 2", and that table stands there.
            ``continues``: a table or list of this page goes on there. ``shared``: a rare name or
            number stands on both. ``similar``: their vectors are near. ``twin``: nearly the same
            words. ``linked``, ``referred`` and ``continued`` are the same ways backwards.
        weight: Above 0 and at most 1; comparable within one kind. For ``similar`` the cosine.
        why: The edge in a few words, such as ``see Table 2`` or ``shares "Alpine Holdings"``.
    """

    page: str
    kind: EdgeKind
    weight: float
    why: str


@dataclass(frozen=True, slots=True)
class Similarity:
    """Which pages of one document count as alike, by the mean of each page's vectors.

    Two pages are joined when each rule that is given joins them. Without any, nothing is joined.
    A number out of its range raises UsageError.

    Attributes:
        channel: A channel of vectors, such as ``dense`` or ``colpali``.
        k: Only a page's so many nearest pages (itself left out; ties go to the lower number).
        theta: Only at this similarity or above.
        quantile: Only the upper share of all pairs of the document: .9 keeps a tenth of them.
        degree: Only so many of the best pairs that a page has this many neighbours on average.
        symmetric: A page joined to another has the other joined to it.
        measure: ``cosine``, or ``product``: the inner product of the means as they are.
        least: Documents of fewer pages have no edges.
    """

    channel: str = "dense"
    k: int | None = None
    theta: float | None = None
    quantile: float | None = None
    degree: float | None = None
    symmetric: bool = True
    measure: Literal["cosine", "product"] = "cosine"
    least: int = 1

    def __post_init__(self) -> None:
        for name in ("k", "least"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or value != int(value) or value < 1):
                raise UsageError(f"{name} is a whole number of at least 1, not {value!r}")
        if self.quantile is not None and not 0 <= self.quantile <= 1:
            raise UsageError(f"a quantile lies between 0 and 1, not at {self.quantile:g}")
        if self.degree is not None and not self.degree > 0:
            raise UsageError(f"the mean degree is above 0, not {self.degree:g}")
        if self.measure not in ("cosine", "product"):
            raise UsageError(f"measure is cosine or product, not {self.measure!r}")


@dataclass(frozen=True, slots=True)
class PageNode:
    """What is stored of a page in the graph: where it leads, and how other documents find it.

    Attributes:
        number: 1-based physical number of the page.
        ways: Edges within its document but for reading order: number of the other page, kind,
            weight, and why.
        names: Rare names and numbers as 64-bit hashes, signed, and as printed.
        sketch: 64 numbers of 16 bit made of its words; empty when it has few. The share of equal
            ones in two sketches estimates the Jaccard similarity of the pages (`agreement`).
        bands: Parts of the sketch as 64-bit hashes, signed: near-duplicates share one.
        files: Links to other files: name of the file, number of the page there, and why.
    """

    number: int
    ways: tuple[tuple[int, EdgeKind, float, str], ...] = ()
    names: tuple[tuple[int, str], ...] = ()
    sketch: bytes = b""
    bands: tuple[int, ...] = ()
    files: tuple[tuple[str, int, str], ...] = ()


def agreement(sketch: bytes, other: bytes) -> float:
    """Return the share of equal places of two sketches, 0..1; 0 when they cannot be compared."""
    if not sketch or len(sketch) != len(other) or len(sketch) % 2:
        return 0.0
    pairs = zip(memoryview(sketch).cast("H"), memoryview(other).cast("H"), strict=True)
    return sum(a == b for a, b in pairs) * 2 / len(sketch)
