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
    """What one method did for one question.

    Attributes:
        judged: Pages judged.
        pages: Pages of the document.
        recall: `recalls` of the ranking that it hands on.
        seen: `recalls` of the pages that were judged alone, in that order.
    """

    judged: int
    pages: int
    recall: tuple[float, ...]
    seen: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A method at one budget, over all questions.

    Attributes:
        method: Its name.
        budget: The share of pages it may judge, 0..1; None for a method with a budget of its own.
        judged: The share of pages it judged, mean over questions, 0..1.
        recall: Mean recall per depth of `DEPTHS`.
        seen: The same of the pages that were judged alone: what is not judged counts as not found.
        gain: Per depth, the paired difference of ``recall`` to the baseline at the same budget;
            empty for the baseline itself and where it has no such budget.
        seen_gain: The same of ``seen``.
    """

    method: str
    budget: float | None
    judged: float
    recall: tuple[float, ...]
    seen: tuple[float, ...]
    gain: tuple[Interval, ...] = ()
    seen_gain: tuple[Interval, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return the point with its depths named."""
        named = [f"recall@{k}" for k in DEPTHS]
        return {
            "method": self.method,
            "budget": self.budget,
            "judged": round(self.judged, 4),
            **{n: round(v, 4) for n, v in zip(named, self.recall, strict=True)},
            "gain": {n: g.as_json() for n, g in zip(named, self.gain, strict=False)},
            "judged_only": {n: round(v, 4) for n, v in zip(named, self.seen, strict=True)},
            "judged_only_gain": {
                n: g.as_json() for n, g in zip(named, self.seen_gain, strict=False)
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
        judged = float(np.mean([outcome.judged / max(1, outcome.pages) for outcome in found]))
        recall = np.array([outcome.recall for outcome in found])
        seen = np.array([outcome.seen for outcome in found])
        gain: tuple[Interval, ...] = ()
        seen_gain: tuple[Interval, ...] = ()
        if method != baseline and (baseline, budget) in outcomes:
            other = outcomes[baseline, budget]
            gain = _gains(recall, np.array([outcome.recall for outcome in other]), clusters)
            seen_gain = _gains(seen, np.array([outcome.seen for outcome in other]), clusters)
        points.append(Point(method, budget, judged, _means(recall), _means(seen), gain, seen_gain))
    return points


def _means(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values.mean(0))


def _gains(values: np.ndarray, others: np.ndarray, clusters: Sequence[str]) -> tuple[Interval, ...]:
    return tuple(interval(column, clusters) for column in (values - others).T)
