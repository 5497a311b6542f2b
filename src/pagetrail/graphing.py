"""The page graph of a document, taken out of a library to be read, printed or exported.

Part of the composition root.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .errors import NotFoundError, UsageError
from .graph.connect import VERSION
from .graph.graphml import graphml
from .graph.shown import show_graph
from .graph.svg import svg
from .graph.text import graph_lines
from .index.graph import PageGraph
from .index.keys import split_key
from .types import split_page_id
from .views import graph_view

if TYPE_CHECKING:
    from .graph.shown import DocumentGraph
    from .index.catalogue import Catalogue
    from .types import Document

__all__ = ["EXPORTS", "document_graph", "export"]

EXPORTS = ("text", "json", "graphml", "svg")
"""Formats of `export`."""


def document_graph(catalogue: Catalogue, document: Document) -> DocumentGraph:
    """Return the page graph of a document.

    Raises:
        NotFoundError: None of its pages could be read.
        CorruptError: What is stored of a page is damaged.
    """
    graph = PageGraph(catalogue)
    with catalogue.pinned():
        keys = catalogue.page_keys(document.id)
        if not keys:
            raise NotFoundError(f"{document.source} has no pages: {document.reason}")
        view = catalogue.view()
        ways = {split_key(key)[1]: found for key, found in graph.neighbours(keys, view).items()}
        others = {split_page_id(edge.page)[0] for found in ways.values() for edge in found}
        return show_graph(
            document,
            catalogue.iterate(document.id),
            ways,
            {other: catalogue.document(other).source for other in others},
            joined=graph.version(document.id) >= VERSION,
        )


def export(graph: DocumentGraph, form: str) -> str:
    """Return a graph as text in one of `EXPORTS`.

    Raises:
        UsageError: There is no such format.
    """
    if form == "text":
        # A file's name may hold line breaks.
        return "".join(text.replace("\n", "\\n") + "\n" for text in graph_lines(graph))
    if form == "json":
        return json.dumps(graph_view(graph), ensure_ascii=False) + "\n"
    if form == "graphml":
        return graphml(graph)
    if form == "svg":
        return svg(graph)
    raise UsageError(f"no format {form!r}; there are {', '.join(EXPORTS)}")
