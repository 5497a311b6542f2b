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

from .edges import EdgeKind, Similarity
from .errors import NotFoundError, UsageError
from .evaluate.curves import Outcome, Point, curve_points, recalls
from .evaluate.reach import Reach, degrees, reach
from .retrieve.beam import Beam
from .retrieve.walk import Chances, Walk, packaged
from .shallow import loads
from .types import page_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from .channels import Channels
    from .evaluate.noise import GoldJudge
    from .ports import Resources
    from .retrieve.pipeline import Transform
    from .types import Document, Edge, Page, Query, Ranking, Verdict

    AnyJudge: TypeAlias = GoldJudge | str  # or the name of a judge of the library

__all__ = ["SHARES", "Case", "Study", "beams", "down", "load_cases", "outcome", "study", "walking"]

SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Budgets of a study: shares of a document's pages."""

BASELINE = "down"
_ALL = 100_000  # pages of one document that are ranked
_RANK_ONLY = Chances({"rank": -1.0})


@dataclass
class Replay:
    """What a walk asks of `ports.Resources`: the library's pages and edges, and a study's judge."""

    channels: Channels
    query: Query
    total: int
    ask: Callable[[Query, Sequence[str]], Sequence[Verdict]]
    edges: Mapping[str, Sequence[Edge]]
    book: Mapping[str, Page]
    alikes: dict[tuple[str, Similarity], Mapping[str, Sequence[Edge]]]

    def page_total(self, query: Query) -> int:
        """Return the pages of the document."""
        del query
        return self.total

    def pages(self, ids: Sequence[str]) -> list[Page]:
        """Return pages of the document."""
        return [self.book[page] for page in ids]

    def neighbours(self, query: Query, ids: Sequence[str]) -> dict[str, Sequence[Edge]]:
        """Return the edges of pages."""
        del query
        return {page: self.edges.get(page, ()) for page in ids}

    def alike(
        self, rule: Similarity, query: Query, ids: Sequence[str]
    ) -> Mapping[str, Sequence[Edge]]:
        """Return the pages that are alike by a rule; found once per document."""
        (document,) = query.scope.documents
        key = (document, rule)
        if key not in self.alikes:
            self.alikes[key] = self.channels.alike(rule, query, list(self.book))
        return {page: self.alikes[key].get(page, ()) for page in ids}

    def judge(self, judge: str, query: Query, ids: Sequence[str]) -> Sequence[Verdict]:
        """Return verdicts on pages, whatever judge a stage names."""
        del judge
        return self.ask(query, ids)


@dataclass(frozen=True)
class Case:
    """A labelled question with the ranking of its document's pages.

    Attributes:
        id: As in the file of questions.
        ranking: All pages that the recipe ranks, best first.
        gold: Ids of the pages that hold the evidence.
        document: Id of the document.
        pages: Pages of the document.
        edges: Where its pages lead, within the document.
    """

    id: str
    ranking: Ranking
    gold: frozenset[str]
    document: str
    pages: int
    edges: Mapping[str, Sequence[Edge]]
    _replay: Replay

    @property
    def ids(self) -> list[str]:
        """Ids of the ranked pages, best first."""
        return [hit.page for hit in self.ranking.hits]

    def resources(self, judge: AnyJudge) -> Resources:
        """Return what a stage may ask when this judge answers."""

        def ask(query: Query, ids: Sequence[str]) -> Sequence[Verdict]:
            if isinstance(judge, str):
                return self._replay.channels.judge(judge, query, ids)
            return [judge.verdict(self.id, page, gold=page in self.gold) for page in ids]

        made: Any = replace(self._replay, ask=ask)  # walks use a part of the protocol
        return made  # type: ignore[no-any-return]


