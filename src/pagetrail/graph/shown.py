"""The page graph of one document as a person or another program reads it: every edge once."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, get_args

from ..edges import EdgeKind
from ..errors import NotFoundError, UsageError
from ..types import split_page_id
from .ways import BACKWARDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..types import Document, Edge, Page

__all__ = [
    "SHOWN",
    "UNDIRECTED",
    "DocumentGraph",
    "GraphSummary",
    "OuterEdge",
    "ShownEdge",
    "ShownPage",
    "plain",
    "show_graph",
    "words",
]

_TITLE = 60  # characters of a page's title
_MARGIN = ("header", "footer")

SHOWN: tuple[EdgeKind, ...] = (
    "next", "section", "parent", "link", "reference", "continues", "shared", "similar", "twin",
)  # fmt: skip
"""The kinds in which edges are shown; the others are the same ways backwards."""

UNDIRECTED: frozenset[EdgeKind] = frozenset(k for k, back in BACKWARDS.items() if k == back)
"""Kinds that say the same both ways; such an edge is shown from the lower page number."""

# Marks of Persian and Indic words and of hyphenation; they change no order of letters.
_JOINERS = "\u00ad\u200c\u200d"


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page: 1-based physical number, printed label when it differs, and a title.

    The title is the first heading or else the first words, at most 60 characters; it may be empty.
    """

    number: int
    label: str | None
    title: str


@dataclass(frozen=True, slots=True)
class ShownEdge:
    """An edge between two pages of the document, by number; the rest as in `edges.Edge`."""

    source: int
    target: int
    kind: EdgeKind
    weight: float
    why: str


@dataclass(frozen=True, slots=True)
class OuterEdge:
    """An edge to a page of another document.

    Attributes:
        source: Number of the page of this document.
        document: Id of the other document.
        name: The other document's path, as it was added.
        page: Number of the page there.
        kind: As in `edges.Edge`, like ``weight`` and ``why``.
    """

    source: int
    document: str
    name: str
    page: int
    kind: EdgeKind
    weight: float
    why: str


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """A graph in numbers. All but ``kinds`` leave reading order out, which joins every page.

    Attributes:
        pages: Their number.
        kinds: Edges within the document, by kind; kinds without any are left out.
        outer: Edges to other documents.
        degree: Other pages of the document that a page is joined to, on average.
        alone: Pages without any edge, not even to another document.
        components: Connected components of the document; a page that is joined to none is one.
    """

    pages: int
    kinds: dict[EdgeKind, int]
    outer: int
    degree: float
    alone: int
    components: int


@dataclass(frozen=True)
class DocumentGraph:
    """The page graph of one document.

    Attributes:
        id: The document's id.
        name: Its path, as it was added.
        pages: Those that could be read, by number.
        edges: Within the document, each once and in its forward direction (`SHOWN`); by page, kind
            and weight.
        outer: Edges to other documents, in the same order.
        focus: The page that the graph was narrowed to.
        joined: False while only reading order is known, because the library has not yet got to
            the rest.
    """

    id: str
    name: str
    pages: tuple[ShownPage, ...]
    edges: tuple[ShownEdge, ...]
    outer: tuple[OuterEdge, ...] = ()
    focus: int | None = None
    joined: bool = True

    @cached_property
    def summary(self) -> GraphSummary:
        """The graph in numbers."""
        near: dict[int, set[int]] = {page.number: set() for page in self.pages}
        for edge in self.edges:
            if edge.kind != "next":
                near[edge.source].add(edge.target)
                near[edge.target].add(edge.source)
        leaving = {edge.source for edge in self.outer}
        kinds = Counter(edge.kind for edge in self.edges)
        return GraphSummary(
            pages=len(near),
            kinds={kind: kinds[kind] for kind in SHOWN if kinds[kind]},
            outer=len(self.outer),
            degree=sum(map(len, near.values())) / len(near) if near else 0.0,
            alone=sum(not others and page not in leaving for page, others in near.items()),
            components=_components(near),
        )

    def only(self, kinds: Iterable[str] = (), page: int | None = None) -> DocumentGraph:
        """Return a part of the graph.

        Args:
            kinds: Only edges of these kinds, in whichever direction they are named; all when none
                is given.
            page: Only edges that lead from or to this page; of the pages, it and those it is
                joined to.

        Raises:
            UsageError: There is no such kind of edge.
            NotFoundError: There is no such page, or it could not be read.
        """
        wanted = {_forward(kind) for kind in kinds} or set(SHOWN)
        edges = [edge for edge in self.edges if edge.kind in wanted]
        outer = [edge for edge in self.outer if edge.kind in wanted]
        if page is None:
            return replace(self, edges=tuple(edges), outer=tuple(outer))
        if page not in {one.number for one in self.pages}:
            raise NotFoundError(
                f"{self.name}: {page} is not one of the {len(self.pages)} pages that were read"
            )
        edges = [edge for edge in edges if page in (edge.source, edge.target)]
        near = {page, *(number for edge in edges for number in (edge.source, edge.target))}
        return replace(
            self,
            pages=tuple(one for one in self.pages if one.number in near),
            edges=tuple(edges),
            outer=tuple(edge for edge in outer if edge.source == page),
            focus=page,
        )


