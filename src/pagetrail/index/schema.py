"""The catalogue's tables and the connection to them."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING

from ..errors import CorruptError, LibraryError, VersionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["SCHEMA", "connect", "guard"]

SCHEMA = 3
"""Version of the tables, kept in the database as ``user_version``."""

# Names and paths are BLOBs because file names on Unix are bytes and need not be valid text.
# `state`: live (complete), open (being added, its pages already count), staged (being added to
# take the place of another document, hidden until complete).
# `pending` lists the pages that an encoder has not encoded; `twin` is a page with equal content.
# `pages.seq` orders the moments at which pages became visible; indexes remember how far they got.
_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', 0), ('seq', 0);

CREATE TABLE documents(
    serial INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    source BLOB NOT NULL,
    path BLOB NOT NULL,
    name BLOB NOT NULL,
    content_hash TEXT NOT NULL,
    stamp TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('live', 'open', 'staged')),
    status TEXT NOT NULL,
    page_count INTEGER NOT NULL,
    stored INTEGER NOT NULL DEFAULT 0,
    info BLOB NOT NULL,
    generation INTEGER NOT NULL);
CREATE INDEX documents_path ON documents(path);
CREATE INDEX documents_source ON documents(source);
CREATE INDEX documents_name ON documents(name);
CREATE INDEX documents_hash ON documents(content_hash);
CREATE INDEX documents_generation ON documents(generation);

CREATE TABLE tags(
    document INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (document, tag)) WITHOUT ROWID;
CREATE INDEX tags_tag ON tags(tag);

CREATE TABLE pages(key INTEGER PRIMARY KEY, seq INTEGER);
CREATE UNIQUE INDEX pages_seq ON pages(seq) WHERE seq IS NOT NULL;
CREATE TABLE bodies(key INTEGER PRIMARY KEY, body BLOB NOT NULL);

CREATE TABLE removals(
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL,
    generation INTEGER NOT NULL);
CREATE INDEX removals_generation ON removals(generation);

CREATE TABLE encoders(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    revision TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    UNIQUE (name, revision));
CREATE TABLE segments(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    encoder INTEGER NOT NULL,
    name TEXT NOT NULL UNIQUE,
    rows INTEGER NOT NULL,
    dead INTEGER NOT NULL DEFAULT 0,
    codes_sha256 TEXT NOT NULL,
    rows_sha256 TEXT NOT NULL);
CREATE INDEX segments_encoder ON segments(encoder);
CREATE TABLE vectors(
    encoder INTEGER NOT NULL,
    page INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    PRIMARY KEY (encoder, page)) WITHOUT ROWID;
CREATE INDEX vectors_segment ON vectors(segment);
CREATE TABLE pending(
    encoder INTEGER NOT NULL,
    page INTEGER NOT NULL,
    twin INTEGER,
    PRIMARY KEY (encoder, page)) WITHOUT ROWID;

CREATE TABLE places(
    kind TEXT NOT NULL, key TEXT NOT NULL, page INTEGER NOT NULL, mention INTEGER NOT NULL,
    block INTEGER NOT NULL, PRIMARY KEY (kind, key, page, mention)) WITHOUT ROWID;
CREATE INDEX places_page ON places(page);
CREATE TABLE labels(
    label TEXT NOT NULL, page INTEGER NOT NULL, PRIMARY KEY (label, page)) WITHOUT ROWID;
CREATE INDEX labels_page ON labels(page);
"""

