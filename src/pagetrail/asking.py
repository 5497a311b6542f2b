"""What stands between a person and the stages: names, questions, and what comes back.

Part of the composition root.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .errors import NotFoundError, UsageError
from .types import Query, Ranking, Scope, Trace, page_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .index.catalogue import Catalogue
    from .retrieve.pipeline import Pipeline
    from .types import Document, Page

__all__ = [
    "Encoded",
    "Explained",
    "check_paths",
    "check_tags",
    "find_document",
    "find_page",
    "make_query",
    "places_of",
    "several",
]

_LONGEST = 10_000  # characters of a question; some ways of reading it cost more than linear time


@dataclass(frozen=True)
class Explained:
    """A ranking, the steps that found it with their cost, and the pipeline that said so.

    Attributes:
        lacking: Encoders that took part to the number of pages that they lack and cannot find.
        looked: Whether a channel asked with the question's picture.
    """

    ranking: Ranking
    trace: Trace
    pipeline: Pipeline
    lacking: dict[str, int] = field(default_factory=dict)
    looked: bool = False

    @property
    def pages(self) -> list[str]:
        """Ids of all pages that the result speaks of: those found, and those walked over."""
        visits = [visit for step in self.trace.steps for visit in step.visits]
        walked = [page for visit in visits for page in (visit.page, visit.origin) if page]
        return list(dict.fromkeys([*(hit.page for hit in self.ranking.hits), *walked]))


@dataclass(frozen=True)
class Encoded:
    """What became of one encoder's run.

    Attributes:
        channel: The encoder.
        pages: Pages that got vectors in this run.
        failed: Page id to why its picture could not be drawn; these pages stay pending.
        seconds: Wall-clock time, without loading the model.
        pending: Pages that the encoder still lacks.
    """

    channel: str
    pages: int
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    pending: int = 0


def several(values: str | Iterable[str]) -> list[str]:
    """Return one value or many as a list: a string is one name, not its letters."""
    return [values] if isinstance(values, str) else list(values)


def check_paths(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse a path that is not there.

    Raises:
        NotFoundError: It names nothing.
    """
    for path in paths:
        # An empty name, such as an unset variable, does not mean the current folder.
        if not os.fspath(path) or not os.path.lexists(path):
            raise NotFoundError(f"{os.fspath(path)!r}: there is no such file or folder")


def check_tags(tags: Iterable[str]) -> None:
    """Raise UsageError when a tag is empty."""
    if any(not tag.strip() for tag in tags):
        raise UsageError("a tag cannot be empty")


def find_document(catalogue: Catalogue, name: str) -> Document:
    """Return the document that a person names by path, file name, end of a path, or id.

    Raises:
        NotFoundError: There is none.
        UsageError: The name means several documents.
    """
    found = catalogue.find(name, path=os.path.realpath(name))
    if not found:
        end = "/" + os.path.normpath(name).lstrip("/")
        found = [d for d in catalogue.documents() if d.source.endswith(end)]
    if not found:
        raise NotFoundError(f"no document {name!r} in the library {catalogue.folder.root}")
    if len(found) > 1:
        places = ", ".join(d.source for d in found[:5])
        raise UsageError(f"{name!r} means {len(found)} documents ({places}); give a path")
    return found[0]


def find_page(catalogue: Catalogue, document: Document, number: int) -> Page:
    """Return what was read on a page.

    Raises:
        NotFoundError: The document has no such page, or that page could not be read.
    """
    if not document.page_count:
        raise NotFoundError(f"{document.source} has no pages: {document.reason}")
    if not 1 <= number <= document.page_count:
        raise NotFoundError(f"{document.source} has pages 1 to {document.page_count}")
    if number in document.pages_failed:
        raise NotFoundError(
            f"{document.source}, page {number} could not be read: {document.reason}"
        )
    return catalogue.pages([page_id(document.id, number)])[0]


def make_query(
    catalogue: Catalogue,
    question: str,
    documents: Iterable[str],
    tags: frozenset[str],
    image: bytes | None,
) -> Query:
    """Return a question with its scope, checked.

    Raises:
        UsageError: The question is empty or too long, or a name means several documents.
        NotFoundError: A document is unknown.
        ScopeError: No document has such a tag.
    """
    if not question.strip() and image is None:
        raise UsageError("the question is empty")
    if len(question) > _LONGEST:
        raise UsageError(
            f"the question has {len(question):,} characters; at most {_LONGEST:,} are taken"
        )
    # Lone surrogates, of which no text file consists, would stop the tokenizer.
    question = question.encode("utf-8", "replace").decode("utf-8")
    ids = frozenset(find_document(catalogue, name).id for name in documents)
    query = Query(question, Scope(ids, tags), image)
    catalogue.serials(query.scope)
    return query


def places_of(catalogue: Catalogue, pages: Iterable[str]) -> dict[str, tuple[str, int, str | None]]:
    """Return path, number and printed label of pages by id."""
    sources: dict[str, str] = {}
    places = {}
    for page in catalogue.pages(list(dict.fromkeys(pages))):
        if page.document not in sources:
            sources[page.document] = catalogue.document(page.document).source
        places[page.id] = (sources[page.document], page.number, page.label)
    return places
