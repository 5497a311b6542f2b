"""Storing the page graph: a document's edges come in one commit and go with its pages.

A live document without a graph waits for one: its row in ``graphs`` has version 0. So a kill
between the last page and the graph costs nothing, and so does a change of what is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import CorruptError
from .keys import NUMBER_BITS, key_range, page_key
from .nodes import decode_marks, encode_node

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..edges import PageNode
    from .catalogue import Catalogue
    from .changes import CatalogueWriter

__all__ = ["await_graph", "copy_graph", "drop_graph", "forget_graph", "put_graph", "waiting"]


def waiting(catalogue: Catalogue, version: int, limit: int) -> list[int]:
    """Return the serials of documents whose graph is older than a version, at most ``limit``."""
    rows = catalogue.rows(
        "SELECT document FROM graphs WHERE version < ? ORDER BY version, document LIMIT ?",
        (version, limit),
    )
    return [serial for (serial,) in rows]


def put_graph(
    writer: CatalogueWriter, serial: int, nodes: Sequence[PageNode], *, version: int
) -> None:
    """Store a document's graph in place of the one it had, in one commit.

    A document that no longer waits for it, because it was removed or opened again, gets none.
    """
    bodies = [(page_key(serial, node.number), encode_node(node)) for node in nodes]
    marks = [
        (mark, page_key(serial, node.number))
        for node in nodes
        for mark in (*(mark for mark, _ in node.names), *node.bands)
    ]
    marks.sort()  # neighbours in the table one after the other
    with writer.transaction():
        if not writer.rows("SELECT 1 FROM graphs WHERE document = ?", (serial,)):
            return
        drop_graph(writer, serial)
        for body in bodies:
            writer.rows("INSERT INTO edges VALUES (?, ?)", body)
        for mark in marks:
            writer.rows("INSERT OR IGNORE INTO marks VALUES (?, ?)", mark)
        writer.rows("INSERT INTO graphs VALUES (?, ?)", (serial, version))


# --- steps inside a transaction ------------------------------------------------------------------


def await_graph(writer: CatalogueWriter, serial: int) -> None:
    """Let a live document wait for a graph; what it has stays until then."""
    writer.rows("INSERT OR REPLACE INTO graphs VALUES (?, 0)", (serial,))


def forget_graph(writer: CatalogueWriter, serial: int) -> None:
    """Let a document that is opened again wait no more; its edges stay until it is complete."""
    writer.rows("DELETE FROM graphs WHERE document = ?", (serial,))


def copy_graph(writer: CatalogueWriter, source: int, target: int) -> None:
    """Give one document's graph to another with the same pages; serials of documents."""
    shift = (target - source) << NUMBER_BITS
    span = key_range(source)
    for key, mark in _marks(writer, span):
        writer.rows("INSERT OR IGNORE INTO marks VALUES (?, ?)", (mark, key + shift))
    writer.rows(
        "INSERT INTO edges SELECT page + ?, body FROM edges WHERE page BETWEEN ? AND ?",
        (shift, *span),
    )
    writer.rows(
        "INSERT INTO graphs SELECT ?, coalesce((SELECT version FROM graphs WHERE document = ?), 0)",
        (target, source),
    )


def drop_graph(writer: CatalogueWriter, serial: int, key: int | None = None) -> None:
    """Forget a document's graph, or the part of one page, given by its key."""
    span = key_range(serial) if key is None else (key, key)
    for page, mark in _marks(writer, span):
        writer.rows("DELETE FROM marks WHERE mark = ? AND page = ?", (mark, page))
    writer.rows("DELETE FROM edges WHERE page BETWEEN ? AND ?", span)
    forget_graph(writer, serial)


def _marks(writer: CatalogueWriter, span: tuple[int, int]) -> Iterable[tuple[int, int]]:
    """Yield page and mark of the pages in a range of keys.

    The table of marks is in order of mark, so what a page has there is read from the page. Marks
    of a page that is damaged stay behind, lead nowhere, and are found by the doctor.
    """
    for key, body in writer.rows("SELECT page, body FROM edges WHERE page BETWEEN ? AND ?", span):
        try:
            _, marks = decode_marks(body)
        except CorruptError:
            continue
        for mark in marks:
            yield key, mark
