"""How far the edges of a page graph lead to the pages that hold the evidence.

A search finds some of the gold pages among its first few, the seeds. From there edges lead to other
pages, and so does the ranking itself: its next pages. Both are compared for the same number of
pages looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ..types import Edge

__all__ = ["HOPS", "Reach", "degrees", "reach"]

HOPS = (1, 2, 3)


@dataclass
class Reach:
    """Counts over questions; add them up with ``+=``.

    Attributes:
        gold: Gold pages.
        seeds: Of them, found among the seeds.
        unreachable: Of them, not reached from the seeds by any number of edges.
        pages: Per number of hops, pages reached beyond the seeds.
        found: Per number of hops, gold pages among these.
        ranked: Per number of hops, gold pages among as many next pages of the ranking.
    """

    gold: int = 0
    seeds: int = 0
    unreachable: int = 0
    pages: list[int] = field(default_factory=lambda: [0] * len(HOPS))
    found: list[int] = field(default_factory=lambda: [0] * len(HOPS))
    ranked: list[int] = field(default_factory=lambda: [0] * len(HOPS))

    def __iadd__(self, other: Reach) -> Self:
        self.gold += other.gold
        self.seeds += other.seeds
        self.unreachable += other.unreachable
        for mine, more in (
            (self.pages, other.pages),
            (self.found, other.found),
            (self.ranked, other.ranked),
        ):
            mine[:] = [a + b for a, b in zip(mine, more, strict=True)]
        return self

    def shares(self, hops: int) -> tuple[float, float]:
        """Return the share of gold pages within some hops of the seeds, 0..1, seeds included, and
        within as many next pages of the ranking; both 0 without gold."""
        place = HOPS.index(hops)
        if not self.gold:
            return 0.0, 0.0
        found, ranked = self.seeds + self.found[place], self.seeds + self.ranked[place]
        return found / self.gold, ranked / self.gold

    def rates(self, hops: int = 1) -> tuple[float, float]:
        """Return missed gold pages reached per page looked at, 0..1, along edges and down the
        ranking; both 0 when no page is reached."""
        place = HOPS.index(hops)
        pages = max(1, self.pages[place])
        return self.found[place] / pages, self.ranked[place] / pages

    def as_json(self) -> dict[str, object]:
        """Return counts and shares."""
        return {
            "gold": self.gold,
            "among_seeds": self.seeds,
            "unreachable": self.unreachable,
            "hops": [
                {
                    "hops": hops,
                    "pages": self.pages[place],
                    "found": self.found[place],
                    "found_by_rank": self.ranked[place],
                }
                for place, hops in enumerate(HOPS)
            ],
        }


def reach(
    ranked: Sequence[str],
    gold: Collection[str],
    edges: Mapping[str, Sequence[Edge]],
    kinds: Collection[str] | None = None,
    seeds: int = 3,
) -> Reach:
    """Return what one question's edges reach.

    Args:
        ranked: Page ids, best first.
        gold: Page ids that hold the evidence.
        edges: Where pages lead.
        kinds: Kinds of edges to follow; None for all.
        seeds: First pages of the ranking to start from.
    """
    start = ranked[:seeds]
    beyond: list[set[str]] = []  # per hop, all pages reached so far
    seen, front = set(start), list(start)
    while front:
        reached = {
            edge.page
            for page in front
            for edge in edges.get(page, ())
            if (kinds is None or edge.kind in kinds) and edge.page not in seen
        }
        seen |= reached
        front = list(reached)
        if len(beyond) < max(HOPS):
            beyond.append(seen - set(start))
    beyond += [seen - set(start)] * (max(HOPS) - len(beyond))
    wanted = set(gold)
    result = Reach(len(wanted), len(wanted & set(start)), len(wanted - seen))
    for place, hops in enumerate(HOPS):
        pages = beyond[hops - 1]
        result.pages[place] = len(pages)
        result.found[place] = len(wanted & pages)
        result.ranked[place] = len(wanted & set(ranked[seeds : seeds + len(pages)]))
    return result


def degrees(edges: Mapping[str, Sequence[Edge]]) -> dict[str, float]:
    """Return the mean number of edges of each kind per page."""
    counts: dict[str, int] = {}
    for found in edges.values():
        for edge in found:
            counts[edge.kind] = counts.get(edge.kind, 0) + 1
    return {kind: count / len(edges) for kind, count in sorted(counts.items())}