@dataclass
class Study:
    """What a study found.

    Attributes:
        recipe: Whose ranking was walked.
        questions: Questions asked; on ``documents`` documents.
        skipped: Lines of the file that were left out, and why.
        points: Per judge (in words), recall against pages judged.
        reaches: Per kind of edge, and for ``all``, what edges reach from the first three pages.
        per_document: Per file name: pages, mean degree per kind, reach of all edges together.
    """

    recipe: str
    questions: int
    documents: int
    skipped: list[str]
    points: dict[str, list[Point]] = field(default_factory=dict)
    reaches: dict[str, Reach] = field(default_factory=dict)
    degree: dict[str, float] = field(default_factory=dict)
    per_document: dict[str, dict[str, Any]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return all of it; the form is that of ``graph report --json`` (docs/cli.md)."""
        return {
            "recipe": self.recipe,
            "questions": self.questions,
            "documents": self.documents,
            "skipped": self.skipped,
            "curves": {judge: [p.as_json() for p in found] for judge, found in self.points.items()},
            "degree": {kind: round(value, 3) for kind, value in self.degree.items()},
            "reach": {kind: found.as_json() for kind, found in self.reaches.items()},
            "per_document": self.per_document,
        }


# --- questions ------------------------------------------------------------------------------------


def load_cases(
    channels: Channels,
    documents: Iterable[Document],
    search: Callable[[str, str], Ranking],
    data: Path,
    *,
    least: int = 20,
) -> tuple[list[Case], list[str]]:
    """Return the labelled questions of a folder, and which lines were left out and why.

    Args:
        channels: Of the library.
        documents: Of the library; those of the questions are found by file name.
        search: Question and document id to the ranking of all its pages.
        data: A folder with ``questions.jsonl``: per line ``id``, ``question``, ``doc`` (a file
            name) and ``evidence_pages`` (1-based numbers); lines whose ``answerable`` or
            ``pages_in_range`` is false are left out.
        least: Documents of fewer pages are left out.

    Raises:
        NotFoundError: There is no such file.
    """
    file = data / "questions.jsonl"
    if not file.is_file():
        raise NotFoundError(f"{data} holds no questions.jsonl; see docs/measuring.md for its form")
    named = {document.name: document for document in documents}
    replays: dict[str, Replay] = {}
    cases, skipped = [], []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = _read(line)
            document = _document(row, named, least)
        except UsageError as error:
            skipped.append(f"line {number}: {error}")
            continue
        ranking = search(row["question"], document.id)
        if document.id not in replays:
            replays[document.id] = _replay(channels, document, ranking.query)
        shared = replays[document.id]
        gold = frozenset(page_id(document.id, page) for page in row["evidence_pages"])
        place = (document.id, document.page_count)
        cases.append(Case(str(row.get("id", number)), ranking, gold, *place, shared.edges, shared))
    return cases, skipped


def _read(line: str) -> dict[str, Any]:
    """Return a line's object, checked.

    Raises:
        UsageError: It is left out; the message says why.
    """
    try:
        row = loads(line)
    except ValueError as error:
        raise UsageError("it is not JSON") from error
    if not isinstance(row, dict):
        raise UsageError("it is not an object")
    if not isinstance(row.get("question"), str) or not row["question"].strip():
        raise UsageError("it has no question")
    pages = row.get("evidence_pages", [])
    if not isinstance(pages, list) or not all(type(page) is int for page in pages):
        raise UsageError("evidence_pages is not a list of page numbers")
    if not (pages and row.get("answerable", True) and row.get("pages_in_range", True)):
        raise UsageError("it has no evidence to find")
    return row


def _document(row: Mapping[str, Any], named: Mapping[str, Document], least: int) -> Document:
    """Return the document of a question.

    Raises:
        UsageError: It is left out; the message says why.
    """
    document = named.get(str(row.get("doc")))
    if document is None:
        raise UsageError(f"{row.get('doc')!r} is not in the library")
    if document.page_count < least:
        raise UsageError(f"{document.name} has {document.page_count} pages, fewer than {least}")
    beyond = [page for page in row["evidence_pages"] if not 1 <= page <= document.page_count]
    if beyond:
        raise UsageError(f"{document.name} has no page {beyond[0]}")
    return document


def _replay(channels: Channels, document: Document, query: Query) -> Replay:
    ids = [page_id(document.id, number + 1) for number in range(document.page_count)]
    ids = [page for page in ids if page not in _failed(document)]
    edges = channels.neighbours(query, ids)
    book = dict(zip(ids, channels.pages(ids), strict=True))
    return Replay(channels, query, document.page_count, _unasked, edges, book, {})


def _failed(document: Document) -> frozenset[str]:
    return frozenset(page_id(document.id, number) for number in document.pages_failed)


def _unasked(query: Query, ids: Sequence[str]) -> Sequence[Verdict]:
    raise UsageError(f"nobody judges the {len(ids)} pages for {query.text!r} yet")


# --- methods --------------------------------------------------------------------------------------


def outcome(case: Case, stage: Transform, judge: AnyJudge) -> Outcome:
    """Return what a stage does for a question."""
    ranking, trace = stage.run(case.ranking.query, case.ranking, case.resources(judge))
    judged = sum(len(step.visits) for step in trace.steps)
    return Outcome(judged, case.pages, recalls([hit.page for hit in ranking.hits], case.gold))


def walking(case: Case, budget: int, judge: AnyJudge, chances: Chances, batch: int = 1) -> Outcome:
    """Return what our walk does with a budget of pages."""
    stage = Walk(budget=budget, batch=batch)
    found = stage.run_with(chances, case.ranking.query, case.ranking, case.resources(judge))
    judged = sum(len(step.visits) for step in found[1].steps)
    return Outcome(judged, case.pages, recalls([hit.page for hit in found[0].hits], case.gold))


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


def study(
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
        shares: Budgets.
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
            for (name, share), method in _methods(how, shares, channel, batch):
                found.setdefault((name, share), []).append(method(case, judge))
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
