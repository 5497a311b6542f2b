"""Parsing in parallel worker processes: one bad page costs that page, one bad file that file.

The owner hands out small batches of pages and takes results one by one, so that a long document
uses all cores, several short ones run side by side, and memory does not depend on lengths: a
worker whose results are not taken stops at a full pipe.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import workers
from ..errors import PagetrailError
from ..ports import DocumentEnded, DocumentOpened, PageFailed, PageLoaded
from .process import Worker, death

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..config import DocumentSettings
    from ..ports import LoadEvent, LoadRequest, TextReader

__all__ = ["PoolLoader"]

_STARTUP_SECONDS = 120.0
_BATCH_SECONDS = 0.5  # of reading are handed out ahead
_MOST_AHEAD = 16  # pages
_MOST_DEATHS = 6  # in a row, in one document, before the rest of it is given up
_GRACE_SECONDS = 5.0
_PATIENCE = 4  # times the limit that a page may take on a machine too busy to work on it
_MOST_FAILURES = 500  # pages in a row that cannot be read


class PoolLoader:
    """Files to pages, in as many processes as the settings say; implements `ports.Loader`.

    Args:
        settings: Limits, resolution, number of workers.
        reader_factory: Makes the OCR engine, in the worker, when a page first needs it; must be
            importable there. None reads text layers only.
    """

    def __init__(
        self,
        settings: DocumentSettings,
        reader_factory: Callable[[], TextReader] | None = None,
    ) -> None:
        self._settings = settings
        self._factory = reader_factory

    def load(self, requests: Iterable[LoadRequest]) -> Iterator[LoadEvent]:
        """Read files; events of several documents may be interleaved.

        Requests are taken as workers become free. Closing the iterator ends the workers.

        Raises:
            PagetrailError: No worker process can be started.
        """
        with tempfile.TemporaryDirectory(prefix="pagetrail-") as scratch:
            pool = _Pool(self._settings, self._factory, iter(requests), Path(scratch))
            try:
                yield from pool.events()
            finally:
                pool.close()


@dataclass(eq=False, slots=True)
class _Job:
    """A document being read."""

    key: int
    request: LoadRequest
    scratch: Path
    fresh: Iterator[int] = field(default_factory=lambda: iter(()))
    returned: deque[int] = field(default_factory=deque)
    waiting: int = 0  # pages that no worker has been given yet
    running: int = 0  # pages that workers have been given
    opened: bool = False
    error: str = ""
    deaths: int = 0
    failures: int = 0
    pace: float = _BATCH_SECONDS  # seconds a page, a running mean

    def start(self, count: int) -> None:
        """Note how many pages the file has; those to skip are never handed out."""
        skip = self.request.skip
        self.opened = True
        self.fresh = (n for n in range(1, count + 1) if n not in skip)
        self.waiting = count - sum(1 <= n <= count for n in skip)

    def take(self, most: int) -> tuple[int, ...]:
        """Return the next pages to read."""
        numbers = tuple(itertools.islice(itertools.chain(self.drain(), self.fresh), most))
        self.waiting -= len(numbers)
        self.running += len(numbers)
        return numbers

    def drain(self) -> Iterator[int]:
        while self.returned:
            yield self.returned.popleft()

    def give_back(self, numbers: Iterable[int]) -> None:
        """Take back pages that a worker has not begun."""
        for number in numbers:
            self.returned.append(number)
            self.waiting += 1
            self.running -= 1

    def abandon(self, reason: str) -> None:
        """Hand out no further page."""
        self.error = self.error or reason
        self.returned.clear()
        self.fresh, self.waiting = iter(()), 0

    @property
    def over(self) -> bool:
        return (self.opened or bool(self.error)) and not self.waiting and not self.running


@dataclass(eq=False, slots=True)
class _Slot:
    """A worker and what it has been told to do; the first task is the one in hand."""

    worker: Worker
    deadline: float
    ready: bool = False
    job: _Job | None = None
    opening: bool = False
    numbers: deque[int] = field(default_factory=deque)
    begun: float = 0.0  # when the task in hand was, by the clock and by the worker's processor time
    used: float = 0.0
    checked: float = 0.0

    @property
    def busy(self) -> bool:
        return self.opening or bool(self.numbers) or not self.ready


class _Pool:
    """One run of the loader."""

    def __init__(
        self,
        settings: DocumentSettings,
        factory: Callable[[], TextReader] | None,
        requests: Iterator[LoadRequest],
        scratch: Path,
    ) -> None:
        self._settings, self._factory = settings, factory
        self._requests: Iterator[LoadRequest] | None = requests
        self._scratch = scratch
        self._keys = itertools.count(1)
        self._slots: list[_Slot] = []
        self._jobs: dict[int, _Job] = {}
        self._unopened: deque[_Job] = deque()
        self._failed_starts = 0

    def events(self) -> Iterator[LoadEvent]:
        """Yield what happens until every request has ended."""
        while True:
            self._hand_out()
            if not self._jobs:
                return
            for slot in self._heard():
                yield from self._listen(slot)
            yield from self._overdue()

    def close(self) -> None:
        """End all workers."""
        for slot in self._slots:
            slot.worker.end()
        self._slots.clear()

    # --- handing out ---------------------------------------------------------------------------

    def _hand_out(self) -> None:
        """Give work to every worker that is about to run out of it; start workers as needed."""
        for slot in self._slots:
            if slot.ready and not slot.opening:
                self._feed(slot)
        while len(self._slots) < workers(self._settings) and self._more_work():
            self._slots.append(self._started())

    def _more_work(self) -> bool:
        """Tell whether there is work beyond what the present workers will take at once."""
        starting = sum(not slot.ready for slot in self._slots)
        waiting = sum(min(job.waiting, 2) for job in self._jobs.values()) + len(self._unopened)
        if waiting > starting:
            return True
        job = self._next_job()
        if job is not None:
            self._unopened.append(job)
        return job is not None

    def _started(self) -> _Slot:
        slot = _Slot(Worker(), time.monotonic() + _STARTUP_SECONDS)
        slot.worker.send(("setup", self._settings, self._factory))
        return slot

    def _feed(self, slot: _Slot) -> None:
        """Top up a worker's pages; an idle one takes a new document, or helps with another."""
        job = slot.job
        if job is not None and job.waiting:
            ahead = min(_MOST_AHEAD, max(2, int(_BATCH_SECONDS / max(job.pace, 1e-3))))
            if len(slot.numbers) <= ahead // 2:
                self._assign(slot, job, ahead - len(slot.numbers))
            return
        if slot.numbers:
            return
        job = self._unopened.popleft() if self._unopened else self._next_job()
        if job is not None:
            self._expect(slot)
            slot.job, slot.opening = job, True
            slot.worker.send(("open", job.key, self._bare(job), str(job.scratch)))
            return
        job = max(self._jobs.values(), key=lambda j: j.waiting, default=None)
        if job is not None and job.waiting:
            self._assign(slot, job, 2)
        elif slot.job is not None and slot.job.key not in self._jobs:
            slot.job = None
            slot.worker.send(("close",))

    def _assign(self, slot: _Slot, job: _Job, most: int) -> None:
        numbers = job.take(most)
        if not numbers:
            return
        if not slot.numbers:
            self._expect(slot)
        slot.job = job
        slot.numbers.extend(numbers)
        slot.worker.send(("pages", job.key, self._bare(job), str(job.scratch), numbers))

    def _next_job(self) -> _Job | None:
        if self._requests is None:
            return None
        request = next(self._requests, None)
        if request is None:
            self._requests = None
            return None
        key = next(self._keys)
        folder = self._scratch / str(key)
        folder.mkdir()
        job = self._jobs[key] = _Job(key, request, folder)
        return job

    @staticmethod
    def _bare(job: _Job) -> LoadRequest:
        """The request without its list of pages to skip, which the owner minds."""
        return replace(job.request, skip=frozenset())

    def _expect(self, slot: _Slot, extra: float = 0.0) -> None:
        slot.begun, slot.used = time.monotonic(), slot.worker.cpu_seconds()
        slot.checked = slot.used
        slot.deadline = slot.begun + self._settings.page_seconds + extra

    def _starved(self, slot: _Slot) -> bool:
        """Grant a little more time where the machine, not the page, is to blame.

        A worker that works but gets little of a processor is waited for; one that sleeps, or has
        used its time, is not.
        """
        limit, now = self._settings.page_seconds, time.monotonic()
        total = slot.worker.cpu_seconds()
        worked, slot.checked = total - slot.checked, total
        if total - slot.used > 0.7 * limit or now - slot.begun > _PATIENCE * limit:
            return False
        if worked < 0.02 * min(limit, _GRACE_SECONDS):
            return False
        slot.deadline = now + min(limit, _GRACE_SECONDS)
        return True

    # --- listening -----------------------------------------------------------------------------

    def _heard(self) -> list[_Slot]:
        """Wait until a worker says something or the nearest deadline passes."""
        by_connection: dict[Any, _Slot] = {s.worker.connection: s for s in self._slots}
        nearest = min((s.deadline for s in self._slots if s.busy), default=time.monotonic() + 1.0)
        ready = wait(list(by_connection), max(0.0, nearest - time.monotonic()))
        return [by_connection[connection] for connection in ready]

    def _overdue(self) -> Iterator[LoadEvent]:
        """End workers that have been silent for too long over one task."""
        now = time.monotonic()
        for slot in list(self._slots):
            # Silence counts only when nothing waits to be heard: the owner may have been away.
            if slot.busy and slot.deadline < now and not slot.worker.waits():
                if not slot.ready:
                    slot.worker.end(at_once=True)
                    raise PagetrailError("a reading process does not start")
                if self._starved(slot):
                    continue
                slot.worker.end()
                self._slots.remove(slot)
                yield from self._lost(slot, f"took longer than {self._settings.page_seconds:g} s")

    def _listen(self, slot: _Slot) -> Iterator[LoadEvent]:
        """Take one message from a worker."""
        try:
            kind, *rest = slot.worker.receive()
        except EOFError:
            self._slots.remove(slot)
            status = slot.worker.left()
            if not slot.ready:
                raise PagetrailError(
                    f"a reading process does not start: it ended with status {status}"
                ) from None
            yield from self._lost(slot, death(status))
            return
        if kind == "ready":
            slot.ready = True
        elif kind == "converting":
            self._expect(slot, self._settings.office_seconds)
        elif kind == "retire":
            self._slots.remove(slot)
            slot.worker.left()
            if slot.job is not None:
                slot.job.give_back(slot.numbers)
        else:
            yield from self._told(slot, kind, *rest)

    def _told(self, slot: _Slot, kind: str, key: int, *rest: Any) -> Iterator[LoadEvent]:
        """Take what a worker says about a document."""
        job = self._jobs[key]
        document = job.request.document
        if kind == "opened":
            slot.opening = False
            opened: DocumentOpened = rest[0]
            job.start(opened.page_count)
            yield opened
        elif kind == "failed":
            slot.opening, slot.job = False, None
            job.abandon(rest[0])
        elif kind == "caveat":
            job.error = job.error or rest[0]
        elif kind == "page":
            page, seconds = rest
            self._done(slot, job)
            job.deaths = job.failures = 0
            job.pace = 0.7 * job.pace + 0.3 * seconds
            yield PageLoaded(page)
        else:
            number, reason = rest
            self._done(slot, job)
            job.failures += 1
            yield PageFailed(document, number, reason)
        yield from self._settle(job)

    def _done(self, slot: _Slot, job: _Job) -> None:
        slot.numbers.popleft()
        job.running -= 1
        self._expect(slot)

    def _lost(self, slot: _Slot, reason: str) -> Iterator[LoadEvent]:
        """Charge the task in hand with the loss of its worker; the others go back."""
        job = slot.job
        if job is None or not (slot.opening or slot.numbers):
            return
        job.deaths += 1
        if slot.opening:
            job.abandon(reason)
        else:
            number = slot.numbers.popleft()
            job.running -= 1
            job.give_back(slot.numbers)
            yield PageFailed(job.request.document, number, reason)
        yield from self._settle(job)

    def _settle(self, job: _Job) -> Iterator[LoadEvent]:
        """Give a hopeless document up; end one that has nothing left to read."""
        if job.waiting and job.deaths >= _MOST_DEATHS:
            job.abandon(f"given up: {job.deaths} pages in a row ended the reading process")
        if job.waiting and job.failures >= _MOST_FAILURES:
            job.abandon(f"given up: {job.failures} pages in a row cannot be read")
        if job.over and job.key in self._jobs:
            del self._jobs[job.key]
            yield DocumentEnded(job.request.document, job.error)
