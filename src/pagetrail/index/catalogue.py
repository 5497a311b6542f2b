"""The catalogue: which documents and pages a library holds. Everything else is derived from it.

`Catalogue` reads; `changes.CatalogueWriter` adds the changes. Readers never wait for the writer:
SQLite's write-ahead log gives each statement, and each `pinned` block, one consistent state.
"""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ..errors import NotFoundError, ScopeError
from ..ports import Found
from ..types import Document, OutlineEntry, Page, Scope, page_id, split_page_id
from .codec import decode_page, decode_text, encode_text
from .keys import NUMBER_BITS, key_range, page_key, split_key
from .schema import connect, guard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType

    from .folder import Folder

__all__ = ["Catalogue", "View"]

_INTERRUPTED = "unless it is being added right now, add it again to go on"
_SELECT = (
    "SELECT serial, id, source, content_hash, state, status, page_count, stored, info "
    "FROM documents WHERE state != 'staged' AND "
)
_AMONG = "IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class View:
    """What an index must know to turn its keys into pages, at one generation.

    Attributes:
        generation: Grows with every change that a search could see.
        ids: Document serial to document id, for the documents that may be found; whatever else an
            index still holds was removed or is not yet complete, and must not be shown.
    """

    generation: int
    ids: dict[int, str]

    def page_id(self, key: int) -> str | None:
        """Return the id of a page, or None when its document may not be seen."""
        serial, number = split_key(key)
        document = self.ids.get(serial)
        return None if document is None else page_id(document, number)

    def visible(self, found: Found) -> Found:
        """Return what may be shown of a search's result: indexes lag, the catalogue decides."""
        serials = (found.keys >> NUMBER_BITS).tolist()
        keep = [serial in self.ids for serial in serials]
        if all(keep):
            return found
        blocks = None if found.blocks is None else found.blocks[keep]
        return Found(found.keys[keep], found.scores[keep], blocks, found.ways)


