"""The worker process: opens files and reads pages as told, within limits of memory.

Messages in: ``("setup", settings, reader_factory)``, ``("open", key, request, scratch)``,
``("pages", key, request, scratch, numbers)``, ``("close",)``.
Messages out: ``("ready",)``, ``("converting", key)``, ``("opened", key, DocumentOpened)``,
``("failed", key, reason)``, ``("page", key, Page, seconds)``, ``("bad", key, number, reason)``,
``("caveat", key, reason)``, ``("retire",)``.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DocumentError, PageError
from ..ports import DocumentOpened

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..config import DocumentSettings
    from ..ports import LoadRequest, TextReader
    from .load import Source

__all__ = ["main"]

_SLACK = 120 << 20  # a worker that holds so much more than after its first pages is replaced
_SETTLED = 8  # pages after which its size is taken as normal


def main() -> None:
    """Run until told to stop or the owner is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides what an interrupt means
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_watch_owner, daemon=True).start()
    connection = Connection(int(sys.argv[1]))
    kind, settings, factory = connection.recv()
    if kind != "setup":
        raise SystemExit(2)
    child = _Child(connection, settings, factory)
    connection.send(("ready",))
    try:
        child.run()
    except (EOFError, ConnectionError):
        return
    finally:
        child.close()


def _leave(*_: object) -> None:
    raise SystemExit(0)


def _watch_owner() -> None:
    """End when standard input closes: the owner holds the other end and never writes."""
    with contextlib.suppress(OSError):
        while os.read(0, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(2.0)
    os._exit(1)


class _Child:
    """What a worker knows: its limits, its reader, the document that is open."""

    def __init__(
        self,
        connection: Connection,
        settings: DocumentSettings,
        factory: Callable[[], TextReader] | None,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._factory = factory if settings.ocr else None
        self._reader: _Deferred | None = None
        self._open: tuple[int, Source] | None = None
        self._stack = contextlib.ExitStack()
        self._read = 0
        self._normal = 0

    def run(self) -> None:
        """Answer messages until the worker has grown too large."""
        while True:
            message = self._connection.recv()
            if message[0] == "open":
                self._answer_open(*message[1:])
            elif message[0] == "pages":
                if not self._answer_pages(*message[1:]):
                    self._connection.send(("retire",))
                    return
            else:
                self.close()

    def close(self) -> None:
        """Close the open document."""
        self._open = None
        self._stack.close()

    def _answer_open(self, key: int, request: LoadRequest, scratch: str) -> None:
        try:
            source = self._source(key, request, scratch)
            opened = DocumentOpened(
                request.document,
                source.page_count,
                source.title,
                dict(source.metadata),
                source.outline,
            )
            self._connection.send(("opened", key, opened))
            if source.caveat:
                self._connection.send(("caveat", key, source.caveat))
        except Exception as error:  # noqa: BLE001 - a hostile file costs that file only
            self.close()
            self._connection.send(("failed", key, _reason(error)))

    def _answer_pages(
        self, key: int, request: LoadRequest, scratch: str, numbers: tuple[int, ...]
    ) -> bool:
        """Read pages; False when the worker should be replaced afterwards."""
        for number in numbers:
            started = time.monotonic()
            try:
                source = self._source(key, request, scratch)
                before = source.caveat
                page = source.page(request.document, number, self._get_reader())
                if source.caveat != before:
                    self._connection.send(("caveat", key, source.caveat))
                self._connection.send(("page", key, page, time.monotonic() - started))
            except (EOFError, ConnectionError):
                raise
            except Exception as error:  # noqa: BLE001 - a hostile page costs that page only
                self._connection.send(("bad", key, number, _reason(error)))
                if isinstance(error, MemoryError):
                    return False
            self._read += 1
            if self._too_large():
                return False
        return True

    def _source(self, key: int, request: LoadRequest, scratch: str) -> Source:
        """Return the open document, opening it when another one is."""
        from .load import open_source

        _limit_memory(self._settings.document_memory_mb << 20)
        if self._open is None or self._open[0] != key:
            self.close()

            def converting() -> None:
                # The other program has its own needs and its own limit of time.
                _limit_memory(None)
                self._connection.send(("converting", key))

            source = self._stack.enter_context(
                open_source(
                    request.path,
                    request.source,
                    settings=self._settings,
                    passwords=request.passwords,
                    scratch=Path(scratch),
                    converting=converting,
                )
            )
            _limit_memory(self._settings.document_memory_mb << 20)
            self._open = key, source
        return self._open[1]

    def _get_reader(self) -> TextReader | None:
        """Return a reader that loads its models when the first page needs it."""
        if self._reader is None and self._factory is not None:
            self._reader = _Deferred(self._factory, self._settings.document_memory_mb << 20)
        return self._reader

    def _too_large(self) -> bool:
        size = _resident()
        if self._read <= _SETTLED or (self._reader is not None and self._reader.fresh):
            self._normal = max(self._normal, size)
            return False
        if size <= self._normal + _SLACK:
            return False
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
        return _resident() > self._normal + _SLACK


class _Deferred:
    """A text reader that is made when it is first used."""

    def __init__(self, factory: Callable[[], TextReader], budget: int) -> None:
        self._factory, self._budget = factory, budget
        self._reader: TextReader | None = None
        self._used = 0

    @property
    def fresh(self) -> bool:
        """It has been used, but too little for its size to have settled."""
        return 0 < self._used <= _SETTLED

    def read(self, image: Any) -> Any:
        if self._reader is None:
            self._reader = self._factory()
            _limit_memory(self._budget)
        self._used += 1
        return self._reader.read(image)


def _reason(error: Exception) -> str:
    """Return one line without path and page."""
    if isinstance(error, DocumentError | PageError):
        return error.reason
    if isinstance(error, MemoryError):
        return "needs more memory than document_memory_mb allows"
    words = " ".join(str(error).split())[:300]
    return f"cannot be read: {type(error).__name__}{': ' if words else ''}{words}"


def _limit_memory(growth: int | None) -> None:
    """Let the address space grow by so many bytes from now on; None lifts the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = hard
    if growth is not None and (size := _pages(0)):
        soft = size + growth if hard == resource.RLIM_INFINITY else min(hard, size + growth)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _resident() -> int:
    return _pages(1)


def _pages(field: int) -> int:
    """Return a field of /proc/self/statm in bytes, 0 where there is none."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[field]) * resource.getpagesize()
    except OSError:
        return 0


if __name__ == "__main__":
    main()
