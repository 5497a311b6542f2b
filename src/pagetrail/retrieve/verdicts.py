"""What stages make of verdicts: one rule for what a page counts, one account of what was asked.

A page's score joins what the search thought of it with what the judge said::

    alpha * semantic + (1 - alpha) * relevance

Both lie in 0..1. A page without a verdict (nobody asked, the call failed, the reply made no sense)
keeps its semantic score alone: a failure is never a number.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ..errors import UsageError
from ..types import Part, Step
from .value import as_number, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..types import Hit, Ranking, Verdict, Visit
    from .value import Piece

__all__ = [
    "Relevance",
    "check_judge",
    "check_share",
    "joined",
    "judge_step",
    "judged_hit",
    "probability_of",
    "relevance_of",
    "semantic_scores",
]

Relevance = Literal["probability", "grade"]


def probability_of(verdict: Verdict | None) -> float | None:
    """Return the probability that a verdict gives, 0..1; None for one that says nothing."""
    if verdict is None or verdict.outcome != "judged":
        return None
    return verdict.probability


def relevance_of(verdict: Verdict | None, by: Relevance) -> float | None:
    """Return how relevant a verdict calls its page, 0..1; None where it says nothing.

    ``grade`` is ``(grade - 1) / 4`` of a grade from 1 to 5, as MoLoRAG has it (arXiv 2509.07666).

    Raises:
        UsageError: A grade is wanted and the judge gives none.
    """
    if by == "probability" or probability_of(verdict) is None:
        return probability_of(verdict)
    if verdict is None or verdict.grade is None:
        raise UsageError("this judge gives no grades from 1 to 5; weigh its probability instead")
    return (verdict.grade - 1) / 4


def joined(semantic: float, relevance: float | None, alpha: float) -> float:
    """Return a page's score from both, 0..1; see the module."""
    return semantic if relevance is None else alpha * semantic + (1 - alpha) * relevance


def semantic_scores(ranking: Ranking) -> dict[str, float]:
    """Return the search's scores by page, the best 1 and the worst 0; all 1 when they are equal."""
    scores = [hit.score for hit in ranking.hits]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return {
        hit.page: (hit.score - low) / (high - low) if high > low else 1.0 for hit in ranking.hits
    }


def judged_hit(hit: Hit, name: str, score: float, judge: str, verdict: Verdict | None) -> Hit:
    """Return a hit with a stage's score, under the stage's name, and with a judge's verdict."""
    parts = {**hit.parts, name: Part(score, score)}
    said = hit.verdicts if verdict is None else {**hit.verdicts, judge: verdict}
    return replace(hit, score=score, parts=parts, verdicts=said)


def judge_step(
    value: Piece,
    name: str,
    verdicts: Iterable[Verdict | None],
    started: float,
    *,
    visits: Sequence[Visit] = (),
    **detail: str,
) -> Step:
    """Return the trace of a stage that asked a judge.

    Args:
        value: The stage.
        name: What it is called in the trace.
        verdicts: All that it asked for, failed and unparsed ones too.
        started: When it began, by `time.perf_counter`.
        visits: Its trail, when it walks.
        detail: What else to tell; empty values are left out.
    """
    said = [verdict for verdict in verdicts if verdict is not None]
    outcomes = [verdict.outcome for verdict in said]
    counts = {
        "asked": str(len(said)),
        "unparsed": str(outcomes.count("unparsed")),
        "failed": str(outcomes.count("failed")),
        # A lenient judge puts a number in place of a reply that it could not read, and says so.
        "reason": next((v.reason for v in said if v.reason), ""),
    }
    return Step(
        stage=name,
        fingerprint=fingerprint(value),
        calls=sum(v.calls for v in said),
        tokens=sum(v.tokens for v in said),
        seconds=time.perf_counter() - started,
        cache_hits=sum(v.cached for v in said),
        detail={key: text for key, text in (counts | detail).items() if text},
        visits=tuple(visits),
    )


def check_judge(judge: object) -> None:
    """Refuse anything but the name of a judge."""
    if not isinstance(judge, str) or not judge:
        raise UsageError(f"a judge has a name, not {judge!r}")


def check_share(value: object, what: str) -> float:
    """Return a number from 0 to 1 as a float, and refuse anything else."""
    number = as_number(value, what)
    if not 0 <= number <= 1:
        raise UsageError(f"{what} lies between 0 and 1, not at {number:g}")
    return number
