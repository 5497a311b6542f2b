"""Kept replies in a library's catalogue: the table ``replies`` of its SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import CorruptError, LibraryError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Kept", "ReplyStore"]

_TABLE = """
CREATE TABLE IF NOT EXISTS replies(
    key TEXT PRIMARY KEY, model TEXT NOT NULL, made INTEGER NOT NULL, body BLOB NOT NULL)
    WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS replies_model ON replies(model);
"""
_PATIENCE = 5.0  # seconds to wait for another writer before a reply is not kept


@dataclass(frozen=True, slots=True)
class Kept:
    """What a store holds: how many replies, their bytes, and how many per model."""

    replies: int
    size: int
    models: dict[str, int]


class ReplyStore:
    """Replies by key in one SQLite file; a `cache.Store`, safe for threads and processes.

    Keeping replies is a convenience and never stops the work: where the file cannot be written to,
    or another writer holds it for long, the reply is not kept, and `lost` counts it. The file is
    opened at the first use.

    Args:
        path: A library's catalogue, which has the table already; or any file, with ``create``.
        create: Make the file and its table when they are absent. Never for a catalogue.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self._path, self._create = path, create
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._lost = 0

    def __repr__(self) -> str:
        return f"ReplyStore({str(self._path)!r})"

    @property
    def lost(self) -> int:
        """Replies that could not be kept."""
        with self._lock:
            return self._lost

    def get(self, key: str) -> bytes | None:
        """Return what was kept, or None; None too where the file cannot be read."""
        with self._lock:
            try:
                found = self._open().execute("SELECT body FROM replies WHERE key = ?", (key,))
                row = found.fetchone()
            except sqlite3.Error:
                return None
        return bytes(row[0]) if row else None

    def put(self, key: str, model: str, body: bytes) -> None:
        """Keep something under a key; what stood there is replaced."""
        row = (key, model, int(time.time()), body)
        with self._lock:
            try:
                self._open().execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)", row)
            except sqlite3.Error:
                self._lost += 1

    def drop(self, key: str) -> None:
        """Forget one reply."""
        with self._lock:
            try:
                self._open().execute("DELETE FROM replies WHERE key = ?", (key,))
            except sqlite3.Error:
                self._lost += 1

    def kept(self) -> Kept:
        """Return what the store holds.

        Raises:
            LibraryError: The file cannot be read.
        """
        sql = "SELECT model, count(*), sum(length(body)) FROM replies GROUP BY model ORDER BY model"
        with self._lock:
            try:
                rows = self._open().execute(sql).fetchall()
            except sqlite3.Error as error:
                raise self._unusable(error) from error
        return Kept(sum(r[1] for r in rows), sum(r[2] for r in rows), {r[0]: r[1] for r in rows})

    def purge(self, *, model: str | None = None, before: float | None = None) -> int:
        """Forget replies and return how many; the file keeps its size and uses the room again.

        Args:
            model: Only this model's.
            before: Only those made before this time, seconds since 1970.

        Raises:
            LibraryError: The file cannot be written to.
        """
        sql, values = "DELETE FROM replies WHERE true", list[object]()
        if model is not None:
            sql, values = f"{sql} AND model = ?", [*values, model]
        if before is not None:
            sql, values = f"{sql} AND made < ?", [*values, before]
        with self._lock:
            try:
                return self._open().execute(sql, values).rowcount
            except sqlite3.Error as error:
                raise self._unusable(error) from error

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._create and not self._path.exists():
                with closing(sqlite3.connect(self._path, isolation_level=None)) as made:
                    made.execute("PRAGMA journal_mode = WAL")
                    made.executescript(_TABLE)
            self._connection = sqlite3.connect(
                self._address(),
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                timeout=_PATIENCE,
            )
            # A reply lost to a power cut is asked for again; the file stays whole either way.
            self._connection.execute("PRAGMA synchronous = NORMAL")
        return self._connection

    def _address(self) -> str:
        """Return the file's URI; it is never made, and on a read-only disk no lock is asked for."""
        uri = self._path.absolute().as_uri()
        if os.access(self._path.parent, os.W_OK) and os.access(self._path, os.W_OK):
            return f"{uri}?mode=rw"
        log = self._path.with_name(self._path.name + "-wal")
        return f"{uri}?mode=ro" if log.exists() else f"{uri}?mode=ro&immutable=1"

    def _unusable(self, error: sqlite3.Error) -> LibraryError:
        if isinstance(error, sqlite3.OperationalError):
            return LibraryError(f"cannot use {self._path}: {error}")
        return CorruptError(f"{self._path} is damaged ({error}); restore it from a backup")
