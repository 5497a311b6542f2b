"""The page graph of a document as lines for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .shown import UNDIRECTED, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .shown import DocumentGraph

__all__ = ["graph_lines"]


def graph_lines(graph: DocumentGraph) -> Iterator[str]:
    """Yield the graph in numbers, then each page with the edges that lead from it, in words.

    Of a graph narrowed to one page that page is told alone, with the edges that lead to it.
    Titles and reasons are as the document has them, whatever characters that may be.
    """
    focus = graph.focus
    if focus is None:
        yield from _numbers(graph)
    ways: dict[int, list[str]] = {page.number: [] for page in graph.pages}
    for edge in graph.edges:
        page, other = edge.source, edge.target
        arrow = "<->" if edge.kind in UNDIRECTED else "->"
        if focus is not None and page != focus:
            page, other = other, page
            arrow = arrow if edge.kind in UNDIRECTED else "<-"
        ways[page].append(f"{words(edge)} {arrow} p. {other}")
    for outer in graph.outer:
        ways[outer.source].append(f"{words(outer)} -> {outer.name}, p. {outer.page}")
    for shown in graph.pages:
        if focus is None or shown.number == focus:
            printed = f" (printed {shown.label})" if shown.label else ""
            yield f"page {shown.number}{printed}: {shown.title or 'no text'}"
            yield from (f"  p. {shown.number}  {way}" for way in ways[shown.number])


def _numbers(graph: DocumentGraph) -> Iterator[str]:
    numbers = graph.summary
    kinds = ", ".join(f"{kind} {count}" for kind, count in numbers.kinds.items())
    yield graph.name
    yield f"{'pages':12} {numbers.pages}"
    yield f"{'edges':12} {kinds or 'none'}; {numbers.outer} to other documents"
    yield "without reading order:"
    yield f"{'mean degree':12} {numbers.degree:.2f} other pages"
    yield f"{'no edge':12} {numbers.alone} {'page' if numbers.alone == 1 else 'pages'}"
    yield f"{'components':12} {numbers.components}"
    yield ""
