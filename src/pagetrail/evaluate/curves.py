"""Recall against pages judged: what every verdict buys, by method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .bootstrap import Interval, interval

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["DEPTHS", "Outcome", "Point", "curve_points", "recalls"]

DEPTHS = (1, 3, 5)


def recalls(ranked: Sequence[str], gold: Collection[str]) -> tuple[float, ...]:
    """Return recall@1, @3 and @5: the share of gold pages among the first k, 0..1.

    >>> recalls(["a", "b", "c", "d"], {"b", "d"})
    (0.0, 0.5, 1.0)
    """
    return tuple(len(set(ranked[:k]) & set(gold)) / len(gold) for k in DEPTHS)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one method did for one question: pages judged, out of how many, and `recalls`."""

    judged: int
    pages: int
    recall: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A method at one budget, over all questions.

    Attributes:
        method: Its name.
        budget: The share of pages it may judge, 0..1; None for a method with a budget of its own.
        judged: The share of pages it judged, mean over questions, 0..1.
        recall: Mean recall per depth of `DEPTHS`.
        gain: Per depth, the paired difference to the baseline at the same budget; empty for the
            baseline itself and where it has no such budget.
    """

    method: str
    budget: float | None
    judged: float
    recall: tuple[float, ...]
    gain: tuple[Interval, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return the point with its depths named."""
        named = [f"recall@{k}" for k in DEPTHS]
        return {
            "method": self.method,
            "budget": self.budget,
            "judged": round(self.judged, 4),
            **{n: round(v, 4) for n, v in zip(named, self.recall, strict=True)},
            "gain": {
                name: {"mean": round(g.mean, 4), "low": round(g.low, 4), "high": round(g.high, 4)}
                for name, g in zip(named, self.gain, strict=False)
            },
        }


def curve_points(
    outcomes: Mapping[tuple[str, float | None], Sequence[Outcome]],
    clusters: Sequence[str],
    baseline: str,
) -> list[Point]:
    """Return a point for each method and budget.

    Args:
        outcomes: By method and budget, one outcome per question, in the same order.
        clusters: The document of each question.
        baseline: The method that others are compared with at the same budget.
    """
    points = []
    for (method, budget), found in outcomes.items():
        recall = np.array([outcome.recall for outcome in found])
        judged = float(np.mean([outcome.judged / max(1, outcome.pages) for outcome in found]))
        gain: tuple[Interval, ...] = ()
        if method != baseline and (baseline, budget) in outcomes:
            other = np.array([outcome.recall for outcome in outcomes[baseline, budget]])
            gain = tuple(interval(column, clusters) for column in (recall - other).T)
        means = tuple(float(value) for value in recall.mean(0))
        points.append(Point(method, budget, judged, means, gain))
    return points
