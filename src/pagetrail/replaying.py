"""Labelled questions over a library: each with its ranking, its document's pages and edges, and
who judges. Only a judge of the library costs anything, once per question and page.

Part of the composition root; `studying` walks what is made here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .evaluate.labelled import Skipped, read_questions
from .types import page_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from .channels import Channels
    from .edges import Similarity
    from .evaluate.labelled import LabelledQuestion
    from .evaluate.noise import GoldJudge
    from .ports import Resources
    from .types import Document, Edge, Page, Query, Ranking, Verdict

    AnyJudge: TypeAlias = "GoldJudge | LibraryJudge"

__all__ = ["Case", "LibraryJudge", "load_cases"]


@dataclass
class LibraryJudge:
    """A judge of the library, for a study: what it said of a page it is not asked again.

    So every method meets the same verdicts, failed ones too.

    Attributes:
        name: As in the library, such as ``text``.
        channels: Of the library.
        most: Pages of a question that a method may have judged; 0: as many as it likes.
        said: Verdicts so far, by question and page.
    """

    name: str
    channels: Channels
    most: int = 0
    said: dict[tuple[str, str], Verdict] = field(default_factory=dict)

    def __str__(self) -> str:
        limit = f", at most {self.most} pages a question" if self.most else ""
        return f"judge {self.name}{limit}"

    @property
    def unjudged(self) -> int:
        """Verdicts without a number: none came, or it could not be read."""
        return sum(verdict.probability is None for verdict in self.said.values())

    @property
    def calls(self) -> int:
        """Calls to models that were made; a reply kept from before costs none."""
        return sum(verdict.calls for verdict in self.said.values())

    def ask(self, query: Query, ids: Sequence[str]) -> list[Verdict]:
        """Return verdicts on pages, in the order asked."""
        new = [page for page in ids if (query.text, page) not in self.said]
        if new:
            for page, verdict in zip(new, self.channels.judge(self.name, query, new), strict=True):
                self.said[query.text, page] = verdict
        return [self.said[query.text, page] for page in ids]


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
    name: str = ""  # of the library's judge that answers

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

    def neutral(self, judge: str) -> float:
        """Return the probability that says nothing, whatever judge a stage names."""
        del judge
        return self.channels.neutral(self.name) if self.name else 0.5

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
            if isinstance(judge, LibraryJudge):
                return judge.ask(query, ids)
            return [judge.verdict(self.id, page, gold=page in self.gold) for page in ids]

        name = judge.name if isinstance(judge, LibraryJudge) else ""
        made: Any = replace(self._replay, ask=ask, name=name)  # walks use a part of the protocol
        return made  # type: ignore[no-any-return]


def load_cases(
    channels: Channels,
    documents: Iterable[Document],
    search: Callable[[str, str], Ranking],
    data: Path,
    *,
    least: int = 20,
) -> tuple[list[Case], list[Skipped]]:
    """Return the labelled questions of a folder, and which lines were left out and why.

    Args:
        channels: Of the library.
        documents: Of the library; those of the questions are found by file name.
        search: Question and document id to the ranking of all its pages.
        data: A folder with questions, see `evaluate.labelled.read_questions`.
        least: Documents of fewer pages are left out.

    Raises:
        NotFoundError: There is no file of questions.
        UsageError: It cannot be read.
    """
    named: dict[str, list[Document]] = {}
    for document in documents:
        named.setdefault(document.name, []).append(document)
    asked, skipped = read_questions(data)
    replays: dict[str, Replay] = {}
    cases = []
    for question in asked:
        try:
            document = _document(question, named)
            if document.page_count < least:
                short = f"{document.name} has {document.page_count} pages, fewer than {least}"
                skipped.append(Skipped(question.line, short, wrong=False))
                continue
            ranking = search(question.text, document.id)
        except UsageError as error:
            skipped.append(Skipped(question.line, str(error)))
            continue
        if document.id not in replays:
            replays[document.id] = _replay(channels, document, ranking.query)
        shared = replays[document.id]
        gold = frozenset(page_id(document.id, page) for page in question.pages)
        place = (document.id, document.page_count)
        cases.append(Case(question.id, ranking, gold, *place, shared.edges, shared))
    return cases, sorted(skipped, key=lambda one: one.line)


def _document(question: LabelledQuestion, named: Mapping[str, Sequence[Document]]) -> Document:
    """Return the document of a question.

    Raises:
        UsageError: There is none, or it lacks a page with evidence.
    """
    found = named.get(question.document, ())
    if len(found) != 1:
        several = f"names {len(found)} documents of" if found else "is not in"
        raise UsageError(f"{question.document!r} {several} the library")
    (document,) = found
    beyond = [page for page in sorted(question.pages) if not 1 <= page <= document.page_count]
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
