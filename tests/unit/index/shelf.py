"""A library's storage without the library: made-up pages, catalogue and indexes together.

Child processes of the crash tests load this file as well, so it does without pytest.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pagetrail.index.changes import Begun, CatalogueWriter
from pagetrail.index.folder import create_folder
from pagetrail.index.lexical import Lexical
from pagetrail.index.lock import WriterLock
from pagetrail.index.publish import VectorWriter
from pagetrail.types import Block, Box, Document, Page, Vectors, Word

if TYPE_CHECKING:
    from pathlib import Path

DIMENSION = 16


def page(document: str, number: int, *texts: str) -> Page:
    """A page with one block per text; words stand in a row."""
    blocks = []
    for order, text in enumerate(texts or (f"page {number} of {document}",)):
        words = [
            Word(word, Box(0.1 + 0.001 * i, 0.1 * order % 0.9, 0.101 + 0.001 * i, 0.95))
            for i, word in enumerate(text.split())
        ]
        blocks.append(Block.of(words, order=order))
    return Page(document, number, 595.0, 842.0, blocks=tuple(blocks), text_source="layer")


def unit(*seeds: object) -> np.ndarray:
    """A unit vector that depends on the seeds alone."""
    seed = int.from_bytes(hashlib.sha256(repr(seeds).encode()).digest()[:8], "little")
    vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return vector / np.linalg.norm(vector)


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Shelf:
    """Everything of a library that is open for writing."""

    root: Path
    files: Path
    lock: WriterLock = field(init=False)

    def __post_init__(self) -> None:
        self.files.mkdir(exist_ok=True)
        self.follow = ("lexical", "vectors")
        self.open()

    def open(self) -> None:
        self.folder = create_folder(self.root, version="0.1.0")
        self.lock = WriterLock(self.folder.lock)
        self.catalogue = CatalogueWriter(self.folder, self.lock)
        self.lexical = Lexical(self.folder.lexical, write=True)
        self.vectors = VectorWriter(self.catalogue, name="fake", revision="r1", dimension=DIMENSION)

    def close(self) -> None:
        self.lexical.close()
        self.catalogue.close()
        self.lock.release()

    def begin(self, name: str, content: str, **more: Any) -> Begun:
        file = self.files / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return self.catalogue.begin_document(
            name, path=str(file), content_hash=hash_of(content), stamp=content, **more
        )

    def finish(self, document: str, pages: int, **more: Any) -> Document:
        values: dict[str, Any] = {"status": "indexed", **more}
        return self.catalogue.finish_document(Document(document, "", "", pages, **values))

    def add(self, name: str, *texts: str, **more: Any) -> str:
        """Add a file with one page per text; returns the document's id."""
        begun = self.begin(name, "\f".join(texts), **more)
        if not begun.complete:
            self.catalogue.put_pages(
                [
                    page(begun.document, n, *text.split("\n"))
                    for n, text in enumerate(texts, 1)
                    if n not in begun.stored
                ]
            )
            self.finish(begun.document, len(texts))
        self.catch_up()
        return begun.document

    def catch_up(self) -> None:
        if "lexical" in self.follow:
            self.lexical.sync(self.catalogue)
            self.lexical.commit(self.catalogue)
        if "vectors" not in self.follow:
            return
        while self.vectors.adopt():
            pass
        while keys := self.vectors.missing():
            self.encode(keys)

    def encode(self, keys: list[int]) -> None:
        """Publish one made-up vector per block."""
        pages = self.catalogue.pages_by_key(keys)
        keys = [key for key in keys if key in pages]
        rows = [(key, b.order, unit(b.text)) for key in keys for b in pages[key].blocks]
        counts = [len(pages[key].blocks) for key in keys]
        data = np.array([row[2] for row in rows], np.float32).reshape(-1, DIMENSION)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.vectors.publish(keys, Vectors(data, offsets, "fake", "r1"), [r[1] for r in rows])

    def words(self, text: str, channel: str = "pages", scope: str = "") -> list[str]:
        """Ids of the pages that a lexical search finds."""
        view = self.catalogue.view()
        documents = None
        if scope:
            documents = frozenset(s for s, i in view.ids.items() if i == scope)
        found = self.lexical.search(text, channel, limit=50, documents=documents)  # type: ignore[arg-type]
        return [str(view.page_id(key)) for key in view.visible(found).keys]

    def near(self, text: str, limit: int = 50) -> list[str]:
        """Ids of the pages that a dense search for a block's text finds, best first."""
        found = self.vectors.search(unit(text), limit=limit)
        view = self.catalogue.view()
        return [str(view.page_id(key)) for key in found.keys]
