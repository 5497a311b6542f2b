"""The library: the one place where stages meet.

``open(folder)`` gives a `Library` with every verb: add, remove, search, ask, show, doctor. Reading
needs no lock; the right to write is taken for the time of a change and given back after it.
"""

from __future__ import annotations

import contextlib
import logging
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from . import __version__
from .asking import (
    Encoded,
    Explained,
    check_paths,
    check_tags,
    find_document,
    find_page,
    make_query,
    places_of,
    several,
)
from .config import Settings, load_settings, workers
from .errors import (
    CorruptError,
    LibraryError,
    LockedError,
    MissingExtraError,
    ModelError,
    UsageError,
)
from .index.catalogue import Catalogue
from .index.doctor import Finding
from .index.folder import create_folder, open_folder
from .ingest import AddedDocument, Ingest
from .types import Answer, Query, Ranking, Scope
from .writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from PIL.Image import Image

    from .channels import Channels
    from .encoding import Encoders
    from .estimating import Estimate
    from .graph.shown import DocumentGraph
    from .index.folder import Folder
    from .index.registry import EncoderRecord
    from .judging import Judges
    from .modelling import Models
    from .ports import ChatModel
    from .retrieve.pipeline import Pipeline
    from .searching import Searching
    from .showing import PagePictures
    from .studying import Study
    from .types import Citation, Document, Page

__all__ = ["AddedDocument", "Explained", "Finding", "Library", "open"]

_LOG = logging.getLogger("pagetrail")


def open(
    folder: str | os.PathLike[str],
    *,
    create: bool = True,
    settings: Settings | None = None,
    judge: ChatModel | None = None,
) -> Library:
    """Open the library in a folder; with ``create``, make one where there is none.

    Args:
        folder: Where it is.
        create: Make one where there is none.
        settings: From all sources when not given (`config.load_settings`).
        judge: A chat model of your own that judges pages, in place of the one in the settings.

    Raises:
        NotFoundError: There is no library and ``create`` is false.
        VersionError: It was written by a newer version of Pagetrail.
        LibraryError: The folder holds something else, or cannot be used.
    """
    root = Path(folder)
    settings = settings or load_settings()
    try:
        place = create_folder(root, version=__version__) if create else open_folder(root)
        for part in (place.segments, place.lexical, place.images):
            # Some ways of copying leave empty folders out; on a read-only disk readers tell.
            with contextlib.suppress(PermissionError):
                part.mkdir(exist_ok=True)
        if _blank(place) and any(place.segments.iterdir()):
            # SQLite takes an empty file for a new database, and all content would seem removed.
            raise CorruptError(f"{place.catalogue} is missing or empty; restore it from a backup")
    except OSError as error:
        raise LibraryError(f"cannot use {root}: {error.strerror or error}") from error
    if create and _blank(place):
        with Writing(place):
            pass
    return Library(place, settings, judge)


def _blank(place: Folder) -> bool:
    return not place.catalogue.exists() or not place.catalogue.stat().st_size


