from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pagetrail.errors import CorruptError, LibraryError, LockedError, NotFoundError, VersionError
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.folder import create_folder, open_folder
from pagetrail.index.lock import WriterLock
from pagetrail.index.schema import connect

if TYPE_CHECKING:
    from pathlib import Path


def test_create_then_open(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "library"
    assert (
        create_folder(root, version="1.2") == open_folder(root) == create_folder(root, version="2")
    )
    assert json.loads((root / "manifest.json").read_text())["created_by"] == "1.2"


def test_a_folder_with_other_content_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(LibraryError, match=r"holiday\.jpg"):
        create_folder(tmp_path, version="0")
    assert os.listdir(tmp_path) == ["holiday.jpg"]


def test_a_creation_that_was_interrupted_is_completed(tmp_path: Path) -> None:
    (tmp_path / "segments").mkdir()
    (tmp_path / "manifest.json.tmp").write_text("{")
    create_folder(tmp_path, version="0")
    open_folder(tmp_path)


def test_absent_and_foreign_folders_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="add a document"):
        open_folder(tmp_path / "nowhere")
    with pytest.raises(NotFoundError, match="not a library"):
        open_folder(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotFoundError, match="not a library"):
        open_folder(tmp_path / "file")
    for manifest in ('{"application": "other", "format": 1}', "[]"):
        (tmp_path / "manifest.json").write_text(manifest)
        with pytest.raises(LibraryError, match="another program"):
            open_folder(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(CorruptError, match="JSON"):
        open_folder(tmp_path)


def test_newer_formats_are_refused_by_name(tmp_path: Path) -> None:
    create_folder(tmp_path, version="0")
    manifest = {"application": "pagetrail", "format": 99, "created_by": "7.0"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(VersionError, match=r"format 99 \(made by Pagetrail 7\.0\).*newer"):
        open_folder(tmp_path)


def test_newer_tables_are_refused_by_name(tmp_path: Path) -> None:
    folder = create_folder(tmp_path, version="0")
    connect(folder.catalogue, create=True).close()
    raw = sqlite3.connect(folder.catalogue)
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    with pytest.raises(VersionError, match="tables 99"):
        Catalogue(folder)


def test_a_missing_or_foreign_database_is_an_error_and_not_a_new_library(tmp_path: Path) -> None:
    folder = create_folder(tmp_path, version="0")
    with pytest.raises(CorruptError, match="missing"):
        Catalogue(folder)
    folder.catalogue.write_bytes(b"this is not a database, it only looks long enough" * 50)
    with pytest.raises(CorruptError, match="damaged"):
        Catalogue(folder)


def test_a_library_on_a_read_only_disk_can_be_read(tmp_path: Path, monkeypatch: Any) -> None:
    folder = create_folder(tmp_path / "a%20 b?c#d", version="0")
    connect(folder.catalogue, create=True).close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with Catalogue(folder) as catalogue:
        assert catalogue.documents() == []
        with pytest.raises(LibraryError, match="readonly"):
            catalogue.rows("DELETE FROM documents")
    assert not folder.catalogue.with_name("catalogue.db-wal").exists()


def test_one_writer_within_a_process(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "writer.lock")
    with pytest.raises(LockedError, match="in this program"):
        WriterLock(tmp_path / "." / "writer.lock")
    lock.release()
    lock.release()
    with WriterLock(tmp_path / "writer.lock"):
        pass


_HOLD = """
import sys, time
from pathlib import Path
from pagetrail.index.lock import WriterLock
lock = WriterLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_one_writer_among_processes_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(LockedError, match=f"process {child.pid} on .* is writing"):
        WriterLock(path)
    child.kill()
    child.wait()
    child.stdout.close()
    WriterLock(path).release()


def test_tables_of_the_first_version_get_what_later_ones_added(tmp_path: Path) -> None:
    folder = create_folder(tmp_path / "library", version="0")
    connect(folder.catalogue, create=True).close()
    raw = sqlite3.connect(folder.catalogue)
    now = sorted(raw.execute("SELECT name, sql FROM sqlite_schema").fetchall())
    # What later versions brought, taken away again.
    raw.executescript(
        "DROP TABLE edges; DROP TABLE marks; DROP TABLE graphs;"
        "DROP TABLE replies; DROP TABLE calibrations; DROP INDEX encoders_channel;"
        "INSERT INTO encoders (name, revision, dimension) VALUES ('kept', 'r', 4);"
        "ALTER TABLE encoders DROP COLUMN channel; ALTER TABLE encoders DROP COLUMN spec;"
        "ALTER TABLE encoders DROP COLUMN settings; ALTER TABLE encoders DROP COLUMN probe;"
        "ALTER TABLE vectors DROP COLUMN grid; PRAGMA user_version = 1;"
    )
    raw.close()
    connection = connect(folder.catalogue)
    assert sorted(connection.execute("SELECT name, sql FROM sqlite_schema").fetchall()) == now
    assert connection.execute("SELECT name, channel FROM encoders").fetchall() == [("kept", None)]
    connection.close()
