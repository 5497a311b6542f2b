"""What adding, removing and searching cost as a library grows: made-up pages, no data needed.

Prints, at a small and at a large size, the CPU milliseconds per page of storing, of the lexical
indexes and of publishing vectors, the cost of adding and of removing one document of twenty pages
(it must not grow with the library), and the CPU milliseconds of a warm search per channel.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pagetrail.index.changes import CatalogueWriter
from pagetrail.index.folder import create_folder
from pagetrail.index.lexical import Lexical
from pagetrail.index.lock import WriterLock
from pagetrail.index.publish import VectorWriter
from pagetrail.types import Block, Box, Document, Page, Vectors, Word

if TYPE_CHECKING:
    from collections.abc import Callable

DIMENSION = 384
BLOCKS, WORDS, PASSAGES = 20, 18, 3
VOCABULARY = np.array(
    [
        f"{a}{b}{c}"
        for a in "bdfgklmnprst"
        for b in "aeiou"
        for c in (
            "ling",
            "ter",
            "son",
            "rade",
            "mic",
            "val",
            "nor",
            "dex",
            "pur",
            "sham",
            "ten",
            "gor",
            "lix",
            "mund",
            "pel",
            "quet",
            "rib",
            "sold",
            "trak",
            "vex",
        )
    ]
)


class Shelf:
    """A library's storage, and a clock per step."""

    def __init__(self, root: Path) -> None:
        folder = create_folder(root, version="bench")
        self.catalogue = CatalogueWriter(folder, WriterLock(folder.lock))
        self.lexical = Lexical(folder.lexical, write=True)
        self.vectors = VectorWriter(self.catalogue, name="bench", revision="1", dimension=DIMENSION)
        self.random = np.random.default_rng(0)
        self.spent = {"storage": 0.0, "lexical": 0.0, "vectors": 0.0}
        self.documents: list[str] = []
        self.page_count = 0

    def _clock(self, step: str, call: Callable[[], Any]) -> Any:
        started = time.process_time()
        result = call()
        self.spent[step] += time.process_time() - started
        return result

    def pages(self, document: str, count: int) -> list[Page]:
        """Pages whose words follow Zipf's law, as text does."""
        ranks = self.random.zipf(1.3, (count, BLOCKS, WORDS)) % len(VOCABULARY)
        box = Box(0.1, 0.2, 0.15, 0.22)
        return [
            Page(
                document,
                number,
                595.0,
                842.0,
                text_source="layer",
                blocks=tuple(
                    Block.of([Word(str(w), box) for w in VOCABULARY[row]], order=order)
                    for order, row in enumerate(rows)
                ),
            )
            for number, rows in enumerate(ranks, 1)
        ]

    def add(self, count: int, *, commit: bool = True) -> None:
        """Add one document with everything that belongs to it."""
        name = f"{len(self.documents)}.pdf"
        begun = self._clock(
            "storage",
            lambda: self.catalogue.begin_document(
                name,
                path=f"/nowhere/{name}",
                content_hash=hashlib.sha256(name.encode()).hexdigest(),
                stamp="",
            ),
        )
        pages = self.pages(begun.document, count)
        rows = self.random.standard_normal((count * PASSAGES, DIMENSION)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        keys: list[int] = []
        for at in range(0, count, 64):
            keys += self._clock(
                "storage", lambda at=at: self.catalogue.put_pages(pages[at : at + 64])
            )
        done = Document(begun.document, "", "", count, "indexed")
        self._clock("storage", lambda: self.catalogue.finish_document(done))
        fresh = dict(zip(keys, pages, strict=True))
        self._clock("lexical", lambda: self.lexical.sync(self.catalogue, fresh))
        offsets = np.arange(0, len(rows) + 1, PASSAGES)
        vectors = Vectors(rows, offsets, "bench", "1")
        self._clock("vectors", lambda: self.vectors.publish(keys, vectors, [0] * len(rows)))
        if commit:
            self.settle()
        self.documents.append(begun.document)
        self.page_count += count

    def remove(self) -> None:
        """Remove the document added last."""
        document = self.documents.pop()
        self.page_count -= len(self.catalogue.page_keys(document))
        self._clock("storage", lambda: self.catalogue.remove_documents([document]))
        self._clock("lexical", lambda: self.lexical.sync(self.catalogue))
        self.settle()

    def settle(self) -> None:
        self._clock("lexical", lambda: self.lexical.commit(self.catalogue))
        self._clock("vectors", self.vectors.compact)

    def taken(self) -> dict[str, float]:
        """Return and reset the seconds spent."""
        spent, self.spent = self.spent, dict.fromkeys(self.spent, 0.0)
        return spent


def grow(shelf: Shelf, pages: int) -> None:
    shelf.taken()
    before = shelf.page_count
    while shelf.page_count < pages:
        shelf.add(min(100, pages - shelf.page_count), commit=shelf.page_count % 1000 == 0)
    shelf.settle()
    spent = shelf.taken()
    count = pages - before
    each = ", ".join(f"{step} {seconds / count * 1e3:.2f}" for step, seconds in spent.items())
    print(f"{pages:>7} pages: writing, CPU ms a page: {each}")


def one_document(shelf: Shelf, rounds: int = 8) -> None:
    """Add and remove a document again and again; medians, since compaction is now and then due."""
    costs: dict[str, list[float]] = {"adding": [], "removing": []}
    for _ in range(rounds):
        for what, call in (("adding", lambda: shelf.add(20)), ("removing", shelf.remove)):
            shelf.taken()
            call()
            costs[what].append(sum(shelf.taken().values()))
    for what, seconds in costs.items():
        print(
            f"{shelf.page_count:>7} pages: {what} a document of 20 pages, CPU ms: "
            f"median {np.median(seconds) * 1e3:.0f}, most {max(seconds) * 1e3:.0f}"
        )


def search(shelf: Shelf, rounds: int = 100) -> None:
    view = shelf.catalogue.view()
    words = VOCABULARY[shelf.random.zipf(1.3, (rounds, 8)) % len(VOCABULARY)]
    texts = [" ".join(row) for row in words]
    queries = shelf.random.standard_normal((rounds, DIMENSION)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    one = frozenset([next(iter(view.ids))])
    for scope, documents in (("one document", one), ("whole library", None)):
        costs = {}
        for channel in ("pages", "blocks", "dense"):
            ask = partial(_ask, shelf, channel, documents)
            ask(texts[0], queries[0])
            started = time.process_time()
            for text, query in zip(texts, queries, strict=True):
                ask(text, query)
            costs[channel] = (time.process_time() - started) / rounds * 1e3
        each = ", ".join(f"{channel} {ms:.2f}" for channel, ms in costs.items())
        print(f"{shelf.page_count:>7} pages: searching {scope}, CPU ms: {each}")


def _ask(
    shelf: Shelf, channel: str, documents: frozenset[int] | None, text: str, query: np.ndarray
) -> None:
    if channel == "dense":
        found = shelf.vectors.search(query, limit=200, documents=documents)
    else:
        found = shelf.lexical.search(text, channel, limit=200, documents=documents)
    shelf.catalogue.view().visible(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 20_000])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder) / "library")
        for size in arguments.sizes:
            grow(shelf, size)
            one_document(shelf)
            search(shelf)
        size = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())
        print(f"{size / shelf.page_count / 1024:.1f} KiB on disk a page")


if __name__ == "__main__":
    main()