class Catalogue:
    """Read access to a library's documents and pages; safe to share between threads."""

    def __init__(self, folder: Folder, *, create: bool = False) -> None:
        self.folder = folder
        self._path = folder.catalogue
        self._connection = connect(self._path, create=create)
        self._lock = threading.RLock()
        self._view: View | None = None

    def close(self) -> None:
        """Give the file back; harmless when done twice."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run one SQL statement and return its rows; for the modules of this package."""
        with self._lock, guard(self._path):
            return self._connection.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def pinned(self) -> Iterator[None]:
        """Keep everything read inside the block at one state, whatever is written meanwhile."""
        with self._lock, guard(self._path):
            if self._connection.in_transaction:
                yield
                return
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    # --- generations -------------------------------------------------------------------------

    def generation(self) -> int:
        """Return the number that grows with every visible change; cheap (some 10 us)."""
        return int(self.rows("SELECT value FROM meta WHERE key = 'generation'")[0][0])

    def view(self) -> View:
        """Return the current `View`; only what changed since the last call is read."""
        with self._lock:
            generation = self.generation()
            if self._view is None or self._view.generation != generation:
                with self.pinned():
                    self._view = self._next_view(self._view)
            return self._view

    def _next_view(self, old: View | None) -> View:
        generation = self.generation()
        ids = dict(old.ids) if old else {}
        since = old.generation if old else -1
        for serial, document, state in self.rows(
            "SELECT serial, id, state FROM documents WHERE generation > ?", (since,)
        ):
            if state != "staged":
                ids[serial] = document
        for (serial,) in self.rows("SELECT document FROM removals WHERE generation > ?", (since,)):
            ids.pop(serial, None)
        return View(generation, ids)

    # --- documents ---------------------------------------------------------------------------

    def documents(self, scope: Scope | None = None) -> list[Document]:
        """Return the documents in scope, by source."""
        serials = None if scope is None else self.serials(scope)
        if serials is None:
            return self._documents(self.rows(_SELECT + "1 ORDER BY source, serial"))
        return self._documents(
            self.rows(_SELECT + f"serial {_AMONG} ORDER BY source, serial", (_list(serials),))
        )

    def document(self, document: str) -> Document:
        """Return a document by its id.

        Raises:
            NotFoundError: There is none.
        """
        rows = self.rows(_SELECT + "id = ?", (clean(document),))
        if not rows:
            raise NotFoundError(f"no document with id {document!r} in this library")
        return self._documents(rows)[0]

    def find(self, name: str, *, path: str = "") -> list[Document]:
        """Return the documents that a person may mean: by id, source, path or file name.

        The first of these that gives a match counts, so a full path is never ambiguous.

        Args:
            name: What the person wrote.
            path: The same as an absolute path without symbolic links; empty to leave it out.
        """
        for column, value in (
            ("id", clean(name)),
            ("source", encode_path(name)),
            ("path", encode_path(path)),
            ("name", encode_path(name)),
        ):
            rows = self.rows(_SELECT + f"{column} = ? ORDER BY source", (value,))
            if rows:
                return self._documents(rows)
        return []

    def location(self, document: str) -> tuple[str, str]:
        """Return the absolute path of a document's file and its stamp when it was added.

        Raises:
            NotFoundError: There is no such document.
        """
        rows = self.rows(
            "SELECT path, stamp FROM documents WHERE id = ? AND state != 'staged'",
            (clean(document),),
        )
        if not rows:
            raise NotFoundError(f"no document with id {document!r} in this library")
        return decode_path(rows[0][0]), rows[0][1]

    def unchanged(self, path: str, stamp: str) -> Document | None:
        """Return the complete document at a path if the file's stamp is still the same.

        Args:
            path: Absolute path without symbolic links.
            stamp: From `file_stamp`.
        """
        rows = self.rows(
            _SELECT + "path = ? AND stamp = ? AND state = 'live' AND status != 'failed'",
            (encode_path(path), stamp),
        )
        return self._documents(rows)[0] if rows else None

    def serials(self, scope: Scope) -> frozenset[int] | None:
        """Return the serials of the documents in scope; None means the whole library.

        Raises:
            ScopeError: The scope names a document or a tag that the library does not have, or its
                documents have none of its tags.
        """
        if not scope.documents and not scope.tags:
            return None
        found: set[int] | None = None
        if scope.documents:
            ids = sorted(map(clean, scope.documents))
            rows = self.rows(_SELECT + f"id {_AMONG}", (_list(ids),))
            missing = set(ids) - {row[1] for row in rows}
            if missing:
                raise ScopeError(f"no document with id {min(missing)!r} in this library")
            found = {row[0] for row in rows}
        if scope.tags:
            rows = self.rows(
                "SELECT DISTINCT document FROM tags JOIN documents ON serial = document "
                "WHERE state != 'staged' AND tag IN (SELECT value FROM json_each(?))",
                (_list(map(clean, scope.tags)),),
            )
            tagged = {row[0] for row in rows}
            found = tagged if found is None else found & tagged
        if not found:
            raise ScopeError(f"no document with tag {', '.join(sorted(scope.tags))} in the scope")
        return frozenset(found)

    def page_total(self, serials: frozenset[int] | None = None) -> int:
        """Return the number of stored pages in some documents, or in all."""
        total = "SELECT coalesce(sum(stored), 0) FROM documents WHERE state != 'staged'"
        if serials is None:
            return int(self.rows(total)[0][0])
        return int(self.rows(f"{total} AND serial {_AMONG}", (_list(serials),))[0][0])

    def _documents(self, rows: Sequence[Any]) -> list[Document]:
        tags: dict[int, set[str]] = {}
        # Few documents are asked one by one; for many one pass over all tags is cheaper.
        found = (
            self.rows("SELECT document, tag FROM tags")
            if len(rows) > 1000
            else self.rows(
                "SELECT document, tag FROM tags WHERE document IN (SELECT value FROM json_each(?))",
                (_list([row[0] for row in rows]),),
            )
        )
        for serial, tag in found:
            tags.setdefault(serial, set()).add(tag)
        return [_document(row, frozenset(tags.get(row[0], ()))) for row in rows]

    # --- pages -------------------------------------------------------------------------------

    def pages(self, ids: Sequence[str]) -> list[Page]:
        """Return pages by id, in the order asked.

        Raises:
            NotFoundError: A page is not in the library.
            CorruptError: A stored page is damaged.
        """
        keys = self.keys(ids)
        found = {page_key(s, p.number): p for s, p in self._read(keys)}
        for key, page in zip(keys, ids, strict=True):
            if key not in found:
                raise NotFoundError(f"no page {page!r} in this library")
        return [found[key] for key in keys]

    def keys(self, ids: Sequence[str]) -> list[int]:
        """Return the keys of pages by id, in the order asked.

        Raises:
            NotFoundError: A document is not in the library.
        """
        serials: dict[str, int] = {}
        keys = []
        for page in ids:
            document, number = _split(page)
            if document not in serials:
                rows = self.rows(
                    "SELECT serial FROM documents WHERE id = ? AND state != 'staged'",
                    (clean(document),),
                )
                if not rows:
                    raise NotFoundError(f"no document with id {document!r} in this library")
                serials[document] = rows[0][0]
            keys.append(page_key(serials[document], number))
        return keys

    def pages_by_key(self, keys: Sequence[int]) -> dict[int, Page]:
        """Return pages by key; keys that are no longer in the library are left out."""
        return {page_key(serial, page.number): page for serial, page in self._read(keys)}

    def page_keys(self, document: str) -> list[int]:
        """Return the keys of a document's stored pages, by number; empty for an unknown one."""
        rows = self.rows("SELECT serial FROM documents WHERE id = ?", (clean(document),))
        if not rows:
            return []
        return [
            key
            for (key,) in self.rows(
                "SELECT key FROM pages WHERE key BETWEEN ? AND ? ORDER BY key",
                key_range(rows[0][0]),
            )
        ]

    def iterate(self, document: str, *, batch: int = 64) -> Iterator[Page]:
        """Yield a document's pages by number, never holding more than ``batch``."""
        keys = self.page_keys(document)
        for at in range(0, len(keys), batch):
            for _, page in self._read(keys[at : at + batch]):
                yield page

    def visible_after(self, seq: int, limit: int) -> list[tuple[int, int]]:
        """Return ``(seq, key)`` of up to ``limit`` pages that became visible after ``seq``."""
        return self.rows(
            "SELECT seq, key FROM pages WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit)
        )

    def removed_after(self, seq: int) -> list[tuple[int, int]]:
        """Return ``(seq, document serial)`` of removals after ``seq``, in order."""
        return self.rows("SELECT seq, document FROM removals WHERE seq > ? ORDER BY seq", (seq,))

    def _read(self, keys: Sequence[int]) -> Iterator[tuple[int, Page]]:
        for at in range(0, len(keys), 500):
            rows = self.rows(
                "SELECT key, body, id FROM bodies JOIN documents ON serial = key >> ? "
                "WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key",
                (NUMBER_BITS, _list(keys[at : at + 500])),
            )
            for key, body, document in rows:
                yield key >> NUMBER_BITS, decode_page(document, body)