def show_graph(
    document: Document,
    pages: Iterable[Page],
    ways: Mapping[int, Sequence[Edge]],
    names: Mapping[str, str],
    *,
    joined: bool = True,
) -> DocumentGraph:
    """Return the graph of a document, every edge once.

    Where both directions are at hand and differ, the greater weight is taken with its reason.

    Args:
        document: The document.
        pages: Its pages, by number.
        ways: Edges by the number of the page that they lead from.
        names: Paths of the other documents by id; edges to any that is not named are left out.
        joined: As in `DocumentGraph`.
    """
    shown = tuple(ShownPage(page.number, page.label, _title(page)) for page in pages)
    known = {page.number for page in shown}
    edges: dict[tuple[int, int, EdgeKind], ShownEdge] = {}
    outer = []
    for number, found in ways.items():
        for way in found:
            other, target = split_page_id(way.page)
            if other == document.id:
                edge = _once(ShownEdge(number, target, way.kind, way.weight, way.why))
                key = (edge.source, edge.target, edge.kind)
                if {number, target} <= known and (
                    key not in edges or edges[key].weight < edge.weight
                ):
                    edges[key] = edge
            elif other in names and number in known:
                outer.append(
                    OuterEdge(number, other, names[other], target, way.kind, way.weight, way.why)
                )
    return DocumentGraph(
        id=document.id,
        name=document.source,
        pages=shown,
        edges=tuple(sorted(edges.values(), key=lambda edge: (*_rank(edge), edge.target))),
        outer=tuple(sorted(outer, key=lambda edge: (*_rank(edge), edge.name, edge.page))),
        joined=joined,
    )


def words(edge: ShownEdge | OuterEdge) -> str:
    """Return why an edge is there, for a person who does not see its kind."""
    if edge.kind == "similar":
        return f"alike, {edge.weight:.2f}"
    return edge.why or edge.kind


def plain(text: str) -> str:
    """Return text as one line without characters that XML forbids or a terminal obeys.

    >>> plain("Table\\t2\\x00 \\x1b[31mred")
    'Table 2 [31mred'
    """
    return text if text.isprintable() else "".join(map(_plain, text))


def _plain(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    category = unicodedata.category(character)
    if character in "\n\r\t" or category in ("Zs", "Zl", "Zp"):
        return " "
    # What stands for a byte of a file's name that is not UTF-8 cannot be written out.
    return "\ufffd" if category == "Cs" else ""


def _title(page: Page) -> str:
    body = [block for block in page.blocks if block.kind not in _MARGIN and block.text.strip()]
    heading = next((block for block in body if block.kind == "heading"), None)
    first = heading or next(iter(body), None)
    if first is None:
        return ""
    text = " ".join(first.text[: 4 * _TITLE].split())
    if len(text) <= _TITLE:
        return text
    cut = text[: _TITLE - 1]
    # The word that is cut goes as well, unless hardly anything would be left.
    whole = cut if text[_TITLE - 1] == " " else cut.rpartition(" ")[0]
    return (whole if len(whole) > _TITLE // 2 else cut) + "…"


def _once(edge: ShownEdge) -> ShownEdge:
    """Return an edge in the direction in which it is shown."""
    kind = _forward(edge.kind)
    if kind == edge.kind and not (kind in UNDIRECTED and edge.source > edge.target):
        return edge
    return replace(edge, source=edge.target, target=edge.source, kind=kind)


def _forward(kind: str) -> EdgeKind:
    for known in get_args(EdgeKind):
        if kind == known:
            return known if known in SHOWN else BACKWARDS[known]
    raise UsageError(f"no kind of edge {kind!r}; there are {', '.join(SHOWN)}")


def _rank(edge: ShownEdge | OuterEdge) -> tuple[int, int, float]:
    return edge.source, SHOWN.index(edge.kind), -edge.weight


def _components(near: Mapping[int, set[int]]) -> int:
    """Return the number of connected components of an undirected graph."""
    seen: set[int] = set()
    count = 0
    for start in near:
        if start in seen:
            continue
        count += 1
        seen.add(start)
        todo = [start]
        while todo:
            new = near[todo.pop()] - seen
            seen |= new
            todo += new
    return count
