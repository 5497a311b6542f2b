"""What the page graph costs: CPU while adding, bytes on disk, microseconds and memory to read.

Run: ``PAGETRAIL_DATA=... python tests/bench/bench_graph.py [pages per file] [pages ...]``. First
the development PDFs that have a text layer, OCR off: CPU seconds of reading pages, of storing them
with lexical index and vectors, and of finding and storing their edges. Without the data this part
is left out. Then made-up libraries of the sizes given: bytes per page, and the time that reading
the edges of a page takes, within its document and with those to other documents, and the memory
that a walk over a thousand pages adds.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shelves import open_shelf, resident, run_plainly

from pagetrail.config import DocumentSettings
from pagetrail.documents.load import open_source
from pagetrail.edges import PageNode
from pagetrail.graph.twins import bands_of
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.folder import create_folder
from pagetrail.index.graph import PageGraph
from pagetrail.index.graph_writer import put_graph
from pagetrail.index.keys import page_key
from pagetrail.types import Document
from pagetrail.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pagetrail.edges import EdgeKind
    from pagetrail.index.catalogue import View
    from pagetrail.index.changes import CatalogueWriter
    from pagetrail.types import OutlineEntry, Page

PER_DOCUMENT = 25  # pages of a made-up document
WALK = 1000  # pages whose edges a walk reads


# --- while adding --------------------------------------------------------------------------------


def adding(folder: Path, limit: int) -> None:
    """Print the share of the CPU time of adding that finding edges takes."""
    total = 0
    reading = storing = joining = 0.0
    with (
        tempfile.TemporaryDirectory() as root,
        Writing(create_folder(Path(root) / "library", version="bench")) as writing,
    ):
        for path in sorted(folder.glob("*.pdf")):
            started = time.process_time()
            pages, outline = read(path, limit)
            if sum(len(page.text) for page in pages) < 200 * len(pages):
                continue  # scans, whose text only OCR gives
            reading += time.process_time() - started
            stored, joined = add(writing, path, pages, outline)
            total += len(pages)
            storing += stored
            joining += joined
        size = graph_bytes(writing.catalogue)
    whole = reading + storing + joining
    print(f"{total} pages of the development PDFs, CPU ms per page, OCR off:")
    for name, seconds in (("read", reading), ("stored", storing), ("edges", joining)):
        print(f"  {name:8} {1000 * seconds / total:7.2f}  {100 * seconds / whole:5.1f} %")
    print(f"  edges and marks on disk: {size / total:.0f} bytes per page")


def read(path: Path, limit: int) -> tuple[list[Page], tuple[OutlineEntry, ...]]:
    """Return a file's first pages and its outline."""
    with open_source(path, path.name, settings=DocumentSettings(ocr=False)) as source:
        count = min(limit, source.page_count)
        pages = [source.page(path.name, number, None) for number in range(1, count + 1)]
        return pages, tuple(source.outline or ())


def add(
    writing: Writing, path: Path, pages: list[Page], outline: tuple[OutlineEntry, ...]
) -> tuple[float, float]:
    """Store a document's pages; return CPU seconds of that and of joining them."""
    started = time.process_time()
    begun = writing.catalogue.begin_document(
        path.name, path=str(path), content_hash=path.name, stamp=""
    )
    for at in range(0, len(pages), 64):
        writing.catalogue.put_pages(
            [replace(page, document=begun.document) for page in pages[at : at + 64]]
        )
        writing.catch_up()
    between = time.process_time()
    writing.catalogue.finish_document(
        Document(begun.document, "", "", len(pages), "indexed", outline=outline)
    )
    writing.catch_up()
    return between - started, time.process_time() - between


def graph_bytes(catalogue: CatalogueWriter) -> int:
    """Return the bytes that the graph's tables take in the database."""
    ((size,),) = catalogue.rows(
        "SELECT sum(pgsize) FROM dbstat WHERE name IN ('edges', 'marks', 'graphs', "
        "'graphs_version')"
    )
    return int(size or 0)


# --- a large library -----------------------------------------------------------------------------


