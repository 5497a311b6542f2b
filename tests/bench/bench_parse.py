"""CPU time of reading text-layer pages, beside PDFium's own extraction of text with boxes.

Run: ``PAGETRAIL_DATA=... python tests/bench/bench_parse.py [pages per file] [files]``. Both sides
read the same pages in the same process, alternating file by file, outline included, OCR off.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from pagetrail.config import DocumentSettings
from pagetrail.documents.load import open_source


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


def ours(path: Path, limit: int) -> tuple[int, float]:
    """Return pages read and CPU seconds of pages with blocks, links and references."""
    started = time.process_time()
    with open_source(path, path.name, settings=DocumentSettings(ocr=False)) as source:
        count = min(limit, source.page_count)
        assert source.outline is not None
        for number in range(1, count + 1):
            source.page("bench", number, None)
    return count, time.process_time() - started


def main() -> None:
    data = os.environ.get("PAGETRAIL_DATA", "")
    docs = sorted((Path(data) / "mmlongbench-dev" / "docs").glob("*.pdf")) if data else []
    if not docs:
        sys.exit("PAGETRAIL_DATA names no folder with mmlongbench-dev/docs: nothing to measure")
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    docs = docs[: int(sys.argv[2])] if len(sys.argv) > 2 else docs
    ours(docs[0], 1)  # imports
    totals = [0.0, 0.0]
    pages = 0
    write = sys.stdout.write
    write(f"{'file':40} pages  plain ms  ours ms  ratio\n")
    for path in docs:
        count, first = plain(path, limit)
        _, second = ours(path, limit)
        pages += count
        totals[0] += first
        totals[1] += second
        write(_row(path.name, count, first, second))
    write(_row("all", pages, *totals))


def _row(name: str, pages: int, first: float, second: float) -> str:
    milliseconds = f"{first / pages * 1e3:9.2f}{second / pages * 1e3:9.2f}"
    return f"{name[:40]:40} {pages:5} {milliseconds}{second / first:7.2f}\n"


if __name__ == "__main__":
    main()
