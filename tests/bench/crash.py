"""Kill an `add` at random moments and say what the library lost; shared by bench and test.

The command line runs as a person would run it, is killed with SIGKILL, and afterwards every
document it had reported must be there, whole and once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pagetrail

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Losses", "kill_repeatedly", "write_documents"]


@dataclass
class Losses:
    """What went wrong over many kills; all of it should be zero."""

    kills: int = 0
    finished: int = 0  # runs that ended before their kill
    unopened: int = 0
    missing: int = 0  # pages of documents that had been reported
    doubled: int = 0
    unfound: int = 0  # reported documents that a search does not find
    findings: int = 0  # errors that the doctor sees after the last run
    incomplete: int = 0  # documents that the last run did not complete

    @property
    def none(self) -> bool:
        """Whether nothing was lost."""
        return not (
            self.unopened + self.missing + self.doubled + self.unfound + self.findings
            + self.incomplete
        )  # fmt: skip


def write_documents(folder: Path, count: int) -> list[Path]:
    """Write ``count`` text documents of one to five pages, each with a word of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number in range(count):
        lines = [f"# Report {number}", f"The code word of this report is marker{number}."]
        lines += [
            f"Line {i} of report {number}: costs rose to {i * 37 + number}."
            for i in range(40 + 60 * (number % 5))
        ]
        path = folder / f"report-{number:02d}.md"
        path.write_text("\n\n".join(lines), encoding="utf-8")
        files.append(path)
    return files


def kill_repeatedly(
    library: Path, documents: Path, *, kills: int, seed: int, longest: float
) -> Losses:
    """Add a folder of documents again and again, killing it, then once in peace.

    Args:
        library: Folder of the library; started anew whenever a run had completed.
        documents: Folder made by `write_documents`.
        kills: How many runs are killed.
        seed: Of the moments.
        longest: Seconds up to which a run is let live.
    """
    rng = random.Random(seed)
    losses = Losses()
    reported: dict[str, int] = {}
    generation = 0
    while losses.kills < kills:
        folder = library / str(generation)
        rows, ended = _run(folder, documents, rng.uniform(0.2, longest))
        reported.update(rows)
        if folder.exists():
            _look(folder, reported, losses)
        if ended:
            losses.finished += 1
            generation += 1  # a complete library has nothing left to lose
            reported = {}
        else:
            losses.kills += 1
    folder = library / str(generation)
    rows, _ = _run(folder, documents, 600)
    losses.incomplete += len(list(documents.iterdir())) - len(rows)
    reported.update(rows)
    _look(folder, reported, losses)
    with pagetrail.open(folder, create=False) as opened:
        losses.findings += sum(f.severity == "error" for f in opened.doctor())
        losses.incomplete += sum(d.status != "indexed" for d in opened.documents())
    return losses


def _run(folder: Path, documents: Path, seconds: float) -> tuple[dict[str, int], bool]:
    command = [sys.executable, "-m", "pagetrail.cli", "add", str(documents), "--json"]
    process = subprocess.Popen(
        [*command, "--library", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PAGETRAIL_DOCUMENTS__WORKERS": "2"},
        text=True,
    )
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    ended = process.poll() is not None
    if not ended:
        process.send_signal(signal.SIGKILL)
    output, _ = process.communicate()
    rows = {}
    for line in output.splitlines(keepends=True):
        if line.endswith("\n"):
            row = json.loads(line)
            rows[row["document"]] = row["pages"]
    return rows, ended


def _look(folder: Path, reported: dict[str, int], losses: Losses) -> None:
    """Count what was reported and is not there."""
    try:
        library = pagetrail.open(folder, create=False)
    except pagetrail.PagetrailError:
        # A kill before the first document may leave no library yet; one that reported may not.
        losses.unopened += bool(reported)
        return
    with library:
        documents = library.documents()
        by_source = Counter(d.source for d in documents)
        losses.doubled += sum(n - 1 for n in by_source.values())
        for source, pages in reported.items():
            if source not in by_source:
                losses.missing += pages
                continue
            for number in range(1, pages + 1):
                try:
                    library.page(source, number)
                except pagetrail.PagetrailError:
                    losses.missing += 1
        if reported:
            source = random.Random(len(reported)).choice(sorted(reported))
            number = int(source.rpartition("-")[2].removesuffix(".md"))
            hits = library.view(library.search(f"marker{number}", limit=1))["hits"]
            losses.unfound += not hits or hits[0]["document"] != source
