"""The page graph of a document as GraphML [1], which NetworkX, Gephi, yEd and igraph read.

[1] http://graphml.graphdrawing.org/specification.html
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ..types import page_id
from .shown import plain

if TYPE_CHECKING:
    from .shown import DocumentGraph, OuterEdge, ShownEdge

__all__ = ["graphml"]

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_NODE = {"document": "string", "number": "int", "label": "string", "title": "string"}
_EDGE = {"kind": "string", "weight": "double", "why": "string"}


def graphml(graph: DocumentGraph) -> str:
    """Return a directed graph whose nodes are page ids.

    Pages of other documents that edges lead to are nodes as well, without a title. Edges that say
    the same both ways go from the lower page number to the higher.
    """
    root = ET.Element("graphml", {"xmlns": _NAMESPACE})
    for owner, keys in (("node", _NODE), ("edge", _EDGE)):
        for name, kind in keys.items():
            ET.SubElement(
                root, "key", {"id": name, "for": owner, "attr.name": name, "attr.type": kind}
            )
    drawn = ET.SubElement(root, "graph", {"id": graph.id, "edgedefault": "directed"})
    for page in graph.pages:
        _element(
            drawn,
            "node",
            {"id": page_id(graph.id, page.number)},
            document=graph.name,
            number=page.number,
            label=page.label or "",
            title=page.title,
        )
    others = {(edge.document, edge.page): edge.name for edge in graph.outer}
    for (document, number), name in others.items():
        _element(drawn, "node", {"id": page_id(document, number)}, document=name, number=number)
    ways: list[tuple[ShownEdge | OuterEdge, str]] = [
        *((edge, page_id(graph.id, edge.target)) for edge in graph.edges),
        *((edge, page_id(edge.document, edge.page)) for edge in graph.outer),
    ]
    for edge, target in ways:
        ends = {"source": page_id(graph.id, edge.source), "target": target}
        weight = round(edge.weight, 4)
        _element(drawn, "edge", ends, kind=edge.kind, weight=weight, why=edge.why)
    ET.indent(root)
    written = io.BytesIO()
    ET.ElementTree(root).write(written, encoding="utf-8", xml_declaration=True)
    return written.getvalue().decode("utf-8") + "\n"


def _element(
    parent: ET.Element, tag: str, attributes: dict[str, str], **values: str | float
) -> None:
    """Add an element with its data; empty texts are left out."""
    element = ET.SubElement(parent, tag, attributes)
    for key, value in values.items():
        if value != "":
            ET.SubElement(element, "data", {"key": key}).text = plain(str(value))
