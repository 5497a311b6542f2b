"""Search by words: BM25 over whole pages, their pairs of words, their headings, and over blocks.

The indexes are tantivy's, derived from the catalogue and never trusted beyond it. Each remembers,
in a document of its own that the same atomic commit writes, how far it followed the catalogue;
`sync` goes on from there, so opening after a kill costs what was missed and not a rebuild. Whole
pages and blocks are two indexes because BM25's statistics (number and mean length of documents)
would otherwise mix; what else is known of a whole page stands in further fields of its entry.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import CorruptError, LibraryError, LockedError, NotFoundError
from ..ports import Found
from .analysis import (
    ANALYSIS,
    analyzer,
    pair_analyzer,
    pairs,
    prepare,
    query_pairs,
    query_terms,
)
from .keys import split_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..types import Page
    from .catalogue import Catalogue

__all__ = ["Lexical", "Mark"]

_Unit = Literal["pages", "blocks"]

# Each channel's index and field, each index's fields and how they are cut into terms.
_CHANNELS: dict[str, tuple[_Unit, str]] = {
    "pages": ("pages", "text"),
    "phrases": ("pages", "pairs"),
    "headings": ("pages", "headings"),
    "blocks": ("blocks", "text"),
}
_FIELDS: dict[_Unit, dict[str, str]] = {
    "pages": {"text": "terms", "pairs": "pairs", "headings": "terms"},
    "blocks": {"text": "terms"},
}

_BLOCK_BITS = 16
_MAX_BLOCK = (1 << _BLOCK_BITS) - 1
_HEAP = 32_000_000  # bytes of text that a writer gathers before it cuts a segment
_BLOCKS_PER_PAGE = 3  # blocks looked at for each page wanted; the best ones share pages
_OPENING = 20  # words at the top of a page that count as its heading
_BATCH = 256  # pages read from the catalogue at a time


@dataclass(frozen=True, slots=True)
class Mark:
    """How far an index followed the catalogue.

    Attributes:
        generation: The catalogue's, when the index was committed.
        seq: All pages that became visible up to this number are in.
        removal: All removals up to this number are done.
        analysis: Version of the rules that made terms of text; 0 before the first commit.
    """

    generation: int = 0
    seq: int = 0
    removal: int = 0
    analysis: int = 0


class Lexical:
    """Both indexes of a library.

    Args:
        folder: The library's ``lexical`` folder.
        write: Take the right to write; the caller holds the library's lock.

    Nothing is opened before it is used. A damaged index raises CorruptError on use by a reader; a
    writer starts it over, and its next `sync` fills it from the catalogue.
    """

    def __init__(self, folder: Path, *, write: bool = False) -> None:
        self._indexes = {
            unit: _Index(folder / unit, fields, write=write) for unit, fields in _FIELDS.items()
        }

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels that `search` takes."""
        return tuple(_CHANNELS)

    def close(self) -> None:
        """Let background merges end; what was not committed is forgotten."""
        for index in self._indexes.values():
            index.close()

    def marks(self) -> dict[_Unit, Mark]:
        """Return how far each index is, as committed."""
        return {name: index.open().mark for name, index in self._indexes.items()}

    def counts(self) -> dict[_Unit, int]:
        """Return the number of committed entries per index: pages, and blocks with text."""
        return {name: index.open().count() for name, index in self._indexes.items()}

    def expected(self, catalogue: Catalogue) -> dict[_Unit, int]:
        """Return what `counts` should be; every page is decoded for it."""
        pages = blocks = seq = 0
        while rows := catalogue.visible_after(seq, _BATCH):
            found = catalogue.pages_by_key([key for _, key in rows])
            pages += len(found)
            blocks += sum(len(page.blocks) for page in found.values())
            seq = rows[-1][0]
        return {"pages": pages, "blocks": blocks}

    def behind(self, catalogue: Catalogue) -> bool:
        """Say whether the catalogue changed in ways that are not committed here."""
        seq, removal = _ends(catalogue)
        return any(
            # Less, not unequal: the catalogue's highest page may have been removed since.
            mark.seq < seq or mark.removal < removal or mark.analysis not in (0, ANALYSIS)
            for mark in self.marks().values()
        )

    def sync(self, catalogue: Catalogue, fresh: Mapping[int, Page] | None = None) -> int:
        """Take in what changed in the catalogue; it can be found after `commit`.

        Args:
            catalogue: The truth.
            fresh: Pages just stored, by key, to spare reading them back.

        Returns:
            The number of pages taken in.
        """
        indexes = [index.open() for index in self._indexes.values()]
        for seq, document in catalogue.removed_after(min(i.removal for i in indexes)):
            for index in indexes:
                index.remove(seq, document)
        total = 0
        while True:
            rows = catalogue.visible_after(min(i.seq for i in indexes), _BATCH)
            if not rows:
                return total
            pages = dict(fresh or {})
            pages.update(catalogue.pages_by_key([key for _, key in rows if key not in pages]))
            for seq, key in rows:
                self._add(seq, key, pages.get(key))
            total += len(rows)

    def commit(self, catalogue: Catalogue) -> None:
        """Make durable and searchable what `sync` took in; nothing is written without a change."""
        generation = catalogue.generation()
        for index in self._indexes.values():
            index.commit(generation)

    def rebuild(self, catalogue: Catalogue) -> int:
        """Drop both indexes and make them anew from the catalogue; returns the number of pages."""
        for index in self._indexes.values():
            index.clear()
        total = self.sync(catalogue)
        self.commit(catalogue)
        return total

    def search(
        self,
        text: str,
        channel: str,
        *,
        limit: int,
        documents: frozenset[int] | None = None,
    ) -> Found:
        """Return the best pages for a question.

        Args:
            text: Anything; never parsed as a query language.
            channel: ``pages`` scores whole pages, ``blocks`` the best block of each page,
                ``phrases`` the pairs of neighbouring words (stop words left out) that question and
                page share, ``headings`` a page's headings and opening words.
            limit: Most pages to return. For ``blocks`` the best ``3 * limit`` blocks are looked at,
                so fewer pages may come back than match.
            documents: Serials of the documents that may appear; None for all.

        Raises:
            NotFoundError: There is no such channel.
        """
        if channel not in _CHANNELS:
            known = ", ".join(_CHANNELS)
            raise NotFoundError(f"no lexical channel {channel!r}; there are {known}")
        unit, field = _CHANNELS[channel]
        terms = query_pairs(text) if field == "pairs" else query_terms(text)
        if not terms or limit < 1 or (documents is not None and not documents):
            return Found.nothing()
        blocks = channel == "blocks"
        count = limit * _BLOCKS_PER_PAGE if blocks else limit
        places, scores = self._indexes[unit].open().search(field, terms, count, documents)
        if not blocks:
            return Found(places, scores)
        keys, first = np.unique(places >> _BLOCK_BITS, return_index=True)
        order = np.argsort(first)[:limit]
        first = first[order]
        return Found(keys[order], scores[first], (places[first] & _MAX_BLOCK).astype(np.int32))

    def _add(self, seq: int, key: int, page: Page | None) -> None:
        texts = [] if page is None else [(b.order, prepare(b.text)) for b in page.blocks]
        document, _ = split_key(key)
        self._indexes["pages"].add(seq, document, [(key, _fields(page, texts))] if page else [])
        self._indexes["blocks"].add(
            seq,
            document,
            [
                (key << _BLOCK_BITS | min(order, _MAX_BLOCK), {"text": text})
                for order, text in texts
            ],
        )