# What each later version of the tables adds; a new database gets them one after the other too.
# `encoders.channel`: the name under which the encoder is searched, NULL for the built-in one;
# `spec`, `settings` and `probe` say how to load it and whether it is still the same model.
# `vectors.grid`: which vector stands for which patch of the page's picture (`codec`).
# `replies`: what models replied, by a key of everything that went into the call.
# `calibrations`: how a judge's numbers become probabilities, as JSON.
# `edges`: where a page leads within its document; all edges of a page in one body (`graph`).
# `marks`: rare names, numbers and near-duplicate sketches as 64-bit hashes, to find the pages of
# other documents that share them. `graphs`: the live documents, and the version of the code that
# found their edges and marks; 0 for those that wait for theirs.
_CHANGES = {
    2: """
ALTER TABLE encoders ADD COLUMN channel TEXT;
ALTER TABLE encoders ADD COLUMN spec TEXT NOT NULL DEFAULT '';
ALTER TABLE encoders ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
ALTER TABLE encoders ADD COLUMN probe BLOB;
CREATE UNIQUE INDEX encoders_channel ON encoders(channel) WHERE channel IS NOT NULL;
ALTER TABLE vectors ADD COLUMN grid BLOB;
CREATE TABLE replies(
    key TEXT PRIMARY KEY, model TEXT NOT NULL, made INTEGER NOT NULL, body BLOB NOT NULL)
    WITHOUT ROWID;
CREATE INDEX replies_model ON replies(model);
CREATE TABLE calibrations(
    judge TEXT PRIMARY KEY, made INTEGER NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
""",
    3: """
CREATE TABLE edges(page INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE marks(
    mark INTEGER NOT NULL, page INTEGER NOT NULL, PRIMARY KEY (mark, page)) WITHOUT ROWID;
CREATE TABLE graphs(document INTEGER PRIMARY KEY, version INTEGER NOT NULL);
CREATE INDEX graphs_version ON graphs(version);
INSERT INTO graphs SELECT serial, 0 FROM documents WHERE state = 'live';
""",
}


def connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Open the catalogue; readers and the writer use the same kind of connection.

    Raises:
        CorruptError: The file is absent or not a catalogue.
        VersionError: Its tables are newer than this version of Pagetrail.
    """
    if not create and not path.exists():
        raise CorruptError(f"{path} is missing; restore it from a backup")
    with guard(path):
        connection = sqlite3.connect(
            _address(path), uri=True, isolation_level=None, check_same_thread=False, timeout=20.0
        )
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _address(path: Path) -> str:
    """Return the file's URI; on a read-only disk one that asks for no lock and no log."""
    uri = path.absolute().as_uri()
    if os.access(path.parent, os.W_OK):
        return uri
    # A log that was left beside the database holds the newest changes and must be read as well.
    return f"{uri}?mode=ro" if path.with_name(path.name + "-wal").exists() else f"{uri}?immutable=1"


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    version = _version(connection)
    if version > SCHEMA:
        raise VersionError(
            f"{path} was written by a newer version of Pagetrail (tables {version}, this version "
            f"reads up to {SCHEMA}): install a newer Pagetrail"
        )
    if version < SCHEMA and not _read_only(connection):
        _bring_up(connection)
    elif version < SCHEMA:
        raise LibraryError(
            f"{path} was written by an older version of Pagetrail and this place cannot be written "
            "to: open it once where it can"
        )
    # FULL: a commit is on the disk, not only in the system's cache, before a page is reported.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -16000")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA journal_size_limit = 67108864")


def _read_only(connection: sqlite3.Connection) -> bool:
    (place,) = (row[2] for row in connection.execute("PRAGMA database_list") if row[1] == "main")
    return not os.access(place, os.W_OK) or not os.access(os.path.dirname(place), os.W_OK)


def _bring_up(connection: sqlite3.Connection) -> None:
    """Make the tables, or add what later versions brought, in one transaction."""
    if _version(connection) == 0:
        # Both pragmas must come before the first table; a larger page keeps a body in one place.
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)  # another process may have been faster
        for number in range(version + 1, SCHEMA + 1):
            for statement in (_TABLES if number == 1 else _CHANGES[number]).split(";\n"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def guard(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, with the file and what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise LibraryError(f"cannot use {path}: {error}") from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError):
            raise
        raise CorruptError(f"{path} is damaged ({error}); restore it from a backup") from error
