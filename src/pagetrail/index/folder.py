"""One folder is one library: where its parts lie, and whether it is one we can read.

::

    catalogue.db    SQLite, the single source of truth
    segments/       immutable vectors, named in the catalogue with their checksums
    lexical/        tantivy indexes over pages and over blocks, rebuilt from the catalogue at need
    pages/          page images made on demand, a cache
    manifest.json   format version and the version of Pagetrail that made the folder
    writer.lock     held by the process that writes
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import CorruptError, LibraryError, NotFoundError, VersionError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMAT", "Folder", "create_folder", "fsync_folder", "open_folder"]

FORMAT = 1
"""Version of the layout; a library with a higher one is refused."""

_APPLICATION = "pagetrail"


@dataclass(frozen=True, slots=True)
class Folder:
    """Paths of a library's parts."""

    root: Path

    @property
    def manifest(self) -> Path:
        return self.root / "manifest.json"

    @property
    def catalogue(self) -> Path:
        return self.root / "catalogue.db"

    @property
    def segments(self) -> Path:
        return self.root / "segments"

    @property
    def lexical(self) -> Path:
        return self.root / "lexical"

    @property
    def images(self) -> Path:
        return self.root / "pages"

    @property
    def lock(self) -> Path:
        return self.root / "writer.lock"


def create_folder(root: Path, *, version: str) -> Folder:
    """Make a library's folder, or return the one that is there.

    Args:
        root: The folder; it may be absent or empty, its parents are made.
        version: Version of Pagetrail, kept for people.

    Raises:
        LibraryError: The folder holds something else, or cannot be made.
        VersionError: It holds a library of a newer format.
    """
    folder = Folder(root)
    if folder.manifest.exists() or folder.catalogue.exists():
        return open_folder(root)
    try:
        root.mkdir(parents=True, exist_ok=True)
        strangers = sorted(p.name for p in root.iterdir() if not _half_made(p.name))
        if strangers:
            raise LibraryError(
                f"{root} is not a library and not empty (it holds {strangers[0]!r}); "
                "choose an empty or a new folder"
            )
        for part in (folder.segments, folder.lexical, folder.images):
            part.mkdir(exist_ok=True)
        _write_manifest(folder, version)
    except OSError as error:
        reason = error.strerror or error
        raise LibraryError(f"cannot make a library in {root}: {reason}") from error
    return folder


def open_folder(root: Path) -> Folder:
    """Return an existing library's folder.

    Raises:
        NotFoundError: There is no library.
        VersionError: It was written by a newer version of Pagetrail.
        CorruptError: Its manifest cannot be read.
        LibraryError: The folder is something else.
    """
    folder = Folder(root)
    try:
        text = folder.manifest.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        if not root.exists():
            raise NotFoundError(f"no library at {root}; add a document to make one") from error
        if folder.catalogue.exists():
            raise CorruptError(f"{folder.manifest} is missing; restore it from a backup") from error
        raise NotFoundError(f"{root} is not a library: it has no manifest.json") from error
    except OSError as error:
        raise LibraryError(f"cannot read {folder.manifest}: {error.strerror or error}") from error
    _check_manifest(folder.manifest, text)
    return folder


def fsync_folder(path: Path) -> None:
    """Make renames and new names in a folder durable."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _check_manifest(path: Path, text: bytes) -> None:
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise CorruptError(f"{path} is not valid JSON; restore it from a backup") from error
    if not isinstance(manifest, dict) or manifest.get("application") != _APPLICATION:
        raise LibraryError(f"{path.parent} belongs to another program, not to Pagetrail")
    number = manifest.get("format")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise CorruptError(f"{path} has no valid format number; restore it from a backup")
    if number > FORMAT:
        raise VersionError(
            f"the library {path.parent} has format {number} (made by Pagetrail "
            f"{manifest.get('created_by', 'of unknown version')}); this version reads up to "
            f"{FORMAT}: install a newer Pagetrail"
        )


def _write_manifest(folder: Folder, version: str) -> None:
    manifest = {"application": _APPLICATION, "format": FORMAT, "created_by": version}
    temporary = folder.root / "manifest.json.tmp"
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(folder.manifest)
    with contextlib.suppress(OSError):  # some network file systems cannot sync a folder
        fsync_folder(folder.root)


def _half_made(name: str) -> bool:
    """Say whether a file may be left from a creation that was interrupted."""
    return name in {"segments", "lexical", "pages", "manifest.json.tmp", "writer.lock"}
