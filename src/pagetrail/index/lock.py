"""One writer at a time: a lock that vanishes with the process that holds it.

POSIX record locks are used rather than ``flock`` because a child made by ``fork`` does not inherit
them: when the writer is killed its parsing workers may live on for a moment, and the library must
not stay locked by them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import threading
from typing import TYPE_CHECKING, Self

from ..errors import LibraryError, LockedError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["WriterLock"]

# Record locks do not exclude two holders in one process, and closing any descriptor of the file
# drops them, so holders in this process are kept apart here. Keys carry the process id because a
# forked child starts with a copy of this set but without the locks.
_held: set[tuple[int, str]] = set()
_guard = threading.Lock()


class WriterLock:
    """The right to write to a library, held from construction until `release`.

    Raises:
        LockedError: Another process, or another object in this process, holds it.
        LibraryError: The lock file cannot be created (a read-only folder).
    """

    def __init__(self, path: Path) -> None:
        self._key = (os.getpid(), os.path.realpath(path))
        self._file: int | None = None
        with _guard:
            if self._key in _held:
                raise LockedError(
                    f"{path.parent} is already open for writing in this program; close it first"
                )
            self._file = _acquire(path)
            _held.add(self._key)

    def release(self) -> None:
        """Give the right back; harmless when done twice."""
        with _guard:
            if self._file is None:
                return
            file, self._file = self._file, None
            if self._key[0] == os.getpid():
                _held.discard(self._key)
            os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _acquire(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        reason = error.strerror or error
        raise LibraryError(f"cannot write to the library {path.parent}: {reason}") from error
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = ""
        with contextlib.suppress(OSError):
            holder = os.pread(file, 200, 0).decode("ascii", "replace").strip()
        os.close(file)
        who = f" ({holder})" if holder else ""
        raise LockedError(
            f"another process{who} is writing to {path.parent}; wait until it has finished"
        ) from error
    os.ftruncate(file, 0)
    os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    return file
