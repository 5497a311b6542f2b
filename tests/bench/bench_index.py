"""What adding, removing and searching cost as a library grows: made-up pages, no data needed.

A library with the built-in encoder's vectors and those of a late-interaction encoder. Prints, at a
small and at a large size, the CPU milliseconds per page of storing, of the lexical indexes and of
publishing vectors, the cost of adding and of removing a document of one page and of twenty (it must
not grow with the library), what reopening takes until the first result, and the CPU milliseconds of
a warm search per channel.
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
from shelves import run_plainly, unit

from pagetrail.index.catalogue import Catalogue
from pagetrail.index.changes import CatalogueWriter
from pagetrail.index.folder import create_folder
from pagetrail.index.lexical import Lexical
from pagetrail.index.lock import WriterLock
from pagetrail.index.publish import Registration, VectorWriter
from pagetrail.index.segments import VectorIndex
from pagetrail.types import Block, Box, Document, Page, Vectors, Word

if TYPE_CHECKING:
    from collections.abc import Callable

DIMENSION = 384
LATE_DIMENSION = 128
BLOCKS, WORDS, PASSAGES, PATCHES = 20, 18, 3, 64
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
        self.late = VectorWriter(
            self.catalogue,
            name="late",
            revision="1",
            dimension=LATE_DIMENSION,
            registration=Registration("late"),
        )
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
        rows = unit(self.random, count * PASSAGES, DIMENSION)
        patches = unit(self.random, count * PATCHES, LATE_DIMENSION)
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
        many = Vectors(patches, np.arange(0, len(patches) + 1, PATCHES), "late", "1")
        self._clock("vectors", lambda: self.late.publish(keys, many))
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
        self._clock("vectors", self.late.compact)

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


def one_document(shelf: Shelf, pages: int, rounds: int = 16) -> float:
    """Add and remove a document again and again; medians, since compaction is now and then due.

    Returns the median CPU seconds of adding.
    """
    costs: dict[str, list[float]] = {"adding": [], "removing": []}
    for _ in range(rounds):
        for what, call in (("adding", lambda: shelf.add(pages)), ("removing", shelf.remove)):
            shelf.taken()
            call()
            costs[what].append(sum(shelf.taken().values()))
    for what, seconds in costs.items():
        print(
            f"{shelf.page_count:>7} pages: {what} a document of {pages} pages, CPU ms: "
            f"median {np.median(seconds) * 1e3:.1f}, most {max(seconds) * 1e3:.0f}"
        )
    return float(np.median(costs["adding"]))


def removed_at_once(shelf: Shelf) -> None:
    """A page that was removed is in no result any more, in an index that was open before."""
    late = _late(shelf.catalogue)
    shelf.add(1)
    ((key,),) = shelf.catalogue.rows("SELECT max(key) FROM pages")
    asked = unit(shelf.random, 20, LATE_DIMENSION)
    count = shelf.page_count
    assert key in late.search(asked, limit=count, exact=True).keys
    shelf.remove()
    assert key not in late.search(asked, limit=count, exact=True).keys
    print(f"{shelf.page_count:>7} pages: a removed page is gone from the next result")


def reopen(shelf: Shelf) -> None:
    """Open the catalogue and the vectors as another process would."""
    started, spent = time.perf_counter(), time.process_time()
    with Catalogue(shelf.catalogue.folder) as catalogue:
        dense = VectorIndex(catalogue, name="bench", revision="1", dimension=DIMENSION)
        counts = dense.page_count(), _late(catalogue).page_count()
        opened, spent = time.perf_counter() - started, time.process_time() - spent
        dense.search(unit(shelf.random, DIMENSION), limit=10)
        searched = time.perf_counter() - started
    print(
        f"{counts[0]:>7} pages: reopening {opened * 1e3:.0f} ms by the clock "
        f"({spent * 1e3:.0f} CPU ms), {searched * 1e3:.0f} ms with a first search by meaning"
    )


def _late(catalogue: Catalogue) -> VectorIndex:
    return VectorIndex(
        catalogue, name="late", revision="1", dimension=LATE_DIMENSION, channel="late"
    )


def search(shelf: Shelf, rounds: int = 20) -> None:
    view = shelf.catalogue.view()
    words = VOCABULARY[shelf.random.zipf(1.3, (rounds, 8)) % len(VOCABULARY)]
    texts = [" ".join(row) for row in words]
    queries = shelf.random.standard_normal((rounds, DIMENSION)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    one = frozenset([next(iter(view.ids))])
    for scope, documents in (("one document", one), ("whole library", None)):
        costs = {}
        for channel in ("pages", "blocks", "dense", "late"):
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
    if channel == "late":
        asked = np.resize(query, (20, LATE_DIMENSION))
        found = shelf.late.search(asked, limit=200, documents=documents)
    elif channel == "dense":
        found = shelf.vectors.search(query, limit=200, documents=documents)
    else:
        found = shelf.lexical.search(text, channel, limit=200, documents=documents)
    shelf.catalogue.view().visible(found)


def main() -> None:
    run_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 50_000])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder) / "library")
        adding = []
        for size in arguments.sizes:
            grow(shelf, size)
            one_document(shelf, 20)
            adding.append(one_document(shelf, 1))
            removed_at_once(shelf)
            reopen(shelf)
            search(shelf)
        ratio = adding[-1] / adding[0]
        print(f"adding one page: {ratio:.2f} x of what it cost in the smallest library")
        size = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())
        print(f"{size / shelf.page_count / 1024:.1f} KiB on disk a page")


if __name__ == "__main__":
    main()
