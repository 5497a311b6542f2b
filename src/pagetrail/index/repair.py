"""The repairs that `doctor.examine` asks for; each is one commit of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .files import remove_segment
from .graph_writer import drop_graph
from .keys import NUMBER_BITS, split_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .changes import CatalogueWriter

__all__ = ["drop_page", "drop_segment", "mend_coverage", "recount"]


def drop_page(writer: CatalogueWriter, key: int) -> None:
    """Forget a damaged page and reopen its document, so that adding it again reads the page."""
    serial, _ = split_key(key)
    with writer.transaction():
        writer.rows(
            "UPDATE segments SET dead = dead + d.n FROM (SELECT segment, rows AS n FROM vectors "
            "WHERE page = ?) AS d WHERE id = d.segment",
            (key,),
        )
        for statement in (
            "DELETE FROM vectors WHERE page = ?",
            "DELETE FROM pending WHERE page = ?",
            "DELETE FROM places WHERE page = ?",
            "DELETE FROM labels WHERE page = ?",
            "DELETE FROM bodies WHERE key = ?",
            "DELETE FROM pages WHERE key = ?",
        ):
            writer.rows(statement, (key,))
        drop_graph(writer, serial, key)
        writer.rows(
            "UPDATE documents SET stored = max(stored - 1, 0), generation = ?, "
            "state = CASE state WHEN 'live' THEN 'open' ELSE state END WHERE serial = ?",
            (writer.bump(), serial),
        )


def drop_segment(writer: CatalogueWriter, segment: int) -> None:
    """Forget a damaged segment; its pages wait to be encoded again."""
    with writer.transaction():
        ((name,),) = writer.rows("SELECT name FROM segments WHERE id = ?", (segment,))
        writer.rows(
            "INSERT OR IGNORE INTO pending SELECT encoder, page, NULL FROM vectors "
            "WHERE segment = ?",
            (segment,),
        )
        # What the graph took from the vectors is found again with the new ones.
        writer.rows(
            "UPDATE graphs SET version = 0 WHERE document IN "
            "(SELECT DISTINCT page >> ? FROM vectors WHERE segment = ?)",
            (NUMBER_BITS, segment),
        )
        writer.rows("DELETE FROM vectors WHERE segment = ?", (segment,))
        writer.rows("DELETE FROM segments WHERE id = ?", (segment,))
        writer.bump()
    remove_segment(writer.folder.segments, name)


def mend_coverage(
    writer: CatalogueWriter, encoder: int, lost: Sequence[int], stray: Sequence[int]
) -> None:
    """Let pages without vectors wait for them, and forget entries that belong to no page."""
    with writer.transaction():
        for page in stray:
            writer.rows("DELETE FROM pending WHERE encoder = ? AND page = ?", (encoder, page))
            writer.rows(
                "DELETE FROM vectors WHERE encoder = ? AND page = ? "
                "AND page NOT IN (SELECT key FROM pages)",
                (encoder, page),
            )
        for page in lost:
            writer.rows("INSERT INTO pending VALUES (?, ?, NULL)", (encoder, page))
        writer.rows(
            "UPDATE segments SET dead = rows - (SELECT coalesce(sum(vectors.rows), 0) "
            "FROM vectors WHERE segment = segments.id) WHERE encoder = ?",
            (encoder,),
        )
        writer.bump()


def recount(writer: CatalogueWriter, serial: int, stored: int) -> None:
    """Correct the number of pages that a document is said to have."""
    with writer.transaction():
        writer.rows("UPDATE documents SET stored = ? WHERE serial = ?", (stored, serial))
        writer.bump()
