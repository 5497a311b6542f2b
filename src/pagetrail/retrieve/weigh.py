"""Judging down the ranking: the plain alternative to a walk, and the full grading of MoLoRAG."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..types import Ranking, Trace, Visit
from .pipeline import Transform
from .value import check_count, piece, written
from .verdicts import (
    Relevance,
    check_judge,
    check_share,
    joined,
    judge_step,
    judged_hit,
    probability_of,
    relevance_of,
    semantic_scores,
)

if TYPE_CHECKING:
    from ..ports import Resources
    from ..types import Query

__all__ = ["Weigh"]

_NAME = "weigh"


@piece("weigh")
@dataclass(frozen=True)
class Weigh(Transform):
    """Judge the best pages of the ranking, or all, and weigh the verdicts with the search's scores.

    Pages that were not judged keep the search's score, made 0..1 within the ranking, and so do
    those whose verdict failed. Without any verdict the ranking is handed on as it was, and the step
    says ``outcome: no_verdict``.

    Attributes:
        judge: The judge's name in the library.
        top: Pages to judge, the best first; 0: all.
        alpha: Share of the search's score in a page's score, 0..1; 0 is the judge alone.
        floor: Judged pages below this score are dropped.
        relevance: ``grade``: (grade - 1) / 4; ``probability``: the judge's, calibrated where the
            library has a calibration.
    """

    judge: str = "grade"
    top: int = 0
    alpha: float = 0.5
    floor: float = 0.0
    relevance: Relevance = "probability"

    def __post_init__(self) -> None:
        check_judge(self.judge)
        if self.top != 0 or isinstance(self.top, bool):
            check_count(self.top, "the number of pages to judge")
        for name in ("alpha", "floor"):
            object.__setattr__(self, name, check_share(getattr(self, name), name))
        if self.relevance not in ("probability", "grade"):
            raise UsageError(f"relevance is probability or grade, not {self.relevance!r}")

    def __str__(self) -> str:
        return written(self)

    def _lines(self) -> list[str]:
        which = f"the best {self.top} pages" if self.top else "every page"
        dropped = f"; drop those below {self.floor:g}" if self.floor else ""
        line = (
            f"ask {self.judge} about {which}, weigh the search {self.alpha:g} and the judge "
            f"{1 - self.alpha:g}{dropped}"
        )
        return [line]

    def run(self, query: Query, ranking: Ranking, resources: Resources) -> tuple[Ranking, Trace]:
        started = time.perf_counter()
        asked = [hit.page for hit in ranking.hits[: self.top or None]]
        found = resources.judge(self.judge, query, asked)
        verdicts = dict(zip(asked, found, strict=True))
        silent = all(probability_of(verdict) is None for verdict in found)
        semantic = semantic_scores(ranking)
        scores = {
            page: joined(own, relevance_of(verdicts.get(page), self.relevance), self.alpha)
            for page, own in semantic.items()
        }
        below = {
            page
            for page, verdict in verdicts.items()
            if probability_of(verdict) is not None and scores[page] < self.floor
        }
        kept = [
            judged_hit(hit, _NAME, scores[hit.page], self.judge, verdicts.get(hit.page))
            for hit in ranking.hits
            if hit.page not in below
        ]
        step = judge_step(
            self,
            f"weigh by {self.judge}",
            found,
            started,
            visits=[
                Visit(page, "seed", semantic=semantic[page], score=scores[page], verdict=verdict)
                for page, verdict in verdicts.items()
            ],
            below_floor=str(len(below)) if below else "",
            outcome="no_verdict" if found and silent else "",
        )
        if silent:
            return ranking, Trace((step,))
        return Ranking.of(query, kept), Trace((step,))
