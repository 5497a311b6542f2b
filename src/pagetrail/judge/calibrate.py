"""Calibration: a judge's scores to probabilities that mean what they say, and how well they do.

Platt's method fits a line on the scores and is steady with few labels; isotonic regression fits
any rising step function and wants some hundreds. Neither changes the order of pages, except that
isotonic steps make ties.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import Verdict

__all__ = ["FEWEST_LABELS", "Bin", "Calibration", "Reliability", "fit", "raw_score", "reliability"]

FEWEST_LABELS = 20
"""Fewer labels say next to nothing about probabilities."""

Kind = Literal["platt", "isotonic"]
Scale = Literal["log_odds", "grade", "probability"]

_FLOOR = 1e-4  # no calibration fitted on a few hundred labels can say "never" or "always"
_STEPS = 100


@dataclass(frozen=True, slots=True)
class Calibration:
    """A rising function from a judge's scores to probabilities.

    Attributes:
        kind: ``platt`` or ``isotonic``.
        scale: Which number of a verdict it was fitted on, see `raw_score`; others are left alone.
        slope: Of the log-odds over the score, never negative (Platt).
        offset: Log-odds at score 0 (Platt).
        scores: Scores of the knots, strictly rising (isotonic).
        probabilities: Probabilities at the knots, never falling (isotonic); between two knots the
            line between them holds, beyond the outermost the outermost.
        labels: Number of labelled scores it was fitted on.
        positives: How many of them were positive.
    """

    kind: Kind
    scale: Scale = "log_odds"
    slope: float = 0.0
    offset: float = 0.0
    scores: tuple[float, ...] = ()
    probabilities: tuple[float, ...] = ()
    labels: int = 0
    positives: int = 0

    def apply(self, score: float) -> float:
        """Return the probability for one score, within 0.0001..0.9999."""
        if self.kind == "platt":
            value = _sigmoid(self.slope * score + self.offset)
        else:
            value = float(np.interp(score, self.scores, self.probabilities))
        return min(1 - _FLOOR, max(_FLOOR, value))

    def to_json(self) -> str:
        """Return the calibration as one line of JSON; `from_json` reads it back exactly."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Return the calibration that `to_json` wrote.

        Raises:
            UsageError: The text is something else.
        """
        try:
            body = json.loads(text)
            made = cls(
                **{
                    **body,
                    "scores": tuple(map(float, body["scores"])),
                    "probabilities": tuple(map(float, body["probabilities"])),
                }
            )
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError("this is not a calibration; fit it again") from error
        made._check()
        return made

    def _check(self) -> None:
        numbers = (self.slope, self.offset, *self.scores, *self.probabilities)
        known = self.kind in {"platt", "isotonic"}
        known = known and self.scale in {"log_odds", "grade", "probability"}
        finite = all(isinstance(n, int | float) and math.isfinite(n) for n in numbers)
        if not known or not finite or self.slope < 0 or not _within(self.probabilities):
            raise UsageError("this is not a calibration; fit it again")
        rising = np.all(np.diff(self.scores) > 0) and np.all(np.diff(self.probabilities) >= 0)
        paired = len(self.scores) == len(self.probabilities)
        if not rising or not paired or (self.kind == "isotonic" and not self.scores):
            raise UsageError("this is not a calibration; fit it again")


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions of about the same size: their mean, the share that came true, how many."""

    predicted: float
    positive: float
    count: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """How predicted probabilities compare with what came true.

    Attributes:
        bins: From low to high predictions, each of about as many.
        error: Expected calibration error: the mean over predictions of the distance, in their
            bin, between mean prediction and share positive; 0..1, 0 is best.
        brier: Mean squared distance between prediction and label, 0..1, 0 is best.
        count: Number of predictions.
    """

    bins: tuple[Bin, ...]
    error: float
    brier: float
    count: int


def raw_score(verdict: Verdict) -> tuple[Scale, float] | None:
    """Return the number that an uncalibrated judge's verdict is calibrated by, None without one.

    Log-odds where there are, otherwise the grade, otherwise the probability.
    """
    if verdict.log_odds is not None:
        return "log_odds", verdict.log_odds
    if verdict.grade is not None:
        return "grade", verdict.grade
    if verdict.probability is not None:
        return "probability", verdict.probability
    return None


def fit(
    kind: Kind, scores: Sequence[float], labels: Sequence[bool], *, scale: Scale = "log_odds"
) -> Calibration:
    """Fit a calibration on labelled scores.

    Platt: maximum likelihood of a logistic function of the score, with targets
    ``(n+ + 1) / (n+ + 2)`` and ``1 / (n- + 2)`` in place of 1 and 0 (Platt 1999; Newton's method as
    in Lin, Lin and Weng 2007). Isotonic: least squares over rising functions by pooling adjacent
    violators; equal scores count as one knot, and with n labels no value lies nearer to 0 or 1 than
    ``1 / (n + 2)``.

    Args:
        kind: ``platt`` or ``isotonic``.
        scores: One finite number each; higher must mean likelier.
        labels: Whether the page does hold evidence.
        scale: Which number of the verdicts the scores are.

    Raises:
        UsageError: Fewer than `FEWEST_LABELS`, only one class, or a score that is not finite.
    """
    if kind not in {"platt", "isotonic"}:
        raise UsageError(f"no calibration {kind!r}; there are platt and isotonic")
    x, y = _checked(scores, labels)
    positives = int(y.sum())
    if kind == "platt":
        slope, offset = _platt(x, y)
        return Calibration(
            kind, scale, slope=slope, offset=offset, labels=len(x), positives=positives
        )
    knots, values = _isotonic(x, y)
    return Calibration(
        kind, scale, scores=knots, probabilities=values, labels=len(x), positives=positives
    )


