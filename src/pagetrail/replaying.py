"""Labelled questions over a library, replayed without asking a model: each with its ranking, its
document's pages and edges, and a judge that knows the gold pages.

Part of the composition root; `studying` walks what is made here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .errors import NotFoundError, UsageError
from .shallow import loads
from .types import page_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from .channels import Channels
    from .edges import Similarity
    from .evaluate.noise import GoldJudge
    from .ports import Resources
    from .types import Document, Edge, Page, Query, Ranking, Verdict

    AnyJudge: TypeAlias = GoldJudge | str  # or the name of a judge of the library

__all__ = ["Case", "load_cases"]


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
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
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


def _read(line: bytes) -> dict[str, Any]:
    """Return a line's object, checked.

    Raises:
        UsageError: It is left out; the message says why.
    """
    try:
        row = loads(line.decode("utf-8"))
    except ValueError as error:
        raise UsageError("it is not JSON in UTF-8") from error
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