def _fields(page: Page, texts: Sequence[tuple[int, str]]) -> dict[str, str]:
    """Return what is indexed of a whole page; ``texts`` are its blocks' orders and texts."""
    headings = [prepare(b.text) for b in page.blocks if b.kind == "heading"]
    opening = " ".join(text for _, text in texts[:_OPENING]).split()[:_OPENING]
    whole = "\n".join(text for _, text in texts)
    return {
        "text": whole,
        "pairs": " ".join(pairs(whole)),
        "headings": "\n".join([" ".join(opening), *headings]),
    }


class _Index:
    """One tantivy index: entries of text, each with its document's serial and a place."""

    def __init__(self, path: Path, fields: Mapping[str, str], *, write: bool) -> None:
        self._path = path
        self._fields = fields
        self._write = write
        self._writer: Any = None
        self._index: Any = None
        self._searcher: Any = None
        self._stamp: tuple[int, int] | None = None
        self._links: tempfile.TemporaryDirectory[str] | None = None
        self.mark = Mark()
        self.seq = self.removal = 0

    def open(self) -> _Index:
        """Open at first use, and see what another process has committed since."""
        try:
            stat = os.stat(self._path / "meta.json")  # replaced by every commit
        except FileNotFoundError:
            if self._write and self._index is None:
                self.clear()
            return self
        if self._stamp != (stat.st_mtime_ns, stat.st_ino):
            try:
                self._attach()
            except CorruptError:
                if not self._write:
                    raise
                self.clear()
            self._stamp = stat.st_mtime_ns, stat.st_ino
        return self

    def _place(self) -> Path:
        """Return where to open the index: tantivy locks the folder even to read it.

        Where that is not allowed (a read-only disk) it gets a folder of links to the files.
        """
        if os.access(self._path, os.W_OK):
            return self._path
        self._links = tempfile.TemporaryDirectory(prefix="pagetrail-")
        for file in self._path.iterdir():
            if not file.name.endswith(".lock"):
                (Path(self._links.name) / file.name).symlink_to(file.resolve())
        return Path(self._links.name)

    def _attach(self) -> None:
        import tantivy

        if self._links is not None:
            self._index = None  # the links are those of an older state

        try:
            if self._index is None:
                self._index = tantivy.Index.open(str(self._place()))
                self._index.register_tokenizer("terms", analyzer())
                self._index.register_tokenizer("pairs", pair_analyzer())
                self._index.config_reader("manual")
                self._reload()
                self.seq, self.removal = self.mark.seq, self.mark.removal
            else:
                self._reload()
        except Exception as error:  # tantivy raises ValueError, OSError and its own panics
            self._index = None
            raise CorruptError(
                f"the search index {self._path} is damaged ({error}); run doctor --repair"
            ) from error
        if self._write and self.mark.analysis not in (0, ANALYSIS):
            self.clear()

    def _reload(self) -> None:
        self._index.reload()
        self._searcher = self._index.searcher()
        self.mark = self._read_mark()

    def clear(self) -> None:
        """Start over with nothing in it."""
        import tantivy

        if not self._write:
            raise LibraryError("the library was opened for reading only")
        self.close()
        shutil.rmtree(self._path, ignore_errors=True)
        self._path.mkdir(parents=True)
        builder = tantivy.SchemaBuilder()
        for name, tokenizer in self._fields.items():
            builder.add_text_field(name, tokenizer_name=tokenizer, index_option="freq")
        builder.add_unsigned_field("document", indexed=True)
        builder.add_unsigned_field("place", fast=True)
        builder.add_text_field("mark", stored=True, tokenizer_name="raw", index_option="basic")
        tantivy.Index(builder.build(), path=str(self._path))
        self._index, self._stamp = None, None
        self.open()

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(ValueError):
                writer.rollback()
                writer.wait_merging_threads()
        if self._links is not None:
            self._links.cleanup()
            self._links = self._index = None
        self.seq, self.removal = self.mark.seq, self.mark.removal

    def count(self) -> int:
        return 0 if self._searcher is None else max(0, self._searcher.num_docs - 1)

    def add(self, seq: int, document: int, entries: Sequence[tuple[int, dict[str, str]]]) -> None:
        if seq <= self.seq:
            return
        for place, texts in entries:
            self._put(document, place, texts)
        self.seq = seq

    def remove(self, seq: int, document: int) -> None:
        if seq <= self.removal:
            return
        self._drop(document)
        self.removal = seq

    def commit(self, generation: int) -> None:
        if (self.seq, self.removal) == (self.mark.seq, self.mark.removal):
            return
        mark = Mark(generation, self.seq, self.removal, ANALYSIS)
        # Serial 0 belongs to no document: its only entry carries the mark.
        self._drop(0)
        self._put(0, 0, {"mark": json.dumps(asdict(mark))})
        try:
            self._writer.commit()
        except ValueError as error:
            raise LibraryError(f"cannot write the search index {self._path}: {error}") from error
        self.open()

    def search(
        self, field: str, terms: Sequence[str], limit: int, documents: frozenset[int] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        from tantivy import Occur, Query

        if self._index is None:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        schema, searcher = self._index.schema, self._searcher
        query = Query.boolean_query(
            [(Occur.Should, Query.term_query(schema, field, term, "freq")) for term in terms]
        )
        if documents is not None:
            if len(documents) == 1:
                (one,) = documents
                inside = Query.term_query(schema, "document", one, "basic")
            else:
                inside = Query.term_set_query(schema, "document", sorted(documents))
            inside = Query.const_score_query(inside, 0.0)
            query = Query.boolean_query([(Occur.Must, inside), (Occur.Must, query)])
        hits = searcher.search(query, limit, count=False).hits
        places = searcher.fast_field_values("place", [address for _, address in hits])
        return np.array(places, np.int64), np.array([score for score, _ in hits], np.float32)

    def _drop(self, document: int) -> None:
        from tantivy import Query

        # Deleting by term compares a signed number with the unsigned field and finds nothing.
        query = Query.term_query(self._index.schema, "document", document, "basic")
        self._open_writer().delete_documents_by_query(query)

    def _put(self, document: int, place: int, texts: Mapping[str, str]) -> None:
        from tantivy import Document

        entry = Document()
        entry.add_unsigned("document", document)
        entry.add_unsigned("place", place)
        for name, text in texts.items():
            if text:
                entry.add_text(name, text)
        try:
            self._open_writer().add_document(entry)
        except ValueError as error:
            raise LibraryError(f"cannot write the search index {self._path}: {error}") from error

    def _open_writer(self) -> Any:
        if self._writer is None:
            if not self._write:
                raise LibraryError("the library was opened for reading only")
            try:
                self._writer = self._index.writer(_HEAP, 1)
                # Lists of deletions are named after the commit: one that a killed commit left
                # behind would stand in the way of the same commit made again.
                self._writer.garbage_collect_files()
            except ValueError as error:
                raise LockedError(f"another process is writing to {self._path}: {error}") from error
        return self._writer

    def _read_mark(self) -> Mark:
        from tantivy import Query

        query = Query.term_query(self._index.schema, "document", 0, "basic")
        hits = self._searcher.search(query, 1, count=False).hits
        if not hits:
            return Mark()
        return Mark(**json.loads(self._searcher.doc(hits[0][1])["mark"][0]))


def _ends(catalogue: Catalogue) -> tuple[int, int]:
    """Return the highest visible seq and the highest removal of the catalogue."""
    seq = catalogue.rows("SELECT coalesce(max(seq), 0) FROM pages WHERE seq IS NOT NULL")[0][0]
    removal = catalogue.rows("SELECT coalesce(max(seq), 0) FROM removals")[0][0]
    return int(seq), int(removal)
