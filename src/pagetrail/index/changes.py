"""Changes to the catalogue: each public method is one SQLite commit, so it happened or it did not.

How a file changes without a gap. A new document is *open* while its pages arrive: each stored page
can be found at once and survives a kill. A document that takes the place of another one (same path,
other bytes) is *staged*: its pages are stored, so a killed run can go on, but stay hidden until
`finish_document` shows all of them and removes the old document in the same commit. A kill in
between leaves the old one whole; never both, never neither.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..errors import NotFoundError, UsageError
from ..types import Document
from .catalogue import Catalogue, clean, decode_path, encode_info, encode_path
from .codec import encode_page
from .graph_writer import await_graph, copy_graph, drop_graph, forget_graph
from .keys import MAX_PAGES, NUMBER_BITS, key_range, page_key
from .places import copy_places, drop_places, label_rows, place_rows
from .schema import guard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..types import OutlineEntry, Page
    from .folder import Folder
    from .lock import WriterLock

__all__ = ["Begun", "CatalogueWriter", "file_stamp"]

Action = Literal["new", "resumed", "replacing", "unchanged", "moved", "copied"]


@dataclass(frozen=True, slots=True)
class Begun:
    """What adding a file amounts to.

    Attributes:
        document: Id of the document; give it to its pages.
        action: ``new``: read all pages. ``resumed``: read those not in ``stored``. ``replacing``:
            read all, the former content stays until `finish_document`. ``unchanged``, ``moved``,
            ``copied``: nothing is left to do.
        stored: Numbers of the pages that are already there.
    """

    document: str
    action: Action
    stored: frozenset[int]

    @property
    def complete(self) -> bool:
        """Whether nothing has to be read."""
        return self.action in ("unchanged", "moved", "copied")


def file_stamp(path: str | os.PathLike[str]) -> str:
    """Return a string that changes whenever the file is written: size, times and inode."""
    stat = os.stat(path)
    return f"{stat.st_size}-{stat.st_mtime_ns}-{stat.st_ctime_ns}-{stat.st_ino}"


class CatalogueWriter(Catalogue):
    """The catalogue with the right to change it; the lock proves that there is only one."""

    def __init__(self, folder: Folder, lock: WriterLock) -> None:
        super().__init__(folder, create=True)
        self._writer_lock = lock

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make everything inside one commit; for the modules of this package."""
        with self._lock, guard(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def bump(self) -> int:
        """Raise the generation inside a transaction and return it."""
        self._run("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
        return self.generation()

    # --- documents ---------------------------------------------------------------------------

    def begin_document(
        self,
        source: str,
        *,
        path: str,
        content_hash: str,
        stamp: str,
        tags: Iterable[str] = (),
        retry: bool = False,
    ) -> Begun:
        """Say what is to be done for a file, and do it when no page must be read.

        Args:
            source: The path as the user gave it.
            path: The same as an absolute path without symbolic links.
            content_hash: SHA-256 of the bytes, hexadecimal.
            stamp: From `file_stamp`, taken before the bytes were hashed.
            tags: Added to those that the document has.
            retry: Read the failed pages of a ``partial`` document again; a ``failed`` one is
                always read again.
        """
        file = _File(source, path, content_hash, stamp, frozenset(tags), retry)
        with self.transaction():
            current, staged = self._at_path(path)
            if staged and (staged["content_hash"] != content_hash or _same(current, file)):
                self._remove(staged["serial"])
                staged = None
            if current and _same(current, file):
                return self._same_file(current, file)
            if staged:
                self._touch(staged["serial"], file)
                return Begun(staged["id"], "resumed", self._numbers(staged["serial"]))
            twin, moved = self._twin(file)
            if twin and moved:
                return self._move(twin, file, current)
            if twin:
                return self._copy(twin, file, current)
            return self._start(file, current)

    def describe_document(
        self,
        document: str,
        *,
        page_count: int,
        title: str = "",
        metadata: dict[str, str] | None = None,
        outline: Sequence[OutlineEntry] = (),
    ) -> None:
        """Keep what is known of a document once its file could be opened."""
        with self.transaction():
            row = self._row(document)
            described = Document(
                document,
                "",
                row["content_hash"],
                page_count,
                "partial",
                title=title,
                metadata=metadata or {},
                outline=tuple(outline),
            )
            self._run(
                "UPDATE documents SET page_count = ?, info = ?, generation = ? WHERE serial = ?",
                (page_count, encode_info(described), self.bump(), row["serial"]),
            )

    def put_pages(self, pages: Sequence[Page]) -> list[int]:
        """Store pages and return their keys; on return they survive a kill and a power cut.

        A page that is already stored is kept as it is: the document's id stands for its bytes.

        Raises:
            NotFoundError: The document of a page was not begun.
            UsageError: A page number is out of range.
        """
        bodies = [encode_page(page) for page in pages]
        for page in pages:
            if not 1 <= page.number <= MAX_PAGES:
                raise UsageError(f"page number {page.number} is not between 1 and {MAX_PAGES:,}")
        with self.transaction():
            rows = {d: self._row(d) for d in dict.fromkeys(page.document for page in pages)}
            encoders = [row[0] for row in self.rows("SELECT id FROM encoders")]
            keys = [page_key(rows[page.document]["serial"], page.number) for page in pages]
            seq = self.rows("SELECT value FROM meta WHERE key = 'seq'")[0][0]
            added: dict[int, int] = {}
            for key, page, body in zip(keys, pages, bodies, strict=True):
                row = rows[page.document]
                shown = None if row["state"] == "staged" else seq + 1
                if self._run("INSERT OR IGNORE INTO pages VALUES (?, ?)", (key, shown)):
                    seq = shown or seq
                    self._run("INSERT INTO bodies VALUES (?, ?)", (key, body))
                    self._place(page, key)
                    added[row["serial"]] = added.get(row["serial"], 0) + 1
                    for encoder in encoders:
                        self._run("INSERT INTO pending VALUES (?, ?, NULL)", (encoder, key))
            for serial, count in added.items():
                self._run(
                    "UPDATE documents SET stored = stored + ? WHERE serial = ?", (count, serial)
                )
            self._run("UPDATE meta SET value = ? WHERE key = 'seq'", (seq,))
            self.bump()
        return keys

    def finish_document(
        self, document: Document, *, places: Iterable[tuple[str, str, int]] = ()
    ) -> Document:
        """Close a begun document and return it as stored.

        Its id tells which; status, reason, page count, title, metadata, outline and failed pages
        are taken over, source and tags stay as begun. If it replaces another document, that one
        is removed in the same commit, whatever the new one's status is: its bytes are gone.

        Args:
            document: The document as read.
            places: Kind, key and page number of numbered things that its outline names.
        """
        with self.transaction():
            row = self._row(document.id)
            if row["state"] == "staged":
                for (serial,) in self.rows(
                    "SELECT serial FROM documents WHERE path = ? AND state != 'staged'",
                    (row["path"],),
                ):
                    self._remove(serial)
                self._show(row["serial"])
            for kind, key, number in places:
                self._run(
                    "INSERT OR IGNORE INTO places SELECT ?, ?, key, 0, -1 FROM pages WHERE key = ?",
                    (kind, key, page_key(row["serial"], number)),
                )
            self._run(
                "UPDATE documents SET state = 'live', status = ?, page_count = ?, info = ?, "
                "generation = ? WHERE serial = ?",
                (
                    document.status,
                    document.page_count,
                    encode_info(document),
                    self.bump(),
                    row["serial"],
                ),
            )
            await_graph(self, row["serial"])
        return self.document(document.id)

    def remove_documents(self, documents: Iterable[str]) -> int:
        """Remove documents with their pages and return how many pages that were.

        Raises:
            NotFoundError: An id is unknown; then nothing is removed.
        """
        with self.transaction():
            rows = [self._row(document) for document in dict.fromkeys(documents)]
            for row in rows:
                self._remove(row["serial"])
            self.bump()
        return sum(row["stored"] for row in rows)

    def rename_document(self, document: str, source: str, *, path: str) -> None:
        """Give a document another path; its pages stay."""
        with self.transaction():
            self._rename(self._row(document)["serial"], source, path)

    def tag_document(
        self, document: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()
    ) -> None:
        """Add and take away tags."""
        with self.transaction():
            serial = self._row(document)["serial"]
            self._add_tags(serial, add)
            for tag in remove:
                self._run("DELETE FROM tags WHERE document = ? AND tag = ?", (serial, clean(tag)))
            self.bump()

    # --- steps inside a transaction ----------------------------------------------------------

    def _run(self, statement: str, values: Sequence[object] = ()) -> int:
        return self._connection.execute(statement, values).rowcount

    def _found(self, where: str, values: Sequence[object]) -> list[dict[str, Any]]:
        names = "serial, id, path, content_hash, stamp, state, status, page_count, stored"
        rows = self.rows(f"SELECT {names} FROM documents WHERE {where} ORDER BY serial", values)  # noqa: S608
        return [dict(zip(names.split(", "), row, strict=True)) for row in rows]

    def _place(self, page: Page, key: int) -> None:
        for place in place_rows(page, key):
            self._run("INSERT OR IGNORE INTO places VALUES (?, ?, ?, ?, ?)", place)
        for label in label_rows(page, key):
            self._run("INSERT OR IGNORE INTO labels VALUES (?, ?)", label)

    def _row(self, document: str) -> dict[str, Any]:
        rows = self._found("id = ?", (clean(document),))
        if not rows:
            raise NotFoundError(f"no document with id {document!r} in this library")
        return rows[0]

    def _at_path(self, path: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        rows = self._found("path = ?", (encode_path(path),))
        current = [row for row in rows if row["state"] != "staged"]
        staged = [row for row in rows if row["state"] == "staged"]
        return (current[0] if current else None), (staged[0] if staged else None)

    def _same_file(self, row: dict[str, Any], file: _File) -> Begun:
        self._touch(row["serial"], file)
        again = row["status"] == "failed" or (file.retry and row["status"] == "partial")
        if row["state"] == "live" and not again:
            return Begun(row["id"], "unchanged", self._numbers(row["serial"]))
        if row["state"] == "live":
            self._run(
                "UPDATE documents SET state = 'open', generation = ? WHERE serial = ?",
                (self.bump(), row["serial"]),
            )
            forget_graph(self, row["serial"])
        return Begun(row["id"], "resumed", self._numbers(row["serial"]))

    def _twin(self, file: _File) -> tuple[dict[str, Any] | None, bool]:
        """Return a document with the same bytes, and whether its own file is gone (moved here)."""
        rows = self._found(
            "content_hash = ? AND path != ? AND state != 'staged'",
            (file.content_hash, encode_path(file.path)),
        )
        for row in rows:
            if not os.path.lexists(decode_path(row["path"])):
                return row, True
        for row in rows:
            good = row["status"] == "indexed" or (row["status"] == "partial" and not file.retry)
            if row["state"] == "live" and good:
                return row, False
        return None, False

    def _move(self, twin: dict[str, Any], file: _File, current: dict[str, Any] | None) -> Begun:
        if current:
            self._remove(current["serial"])
        self._rename(twin["serial"], file.source, file.path)
        begun = self._same_file(twin, file)
        return begun if begun.action == "resumed" else Begun(begun.document, "moved", begun.stored)

    def _copy(self, twin: dict[str, Any], file: _File, current: dict[str, Any] | None) -> Begun:
        serial = self._insert(file, "staged", _tags_of(self, current))
        shift = (serial - twin["serial"]) << NUMBER_BITS
        for statement in (
            "INSERT INTO pages SELECT key + ?, NULL FROM pages WHERE key BETWEEN ? AND ?",
            "INSERT INTO bodies SELECT key + ?, body FROM bodies WHERE key BETWEEN ? AND ?",
        ):
            self._run(statement, (shift, *key_range(twin["serial"])))
        copy_places(self._run, twin["serial"], serial)
        copy_graph(self, twin["serial"], serial)
        self._run(
            "INSERT INTO pending SELECT encoders.id, key, key - ? FROM encoders, pages "
            "WHERE key BETWEEN ? AND ?",
            (shift, *key_range(serial)),
        )
        if current:
            self._remove(current["serial"])
        self._show(serial)
        self._run(
            "UPDATE documents SET (state, status, page_count, stored, info) = "
            "(SELECT 'live', status, page_count, stored, info FROM documents WHERE serial = ?) "
            "WHERE serial = ?",
            (twin["serial"], serial),
        )
        (row,) = self._found("serial = ?", (serial,))
        return Begun(row["id"], "copied", self._numbers(serial))

    def _start(self, file: _File, current: dict[str, Any] | None) -> Begun:
        state = "staged" if current else "open"
        serial = self._insert(file, state, _tags_of(self, current))
        (row,) = self._found("serial = ?", (serial,))
        return Begun(row["id"], "replacing" if current else "new", frozenset())

    def _insert(self, file: _File, state: str, tags: Iterable[str]) -> int:
        document = base = file.content_hash[:16]
        number = 1
        while self._found("id = ?", (document,)):
            number += 1
            document = f"{base}-{number}"
        empty = Document(document, file.source, file.content_hash, 0, "partial")
        self._run(
            "INSERT INTO documents (id, source, path, name, content_hash, stamp, state, status, "
            "page_count, info, generation) VALUES (?, ?, ?, ?, ?, ?, ?, 'partial', 0, ?, ?)",
            (
                document,
                encode_path(file.source),
                encode_path(file.path),
                encode_path(empty.name),
                file.content_hash,
                file.stamp,
                state,
                encode_info(empty),
                self.bump(),
            ),
        )
        (row,) = self._found("id = ?", (document,))
        self._add_tags(row["serial"], {*tags, *file.tags})
        return int(row["serial"])

    def _touch(self, serial: int, file: _File) -> None:
        self._run(
            "UPDATE documents SET source = ?, name = ?, stamp = ? WHERE serial = ?",
            (
                encode_path(file.source),
                encode_path(os.path.basename(file.source)),
                file.stamp,
                serial,
            ),
        )
        self._add_tags(serial, file.tags)

    def _rename(self, serial: int, source: str, path: str) -> None:
        self._run(
            "UPDATE documents SET source = ?, path = ?, name = ?, generation = ? WHERE serial = ?",
            (
                encode_path(source),
                encode_path(path),
                encode_path(os.path.basename(source)),
                self.bump(),
                serial,
            ),
        )

    def _add_tags(self, serial: int, tags: Iterable[str]) -> None:
        for tag in tags:
            self._run("INSERT OR IGNORE INTO tags VALUES (?, ?)", (serial, clean(tag)))

    def _numbers(self, serial: int) -> frozenset[int]:
        low, high = key_range(serial)
        rows = self.rows("SELECT key FROM pages WHERE key BETWEEN ? AND ?", (low, high))
        return frozenset(key - low for (key,) in rows)

    def _show(self, serial: int) -> None:
        """Let a document's pages become visible, as if they were stored now."""
        low, high = key_range(serial)
        seq = self.rows("SELECT value FROM meta WHERE key = 'seq'")[0][0]
        self._run(
            "UPDATE pages SET seq = ? + key - ? WHERE key BETWEEN ? AND ?", (seq, low, low, high)
        )
        last = self.rows("SELECT max(seq) FROM pages WHERE key BETWEEN ? AND ?", (low, high))
        self._run("UPDATE meta SET value = ? WHERE key = 'seq'", (last[0][0] or seq,))

    def _remove(self, serial: int) -> None:
        span = key_range(serial)
        for (encoder,) in self.rows("SELECT id FROM encoders"):
            self._run(
                "UPDATE segments SET dead = dead + d.n FROM (SELECT segment, sum(rows) AS n "
                "FROM vectors WHERE encoder = ? AND page BETWEEN ? AND ? GROUP BY segment) AS d "
                "WHERE id = d.segment",
                (encoder, *span),
            )
            for table in ("vectors", "pending"):
                self._run(
                    f"DELETE FROM {table} WHERE encoder = ? AND page BETWEEN ? AND ?",  # noqa: S608
                    (encoder, *span),
                )
        drop_places(self._run, serial)
        drop_graph(self, serial)
        self._run("DELETE FROM bodies WHERE key BETWEEN ? AND ?", span)
        self._run("DELETE FROM pages WHERE key BETWEEN ? AND ?", span)
        self._run("DELETE FROM tags WHERE document = ?", (serial,))
        self._run("DELETE FROM documents WHERE serial = ?", (serial,))
        self._run(
            "INSERT INTO removals (document, generation) VALUES (?, ?)", (serial, self.bump())
        )


@dataclass(frozen=True, slots=True)
class _File:
    """The arguments of `begin_document`."""

    source: str
    path: str
    content_hash: str
    stamp: str
    tags: frozenset[str]
    retry: bool


def _same(row: dict[str, Any] | None, file: _File) -> bool:
    return row is not None and row["content_hash"] == file.content_hash


def _tags_of(writer: CatalogueWriter, row: dict[str, Any] | None) -> list[str]:
    """Return the tags of a document that is about to be replaced; they stay with the path."""
    if row is None:
        return []
    return [
        tag for (tag,) in writer.rows("SELECT tag FROM tags WHERE document = ?", (row["serial"],))
    ]
