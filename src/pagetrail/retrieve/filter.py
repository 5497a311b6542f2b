"""A judge's word in the pipeline: keep the pages that pass, in the order found or as judged.

What a judge could not say is never taken for a number: such pages are counted in the trace, under
``unparsed`` and ``failed``, and stand behind those that passed or drop out, as the stage says.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..errors import UsageError
from ..types import Ranking, Trace
from .pipeline import Transform
from .value import piece
from .verdicts import check_judge, check_share, judge_step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ports import Resources
    from ..types import Hit, Query, Step, Verdict

__all__ = ["Filter"]

_CHOICES = {
    "order": ("ranking", "probability"),
    "unjudged": ("drop", "keep"),
    "empty": ("all", "none"),
}


@piece("filter")
@dataclass(frozen=True)
class Filter(Transform):
    """Ask a judge about every page of the ranking and keep those that pass.

    Attributes:
        judge: The judge's name in the library, such as ``yes_no``.
        threshold: Least probability that passes, 0..1; with 0 the stage only reorders.
        order: ``ranking`` keeps the order and scores found; ``probability`` puts the pages that
            passed in order of their probability, which becomes the score.
        unjudged: Pages without a verdict: ``drop`` treats them as not passed; ``keep`` puts them
            behind those that passed.
        empty: When no page passes: ``all`` returns all of them, ``none`` returns nothing. Either
            way the step says ``outcome: no_candidate``.
    """

    judge: str = "yes_no"
    threshold: float = 0.5
    order: Literal["ranking", "probability"] = "ranking"
    unjudged: Literal["drop", "keep"] = "keep"
    empty: Literal["all", "none"] = "all"

    def __post_init__(self) -> None:
        check_judge(self.judge)
        object.__setattr__(self, "threshold", check_share(self.threshold, "threshold"))
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise UsageError(f"{name} is {' or '.join(known)}, not {getattr(self, name)!r}")

    def __str__(self) -> str:
        extra = "" if self.threshold == 0.5 else f", threshold={self.threshold:g}"
        plain = {"order": "ranking", "unjudged": "keep", "empty": "all"}
        for name, value in plain.items():
            if getattr(self, name) != value:
                extra += f', {name}="{getattr(self, name)}"'
        return f'Filter("{self.judge}"{extra})'

    def _lines(self) -> list[str]:
        order = "in the order found" if self.order == "ranking" else "the most probable first"
        empty = "all of them if none does" if self.empty == "all" else "none if none does"
        unsure = "the unjudged behind them" if self.unjudged == "keep" else "the unjudged dropped"
        rule = f"{order}, {unsure}; {empty}"
        return [f"ask {self.judge} about each page, keep those of {self.threshold:g} up, {rule}"]

    def run(self, query: Query, ranking: Ranking, resources: Resources) -> tuple[Ranking, Trace]:
        started = time.perf_counter()
        verdicts = resources.judge(self.judge, query, [hit.page for hit in ranking.hits])
        judged = [
            (replace(hit, verdicts={**hit.verdicts, self.judge: verdict}), verdict)
            for hit, verdict in zip(ranking.hits, verdicts, strict=True)
        ]
        passed = [(h, v) for h, v in judged if _probability(v) >= self.threshold]
        kept = self._ordered(passed)
        if self.unjudged == "keep":
            kept += _behind(kept, [h for h, v in judged if v.outcome != "judged"])
        if not passed:
            kept = self._ordered(judged) if self.empty == "all" else []
        return Ranking(query, tuple(kept)), Trace((self._step(verdicts, len(passed), started),))

    def _ordered(self, pages: Sequence[tuple[Hit, Verdict]]) -> list[Hit]:
        """Return hits in the stage's order; those without a number stand last."""
        if self.order == "ranking":
            return [hit for hit, _ in pages]
        sure = [(h, v) for h, v in pages if v.probability is not None]
        # Equally probable pages keep the order they were found in: sorting is stable.
        sure.sort(key=lambda pair: -_probability(pair[1]))
        kept = [replace(hit, score=_probability(v)) for hit, v in sure]
        return kept + _behind(kept, [h for h, v in pages if v.probability is None])

    def _step(self, verdicts: Sequence[Verdict], passed: int, started: float) -> Step:
        outcome = "no_candidate" if verdicts and not passed else ""
        name = f"judge {self.judge}"
        return judge_step(self, name, verdicts, started, passed=str(passed), outcome=outcome)


def _probability(verdict: Verdict) -> float:
    """Return the verdict's probability, below every threshold where there is none."""
    return -1.0 if verdict.probability is None else verdict.probability


def _behind(kept: Sequence[Hit], others: Sequence[Hit]) -> list[Hit]:
    """Return hits with scores below the last one kept, so that they stay behind it in any sum."""
    if not kept:
        return list(others)
    last = min(hit.score for hit in kept)
    behind = []
    for hit in others:
        last = min(hit.score, math.nextafter(last, -math.inf))
        behind.append(replace(hit, score=last))
    return behind
