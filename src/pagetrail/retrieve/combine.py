"""Run several searches and add up what they found."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from ..types import Hit, Ranking, Step, Trace
from .value import Piece, fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ports import Resources
    from ..types import Query
    from .pipeline import Pipeline

__all__ = ["merge", "run_all", "step"]


def step(value: Piece, name: str, ranking: Ranking, started: float, *, calls: int = 0) -> Step:
    """Return the trace of one piece that began at ``started`` (`time.perf_counter`)."""
    return Step(
        stage=name,
        fingerprint=fingerprint(value),
        calls=calls,
        seconds=time.perf_counter() - started,
        detail={"pages": str(len(ranking.hits))},
    )


def run_all(
    inputs: Sequence[Pipeline], query: Query, resources: Resources
) -> tuple[list[Ranking], Trace]:
    """Run several pipelines on one question, in the order written."""
    rankings: list[Ranking] = []
    steps: list[Step] = []
    for each in inputs:
        ranking, trace = each.run(query, resources)
        rankings.append(ranking)
        steps.extend(trace.steps)
    return rankings, Trace(tuple(steps))


def merge(
    query: Query,
    labels: Sequence[str],
    rankings: Sequence[Ranking],
    scores: Sequence[dict[str, float]],
    floors: Sequence[float],
) -> Ranking:
    """Add up comparable scores of several rankings.

    Args:
        query: The question all rankings answer.
        labels: A name per ranking; settles which is named first where two say the same.
        rankings: The rankings to add up.
        scores: Per ranking, page to contribution.
        floors: Per ranking, the contribution of a page that it did not return.

    The sum is exact before rounding (`math.fsum`), so that neither the order of the inputs nor of
    their hits can change a rank.
    """
    hits: dict[str, list[tuple[float, str, Hit]]] = {}
    for label, ranking, own in zip(labels, rankings, scores, strict=True):
        for hit in ranking.hits:
            hits.setdefault(hit.page, []).append((-own[hit.page], label, hit))
    merged = []
    for page, found in hits.items():
        total = math.fsum(own.get(page, floor) for own, floor in zip(scores, floors, strict=True))
        found.sort(key=lambda f: f[:2])
        parts = {name: p for _, _, h in reversed(found) for name, p in h.parts.items()}
        blocks = [h.block for _, _, h in found if h.block is not None]
        # Only what speaks for the page is named as the way to it, the strongest first.
        ways = [h.via for minus, _, h in found if minus < 0] or [found[0][2].via]
        merged.append(
            Hit(page, total, parts, ", ".join(dict.fromkeys(ways)), blocks[0] if blocks else None)
        )
    return Ranking.of(query, merged)
