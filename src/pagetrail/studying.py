"""What the page graph of a library is worth: labelled questions, replayed without asking a model.

Part of the composition root. Every question is asked within its document, all of whose pages are
ranked once; then each method walks that ranking, judged by the gold pages, with or without errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

from .edges import EdgeKind
from .errors import UsageError
from .evaluate.charts import aligned, curve_picture, curve_table, markdown, reach_table
from .evaluate.curves import Outcome, Point, curve_points, recalls
from .evaluate.noise import GoldJudge
from .evaluate.reach import Reach, degrees, reach
from .recipes import recipe
from .replaying import load_cases
from .retrieve.beam import Beam
from .retrieve.filter import Filter
from .retrieve.walk import Chances, Walk, packaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from .library import Library
    from .replaying import AnyJudge, Case
    from .retrieve.pipeline import Pipeline, Transform
    from .types import Ranking, Trace

__all__ = ["SHARES", "Study", "beams", "curves", "reaches", "study_library"]

SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Budgets of a study: shares of a document's pages."""

BASELINE = "down"
_ALL = 100_000  # pages of one document that are ranked
# Fitted as the walk's own (`scripts/fit_walk.py`), on the place in the ranking alone.
_RANK_ONLY = Chances({"rank": -1.257}, (1.193, 1.0733, -1.7036, -0.1468))


@dataclass
class Study:
    """What a study found.

    Attributes:
        recipe: Whose ranking was walked.
        questions: Questions asked; on ``documents`` documents.
        skipped: Lines of the file that were left out, and why.
        points: Per judge (in words), recall against pages judged.
        reaches: Per kind of edge, and for groups of them, what they reach from the first pages.
        per_document: Per file name: pages, questions, mean degree per kind, reach of all edges.
        calls: Calls to chat models made for it.
    """

    recipe: str
    questions: int
    documents: int
    skipped: list[str]
    points: dict[str, list[Point]] = field(default_factory=dict)
    reaches: dict[str, Reach] = field(default_factory=dict)
    per_document: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return all of it; the form is that of ``graph report --json`` (docs/cli.md)."""
        return {
            "recipe": self.recipe,
            "questions": self.questions,
            "documents": self.documents,
            "skipped": self.skipped,
            "calls": self.calls,
            "curves": {judge: [p.as_json() for p in found] for judge, found in self.points.items()},
            "reach": {kind: found.as_json() for kind, found in self.reaches.items()},
            "per_document": self.per_document,
        }

    def as_text(self) -> str:
        """Return its tables for a terminal."""
        return "\n\n".join(self._parts(aligned))

    def as_markdown(self) -> str:
        """Return its tables and pictures (`pictures`) as Markdown."""
        title, *parts = self._parts(markdown)
        shown = [f"![{judge}]({name})" for judge, name in self._files()]
        return "\n\n".join(["# Page graph", title, *parts, *shown]) + "\n"

    def pictures(self) -> dict[str, str]:
        """Return the curves of each judge as an SVG picture, by file name."""
        return {name: curve_picture(self.points[judge], judge) for judge, name in self._files()}

    def _parts(self, table: Callable[[list[list[str]]], str]) -> list[str]:
        title = f"{self.questions} questions on {self.documents} documents, ranking: {self.recipe}"
        parts = [title]
        for judge, points in self.points.items():
            parts += [f"Recall against pages judged, {judge}:", table(curve_table(points))]
        reached = "Gold pages reached from the first three of the ranking:"
        return [*parts, reached, table(reach_table(self.reaches))]

    def _files(self) -> list[tuple[str, str]]:
        return [(judge, f"curves-{n}.svg") for n, judge in enumerate(self.points, 1)]


# --- methods --------------------------------------------------------------------------------------


def outcome(case: Case, stage: Transform, judge: AnyJudge) -> Outcome:
    """Return what a stage does for a question; judges of a library need not give grades."""
    if isinstance(judge, str) and isinstance(stage, Beam):
        stage = replace(stage, relevance="probability")
    world = case.resources(judge)
    return _outcome(case, *stage.run(case.ranking.query, case.ranking, world))


def walking(case: Case, budget: int, judge: AnyJudge, chances: Chances, batch: int = 1) -> Outcome:
    """Return what our walk does with a budget of pages."""
    stage = Walk(budget=budget, batch=batch)
    world = case.resources(judge)
    return _outcome(case, *stage.run_with(chances, case.ranking.query, case.ranking, world))


def _outcome(case: Case, ranking: Ranking, trace: Trace) -> Outcome:
    judged = {visit.page for step in trace.steps for visit in step.visits}
    ranked = [hit.page for hit in ranking.hits]
    seen = [page for page in ranked if page in judged]
    return Outcome(len(judged), case.pages, recalls(ranked, case.gold), recalls(seen, case.gold))


def down(case: Case, budget: int, judge: AnyJudge) -> Outcome:
    """Return what judging down the ranking does: the walk's rule for scores, without any edge."""
    return walking(case, budget, judge, _RANK_ONLY)


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
    off: float = 0.15,
    failed: float = 0.05,
    least: int = 20,
    shares: Sequence[float] = SHARES,
    channel: str = "dense",
    progress: Callable[[int, int, str], None] | None = None,
) -> Study:
    """Replay the labelled questions of a folder over a library.

    Args:
        library: Holds the documents of the questions, by file name.
        data: See `replaying.load_cases`.
        pipeline: Whose ranking is walked.
        judge: A judge of the library to ask as well, about up to every page of every document.
        off: Share of wrong grades of the judge that errs, see `evaluate.noise.GoldJudge`.
        failed: Share of its verdicts that do not come.
        least: Documents of fewer pages are left out.
        shares: Budgets, as shares of a document's pages.
        channel: Vectors that the published beam walks along.
        progress: Called with questions done, questions to do, and who judges.

    Raises:
        NotFoundError: There is no file of questions, no such channel or judge.
        UsageError: None of the questions can be asked of this library; a rate is out of range.
    """
    whole = recipe(pipeline, _ALL) if isinstance(pipeline, str) else pipeline
    judges: list[AnyJudge] = [GoldJudge(), GoldJudge(off, failed), *([judge] if judge else [])]
    cases, skipped = _cases(library, whole, judge, data, least)
    names = {document.id: document.name for document in library.documents()}
    before = library.models.usage.calls
    return Study(
        recipe=str(pipeline),
        questions=len(cases),
        documents=len({case.document for case in cases}),
        skipped=skipped,
        points=curves(cases, judges, shares=shares, channel=channel, tick=progress),
        reaches=reaches(cases),
        per_document=by_document(cases, names),
        calls=library.models.usage.calls - before,
    )


