"""A worker process as its owner sees it: start, talk, end.

Workers are started as fresh interpreters, not forked and not through `multiprocessing`, which
would run the caller's main module again. They talk over a socket of their own; their standard
input is a lifeline that closes when the owner dies, however it dies.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["Worker", "death"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
# A process that parsed a hostile file is not trusted: only the nouns may come out of it.
_ALLOWED_MODULES = ("pagetrail.types", "pagetrail.ports")
_ALLOWED_NAMES = {("builtins", "frozenset"), ("builtins", "set"), ("copyreg", "__newobj__")}


class Worker:
    """A running worker process."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "pagetrail.documents.child", str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=_environment(),
            )
        self.connection = Connection(ours.detach())

    def send(self, message: tuple[Any, ...]) -> None:
        """Send a message; a dead worker is noticed when it is next listened to."""
        try:
            self.connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            return

    def receive(self) -> tuple[Any, ...]:
        """Return the next message, waiting for it.

        Raises:
            EOFError: The worker is dead.
        """
        try:
            data = self.connection.recv_bytes()
        except OSError as error:
            raise EOFError from error
        message: tuple[Any, ...] = _Unpickler(io.BytesIO(data)).load()
        return message

    def waits(self) -> bool:
        """Tell whether a message, or the end, can be received at once."""
        return self.connection.poll(0)

    def cpu_seconds(self) -> float:
        """Return the processor time used so far; 0 where the system does not tell."""
        try:
            with open(f"/proc/{self._process.pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self, *, at_once: bool = False) -> int:
        """End the process and return its exit status, negative for a signal.

        A first polite signal lets it end the programs that it has started itself.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL if at_once else signal.SIGTERM)
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self.connection.close()
        return int(self._process.returncode)

    def left(self) -> int:
        """Return the exit status of a process that closed its side; it is ended if it lingers."""
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            return self.end(at_once=True)
        return self.end()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module in _ALLOWED_MODULES or (module, name) in _ALLOWED_NAMES:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} may not come out of a worker")


def _environment() -> dict[str, str]:
    """One thread per worker: the pool uses the cores, and allocators keep fewer heaps."""
    return {
        **os.environ,
        **dict.fromkeys(_THREADS, "1"),
        "MALLOC_ARENA_MAX": "2",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }


def death(status: int) -> str:
    """Say in words how a process ended."""
    if status >= 0:
        return f"the reading process ended by itself (status {status})"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    if name == "SIGKILL":
        return "the reading process was killed, perhaps for want of memory"
    return f"the reading process crashed ({name})"
