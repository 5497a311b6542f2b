"""Page pictures on disk: made on demand, found by content, bounded in bytes.

Nothing here is a source of truth: every file can be deleted at any time and is made again.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path

__all__ = ["PictureStore"]

_NAME = re.compile(r"[0-9a-f]{64}-[0-9]+-[0-9]+\.png")


class PictureStore:
    """A folder of PNG files named by content hash, page and resolution.

    Args:
        folder: Where the files are; made when the first picture is kept.
        max_bytes: The oldest-used pictures go when the total passes this; 0 keeps none.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def _path(self, content_hash: str, page: int, dpi: int) -> Path:
        name = f"{content_hash}-{page}-{dpi}.png"
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a content hash and page: {name!r}")
        return self._folder / name

    def get(self, content_hash: str, page: int, dpi: int) -> bytes | None:
        """Return the PNG bytes of a page's picture, or None when it has to be made."""
        path = self._path(content_hash, page, dpi)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        # The time of last use decides what goes first; a reader without write access skips it.
        with contextlib.suppress(OSError):
            os.utime(path)
        return data

    def put(self, content_hash: str, page: int, dpi: int, data: bytes) -> None:
        """Keep a picture; a folder that cannot be written to keeps none and is not an error."""
        path = self._path(content_hash, page, dpi)
        if len(data) > self._max_bytes:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
                file.write(data)
            Path(file.name).replace(path)
        except OSError:
            return
        self._shrink()

    def forget(self, content_hash: str) -> None:
        """Delete every picture of a document's bytes."""
        for path in self._folder.glob(f"{content_hash}-*.png"):
            path.unlink(missing_ok=True)

    def _shrink(self) -> None:
        entries = []
        for entry in os.scandir(self._folder):
            with contextlib.suppress(OSError):
                status = entry.stat()
                entries.append((status.st_mtime_ns, status.st_size, entry.path))
        total = sum(size for _, size, _ in entries)
        for _, size, name in sorted(entries):
            if total <= self._max_bytes:
                return
            Path(name).unlink(missing_ok=True)
            total -= size