def made_up(source: random.Random, number: int, pool: int) -> PageNode:
    """Return a page with fourteen edges, eight names and a sketch.

    Four of the names stand on this page alone, three on some others of a library of ``pool``
    pages, one on very many; one page in ten looks like another one.
    """
    kinds: tuple[EdgeKind, ...] = (
        "section", "link", "linked", "reference", "referred", "shared", "similar",
    )  # fmt: skip
    ways = []
    for kind in kinds * 2:
        other = source.randint(1, PER_DOCUMENT)
        ways.append((other, kind, source.random(), f"see Table {other}"))
    seeds = [source.getrandbits(62) for _ in range(4)]
    seeds += [-source.randrange(pool) - 1001 for _ in range(3)]
    seeds.append(-source.randrange(1000) - 1)
    names = tuple((seed, f"Alpine Holdings {seed % 100}") for seed in seeds)
    copied = random.Random(source.randrange(pool // 10))
    sketch = (copied if source.random() < 0.1 else source).randbytes(128)
    return PageNode(number, tuple(ways), names, sketch, bands_of(sketch))


def fill(catalogue: CatalogueWriter, count: int) -> None:
    """Store documents with pages of no content and their graphs."""
    source = random.Random(count)
    with_sync = catalogue.rows("PRAGMA synchronous")
    catalogue.rows("PRAGMA synchronous = OFF")
    for _ in range(count // PER_DOCUMENT):
        with catalogue.transaction():
            ((serial,),) = catalogue.rows("SELECT coalesce(max(serial), 0) + 1 FROM documents")
            catalogue.rows(
                "INSERT INTO documents (id, source, path, name, content_hash, stamp, state, "
                "status, page_count, stored, info, generation) "
                "VALUES (?1, ?1, ?1, ?1, ?1, '', 'live', 'indexed', ?2, ?2, '{}', ?3)",
                (f"d{serial}", PER_DOCUMENT, catalogue.bump()),
            )
            for number in range(1, PER_DOCUMENT + 1):
                catalogue.rows("INSERT INTO pages VALUES (?, NULL)", (page_key(serial, number),))
            catalogue.rows("INSERT INTO graphs VALUES (?, 0)", (serial,))
        nodes = [made_up(source, number, count) for number in range(1, PER_DOCUMENT + 1)]
        put_graph(catalogue, serial, nodes, version=1)
    catalogue.rows(f"PRAGMA synchronous = {with_sync[0][0]}")


def reading(root: Path, count: int) -> None:
    """Print what reading the edges of pages takes in a library of ``count`` pages."""
    catalogue = open_shelf(root)
    started = time.process_time()
    fill(catalogue, count)
    spent = time.process_time() - started
    size = graph_bytes(catalogue)
    catalogue.close()
    reader = Catalogue(catalogue.folder)  # with nothing in its cache yet
    view = reader.view()
    serials = sorted(view.ids)
    chosen = random.Random(5)
    keys = [page_key(chosen.choice(serials), chosen.randint(1, PER_DOCUMENT)) for _ in range(WALK)]
    graph = PageGraph(reader)
    print(
        f"{count:,} pages: stored in {1000 * spent / count:.2f} CPU ms and "
        f"{size / count:.0f} bytes per page"
    )
    before = resident()
    first = clock(graph, keys, view, None)
    after = resident()
    print(f"  a walk over {WALK} pages adds {(after - before) / 1e6:.1f} MB")
    print(f"  microseconds per page, first time: {first:.0f}")
    for name, times in timings(graph, keys, view):
        print(f"  microseconds per page, {name}: {times:.0f}")
    reader.close()


def timings(graph: PageGraph, keys: list[int], view: View) -> Iterator[tuple[str, float]]:
    """Yield warm timings: within the document, across documents, and many pages at a time."""
    yield "warm, within its document", min(alone(graph, keys, view) for _ in range(3))
    yield "warm, whole library", min(clock(graph, keys, view, None) for _ in range(3))
    yield (
        "warm, whole library, 20 pages asked at once",
        min(clock(graph, keys, view, None, step=20) for _ in range(3)),
    )


def clock(
    graph: PageGraph, keys: list[int], view: View, scope: frozenset[int] | None, step: int = 1
) -> float:
    """Return microseconds per page."""
    started = time.perf_counter()
    found = 0
    for at in range(0, len(keys), step):
        edges = graph.neighbours(keys[at : at + step], view, scope)
        found += sum(map(len, edges.values()))
    assert found > len(keys)
    return 1e6 * (time.perf_counter() - started) / len(keys)


def alone(graph: PageGraph, keys: list[int], view: View) -> float:
    """Return microseconds per page, each asked within its own document."""
    started = time.perf_counter()
    for key in keys:
        graph.neighbours([key], view, frozenset({key >> 20}))
    return 1e6 * (time.perf_counter() - started) / len(keys)


def main() -> None:
    """Run both parts."""
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    sizes = [int(size) for size in sys.argv[2:]] or [50_000, 200_000]
    data = os.environ.get("PAGETRAIL_DATA", "")
    if (Path(data) / "mmlongbench-dev" / "docs").is_dir() and limit:
        adding(Path(data) / "mmlongbench-dev" / "docs", limit)
    for size in sizes:
        with tempfile.TemporaryDirectory() as root:
            reading(Path(root) / "library", size)


if __name__ == "__main__":
    run_plainly()
    main()
