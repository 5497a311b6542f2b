"""CPU time of pages that have to be read from their picture.

Takes image-only pages of the development documents, spread over all of them, and reads each in
this process: rendering, detection, recognition, blocks. The first page loads the models and counts
apart.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from pagetrail.config import DocumentSettings
from pagetrail.documents.load import open_source
from pagetrail.documents.ocr import RapidReader

LIMIT_SECONDS = 5.0


def image_only(folder: Path) -> list[tuple[Path, int]]:
    """Return the pages without a text layer, as file and number."""
    import pypdfium2

    found = []
    for file in sorted(folder.glob("*.pdf")):
        with pypdfium2.PdfDocument(file) as pdf:
            for index in range(len(pdf)):
                text = pdf[index].get_textpage().get_text_range()
                if not text.strip():
                    found.append((file, index + 1))
    return found


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=40)
    options = parser.parse_args()
    data = Path(os.environ.get("PAGETRAIL_DATA", "")) / "mmlongbench-dev" / "docs"
    if "PAGETRAIL_DATA" not in os.environ or not data.is_dir():
        print("PAGETRAIL_DATA names no folder with mmlongbench-dev; nothing was measured")
        return
    pages = image_only(data)
    step = max(1, len(pages) // options.pages)
    reader, settings = RapidReader(), DocumentSettings()
    seconds, words = [], []
    for file, number in [pages[0], *pages[::step]]:
        started = time.process_time()
        with open_source(file, file.name, settings=settings) as source:
            page = source.page("bench", number, reader)
        seconds.append(time.process_time() - started)
        words.append(sum(len(block.text.split(" ")) for block in page.blocks))
    first, *rest = seconds
    over = sum(s > LIMIT_SECONDS for s in rest)
    print(
        f"{len(rest)} of {len(pages)} image-only pages, {sum(words[1:]) / len(rest):.0f} words each"
    )
    print(
        f"CPU seconds a page: mean {sum(rest) / len(rest):.2f}, median "
        f"{sorted(rest)[len(rest) // 2]:.2f}, most {max(rest):.2f}; {over} over {LIMIT_SECONDS:g}; "
        f"loading the models and the first page: {first:.2f}"
    )


if __name__ == "__main__":
    main()
