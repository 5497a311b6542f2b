"""How far the edges of a page graph lead to the pages that hold the evidence.

A search finds some of the gold pages among its first few, the seeds. From there edges lead to other
pages, and so does the ranking itself: its next pages. Both are compared for the same number of
pages looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, get_args

from ..edges import EdgeKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ..types import Edge

__all__ = ["GROUPS", "HOPS", "DocumentReach", "Reach", "add_up", "degrees", "group_reach", "reach"]

HOPS = (1, 2, 3)
_ORDER = ("next", "previous")
_OTHERS = tuple(kind for kind in get_args(EdgeKind) if kind not in _ORDER)
GROUPS: Mapping[str, tuple[str, ...]] = {
    "all": (*_ORDER, *_OTHERS),
    "all but order": _OTHERS,
    "order": _ORDER,
    **{kind: (kind,) for kind in _OTHERS},
}
"""Kinds of edges that are followed together, by name: each alone, and some together."""


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


def group_reach(
    ranked: Sequence[str], gold: Collection[str], edges: Mapping[str, Sequence[Edge]]
) -> dict[str, Reach]:
    """Return what one question's edges reach, by name in `GROUPS`; arguments as for `reach`."""
    return {name: reach(ranked, gold, edges, kinds) for name, kinds in GROUPS.items()}


def add_up(found: Iterable[Mapping[str, Reach]]) -> dict[str, Reach]:
    """Return the counts of many questions; groups whose edges reach no page are left out."""
    total = {name: Reach() for name in GROUPS}
    for one in found:
        for name, reached in one.items():
            total[name] += reached
    return {name: reached for name, reached in total.items() if reached.pages[0]}


@dataclass(frozen=True)
class DocumentReach:
    """What edges reach in one document.

    Attributes:
        pages: Its pages.
        questions: Questions asked of it.
        degree: Mean number of edges per page, by kind.
        reaches: By name in `GROUPS`.
    """

    pages: int
    questions: int
    degree: Mapping[str, float]
    reaches: Mapping[str, Reach]

    def as_json(self) -> dict[str, Any]:
        """Return its fields."""
        return {
            "pages": self.pages,
            "questions": self.questions,
            "degree": {kind: round(value, 3) for kind, value in self.degree.items()},
            "reach": {name: found.as_json() for name, found in self.reaches.items()},
        }


def degrees(edges: Mapping[str, Sequence[Edge]]) -> dict[str, float]:
    """Return the mean number of edges of each kind per page."""
    counts: dict[str, int] = {}
    for found in edges.values():
        for edge in found:
            counts[edge.kind] = counts.get(edge.kind, 0) + 1
    return {kind: count / len(edges) for kind, count in sorted(counts.items())}
