"""Fusion: scores of unlike channels made comparable, then added.

Two ways. The *z-score* says how far a page stands out among all pages in the question's scope, in
standard deviations of that channel for that question. The *reciprocal rank* looks at places only:
``1 / (60 + rank)`` (Cormack, Clarke and Buettcher, SIGIR 2009).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..errors import UsageError
from ..types import Part
from .combine import merge, run_all, step
from .pipeline import Pipeline, check_inputs, indent
from .value import as_number, piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ports import Resources
    from ..types import Query, Ranking, Trace

__all__ = ["Fuse", "fuse", "reciprocal_ranks", "zscores"]

Method = Literal["zscore", "rrf"]
_RANK_OFFSET = 60


def zscores(scores: Sequence[float], total: int) -> tuple[list[float], float]:
    """Return each score in standard deviations from the mean over all pages in scope.

    Args:
        scores: What a channel gave to the pages it returned; finite.
        total: Pages in scope; those not returned count as 0, the score of a page without a match.
            A channel whose scores can be negative puts them at its lowest score instead, so that
            silence never beats a bad match.

    Returns:
        The z-scores in the order given, and the z-score of a page that was not returned. The
        deviation is the population's (divided by n). Where all pages are alike every z-score is 0.

    >>> zscores([3.0, 1.0], total=4)[0]
    [1.632993161855452, 0.0]
    """
    total = max(total, len(scores))
    if not total:
        return [], 0.0
    floor = min(0.0, min(scores, default=0.0))
    missing = total - len(scores)
    mean = (math.fsum(scores) + missing * floor) / total
    spread = math.fsum((s - mean) ** 2 for s in scores) + missing * (floor - mean) ** 2
    deviation = math.sqrt(spread / total)
    # Below this the differences are rounding noise of equal scores.
    if deviation <= 1e-9 * max(abs(mean), abs(floor), 1e-300):
        return [0.0] * len(scores), 0.0
    return [(s - mean) / deviation for s in scores], (floor - mean) / deviation


def reciprocal_ranks(count: int) -> list[float]:
    """Return ``1 / (60 + rank)`` for ranks 1 to ``count``."""
    return [1.0 / (_RANK_OFFSET + rank) for rank in range(1, count + 1)]


@piece("fuse")
@dataclass(frozen=True)
class Fuse(Pipeline):
    """Several searches, their scores made comparable, weighted and added.

    Attributes:
        inputs: Two or more searches.
        method: ``zscore`` or ``rrf``.
        weights: One per input, not negative, at least one above 0.
    """

    inputs: tuple[Pipeline, ...]
    method: Method
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        check_inputs(self.inputs, "fuse")
        if self.method not in ("zscore", "rrf"):
            raise UsageError(f"fuse knows the methods zscore and rrf, not {self.method!r}")
        if not isinstance(self.weights, tuple) or len(self.weights) != len(self.inputs):
            raise UsageError(f"fuse needs one weight per search: {len(self.inputs)}")
        weights = tuple(as_number(w, "weight") for w in self.weights)
        if min(weights) < 0 or max(weights) == 0:
            raise UsageError("weights are not negative, and one at least is above 0")
        object.__setattr__(self, "weights", weights)

    @property
    def label(self) -> str:
        return f"fuse({','.join(i.label for i in self.inputs)})"

    def __str__(self) -> str:
        extra = "" if self.method == "zscore" else f', method="{self.method}"'
        if set(self.weights) != {1.0}:
            extra += f", weights=({', '.join(f'{w:g}' for w in self.weights)})"
        return f"fuse({', '.join(map(str, self.inputs))}{extra})"

    def _lines(self) -> list[str]:
        how = "z-scores" if self.method == "zscore" else "reciprocal ranks"
        weights = ", ".join(f"{w:g}" for w in self.weights)
        return [f"fuse by {how}, weights {weights}", *indent(self.inputs)]

    def run(self, query: Query, resources: Resources) -> tuple[Ranking, Trace]:
        rankings, trace = run_all(self.inputs, query, resources)
        started = time.perf_counter()
        total = resources.page_total(query) if self.method == "zscore" else 0
        labelled, scores, floors = [], [], []
        for source, weight, ranking in zip(self.inputs, self.weights, rankings, strict=True):
            if self.method == "zscore":
                normal, floor = zscores([h.score for h in ranking.hits], total)
            else:
                normal, floor = reciprocal_ranks(len(ranking.hits)), 0.0
            labelled.append(_with_parts(source.label, ranking, normal))
            scores.append({h.page: weight * z for h, z in zip(ranking.hits, normal, strict=True)})
            floors.append(weight * floor)
        fused = merge(query, [i.label for i in self.inputs], labelled, scores, floors)
        return fused, trace.then(step(self, f"fuse {self.method}", fused, started))


def fuse(
    *inputs: Pipeline, method: Method = "zscore", weights: Sequence[float] | None = None
) -> Fuse:
    """Return the fusion of two or more searches; all weights are 1 unless given.

    Raises:
        UsageError: Fewer than two searches, an unknown method, or weights that do not fit.
    """
    return Fuse(inputs, method, tuple(weights) if weights is not None else (1.0,) * len(inputs))


def _with_parts(label: str, ranking: Ranking, normal: Sequence[float]) -> Ranking:
    hits = (
        replace(h, parts={**h.parts, label: Part(h.score, z)})
        for h, z in zip(ranking.hits, normal, strict=True)
    )
    return replace(ranking, hits=tuple(hits))
