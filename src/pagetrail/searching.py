"""What questions need of a library, opened once: its indexes, its encoder, its names.

Part of the composition root, beside `writing`: that one changes a library, this one reads it.
"""

from __future__ import annotations

import contextlib
from functools import cached_property
from typing import TYPE_CHECKING

from .channels import Channels
from .encoders.text import TextEncoder
from .errors import LibraryError
from .graph.connect import VERSION
from .index.graph import PageGraph
from .index.graph_writer import waiting
from .index.lexical import Lexical
from .index.places import PlaceBook
from .index.segments import VectorIndex
from .retrieve.names import NameIndex
from .retrieve.pointers import PointerSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .encoding import Encoders
    from .index.catalogue import Catalogue
    from .judging import Judges
    from .retrieve.pipeline import Pipeline
    from .writing import Writing

__all__ = ["Searching"]

_FEW = 50  # documents whose edges a search waits for


class Searching:
    """A library's indexes, open for reading; each part is loaded when it is first asked."""

    def __init__(self, catalogue: Catalogue, encoders: Encoders) -> None:
        self._catalogue = catalogue
        self._encoders = encoders
        self._named: tuple[int, NameIndex] | None = None

    def close(self) -> None:
        """Give files back; harmless when nothing was opened."""
        if "words" in self.__dict__:
            self.words.close()

    def behind(self) -> bool:
        """Say whether the lexical index or the page graph lacks something in the catalogue.

        Documents without a graph count while they are few: a whole library of an earlier version
        is left to the next command that writes.
        """
        lacking = len(waiting(self._catalogue, VERSION, _FEW + 1))
        return self.words.behind(self._catalogue) or 0 < lacking <= _FEW

    def catch_up(self, writing: Callable[[], Writing]) -> None:
        """Bring what is behind up to the catalogue where possible, given a way to write."""
        if self.behind():
            # A writer is at work and will catch up itself, or was killed and we do it. Where
            # neither holds (a read-only copy) what the index lacks is found by other channels.
            with contextlib.suppress(LibraryError), writing() as opened:
                opened.catch_up()

    def channels(self, judges: Judges, pipeline: Pipeline | None = None) -> Channels:
        """Return the channels and judges for one question, asked by a pipeline.

        Raises:
            NotFoundError: The pipeline asks one that is not there; nothing was loaded yet.
        """
        made = Channels(
            self._catalogue,
            self.words,
            self._vectors,
            self._encoder,
            self._pointers,
            self._names(),
            self._encoders,
            judges,
            self._graph,
        )
        if pipeline is not None:
            made.require(pipeline)
        return made

    def similarity(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one cosine per text, -1..1: how near its meaning is to the question's."""
        vectors = self._encoder.encode_queries([question, *texts]).data
        cosines: list[float] = (vectors[1:] @ vectors[0]).tolist()
        return cosines

    @cached_property
    def words(self) -> Lexical:
        """The lexical index."""
        return Lexical(self._catalogue.folder.lexical)

    @cached_property
    def _encoder(self) -> TextEncoder:
        return TextEncoder()

    @cached_property
    def _vectors(self) -> VectorIndex:
        encoder = self._encoder
        return VectorIndex(
            self._catalogue,
            name=encoder.name,
            revision=encoder.revision,
            dimension=encoder.dimension,
        )

    @cached_property
    def _pointers(self) -> PointerSearch:
        return PointerSearch(PlaceBook(self._catalogue))

    @cached_property
    def _graph(self) -> PageGraph:
        return PageGraph(self._catalogue)

    def _names(self) -> NameIndex:
        """Return the names of all documents, read again when the library has changed."""
        generation = self._catalogue.generation()
        if self._named is None or self._named[0] != generation:
            documents = ((d.id, d.name, d.title) for d in self._catalogue.documents())
            self._named = (generation, NameIndex(documents))
        return self._named[1]
