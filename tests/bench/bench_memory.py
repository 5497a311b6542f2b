"""Peak memory of the whole process tree while a very long document is added.

Makes a PDF of 2,000 pages out of the development documents, adds it with the command line, and
samples the resident memory (proportional share, so that pages shared by processes count once) of
the command and all its children.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_MIB = 1536


def make_long(folder: Path, out: Path, pages: int) -> None:
    """Write a PDF with this many pages, taken from the PDFs of a folder in turn."""
    import pypdfium2

    with pypdfium2.PdfDocument.new() as long:
        files = sorted(folder.glob("*.pdf"))
        while len(long) < pages:
            for file in files:
                with pypdfium2.PdfDocument(file) as source:
                    some = list(range(min(len(source), pages - len(long))))
                    if some:
                        long.import_pages(source, some)
        long.save(out)


def tree(root: int) -> list[int]:
    """Return the process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, open_ = [], [root]
    while open_:
        found.append(open_.pop())
        open_ += children.get(found[-1], [])
    return found


def resident_mib(pids: list[int]) -> float:
    """Return the proportional resident memory of processes together, in MiB."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def watch(added: Path, library: Path, *, ocr: bool) -> tuple[float, int]:
    """Add something with the command line and return the peak in MiB and the exit code."""
    command = [sys.executable, "-m", "pagetrail.cli", "add", str(added), "--library", str(library)]
    process = subprocess.Popen(command, env={**os.environ, "PAGETRAIL_DOCUMENTS__OCR": str(ocr)})
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, resident_mib(tree(process.pid)))
        time.sleep(0.2)
    return peak, process.returncode


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--ocr", action="store_true", help="read image-only pages as well")
    parser.add_argument("--documents", type=Path, help="add this folder instead of the long PDF")
    parser.add_argument("--library", type=Path, help="keep the library here")
    options = parser.parse_args()
    data = Path(os.environ.get("PAGETRAIL_DATA", "")) / "mmlongbench-dev" / "docs"
    if "PAGETRAIL_DATA" not in os.environ or not data.is_dir():
        print("PAGETRAIL_DATA names no folder with mmlongbench-dev; nothing was measured")
        return
    with tempfile.TemporaryDirectory() as root:
        added = options.documents or Path(root) / "long.pdf"
        if options.documents is None:
            make_long(data, added, options.pages)
        peak, code = watch(added, options.library or Path(root) / "library", ocr=options.ocr)
    what = options.documents or f"a PDF of {options.pages} pages"
    verdict = "within" if peak < LIMIT_MIB else "OVER"
    print(
        f"adding {what}, OCR {'on' if options.ocr else 'off'}: peak {peak:.0f} MiB of the process"
    )
    print(f"tree, {verdict} the limit of {LIMIT_MIB} MiB; exit code {code}")


if __name__ == "__main__":
    main()