def _cases(
    library: Library, pipeline: Pipeline, judge: str | None, data: Path, least: int
) -> tuple[list[Case], list[str]]:
    # A filter asks the judge, so that one that is not there is found before anything is done.
    channels = library._ready(pipeline if judge is None else pipeline >> Filter(judge))

    def search(question: str, document: str) -> Ranking:
        return library.search(question, documents=document, limit=_ALL, pipeline=pipeline)

    cases, skipped = load_cases(channels, library.documents(), search, data, least=least)
    if not cases:
        reason = f"; {skipped[0]}" if skipped else ""
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
            for key, method in _methods(how, shares, channel, batch):
                found.setdefault(key, []).append(method(case, judge))
        points[str(judge)] = curve_points(found, clusters, BASELINE)
    return points


def _methods(
    chances: Chances, shares: Sequence[float], channel: str, batch: int
) -> Iterator[tuple[tuple[str, float | None], Callable[[Case, AnyJudge], Outcome]]]:
    for share in shares:
        yield (BASELINE, share), partial(_at, share, down)
        walk = partial(walking, chances=chances, batch=batch)
        yield ("walk", share), partial(_at, share, walk)
    for name, stage in beams(channel).items():
        yield (name, None), partial(_whole, stage)


def _at(
    share: float, method: Callable[[Case, int, AnyJudge], Outcome], case: Case, judge: AnyJudge
) -> Outcome:
    return method(case, max(1, math.ceil(share * case.pages)), judge)


def _whole(stage: Transform, case: Case, judge: AnyJudge) -> Outcome:
    return outcome(case, stage, judge)


def reaches(cases: Sequence[Case]) -> dict[str, Reach]:
    """Return what each kind of edge reaches, and what all of them do."""
    kinds = get_args(EdgeKind)
    groups: dict[str, tuple[str, ...] | None] = {
        "all": None,
        "all but order": tuple(kind for kind in kinds if kind not in ("next", "previous")),
        "order": ("next", "previous"),
        **{kind: (kind,) for kind in kinds if kind not in ("next", "previous")},
    }
    found = {name: Reach() for name in groups}
    for case, (name, chosen) in product(cases, groups.items()):
        found[name] += reach(case.ids, case.gold, case.edges, chosen)
    return {name: one for name, one in found.items() if one.pages[0]}


def by_document(cases: Sequence[Case], names: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return pages, degrees and reach per file name."""
    found: dict[str, dict[str, Any]] = {}
    for document in dict.fromkeys(case.document for case in cases):
        mine = [case for case in cases if case.document == document]
        total = Reach()
        for case in mine:
            total += reach(case.ids, case.gold, case.edges)
        found[names[document]] = {
            "pages": mine[0].pages,
            "questions": len(mine),
            "degree": {kind: round(value, 3) for kind, value in degrees(mine[0].edges).items()},
            "reach": total.as_json(),
        }
    return found
