"""Edges within one document while they are being found: pages are numbers, not yet ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..types import EdgeKind

__all__ = ["BACKWARDS", "Way", "both_ways"]

BACKWARDS: dict[EdgeKind, EdgeKind] = {
    "next": "previous",
    "previous": "next",
    "parent": "child",
    "child": "parent",
    "link": "linked",
    "linked": "link",
    "reference": "referred",
    "referred": "reference",
    "continues": "continued",
    "continued": "continues",
    "section": "section",
    "shared": "shared",
    "similar": "similar",
    "twin": "twin",
}
"""What each kind of edge is called from its other end."""


class Way(NamedTuple):
    """An edge between two pages of one document.

    Attributes:
        source: 1-based physical number of the page it leads from.
        target: Number of the page it leads to.
        kind: As in `types.Edge`.
        weight: Above 0 and at most 1.
        why: The edge in a few words, good for both directions.
    """

    source: int
    target: int
    kind: EdgeKind
    weight: float
    why: str


def both_ways(ways: Iterable[Way]) -> Iterator[Way]:
    """Yield each edge and the same one backwards; edges from a page to itself are left out."""
    for way in ways:
        if way.source != way.target:
            yield way
            yield way._replace(source=way.target, target=way.source, kind=BACKWARDS[way.kind])
