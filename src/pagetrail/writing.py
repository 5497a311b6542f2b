"""The right to change a library, and the work that follows every change.

Part of the composition root: the catalogue is changed first and is the truth; `Writing.catch_up`
then brings the lexical index, the vectors and the page graph up to it. A kill in between costs
nothing: whoever writes next catches up.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

from .encoders.passages import passages
from .encoders.probe import probe
from .encoders.text import TextEncoder
from .encoding import encode_pending, note_rate
from .errors import CorruptError
from .graph.connect import VERSION, Collector
from .index.changes import CatalogueWriter
from .index.doctor import examine
from .index.graph_writer import put_graph, waiting
from .index.keys import page_key
from .index.lexical import Lexical
from .index.lock import WriterLock
from .index.publish import VectorWriter, clean_segments
from .index.registry import Registration
from .ports import ImageEncoder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from .asking import Encoded
    from .edges import PageNode
    from .encoding import AnyEncoder
    from .index.doctor import Finding
    from .index.folder import Folder
    from .showing import PagePictures

__all__ = ["Writing"]

_LOG = logging.getLogger("pagetrail")
_ENCODE = 64  # pages encoded and published at a time
_COMMIT = 1024  # pages after which the lexical index is committed while adding


class Writing:
    """A library opened for changes; a context manager that holds the writer's lock.

    Args:
        folder: The library.
        threads: Cores used to encode text.

    Raises:
        LockedError: Another process is writing.
    """

    def __init__(self, folder: Folder, *, threads: int = 1) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = WriterLock(folder.lock)
        try:
            self.catalogue = CatalogueWriter(folder, self._lock)
        except BaseException:
            self._lock.release()
            raise
        self._uncommitted = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if "words" in self.__dict__:
                self.words.commit(self.catalogue)
                self.words.close()
            if "_vectors" in self.__dict__:
                self._vectors.compact()
                for vectors in self._added():
                    vectors.compact()
        finally:
            self.catalogue.close()
            self._lock.release()

    @cached_property
    def words(self) -> Lexical:
        """The lexical index, open for writing."""
        clean_segments(self.catalogue)
        return Lexical(self._folder.lexical, write=True)

    @cached_property
    def _encoder(self) -> TextEncoder:
        return TextEncoder(threads=self._threads)

    @cached_property
    def _vectors(self) -> VectorWriter:
        encoder = self._encoder
        return VectorWriter(
            self.catalogue,
            name=encoder.name,
            revision=encoder.revision,
            dimension=encoder.dimension,
        )

    def _added(self) -> list[VectorWriter]:
        """Return the vectors of the added encoders, whose models need not be loaded."""
        rows = self.catalogue.rows(
            "SELECT name, revision, dimension FROM encoders WHERE channel IS NOT NULL"
        )
        return [
            VectorWriter(self.catalogue, name=name, revision=revision, dimension=dimension)
            for name, revision, dimension in rows
        ]

    def catch_up(self) -> None:
        """Bring the indexes up to the catalogue.

        The lexical index is committed every thousand pages and at the end: a commit costs tens of
        milliseconds, and what it lacks after a kill is taken from the catalogue.
        """
        self._uncommitted += self.words.sync(self.catalogue)
        if self._uncommitted >= _COMMIT:
            self.words.commit(self.catalogue)
            self._uncommitted = 0
        while self._vectors.adopt():
            pass
        while keys := self._vectors.missing(_ENCODE):
            found = self.catalogue.pages_by_key(keys)
            pages = [found[key] for key in keys]
            blocks = [p.block for page in pages for p in passages(page)]
            self._vectors.publish(keys, self._encoder.encode_pages(pages), blocks)
        while serials := waiting(self.catalogue, VERSION, 1):
            self._join(serials[0])

    def _join(self, serial: int) -> None:
        """Find the edges of a document's pages and store them.

        A document with a damaged page gets none, so that it does not keep others from being added;
        `repair` has it read again.
        """
        view = self.catalogue.view()
        document = self.catalogue.document(view.ids[serial])
        pages = Collector()
        nodes: list[PageNode] = []
        try:
            for page in self.catalogue.iterate(document.id):
                pages.add(page)
            keys = [page_key(serial, number) for number in pages.numbers]
            nodes = pages.connect(document.outline, self._vectors.fresh_means(keys))
        except CorruptError as error:
            _LOG.warning("the pages of %s are not joined: %s", document.source, error)
        put_graph(self.catalogue, serial, nodes, version=VERSION)

    def encode(
        self,
        channel: str,
        spec: str,
        encoder: AnyEncoder,
        pictures: PagePictures,
        *,
        batch: int,
        passwords: Sequence[str] = (),
        progress: Callable[[int, int, str], None] | None = None,
    ) -> Encoded:
        """Give a channel's encoder all pages that it lacks; a new channel is made known first.

        Raises:
            ModelError: The channel belongs to another encoder, revision or settings.
        """
        clean_segments(self.catalogue)
        settings = encoder.settings if isinstance(encoder, ImageEncoder) else {}
        registration = Registration(channel, spec, settings, probe(encoder))
        vectors = VectorWriter(
            self.catalogue,
            name=encoder.name,
            revision=encoder.revision,
            dimension=encoder.dimension,
            registration=registration,
        )
        try:
            run = encode_pending(
                self.catalogue,
                vectors,
                channel,
                encoder,
                pictures,
                batch=batch,
                passwords=passwords,
                progress=progress,
            )
        finally:
            vectors.compact()
        note_rate(self.catalogue, run)
        return run

    def repair(self) -> list[Finding]:
        """Find what is wrong, mend what can be mended, and return all of it."""
        findings = examine(self.catalogue, self.words, repair=True)
        self.catch_up()
        self.words.commit(self.catalogue)
        left = examine(self.catalogue, self.words)
        return [
            finding if finding.repaired or finding in left else replace(finding, repaired=True)
            for finding in findings
        ]
