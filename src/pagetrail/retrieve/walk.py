"""The judged walk: best first through ranking and page graph, under a budget of verdicts.

The published walk (`beam.Beam`) judges whole neighbourhoods; on documents of twenty pages and more
that finds less than judging down the ranking. Here edges add to the ranking: each unjudged page has
a chance of holding evidence (`frontier.Frontier`), the likeliest are judged next, and what is said
of them changes the chances of the pages that edges join them to.

The weights stand in ``walk.json`` and come from ``scripts/fit_walk.py``, which reports what they do
on documents that they were not fitted on.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UsageError
from ..types import Hit, Ranking, Trace, Visit
from .frontier import FEATURES, Frontier
from .pipeline import Transform
from .value import as_number, check_count, piece, written
from .verdicts import (
    check_judge,
    check_share,
    judge_step,
    judged_hit,
    probability_of,
    semantic_scores,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..ports import Resources
    from ..types import Edge, Query, Step, Verdict

__all__ = ["Chances", "Walk", "packaged"]

_WEIGHTS = Path(__file__).with_name("walk.json")
_CLIP = 1e-4  # no verdict is so sure that it could not be outweighed
_SUREST = 500.0  # log-odds whose exponential is still a number
_LOOK = 200  # pages whose content is looked at before the first verdict
_GOOD = 0.5
_NAME = "walk"


@dataclass(frozen=True)
class Chances:
    """How the columns of a frontier become chances.

    The choice of a page is a conditional logit: the utility of a page is a weighted sum of its
    columns, and the chance that it is the best choice is the softmax over all pages that are left.
    The probability that it holds evidence is a logistic function of the logarithm of that chance,
    of whether evidence was found, and of how many pages were judged.

    Attributes:
        weights: Per name of a column.
        scale: Bias, and weights of log chance, of the best probability found, and of the
            logarithm of 1 + pages judged.
    """

    weights: Mapping[str, float]
    scale: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 0.0)

    def of(self, features: np.ndarray, done: np.ndarray, found: float) -> np.ndarray:
        """Return each page's probability, float ``[pages]``; NaN for pages that were judged.

        Args:
            features: From `Frontier.features`.
            done: bool ``[pages]``, judged or asked in vain.
            found: Largest probability among the pages judged; 0 without any.
        """
        vector = np.array([self.weights.get(name, 0.0) for name in FEATURES])
        utility = features @ vector
        left = ~done
        result = np.full(len(utility), np.nan)
        if left.any():
            top = utility[left].max()
            log_chance = utility - top - np.log(np.exp(utility[left] - top).sum())
            bias, slope, good, count = self.scale
            z = bias + slope * log_chance + good * found + count * math.log1p(int(done.sum()))
            result[left] = 1 / (1 + np.exp(-np.clip(z[left], -50, 50)))
        return result

    @classmethod
    def read(cls, path: Path) -> Chances:
        """Return the chances kept in a file."""
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(data["weights"], tuple(data["scale"]))


@lru_cache(maxsize=1)
def packaged() -> Chances:
    """Return the chances that come with the package."""
    return Chances.read(_WEIGHTS)


@piece(_NAME)
@dataclass(frozen=True)
class Walk(Transform):
    """Judge the likeliest pages first, those that the ranking or the page graph leads to.

    A page's score is its probability of holding evidence: what the walk expects, and for a judged
    page what the judge said on top of it. A verdict that failed or could not be read is none:
    the page keeps the walk's expectation and is not asked again. When no verdict came at all, the
    ranking is handed on as it was and the step says ``outcome: no_verdict``.

    Attributes:
        judge: The judge's name in the library.
        budget: Most pages to judge.
        share: Most pages to judge, as a share of the pages in scope, 0..1; rounded up.
        batch: Pages judged at a time; a model judges them concurrently, and what is said of one of
            them cannot help to choose the others.
        least: Stop when no page is left whose probability reaches this.
        enough: Stop when the probabilities of the pages judged sum up to this; 0: never.
        trust: Weight of a verdict: so many times its log-odds, beside those with which the judge
            says nothing (`Resources.neutral`), are added to those of the walk's expectation, as
            evidence is to a prior; above 0.
    """

    judge: str = "grade"
    budget: int = 20
    share: float = 1.0
    batch: int = 4
    least: float = 0.0
    enough: float = 0.0
    trust: float = 2.0

    def __post_init__(self) -> None:
        check_judge(self.judge)
        check_count(self.budget, "the budget of a walk")
        check_count(self.batch, "the pages judged at a time")
        for name in ("share", "least"):
            object.__setattr__(self, name, check_share(getattr(self, name), name))
        for name in ("enough", "trust"):
            object.__setattr__(self, name, as_number(getattr(self, name), name))
        if self.enough < 0:
            raise UsageError(f"enough evidence cannot be below 0, as {self.enough:g} is")
        for name in ("share", "trust"):
            if getattr(self, name) <= 0:
                raise UsageError(f"{name} must be above 0")

    def __str__(self) -> str:
        return written(self)

    def _lines(self) -> list[str]:
        share = f" and {self.share:.0%} of the pages in scope" if self.share < 1 else ""
        stops = f", stop below a chance of {self.least:g}" if self.least else ""
        stops += f", stop with evidence for {self.enough:g} pages" if self.enough else ""
        line = (
            f"ask {self.judge} about the likeliest pages, {self.batch} at a time, at most "
            f"{self.budget}{share}, following the ranking and the page graph{stops}"
        )
        return [line]

    def run(self, query: Query, ranking: Ranking, resources: Resources) -> tuple[Ranking, Trace]:
        return self.run_with(packaged(), query, ranking, resources)

    def run_with(
        self, chances: Chances, query: Query, ranking: Ranking, resources: Resources
    ) -> tuple[Ranking, Trace]:
        """Walk with chances other than those that come with the package, to study them."""
        started = time.perf_counter()
        path = _Path(self, chances, query, ranking, resources)
        reason = path.go()
        visits = path.visits()
        if all(probability_of(visit.verdict) is None for visit in visits):
            kept, reason = ranking, "no_verdict" if visits else reason
        else:
            kept = path.ranked()
        step = self._step(visits, reason, started)
        return kept, Trace((step,))

    def most(self, pages: int) -> int:
        """Return how many of so many pages in scope are judged at most."""
        return min(self.budget, math.ceil(self.share * pages))

    def _step(self, visits: Sequence[Visit], outcome: str, started: float) -> Step:
        return judge_step(
            self,
            f"walk with {self.judge}",
            [visit.verdict for visit in visits],
            started,
            visits=visits,
            by_edges=str(sum(visit.edge != "seed" for visit in visits)),
            outcome=outcome,
        )


@dataclass
class _Path:
    """One walk in progress."""

    walk: Walk
    how: Chances
    query: Query
    ranking: Ranking
    resources: Resources
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    expected: dict[int, float] = field(default_factory=dict)
    came: dict[int, tuple[int, Edge]] = field(default_factory=dict)
    ways: dict[int, Sequence[Edge]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hits = self.ranking.hits
        self.frontier = Frontier(self.query.text, hits)
        self.frontier.describe(self.resources.pages([hit.page for hit in hits[:_LOOK]]))

    def go(self) -> str:
        """Judge until the budget is spent or there is a reason to stop; return that reason."""
        left = self.walk.most(self.resources.page_total(self.query))
        while True:
            chances = self._chances()
            rows = np.flatnonzero(np.isfinite(chances))
            if not len(rows):
                return "all_judged"
            if left < 1:
                return "budget_spent"
            best = rows[np.lexsort((rows, -chances[rows]))][: min(left, self.walk.batch)]
            if chances[best[0]] < self.walk.least:
                return "nothing_promising"
            best = best[chances[best] >= self.walk.least]
            self._ask(best.tolist(), chances)
            left -= len(best)
            if (
                0
                < self.walk.enough
                <= sum(p for p in map(probability_of, self.verdicts.values()) if p)
            ):
                return "enough_evidence"

    def visits(self) -> list[Visit]:
        """Return the trail, in the order of the walk."""
        final = dict(zip(self.frontier.ids, self._scores().tolist(), strict=True))
        found = semantic_scores(self.ranking)
        trail = []
        for row, verdict in self.verdicts.items():
            page = self.frontier.ids[row]
            origin, edge = self.came.get(row, (None, None))
            trail.append(
                Visit(
                    page,
                    "seed" if edge is None else edge.kind,
                    "" if origin is None else self.frontier.ids[origin],
                    "" if edge is None else edge.why,
                    self._hop(row),
                    found.get(page),
                    final[page],
                    verdict,
                )
            )
        return trail

    def ranked(self) -> Ranking:
        """Return the pages by score: those found, and those judged or likely beyond them."""
        scores = self._scores()
        known = {hit.page: hit for hit in self.ranking.hits}
        floor = min((scores[self.frontier.row(page)] for page in known), default=0.0)
        hits = []
        for row, page in enumerate(self.frontier.ids):
            if page not in known and row not in self.verdicts and scores[row] <= floor:
                continue
            hit = known.get(page) or Hit(page, 0.0)
            verdict = self.verdicts.get(row)
            via = ", ".join(filter(None, (hit.via, self._way(row))))
            hit = replace(hit, via=via)
            hits.append(judged_hit(hit, _NAME, float(scores[row]), self.walk.judge, verdict))
        return Ranking.of(self.query, hits)

    # --- steps -------------------------------------------------------------------------------

    def _chances(self) -> np.ndarray:
        done = np.zeros(len(self.frontier), bool)
        done[list(self.verdicts)] = True
        found = max((p for p in map(probability_of, self.verdicts.values()) if p), default=0.0)
        return self.how.of(self.frontier.features(), done, found)

    def _ask(self, rows: list[int], chances: np.ndarray) -> None:
        ids = [self.frontier.ids[row] for row in rows]
        following = self._following(len(rows))
        for row in rows:
            self.expected[row] = float(chances[row])
            if row not in following:
                self._note_way(row)
        verdicts = self.resources.judge(self.walk.judge, self.query, ids)
        edges = self.resources.neighbours(self.query, ids)
        new: list[str] = []
        for row, page, verdict in zip(rows, ids, verdicts, strict=True):
            self.verdicts[row] = verdict
            if (probability := probability_of(verdict)) is not None:
                new += self.frontier.judged(page, probability, edges[page])
                self.ways[row] = edges[page]
        if new:
            self.frontier.describe(self.resources.pages(new))

    def _following(self, count: int) -> set[int]:
        """Return the rows that judging down the ranking would take next."""
        rows = (row for row in range(len(self.ranking.hits)) if row not in self.verdicts)
        return {row for row, _ in zip(rows, range(count), strict=False)}

    def _note_way(self, row: int) -> None:
        """Keep the strongest edge by which a page is reached from one that holds evidence."""
        page = self.frontier.ids[row]
        ways = [
            (edge.weight * (probability_of(self.verdicts[origin]) or 0.0), -origin, edge)
            for origin, edges in self.ways.items()
            for edge in edges
            if edge.page == page
        ]
        beyond = row >= len(self.ranking.hits)
        good = [
            way for way in ways if beyond or (probability_of(self.verdicts[-way[1]]) or 0) >= _GOOD
        ]
        if good:
            _, minus, edge = max(good, key=lambda way: way[:2])
            self.came[row] = (-minus, edge)

    def _hop(self, row: int) -> int:
        hops = 0
        while row in self.came:
            row, hops = self.came[row][0], hops + 1
        return hops

    def _way(self, row: int) -> str:
        if row not in self.came:
            return ""
        origin, edge = self.came[row]
        return f"{edge.why}, from {self.frontier.place(origin, beside=row)}"

    def _scores(self) -> np.ndarray:
        """Return every page's probability, judged or expected."""
        scores = self._chances()
        trust = self.walk.trust
        nothing = _log_odds(self.resources.neutral(self.walk.judge)) if self.verdicts else 0.0
        for row, verdict in self.verdicts.items():
            said = probability_of(verdict)
            expected = _log_odds(self.expected[row])
            both = expected
            if said is not None:
                both += trust * (_log_odds(said) - nothing)
            scores[row] = 1 / (1 + math.exp(-max(-_SUREST, min(_SUREST, both))))
        return scores


def _log_odds(probability: float) -> float:
    sure = min(1 - _CLIP, max(_CLIP, probability))
    return math.log(sure / (1 - sure))