def encode_path(path: str) -> bytes:
    """Return a path as bytes; names that are not valid UTF-8 survive the way back."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return encode_text(path)


def decode_path(data: bytes) -> str:
    """Return the path that `encode_path` was given."""
    return data.decode("utf-8", "surrogateescape")


def clean(text: str) -> str:
    """Return text that SQLite can take: lone surrogates become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def encode_info(document: Document) -> bytes:
    """Return what is stored of a document beside its columns, as JSON."""
    info = {
        "reason": document.reason,
        "title": document.title,
        "metadata": dict(document.metadata),
        "outline": [[e.title, e.level, e.page] for e in document.outline],
        "pages_failed": list(document.pages_failed),
    }
    return encode_text(json.dumps(info, ensure_ascii=False, separators=(",", ":")))


def _document(row: Any, tags: frozenset[str]) -> Document:
    _, document, source, content_hash, state, status, page_count, stored, info = row
    data = json.loads(decode_text(info))
    reason = data["reason"]
    if state == "open":
        status = "partial"
        reason = f"{stored} of {page_count or 'its'} pages read; {_INTERRUPTED}"
    return Document(
        id=document,
        source=decode_path(source),
        content_hash=content_hash,
        page_count=page_count,
        status=status,
        reason=reason,
        title=data["title"],
        metadata=data["metadata"],
        outline=tuple(OutlineEntry(*entry) for entry in data["outline"]),
        tags=tags,
        pages_failed=tuple(data["pages_failed"]),
    )


def _split(page: str) -> tuple[str, int]:
    try:
        return split_page_id(page)
    except ValueError as error:
        raise NotFoundError(
            f"{page!r} is not a page id; they look like '3f2a90c1#p0007'"
        ) from error


def _list(values: Iterable[int | str]) -> str:
    """Return values as one parameter for `_AMONG`: SQL takes few single ones."""
    return json.dumps(list(values))
