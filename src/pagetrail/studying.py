"""What the page graph of a library is worth: labelled questions, replayed without asking a model.

Part of the composition root. Every question is asked within its document, all of whose pages are
ranked once; then each method judges pages of that ranking. The gold pages are the judge, with or
without errors, and a judge of the library when one is named.

All methods meet the same verdicts, pair by pair. ``down`` differs from ``walk`` in the choice of
pages and in what is expected of a page before it is judged, not in how both are joined with what
the judge says; ``weigh`` judges the same pages as ``down`` and lets the verdict come first and the
ranking decide between equal ones.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .evaluate.curves import Outcome, Point, curve_points, recalls
from .evaluate.noise import GoldJudge
from .evaluate.reach import DocumentReach, Reach, add_up, degrees, group_reach
from .evaluate.report import Study
from .recipes import recipe, trusted
from .replaying import LibraryJudge, load_cases
from .retrieve.beam import Beam
from .retrieve.filter import Filter
from .retrieve.walk import Chances, Walk, packaged
from .retrieve.weigh import Weigh

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from .channels import Channels
    from .evaluate.labelled import Skipped
    from .library import Library
    from .replaying import AnyJudge, Case
    from .retrieve.pipeline import Pipeline, Transform
    from .types import Ranking, Trace

__all__ = ["SHARES", "Study", "beams", "curves", "reaches", "study_library"]

SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Budgets of a study: shares of a document's pages."""

BASELINE = "down"
_TIES = 0.1  # less than a grade counts, so that the ranking decides between equal grades only
_TOGETHER = 4  # pages that a judge of the library is asked about at a time
_ALL = 100_000  # pages of one document that are ranked
# Fitted as the walk's own (`scripts/fit_walk.py`), on the place in the ranking alone.
_RANK_ONLY = Chances({"rank": -1.257}, (1.193, 1.0733, -1.7036, -0.1468))


# --- methods --------------------------------------------------------------------------------------


def outcome(case: Case, stage: Transform, judge: AnyJudge) -> Outcome:
    """Return what a stage does for a question; judges of a library need not give grades."""
    if isinstance(judge, LibraryJudge) and isinstance(stage, Beam):
        stage = replace(stage, relevance="probability")
    world = case.resources(judge)
    return _outcome(case, *stage.run(case.ranking.query, case.ranking, world))


def walking(case: Case, budget: int, judge: AnyJudge, chances: Chances, batch: int = 1) -> Outcome:
    """Return what our walk does with a budget of pages."""
    trust = trusted(judge.name if isinstance(judge, LibraryJudge) else "")
    stage = Walk(budget=budget, batch=batch, trust=trust)
    world = case.resources(judge)
    return _outcome(case, *stage.run_with(chances, case.ranking.query, case.ranking, world))


def _outcome(case: Case, ranking: Ranking, trace: Trace) -> Outcome:
    return handed_on(case, ranking, {visit.page for step in trace.steps for visit in step.visits})


def handed_on(case: Case, ranking: Ranking, judged: Collection[str]) -> Outcome:
    """Return what a ranking holds, of whose pages some were judged."""
    ranked = [hit.page for hit in ranking.hits]
    seen = [page for page in ranked if page in judged]
    return Outcome(len(judged), case.pages, recalls(ranked, case.gold), recalls(seen, case.gold))


def down(case: Case, budget: int, judge: AnyJudge, batch: int = 1) -> Outcome:
    """Return what judging down the ranking does: the walk's rule for scores, without any edge."""
    return walking(case, budget, judge, _RANK_ONLY, batch)


def weigh(case: Case, budget: int, judge: AnyJudge) -> Outcome:
    """Return what judging down the ranking does when verdicts come first, then the ranking."""
    return outcome(case, Weigh(top=budget, alpha=_TIES), judge)


def beams(channel: str) -> dict[str, Beam]:
    """Return the published beam as described and as coded, over a channel's vectors."""
    shared: dict[str, Any] = {"channel": channel, "relevance": "grade"}
    return {
        "beam (paper)": Beam(alpha=0.5, k=None, theta=0.4, measure="product", **shared),
        "beam (code)": Beam(alpha=0.4, floor=0.3, k=5, theta=0.8, least=4, **shared),
    }


# --- the study ------------------------------------------------------------------------------------