def reliability(
    predicted: Sequence[float], labels: Sequence[bool], *, bins: int = 10
) -> Reliability:
    """Return a reliability table of predictions against labels.

    Predictions are sorted and cut into at most ``bins`` groups of about equal size; equal
    predictions stay together.

    Raises:
        UsageError: Nothing was predicted, or predictions and labels are not equally many.
    """
    p, y = np.asarray(predicted, float), np.asarray(labels, float)
    if len(p) != len(y) or not len(p) or bins < 1:
        raise UsageError("a reliability table needs as many labels as predictions, at least one")
    order = np.argsort(p, kind="stable")
    p, y = p[order], y[order]
    # A cut inside a run of equal predictions moves to the run's start.
    cuts = {int(np.searchsorted(p, p[len(p) * i // bins])) for i in range(1, bins)} - {0}
    groups = [g for g in np.split(np.arange(len(p)), sorted(cuts)) if len(g)]
    made = tuple(Bin(float(p[g].mean()), float(y[g].mean()), len(g)) for g in groups)
    error = sum(abs(b.predicted - b.positive) * b.count for b in made) / len(p)
    return Reliability(made, error, float(((p - y) ** 2).mean()), len(p))


def _checked(scores: Sequence[float], labels: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(scores, float), np.asarray(labels, float)
    if x.shape != y.shape or x.ndim != 1:
        raise UsageError(f"{len(x)} scores but {len(y)} labels; calibration needs one label each")
    if len(x) < FEWEST_LABELS:
        raise UsageError(
            f"calibration needs at least {FEWEST_LABELS} labelled pages, these are {len(x)}"
        )
    if not np.isfinite(x).all():
        raise UsageError("a score is not a finite number; leave out pages that were not judged")
    if not np.isin(y, (0.0, 1.0)).all():
        raise UsageError("labels are true or false")
    if y.min() == y.max():
        which = "hold" if y[0] else "do not hold"
        raise UsageError(f"all labelled pages {which} evidence; calibration needs both kinds")
    return x, y


def _platt(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    positives = y.sum()
    negatives = len(y) - positives
    target = np.where(y > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    # Newton on centred and scaled scores, where both unknowns have a like size.
    centre, spread = float(x.mean()), float(x.std()) or 1.0
    design = np.stack([(x - centre) / spread, np.ones_like(x)], axis=1)
    w = np.array([0.0, math.log((positives + 1) / (negatives + 1))])
    loss = _loss(design @ w, target)
    for _ in range(_STEPS):
        p = 0.5 + 0.5 * np.tanh(design @ w / 2)
        slope = design.T @ (p - target)
        bend = (design * (p * (1 - p))[:, None]).T @ design + 1e-12 * np.eye(2)
        step, length = np.linalg.solve(bend, slope), 1.0
        while length > 1e-10 and _loss(design @ (w - length * step), target) > loss:
            length /= 2
        w = w - length * step
        loss = _loss(design @ w, target)
        if np.abs(slope).max() < 1e-9 * len(x):
            break
    if w[0] < 0:  # scores that speak against: no rising function fits better than a flat one
        share = float(target.mean())
        return 0.0, math.log(share / (1 - share))
    return float(w[0] / spread), float(w[1] - w[0] * centre / spread)


def _loss(z: np.ndarray, target: np.ndarray) -> float:
    return float((np.logaddexp(0, z) - target * z).sum())


def _isotonic(x: np.ndarray, y: np.ndarray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    knots, place = np.unique(x, return_inverse=True)
    weights = np.bincount(place).astype(float)
    means = np.bincount(place, y) / weights
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of knots
    for mean, weight in zip(means.tolist(), weights.tolist(), strict=True):
        pool = (mean, weight, 1)
        while pools and pools[-1][0] >= pool[0]:
            before = pools.pop()
            total = before[1] + pool[1]
            merged = (before[0] * before[1] + pool[0] * pool[1]) / total
            pool = (merged, total, before[2] + pool[2])
        pools.append(pool)
    # Only the ends of each pool are kept: what lies between is level.
    scores: list[float] = []
    values: list[float] = []
    start = 0
    for mean, _, size in pools:
        for at in sorted({start, start + size - 1}):
            scores.append(float(knots[at]))
            values.append(mean)
        start += size
    least = 1 / (len(x) + 2)  # n labels without an exception do not say "never"
    return tuple(scores), tuple(min(1 - least, max(least, v)) for v in values)


def _within(values: Sequence[float]) -> bool:
    return all(0 <= v <= 1 for v in values)


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