class Library:
    """One folder of documents; made by `open`. Safe to share between threads for reading."""

    def __init__(self, folder: Folder, settings: Settings, judge: ChatModel | None = None) -> None:
        self.settings = settings
        self._folder = folder
        self._judge = judge
        self._open: Catalogue | None = Catalogue(folder)

    @property
    def path(self) -> Path:
        """The library's folder."""
        return self._folder.root

    def close(self) -> None:
        """Give files back; harmless when done twice."""
        if "_searching" in self.__dict__:
            self._searching.close()
        if "_judges" in self.__dict__:
            self._judges.close()
        if self._open is not None:
            self._open.close()
        self._open = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- documents ---------------------------------------------------------------------------

    def add(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        tags: str | Iterable[str] = (),
        passwords: str | Iterable[str] = (),
        retry: bool = False,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> list[AddedDocument]:
        """Add files and folders and return what became of each; see `add_iter`."""
        return list(
            self.add_iter(paths, tags=tags, passwords=passwords, retry=retry, progress=progress)
        )

    def add_iter(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        tags: str | Iterable[str] = (),
        passwords: str | Iterable[str] = (),
        retry: bool = False,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> Iterator[AddedDocument]:
        """Add files and folders, yielding a result for each as it ends.

        Unchanged files cost nothing; changed ones replace what was there once all of it is read;
        moved ones keep their pages; an interrupted run goes on page by page.

        Args:
            paths: Files and folders; folders are searched for files, hidden ones and the library's
                own apart.
            tags: Given to every document.
            passwords: Tried on encrypted files; never stored.
            retry: Read the failed pages of ``partial`` documents again.
            progress: Called with pages done, pages known so far, and the file at hand.

        Raises:
            NotFoundError: A path does not exist; nothing is added.
            LockedError: Another process is writing to the library.
        """
        from .documents.load import find_files
        from .documents.ocr import RapidReader
        from .documents.worker import PoolLoader

        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        tags, passwords = several(tags), several(passwords)
        check_tags(tags)
        check_paths(given)
        documents = self.settings.documents
        loader = PoolLoader(documents, RapidReader if documents.ocr else None)
        with self._writing() as writing:
            run = Ingest(
                writing.catalogue,
                loader,
                catch_up=writing.catch_up,
                tags=tags,
                passwords=passwords,
                retry=retry,
                progress=progress,
            )
            yield from run.run(f for f in find_files(map(Path, given)) if not self._own(f))
        self._keep_encoders_up(passwords, progress)

    def remove(self, names: str | Iterable[str]) -> list[Document]:
        """Remove documents, named by path, file name or id, and return them; the files stay.

        Raises:
            NotFoundError: A name is unknown; nothing is removed.
            UsageError: A name means several documents.
        """
        found = list({d.id: d for d in map(self.document, several(names))}.values())
        with self._writing() as writing:
            writing.catalogue.remove_documents(document.id for document in found)
            writing.catch_up()
            alive = {d.content_hash for d in writing.catalogue.documents()}
        for document in found:
            if document.content_hash not in alive:
                self._pictures.forget(document.content_hash)
        return found

    def tag(
        self, name: str, *, add: str | Iterable[str] = (), remove: str | Iterable[str] = ()
    ) -> Document:
        """Set and take away tags of a document and return it."""
        add, remove = several(add), several(remove)
        check_tags([*add, *remove])
        document = self.document(name)
        if add or remove:
            with self._writing() as writing:
                writing.catalogue.tag_document(document.id, add=add, remove=remove)
        return self._catalogue.document(document.id)

    def documents(self, *, tags: str | Iterable[str] = ()) -> list[Document]:
        """Return the documents, by path; with ``tags``, those that have one of them.

        Raises:
            ScopeError: No document has such a tag.
        """
        wanted = frozenset(several(tags))
        return self._catalogue.documents(Scope(tags=wanted) if wanted else None)

    def document(self, name: str) -> Document:
        """Return the document that a person names by path, file name, end of a path, or id.

        Raises:
            NotFoundError: There is none.
            UsageError: The name means several documents.
        """
        return find_document(self._catalogue, name)

    def page(self, name: str, number: int) -> Page:
        """Return what was read on a page.

        Raises:
            NotFoundError: The document has no such page, or that page could not be read.
        """
        return find_page(self._catalogue, self.document(name), number)

    def graph(self, name: str) -> DocumentGraph:
        """Return how a document's pages lead to one another and to other documents (docs/graph.md).

        Raises:
            NotFoundError: There is no such document, or none of its pages could be read.
            UsageError: The name means several documents.
        """
        from .graphing import document_graph

        document = self.document(name)
        self._searching.catch_up(self._writing)
        return document_graph(self._catalogue, document)

    # --- encoders ----------------------------------------------------------------------------

    def encode(
        self,
        spec: str | None = None,
        *,
        name: str | None = None,
        passwords: str | Iterable[str] = (),
        progress: Callable[[int, int, str], None] | None = None,
    ) -> list[Encoded]:
        """Add an encoder and give it every page; without ``spec``, bring the added ones up to date.

        Documents are not parsed again: pages are drawn from their files. An interrupted run goes
        on where it was. Pages that cannot be drawn are named in the result and stay pending.

        Args:
            spec: Which model, such as ``siglip:FOLDER`` (docs/models.md).
            name: The channel it is searched by, from the spec when not given; or the one to update.
            passwords: Tried on encrypted files.
            progress: Called with pages done, pages to do, and the channel.

        Raises:
            UsageError: The spec or the name makes no sense.
            MissingExtraError: A library that the model needs is not installed.
            ModelError: It cannot be loaded, or the channel was built with another model.
            LockedError: Another process is writing to the library.
        """
        from .encoding import channel_name

        if spec is None:
            known = self.encoders() if name is None else {name: self._encoders.record(name)}
            wanted = [(channel, "") for channel, r in known.items() if r.pending]
        else:
            wanted = [(channel_name(spec, name), spec)]
        return [
            self._encoders.run(
                channel,
                text,
                self._writing,
                self._pictures,
                passwords=several(passwords),
                progress=progress,
            )
            for channel, text in wanted
        ]

    def encoders(self) -> dict[str, EncoderRecord]:
        """Return the added encoders by channel: model, pages encoded and pending, size."""
        return self._encoders.records()

    def drop_encoder(self, name: str) -> int:
        """Forget an encoder with all its vectors; returns the bytes freed.

        Raises:
            NotFoundError: There is no such encoder.
        """
        from .encoding import forget_rate
        from .index.registry import drop_encoder

        record = self._encoders.record(name)
        with self._writing() as writing:
            forget_rate(writing.catalogue, name)
            return drop_encoder(writing.catalogue, record.id)

    @cached_property
    def models(self) -> Models:
        """The chat models and judges of this library: check them, calibrate, forget replies."""
        from .modelling import Models

        return Models(self, self._judges)

    def estimate(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
        *,
        pipeline: Pipeline | str | None = None,
    ) -> Estimate:
        """Tell what adding files and then asking one question would cost, spending nothing."""
        from .estimating import estimate

        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        return estimate(
            self._catalogue,
            self.settings,
            self._encoders,
            self._judges,
            self._searching.channels(self._judges).names(),
            [Path(path) for path in given],
            self._pipeline(pipeline),
        )

    # --- questions ---------------------------------------------------------------------------

    def search(
        self,
        question: str,
        *,
        documents: str | Iterable[str] = (),
        tags: str | Iterable[str] = (),
        image: bytes | None = None,
        limit: int = 10,
        pipeline: Pipeline | str | None = None,
    ) -> Ranking:
        """Return the pages that hold the evidence, best first.

        Args:
            question: Words; never a query language. At most 10,000 characters; may be empty when
                a picture is given.
            documents: Look only in these, named as for `document`.
            tags: Look only in documents with one of these tags.
            image: A picture that belongs to the question, as the bytes of its file.
            limit: Most pages to return.
            pipeline: How to search: a pipeline, a recipe's name with options such as
                ``vrag:fidelity=code`` (`recipes.recipe`), or the default recipe when not given.

        Raises:
            UsageError: The question is empty or too long, a name means several documents, or the
                limit is below 1.
            NotFoundError: A document is unknown.
            ScopeError: No document has such a tag.
        """
        return self.explain(
            question, documents=documents, tags=tags, image=image, limit=limit, pipeline=pipeline
        ).ranking

    def explain(
        self,
        question: str,
        *,
        documents: str | Iterable[str] = (),
        tags: str | Iterable[str] = (),
        image: bytes | None = None,
        limit: int = 10,
        pipeline: Pipeline | str | None = None,
    ) -> Explained:
        """Search, and return the pipeline, its steps and what they cost beside the ranking.

        Arguments and errors are those of `search`.
        """
        from .retrieve.cost import channels_of

        if limit < 1:
            raise UsageError(f"the limit is {limit}; at least 1 page must be asked for")
        query = self._query(question, documents, tags, image)
        made = self._pipeline(pipeline)
        ranking, trace = made.run(query, self._ready(made))
        lacking = self._encoders.lacking(channels_of(made))
        looked = self._encoders.look(channels_of(made, variants=True), query)
        return Explained(Ranking(query, ranking.hits[:limit]), trace, made, lacking, looked)

    def ask(
        self,
        question: str,
        *,
        documents: str | Iterable[str] = (),
        tags: str | Iterable[str] = (),
        pipeline: Pipeline | str | None = None,
    ) -> Answer:
        """Answer a question from the documents; every citation was found again on its page.

        Arguments and errors are those of `search`.
        """
        from .answer.compose import answer

        query = self._query(question, documents, tags)
        made = self._pipeline(pipeline)
        channels = self._ready(made)
        ranking, trace = made.run(query, channels)
        ranking = Ranking(query, ranking.hits[: self.settings.search.candidates])
        return answer(
            query,
            ranking,
            channels.pages,
            pages=self.settings.answer.pages,
            threshold=self.settings.answer.threshold,
            similarity=self._searching.similarity,
            trace=trace,
        )

    def view(self, result: Ranking | Answer | Explained | DocumentGraph) -> dict[str, Any]:
        """Return a result in its JSON form (docs/cli.md), with paths and page numbers."""
        from .views import result_view

        return result_view(result, self._places)

    def study(self, data: str | os.PathLike[str], **options: Any) -> Study:
        """Replay labelled questions over the page graph; see `studying.study_library`."""
        from .studying import study_library

        return study_library(self, Path(data), **options)

    # --- pictures ----------------------------------------------------------------------------

    def page_image(
        self, page: str, *, dpi: int | None = None, passwords: str | Iterable[str] = ()
    ) -> Image:
        """Return the picture of a page (by page id) as displayed, RGB.

        Args:
            page: A page id.
            dpi: 36 to 600; as in the settings when not given.
            passwords: Tried when the file is encrypted.

        Raises:
            UsageError: The resolution is out of range.
            NotFoundError: The page is unknown, or its file is gone.
            DocumentError: The file changed since it was added, or cannot be read.
        """
        return self._pictures.page(page, dpi=dpi, passwords=several(passwords))

    def evidence_image(
        self, citation: Citation, *, dpi: int | None = None, passwords: str | Iterable[str] = ()
    ) -> Image:
        """Return the picture of a cited page with the citation's boxes, turned upright."""
        return self._pictures.evidence(citation, dpi=dpi, passwords=several(passwords))

    # --- upkeep ------------------------------------------------------------------------------

    def doctor(self, *, repair: bool = False) -> list[Finding]:
        """Check the library and return what was found; with ``repair``, mend what can be mended.

        Raises:
            LockedError: ``repair`` was asked for while another process is writing.
        """
        from .index.doctor import examine

        if not repair:
            return examine(self._catalogue, self._searching.words)
        with self._writing() as writing:
            return writing.repair()

    # --- inside ------------------------------------------------------------------------------

    @property
    def _catalogue(self) -> Catalogue:
        if self._open is None:
            raise UsageError(f"the library {self.path} was closed; open it again")
        return self._open

    @cached_property
    def _pictures(self) -> PagePictures:
        from .showing import PagePictures

        return PagePictures(self._catalogue, self.settings)

    @cached_property
    def _searching(self) -> Searching:
        from .searching import Searching

        return Searching(self._catalogue, self._encoders)

    @cached_property
    def _encoders(self) -> Encoders:
        from .encoding import Encoders

        return Encoders(self._catalogue, self.settings.models)

    @cached_property
    def _judges(self) -> Judges:
        from .judging import Judges, make_meter

        return Judges(
            self._catalogue,
            self.settings.models,
            self._pictures,
            self._searching.similarity,
            make_meter(self.settings.models),
            self._judge,
        )

    def _keep_encoders_up(
        self, passwords: list[str], progress: Callable[[int, int, str], None] | None
    ) -> None:
        """Give new pages to the added encoders; documents are safe even where that fails."""
        waiting = {c: record.pending for c, record in self.encoders().items() if record.pending}
        for channel, count in waiting.items():
            try:
                self.encode(name=channel, passwords=passwords, progress=progress)
            except (ModelError, MissingExtraError, UsageError, LockedError) as error:
                reason = "%d pages were added that %s cannot find yet: %s"
                _LOG.warning(reason, count, channel, error)

    def _ready(self, pipeline: Pipeline) -> Channels:
        """Return a pipeline's channels, checked, brought up to the catalogue where possible."""
        self._searching.catch_up(self._writing)
        return self._searching.channels(self._judges, pipeline)

    def _own(self, file: Path) -> bool:
        """Say whether a file is a part of this library, which may lie in a folder being added."""
        return Path(os.path.realpath(file)).is_relative_to(os.path.realpath(self.path))

    def _writing(self) -> Writing:
        threads = workers(self.settings.documents)
        return Writing(self._folder, threads=threads)

    def _pipeline(self, pipeline: Pipeline | str | None) -> Pipeline:
        from .recipes import default, recipe

        return recipe(pipeline) if isinstance(pipeline, str) else pipeline or default()

    def _query(
        self,
        question: str,
        documents: str | Iterable[str],
        tags: str | Iterable[str],
        image: bytes | None = None,
    ) -> Query:
        return make_query(
            self._catalogue, question, several(documents), frozenset(several(tags)), image
        )

    def _places(self, pages: Iterable[str]) -> dict[str, tuple[str, int, str | None]]:
        return places_of(self._catalogue, pages)