def study_library(
    library: Library,
    data: Path,
    *,
    pipeline: Pipeline | str = "default",
    judge: str | None = None,
    most: int = 20,
    off: float = 0.15,
    failed: float = 0.05,
    least: int = 20,
    shares: Sequence[float] = SHARES,
    channel: str = "dense",
    progress: Callable[[int, int, str], None] | None = None,
) -> Study:
    """Replay the labelled questions of a folder over a library.

    Args:
        library: Holds the documents of the questions.
        data: See `evaluate.labelled.read_questions`.
        pipeline: Whose ranking is walked.
        judge: A judge of the library to ask as well.
        most: Pages of a question that a method may ask it about, beams apart; 0: any, with beams.
        off: Share of wrong grades of the judge that errs, see `evaluate.noise.GoldJudge`.
        failed: Share of its verdicts that do not come.
        least: Documents of fewer pages are left out.
        shares: Budgets, as shares of a document's pages.
        channel: Vectors that the published beam walks along.
        progress: Called with questions done, questions to do, and who judges.

    Raises:
        NotFoundError: There is no file of questions, no such channel or judge.
        UsageError: No question can be asked of this library; a rate is out of range.
    """
    whole = recipe(pipeline, _ALL) if isinstance(pipeline, str) else pipeline
    # A filter asks the judge, so that one that is not there is found before anything is done.
    channels = library._ready(whole if judge is None else whole >> Filter(judge))
    real = None if judge is None else LibraryJudge(judge, channels, most)
    judges: list[AnyJudge] = [GoldJudge(), GoldJudge(off, failed), *([real] if real else [])]
    cases, skipped = _cases(library, channels, whole, data, least)
    return Study(
        recipe=str(pipeline),
        questions=len(cases),
        skipped=skipped,
        points=curves(cases, judges, shares=shares, channel=channel, tick=progress),
        reaches=reaches(cases),
        documents=by_document(cases, {d.id: d.name for d in library.documents()}),
        asked=len(real.said) if real else 0,
        unjudged=real.unjudged if real else 0,
        calls=real.calls if real else 0,
    )


def _cases(
    library: Library, channels: Channels, pipeline: Pipeline, data: Path, least: int
) -> tuple[list[Case], list[Skipped]]:
    def search(question: str, document: str) -> Ranking:
        return library.search(question, documents=document, limit=_ALL, pipeline=pipeline)

    cases, skipped = load_cases(channels, library.documents(), search, data, least=least)
    if not cases:
        first = next((one for one in skipped if one.wrong), next(iter(skipped), None))
        reason = f"; {first}" if first else ""
        raise UsageError(f"no question of {data} can be asked of this library{reason}")
    return cases, skipped


def curves(
    cases: Sequence[Case],
    judges: Sequence[AnyJudge],
    *,
    chances: Mapping[str, Chances] | None = None,
    shares: Sequence[float] = SHARES,
    channel: str = "dense",
    batch: int = 1,
    tick: Callable[[int, int, str], None] | None = None,
) -> dict[str, list[Point]]:
    """Return recall against pages judged, by judge in words.

    Args:
        cases: From `load_cases`.
        judges: Who judges.
        chances: What the walk goes by, per document id; as packaged when not given.
        shares: Budgets, as shares of a document's pages.
        channel: Vectors that the published beam walks along.
        batch: Pages that our walk judges at a time.
        tick: Called with questions done, questions to do, and the judge.
    """
    clusters = [case.document for case in cases]
    points = {}
    for judge in judges:
        found: dict[tuple[str, float | None], list[Outcome]] = {}
        for done, case in enumerate(cases):
            if tick is not None:
                tick(done, len(cases), str(judge))
            how = packaged() if chances is None else chances[case.document]
            for key, method in _methods(how, shares, channel, batch, judge):
                found.setdefault(key, []).append(method(case, judge))
        points[str(judge)] = curve_points(found, clusters, BASELINE)
    return points


def _methods(
    chances: Chances, shares: Sequence[float], channel: str, batch: int, judge: AnyJudge
) -> Iterator[tuple[tuple[str, float | None], Callable[[Case, AnyJudge], Outcome]]]:
    batch = _TOGETHER if isinstance(judge, LibraryJudge) else batch
    methods: dict[str, Callable[[Case, int, AnyJudge], Outcome]] = {
        BASELINE: partial(down, batch=batch),
        "weigh": weigh,
        "walk": partial(walking, chances=chances, batch=batch),
    }
    for share in shares:
        for name, method in methods.items():
            yield (name, share), partial(_at, share, method)
    if not (isinstance(judge, LibraryJudge) and judge.most):
        for name, stage in beams(channel).items():
            yield (name, None), partial(_whole, stage)


def _at(
    share: float, method: Callable[[Case, int, AnyJudge], Outcome], case: Case, judge: AnyJudge
) -> Outcome:
    budget = max(1, math.ceil(share * case.pages))
    if isinstance(judge, LibraryJudge) and judge.most:
        budget = min(budget, judge.most)
    return method(case, budget, judge)


def _whole(stage: Transform, case: Case, judge: AnyJudge) -> Outcome:
    return outcome(case, stage, judge)


def reaches(cases: Sequence[Case]) -> dict[str, Reach]:
    """Return what edges reach from the first pages of the rankings, by name of a group of kinds."""
    return add_up(group_reach(case.ids, case.gold, case.edges) for case in cases)


def by_document(cases: Sequence[Case], names: Mapping[str, str]) -> dict[str, DocumentReach]:
    """Return what edges reach per document, by file name.

    Args:
        cases: From `load_cases`.
        names: File names by document id.
    """
    asked: dict[str, list[Case]] = {}
    for case in cases:
        asked.setdefault(case.document, []).append(case)
    return {
        names[document]: DocumentReach(
            mine[0].pages, len(mine), degrees(mine[0].edges), reaches(mine)
        )
        for document, mine in asked.items()
    }
