"""CPU time of adding text-layer pages, beside PDFium's own extraction of text with boxes.

Run: ``PAGETRAIL_DATA=... python tests/bench/bench_parse.py [pages per file] [files]``. Both sides
take the same pages in the same process, alternating file by file, outline included, OCR off.
"read" is pages with blocks, links and references; "stored" adds the catalogue and the lexical
index, all that `add` does but embedding.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pagetrail.config import DocumentSettings
from pagetrail.documents.load import open_source
from pagetrail.index.folder import create_folder
from pagetrail.writing import Writing

if TYPE_CHECKING:
    from pagetrail.types import Page


def plain(path: Path, limit: int) -> tuple[int, float]:
    """Return pages read and CPU seconds of PDFium's rectangles and their text."""
    import pypdfium2

    started = time.process_time()
    pdf = pypdfium2.PdfDocument(path)
    for mark in pdf.get_toc():
        mark.get_title()
        if goal := mark.get_dest():
            goal.get_index()
    count = min(limit, len(pdf))
    for index in range(count):
        page = pdf[index]
        text = page.get_textpage()
        for place in range(text.count_rects()):
            text.get_text_bounded(*text.get_rect(place))
        text.close()
        page.close()
    pdf.close()
    return count, time.process_time() - started


def ours(path: Path, limit: int) -> tuple[list[Page], float]:
    """Return pages with blocks, links and references, and the CPU seconds they took."""
    started = time.process_time()
    with open_source(path, path.name, settings=DocumentSettings(ocr=False)) as source:
        count = min(limit, source.page_count)
        assert source.outline is not None
        pages = [source.page(path.name, number, None) for number in range(1, count + 1)]
    return pages, time.process_time() - started


def stored(writing: Writing, path: Path, pages: list[Page]) -> float:
    """Return the CPU seconds of storing pages and of indexing their words, commit included."""
    started = time.process_time()
    begun = writing.catalogue.begin_document(
        path.name, path=str(path), content_hash=path.name.encode().hex(), stamp="bench"
    )
    keys = writing.catalogue.put_pages([replace(p, document=begun.document) for p in pages])
    writing.words.sync(writing.catalogue, dict(zip(keys, pages, strict=True)))
    writing.words.commit(writing.catalogue)
    return time.process_time() - started


def main() -> None:
    """Measure."""
    data = os.environ.get("PAGETRAIL_DATA", "")
    docs = sorted((Path(data) / "mmlongbench-dev" / "docs").glob("*.pdf")) if data else []
    if not docs:
        sys.exit("PAGETRAIL_DATA names no folder with mmlongbench-dev/docs: nothing to measure")
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    docs = docs[: int(sys.argv[2])] if len(sys.argv) > 2 else docs
    ours(docs[0], 1)  # imports
    totals, total_pages = [0.0, 0.0, 0.0], 0
    sys.stdout.write(f"{'file':40} pages  plain ms   read ms stored ms  read/plain (all)/plain\n")
    with (
        tempfile.TemporaryDirectory() as root,
        Writing(create_folder(Path(root) / "library", version="bench")) as writing,
    ):
        writing.words.commit(writing.catalogue)  # opens the index
        for path in docs:
            count, first = plain(path, limit)
            pages, second = ours(path, limit)
            third = stored(writing, path, pages)
            total_pages += count
            totals = [a + b for a, b in zip(totals, (first, second, third), strict=True)]
            sys.stdout.write(_row(path.name, count, first, second, third))
    sys.stdout.write(_row("all", total_pages, *totals))


def _row(name: str, pages: int, first: float, second: float, third: float) -> str:
    milliseconds = "".join(f"{t / pages * 1e3:10.2f}" for t in (first, second, third))
    ratios = f"{second / first:12.2f}{(second + third) / first:12.2f}"
    return f"{name[:40]:40} {pages:5}{milliseconds}{ratios}\n"


if __name__ == "__main__":
    main()
