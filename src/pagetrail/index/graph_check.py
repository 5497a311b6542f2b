"""Checking the stored page graph, and clearing what is wrong so that it is found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import CorruptError
from .graph_writer import await_graph, drop_graph
from .keys import key_range, split_key
from .nodes import decode_marks, decode_node

if TYPE_CHECKING:
    from .catalogue import Catalogue
    from .changes import CatalogueWriter

__all__ = ["drop_document_graph", "drop_graph_leftovers", "graph_damage"]

_BATCH = 200  # pages read at a time

# Marks are stored in order of mark, so strangers among them are found by one pass over all.
_STRAY_EDGES = "FROM edges WHERE page NOT IN (SELECT key FROM pages)"
_STRAY_MARKS = "FROM marks WHERE page NOT IN (SELECT page FROM edges)"
_STRAY_GRAPHS = "FROM graphs WHERE document NOT IN (SELECT serial FROM documents)"


def graph_damage(catalogue: Catalogue) -> tuple[dict[int, str], int]:
    """Return what is wrong with the graphs of documents, by serial, and the number of leftovers.

    Documents that wait for their graph are well.
    """
    damaged: dict[int, str] = {}
    with catalogue.pinned():
        for (serial,) in catalogue.rows(
            "SELECT serial FROM documents WHERE state = 'live' "
            "AND serial NOT IN (SELECT document FROM graphs)"
        ):
            damaged[serial] = "its pages were never joined"
        last = -1
        while rows := catalogue.rows(
            "SELECT page, body FROM edges WHERE page > ? ORDER BY page LIMIT ?", (last, _BATCH)
        ):
            for key, body in rows:
                if not _whole(catalogue, key, body):
                    damaged[split_key(key)[0]] = "edges between its pages are damaged"
            last = rows[-1][0]
        known = {serial for (serial,) in catalogue.rows("SELECT serial FROM documents")}
        left = sum(
            catalogue.rows(f"SELECT count(*) {stray}")[0][0]
            for stray in (_STRAY_EDGES, _STRAY_MARKS, _STRAY_GRAPHS)
        )
    return {serial: what for serial, what in damaged.items() if serial in known}, left


def drop_document_graph(writer: CatalogueWriter, serial: int) -> None:
    """Forget a document's graph; a live document waits for a new one."""
    with writer.transaction():
        # Marks of a page that cannot be read are found by the page alone.
        writer.rows("DELETE FROM marks WHERE page BETWEEN ? AND ?", key_range(serial))
        drop_graph(writer, serial)
        if writer.rows("SELECT 1 FROM documents WHERE serial = ? AND state = 'live'", (serial,)):
            await_graph(writer, serial)


def drop_graph_leftovers(writer: CatalogueWriter) -> None:
    """Forget edges and marks of pages that do not exist."""
    with writer.transaction():
        for stray in (_STRAY_EDGES, _STRAY_MARKS, _STRAY_GRAPHS):
            writer.rows(f"DELETE {stray}")


def _whole(catalogue: Catalogue, key: int, body: bytes) -> bool:
    """Say whether a page's edges can be read and its marks are where they are looked for."""
    try:
        decode_node(split_key(key)[1], body)
        _, marks = decode_marks(body)
    except CorruptError:
        return False
    return all(
        catalogue.rows("SELECT 1 FROM marks WHERE mark = ? AND page = ?", (mark, key))
        for mark in marks
    )
