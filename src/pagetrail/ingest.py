"""Adding files: the flow from paths to stored, searchable pages.

Part of the composition root beside `library`: here the loader, the catalogue and the indexes meet.
Pages are stored in batches as they arrive; a batch is one commit of the catalogue, and everything
derived from it (lexical index, vectors) catches up afterwards and again whenever it lags behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .documents.references import find_references
from .errors import PagetrailError
from .index.changes import file_stamp
from .ports import DocumentEnded, DocumentOpened, LoadRequest, PageFailed, PageLoaded
from .types import Block, Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from .index.changes import Begun, CatalogueWriter
    from .ports import Loader, LoadEvent
    from .types import OutlineEntry, Page, Status

__all__ = ["AddedDocument", "Ingest"]


_BATCH = 64  # pages stored in one commit; also the most that a kill can cost


@dataclass(frozen=True, slots=True)
class AddedDocument:
    """What became of one file.

    Attributes:
        document: The path as given.
        status: ``indexed``, ``partial`` or ``failed``.
        reason: One line when it is not ``indexed``.
        pages: Pages in the file.
        pages_failed: How many of them could not be read.
        seconds: Wall clock since the file was taken up.
        unchanged: The library already held it, nothing was done.
    """

    document: str
    status: Status
    reason: str
    pages: int
    pages_failed: int
    seconds: float
    unchanged: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the form printed by ``add --json``."""
        return {
            "document": self.document,
            "status": self.status,
            "reason": self.reason,
            "pages": self.pages,
            "pages_failed": self.pages_failed,
            "seconds": round(self.seconds, 3),
        }


@dataclass(slots=True)
class _Open:
    """A file being read."""

    source: str
    path: Path
    stamp: str
    content_hash: str
    started: float
    opened: DocumentOpened | None = None
    stored: int = 0
    failed: dict[int, str] = field(default_factory=dict)


class Ingest:
    """One run of `add` over many files.

    Args:
        catalogue: Open for writing.
        loader: Reads the files.
        catch_up: Brings the indexes up to the catalogue after each batch.
        tags: Given to every document.
        passwords: Tried on encrypted files; handed to the loader, kept nowhere.
        retry: Read the failed pages of documents that were partly read before.
        progress: Called with pages done, pages known so far, and the file at hand.
    """

    def __init__(
        self,
        catalogue: CatalogueWriter,
        loader: Loader,
        *,
        catch_up: Callable[[], None],
        tags: Iterable[str] = (),
        passwords: Sequence[str] = (),
        retry: bool = False,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._loader = loader
        self._catch_up = catch_up
        self._tags = frozenset(tags)
        self._passwords = tuple(passwords)
        self._retry = retry
        self._progress = progress
        self._seen: set[Path] = set()
        self._open: dict[str, _Open] = {}
        self._ended: deque[AddedDocument] = deque()
        self._buffer: list[Page] = []
        self._done = 0
        self._known = 0

    def run(self, files: Iterable[Path]) -> Iterator[AddedDocument]:
        """Read files and yield a line for each as it ends; what was yielded is on the disk."""
        events = self._loader.load(self._requests(files))
        try:
            for event in events:
                yield from self._drain()
                self._take(event)
                yield from self._drain()
        finally:
            # A consumer that stops early still keeps the pages that were read.
            close = getattr(events, "close", None)
            if close is not None:
                close()
            self._flush()
        yield from self._drain()

    def _drain(self) -> Iterator[AddedDocument]:
        while self._ended:
            yield self._ended.popleft()

    # --- taking files up ---------------------------------------------------------------------

    def _requests(self, files: Iterable[Path]) -> Iterator[LoadRequest]:
        for file in files:
            started = time.monotonic()
            try:
                request = self._begin(file, started)
            except (PagetrailError, OSError, RuntimeError) as error:
                # A file that cannot even be read has no bytes to be known by. RuntimeError is
                # what resolving a loop of links raises.
                reason = getattr(error, "strerror", None) or str(error)
                self._ended.append(
                    AddedDocument(str(file), "failed", reason, 0, 0, time.monotonic() - started)
                )
                continue
            if request is not None:
                yield request

    def _begin(self, file: Path, started: float) -> LoadRequest | None:
        path = file.resolve(strict=True)
        if path in self._seen:
            return None  # named twice in one run, such as a folder and a file in it
        self._seen.add(path)
        stamp = file_stamp(path)
        known = self._catalogue.unchanged(str(path), stamp)
        if known is not None and not (self._retry and known.status != "indexed"):
            if self._tags - known.tags:
                self._catalogue.tag_document(known.id, add=self._tags)
            self._end_known(known, str(file), started, unchanged=True)
            return None
        content_hash = _sha256(path)
        begun = self._catalogue.begin_document(
            str(file),
            path=str(path),
            content_hash=content_hash,
            stamp=stamp,
            tags=self._tags,
            retry=self._retry,
        )
        if begun.complete:
            self._catch_up()
            document = self._catalogue.document(begun.document)
            self._end_known(document, str(file), started, unchanged=begun.action == "unchanged")
            return None
        self._open[begun.document] = _Open(str(file), path, stamp, content_hash, started)
        return self._request(begun, path, str(file))

    def _request(self, begun: Begun, path: Path, source: str) -> LoadRequest:
        self._open[begun.document].stored = len(begun.stored)
        return LoadRequest(begun.document, path, source, self._passwords, begun.stored)

    def _end_known(
        self, document: Document, source: str, started: float, *, unchanged: bool
    ) -> None:
        self._ended.append(
            AddedDocument(
                source,
                document.status,
                document.reason,
                document.page_count,
                len(document.pages_failed),
                time.monotonic() - started,
                unchanged=unchanged,
            )
        )

    # --- what the loader says ----------------------------------------------------------------

    def _take(self, event: LoadEvent) -> None:
        if isinstance(event, DocumentOpened):
            file = self._open[event.document]
            file.opened = event
            self._known += event.page_count - file.stored
            self._catalogue.describe_document(
                event.document,
                page_count=event.page_count,
                title=event.title,
                metadata=dict(event.metadata),
                outline=event.outline,
            )
        elif isinstance(event, PageLoaded):
            self._buffer.append(event.page)
            self._tick(event.page.document)
            if len(self._buffer) >= _BATCH:
                self._flush()
        elif isinstance(event, PageFailed):
            self._open[event.document].failed[event.number] = event.reason
            self._tick(event.document)
        else:
            self._end(event)

    def _tick(self, document: str) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._known, self._open[document].source)

    def _flush(self) -> None:
        if not self._buffer:
            return
        pages, self._buffer = self._buffer, []
        self._catalogue.put_pages(pages)
        for page in pages:
            self._open[page.document].stored += 1
        self._catch_up()

    def _end(self, event: DocumentEnded) -> None:
        self._flush()
        file = self._open.pop(event.document)
        outcome = _outcome(event, file)
        places = _outline_places(outcome.outline)
        document = self._catalogue.finish_document(outcome, places=places)
        self._catch_up()
        self._ended.append(
            AddedDocument(
                file.source,
                document.status,
                document.reason,
                document.page_count,
                len(document.pages_failed),
                time.monotonic() - file.started,
            )
        )


