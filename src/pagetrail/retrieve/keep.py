"""How many pages to hand on, told by their scores instead of a fixed number."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import UsageError
from ..types import Ranking, Trace
from .pipeline import Transform
from .table import step
from .value import as_number, check_count, piece, written

if TYPE_CHECKING:
    from ..ports import Resources
    from ..types import Query

__all__ = ["Keep", "mixture_count"]

_ROUNDS = 100
_NARROWEST = 1e-3  # deviation of a component, as a share of all scores' range: none shrinks to 0


@piece("keep")
@dataclass(frozen=True)
class Keep(Transform):
    """Keep the best pages, as many as their scores call for; `pipeline.Cut` keeps a fixed number.

    Attributes:
        by: ``mass``: pages until their probabilities make up the share ``value`` of all pages'
            probabilities (scores must be probabilities, as those of a walk or a judge are);
            ``mixture``: the upper one of two groups of scores (`mixture_count`);
            ``floor``: scores of ``value`` and above.
        value: See ``by``; a mixture does not look at it.
        least: Fewest pages to keep, whatever the scores say.
        most: Most pages to keep.
    """

    by: Literal["mass", "mixture", "floor"] = "mass"
    value: float = 0.9
    least: int = 1
    most: int = 10

    def __post_init__(self) -> None:
        if self.by not in ("mass", "mixture", "floor"):
            raise UsageError(f"pages are kept by mass, mixture or floor, not by {self.by!r}")
        object.__setattr__(self, "value", as_number(self.value, "value"))
        if self.by == "mass" and not 0 < self.value <= 1:
            raise UsageError(f"a share of probability is above 0 and at most 1, not {self.value:g}")
        check_count(self.least, "the fewest pages to keep")
        check_count(self.most, "the most pages to keep")
        if self.least > self.most:
            raise UsageError(f"at least {self.least} and at most {self.most} pages is no number")

    def __str__(self) -> str:
        return written(self)

    def _lines(self) -> list[str]:
        rule = {
            "mass": f"the best pages until they hold {self.value:.0%} of the probability",
            "mixture": "the pages that stand out from the others",
            "floor": f"the pages of {self.value:g} and above",
        }[self.by]
        return [f"keep {rule}, at least {self.least} and at most {self.most}"]

    def run(self, query: Query, ranking: Ranking, resources: Resources) -> tuple[Ranking, Trace]:
        del resources
        started = time.perf_counter()
        scores = np.array([hit.score for hit in ranking.hits], float)
        count = min(self.most, max(self.least, self._count(scores)))
        kept = Ranking(query, ranking.hits[:count])
        return kept, Trace((step(self, f"keep by {self.by}", len(kept.hits), started),))

    def _count(self, scores: np.ndarray) -> int:
        """Return how many of the scores, highest first, are kept."""
        if not len(scores):
            return 0
        if self.by == "floor":
            return int((scores >= self.value).sum())
        if self.by == "mixture":
            return mixture_count(scores)
        if scores.min() < 0 or scores.max() > 1:
            raise UsageError(
                "these scores are no probabilities; let a walk or a judge come before Keep"
            )
        sums = np.cumsum(scores)
        return int(np.searchsorted(sums, self.value * sums[-1] * (1 - 1e-12))) + 1


def mixture_count(scores: np.ndarray) -> int:
    """Return how many scores belong to the upper one of two groups.

    Two normal distributions are fitted to the scores by expectation-maximisation, starting from
    their upper and lower half; a score belongs where its density is higher. The idea is ViDoRAG's
    (arXiv 2502.18017); there the number of pages follows the same mixture.

    Args:
        scores: float ``[n]``, highest first.

    Returns:
        1..n; all of them when they are equal or fewer than three.
    """
    values = np.asarray(scores, float)
    width = float(np.ptp(values)) if len(values) else 0.0
    if len(values) < 3 or width == 0:
        return len(values)
    values = (values - values.min()) / width
    middle = np.median(values)
    upper = np.where(values > middle, 1.0, 0.0) if (values > middle).any() else values
    for _ in range(_ROUNDS):
        before = upper
        high, low = _log_density(values, upper), _log_density(values, 1 - upper)
        upper = 1 / (1 + np.exp(np.clip(low - high, -50, 50)))
        if np.abs(upper - before).max() < 1e-9:
            break
    # A wide lower group can reach beyond the upper one: what stands above it belongs to it too.
    members = np.flatnonzero(upper >= 0.5)
    return int(members[-1]) + 1 if len(members) else len(values)


def _log_density(values: np.ndarray, member: np.ndarray) -> np.ndarray:
    """Return the log of share times normal density of the group with these memberships."""
    weight = max(float(member.sum()), 1e-9)
    mean = float(member @ values) / weight
    deviation = max(_NARROWEST, float(np.sqrt(member @ (values - mean) ** 2 / weight)))
    share = weight / len(values)
    return np.asarray(
        np.log(share) - np.log(deviation) - 0.5 * ((values - mean) / deviation) ** 2, float
    )
