"""Fusion: scores of unlike channels made comparable, then added.

The *z-score* says how far a page stands out among all pages in the question's scope, in standard
deviations of that channel for that question. The *reciprocal rank* looks at places only:
``1 / (60 + rank)`` (Cormack, Clarke and Buettcher, SIGIR 2009). The *sum* takes scores as they are,
such as the cosines of several encoders; over channels of vectors it is exact (`blend.exact_sum`).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import UsageError
from .blend import exact_sum
from .pipeline import Pipeline, check_inputs, fixed_order, indent, table_each
from .table import Table, combine, step
from .value import as_number, piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ports import Resources
    from ..types import Query, Trace

__all__ = ["Fuse", "fuse", "reciprocal_ranks", "zscores"]

Method = Literal["zscore", "rrf", "sum"]
_METHODS = {"zscore": "z-scores", "rrf": "reciprocal ranks", "sum": "their own scores"}
_RANK_OFFSET = 60


def zscores(scores: np.ndarray, total: int) -> tuple[np.ndarray, float]:
    """Return each score in standard deviations from the mean over all pages in scope.

    Args:
        scores: float ``[n]``, what a channel gave to the pages it returned; finite.
        total: Pages in scope; those not returned count as 0, the score of a page without a match.
            A channel whose scores can be negative puts them at its lowest score instead, so that
            silence never beats a bad match.

    Returns:
        The z-scores in the order given, and the z-score of a page that was not returned. The
        deviation is the population's (divided by n). Where all pages are alike every z-score is 0.

    >>> zscores(np.array([3.0, 1.0]), total=4)[0].round(3).tolist()
    [1.633, 0.0]
    """
    values = scores.tolist()
    total = max(total, len(values))
    if not total:
        return np.zeros(0), 0.0
    floor = min(0.0, min(values, default=0.0))
    missing = total - len(values)
    # Exact sums: the order in which a channel lists its pages must not change the result.
    mean = (math.fsum(values) + missing * floor) / total
    spread = math.fsum(((scores - mean) ** 2).tolist()) + missing * (floor - mean) ** 2
    deviation = math.sqrt(spread / total)
    # Below this the differences are rounding noise of equal scores.
    if deviation <= 1e-9 * max(abs(mean), abs(floor), 1e-300):
        return np.zeros(len(values)), 0.0
    return (scores - mean) / deviation, (floor - mean) / deviation


def reciprocal_ranks(scores: np.ndarray) -> np.ndarray:
    """Return ``1 / (60 + rank)``, rank 1 for the highest score; equal scores share the best rank.

    >>> (1 / reciprocal_ranks(np.array([0.2, 0.9, 0.2]))).round().tolist()
    [62.0, 61.0, 62.0]
    """
    above = len(scores) - np.searchsorted(np.sort(scores), scores, side="right")
    return 1.0 / (_RANK_OFFSET + 1 + above)


@piece("fuse")
@dataclass(frozen=True)
class Fuse(Pipeline):
    """Several searches, their scores made comparable, weighted and added.

    Attributes:
        inputs: Two or more searches.
        method: ``zscore``, ``rrf`` or ``sum``.
        weights: One per input, not negative, at least one above 0.
    """

    inputs: tuple[Pipeline, ...]
    method: Method
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        check_inputs(self.inputs, "fuse")
        if self.method not in _METHODS:
            raise UsageError(f"fuse knows the methods {', '.join(_METHODS)}, not {self.method!r}")
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
        weights = ", ".join(f"{w:g}" for w in self.weights)
        return [f"fuse by {_METHODS[self.method]}, weights {weights}", *indent(self.inputs)]

    def table(self, query: Query, resources: Resources) -> tuple[Table, Trace]:
        if self.method == "sum":
            exact = exact_sum(self, self.inputs, self.weights, query, resources)
            if exact is not None:
                return exact
        tables, trace = table_each(self.inputs, query, resources)
        started = time.perf_counter()
        total = resources.page_total(query)
        weighted, scores, floors = [], [], []
        for table, weight in ((tables[i], self.weights[i]) for i in fixed_order(self.inputs)):
            if self.method == "zscore":
                normal, floor = zscores(table.scores, total)
            elif self.method == "rrf":
                normal, floor = reciprocal_ranks(table.scores), 0.0
            else:
                normal, floor = table.scores, 0.0
            weighted.append(_with_normal(table, normal, weight))
            scores.append(weight * normal)
            floors.append(weight * floor)
        fused = combine(weighted, scores, floors)
        return fused, trace.then(step(self, f"fuse {self.method}", len(fused), started))


def fuse(
    *inputs: Pipeline, method: Method = "zscore", weights: Sequence[float] | None = None
) -> Fuse:
    """Return the fusion of two or more searches; all weights are 1 unless given.

    Raises:
        UsageError: Fewer than two searches, an unknown method, or weights that do not fit.
    """
    return Fuse(inputs, method, tuple(weights) if weights is not None else (1.0,) * len(inputs))


def _with_normal(table: Table, normal: np.ndarray, weight: float) -> Table:
    """Note the comparable scores of a single channel; those of several keep their own."""
    columns = {
        name: replace(
            c, normal=normal if len(table.columns) == 1 else c.normal, share=weight * c.share
        )
        for name, c in table.columns.items()
    }
    return replace(table, columns=columns)