def _outcome(event: DocumentEnded, file: _Open) -> Document:
    """Return the document as it is to be stored: its status, and why."""
    opened = file.opened or DocumentOpened(event.document, 0)
    reason = event.error or _failures(file)
    with contextlib.suppress(OSError):
        if file_stamp(file.path) != file.stamp:
            reason = "the file changed while it was read; add it again"
    if not os.path.lexists(file.path):
        reason = reason or "the file was deleted while it was read"
    status: Status = "indexed"
    if reason:
        status = "partial" if file.stored else "failed"
    return Document(
        id=event.document,
        source=file.source,
        content_hash=file.content_hash,
        page_count=opened.page_count,
        status=status,
        reason=reason,
        title=opened.title,
        metadata=opened.metadata,
        outline=opened.outline,
        pages_failed=tuple(sorted(file.failed)),
    )


def _outline_places(outline: Iterable[OutlineEntry]) -> Iterator[tuple[str, str, int]]:
    """Yield kind, key and page of what an outline numbers: "3.2 Methods", "Appendix B"."""
    for entry in outline:
        if entry.page:
            line = Block(entry.title, "heading", 0, b"")
            for found in find_references([line]):
                if found.role == "target":
                    yield found.kind, found.key, entry.page


def _failures(file: _Open) -> str:
    """Return one line about the pages that failed, each distinct reason once."""
    if not file.failed:
        return ""
    by_reason: dict[str, list[int]] = {}
    for number, reason in sorted(file.failed.items()):
        by_reason.setdefault(reason, []).append(number)
    parts = [
        f"page{'s' if len(numbers) > 1 else ''} {_numbers(numbers)}: {reason}"
        for reason, numbers in list(by_reason.items())[:3]
    ]
    more = len(by_reason) - len(parts)
    return "; ".join(parts) + (f"; and {more} more reasons" if more else "")


def _numbers(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return shown if len(numbers) <= 8 else f"{shown} and {len(numbers) - 8} more"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
