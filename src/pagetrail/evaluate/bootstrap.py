"""Intervals of means over questions that are alike when they ask about one document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["Interval", "interval"]

_TOGETHER = 1000  # draws held in memory at a time


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and between which values it lies with the probability asked for."""

    mean: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        """Return the three numbers, rounded."""
        named = {"mean": self.mean, "low": self.low, "high": self.high}
        return {name: round(value, 4) for name, value in named.items()}

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.low:+.3f}..{self.high:+.3f})"


def interval(
    values: Sequence[float] | np.ndarray,
    clusters: Sequence[Hashable],
    *,
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the mean of values and its percentile interval by cluster bootstrap.

    Whole clusters are drawn with replacement, as many as there are, each with all its values
    (Field and Welsh, 2007: the randomised cluster bootstrap). For a paired comparison pass the
    differences.

    Args:
        values: float ``[n]``, one per question.
        clusters: What each question belongs to, such as its document.
        draws: Resamples.
        level: Probability that the interval holds, 0..1.
        seed: The same seed gives the same interval.

    Raises:
        ValueError: There are no values, or not one cluster for each.
    """
    numbers = np.asarray(values, float)
    if not len(numbers) or len(numbers) != len(clusters):
        raise ValueError(f"{len(numbers)} values and {len(clusters)} clusters; one each is needed")
    places: dict[Hashable, int] = {}
    owner = np.array([places.setdefault(cluster, len(places)) for cluster in clusters])
    sums = np.bincount(owner, numbers)
    counts = np.bincount(owner).astype(float)
    rng = np.random.default_rng(seed)
    means: list[np.ndarray] = []
    for first in range(0, draws, _TOGETHER):
        chosen = rng.integers(0, len(sums), (min(_TOGETHER, draws - first), len(sums)))
        means.append(sums[chosen].sum(1) / counts[chosen].sum(1))
    tail = (1 - level) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Interval(float(numbers.mean()), float(low), float(high))
