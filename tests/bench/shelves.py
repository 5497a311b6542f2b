"""Libraries of vectors for benches: made-up documents and pages without any content.

Environments of peers load this file too, so it takes Pagetrail in only where it needs it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pagetrail.index.changes import CatalogueWriter
    from pagetrail.index.publish import VectorWriter

__all__ = ["add_pages", "cpu", "cpu_flags", "fill", "open_shelf", "resident", "run_plainly", "unit"]

_DOCUMENT = 100  # pages


def run_plainly() -> None:
    """Start this program again without settings that would hold numpy back, on one core."""
    unwanted = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    wanted = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    here = {name: os.environ[name] for name in unwanted if name in os.environ}
    if here != wanted:
        left = {name: value for name, value in os.environ.items() if name not in unwanted}
        os.execve(sys.executable, [sys.executable, *sys.argv], left | wanted)


def open_shelf(root: Path) -> CatalogueWriter:
    """Make an empty library's catalogue."""
    from pagetrail.index.changes import CatalogueWriter
    from pagetrail.index.folder import create_folder
    from pagetrail.index.lock import WriterLock

    folder = create_folder(root, version="bench")
    return CatalogueWriter(folder, WriterLock(folder.lock))


def add_pages(catalogue: CatalogueWriter, count: int) -> list[int]:
    """Store pages of no content, a hundred to a document; returns their keys."""
    from pagetrail.index.keys import page_key

    keys: list[int] = []
    encoders = [row[0] for row in catalogue.rows("SELECT id FROM encoders")]
    with catalogue.transaction():
        while len(keys) < count:
            ((serial,),) = catalogue.rows("SELECT coalesce(max(serial), 0) + 1 FROM documents")
            pages = min(_DOCUMENT, count - len(keys))
            fresh = [page_key(serial, number) for number in range(1, pages + 1)]
            catalogue.rows(
                "INSERT INTO documents (id, source, path, name, content_hash, stamp, state, "
                "status, page_count, stored, info, generation) "
                "VALUES (?1, ?1, ?1, ?1, ?1, '', 'live', 'indexed', ?2, ?2, '{}', ?3)",
                (f"d{serial}", pages, catalogue.bump()),
            )
            for key in fresh:
                catalogue.rows("INSERT INTO pages VALUES (?, NULL)", (key,))
                for encoder in encoders:
                    catalogue.rows("INSERT INTO pending VALUES (?, ?, NULL)", (encoder, key))
            keys += fresh
    return keys


def unit(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Return random directions, float32, of unit length along the last axis."""
    data = random.standard_normal(shape, np.float32)
    data /= np.linalg.norm(data, axis=-1, keepdims=True)
    return data


def fill(writer: VectorWriter, batches: Iterator[np.ndarray]) -> None:
    """Publish the vectors of all waiting pages: float32 ``[pages, rows, d]`` at a time."""
    from pagetrail.types import Vectors

    name, revision, _ = writer._names
    for batch in batches:
        pages, rows, width = batch.shape
        offsets = np.arange(0, pages * rows + 1, rows)
        vectors = Vectors(batch.reshape(-1, width), offsets, name, revision)
        writer.publish(writer.missing(pages), vectors)
    writer.compact()


def cpu(call: Callable[[], object], *, rounds: int = 3) -> float:
    """Return the least CPU seconds of a call over some rounds."""
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return min(seconds)


def resident() -> int:
    """Return the bytes of this process's memory, files that it has mapped included."""
    for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def cpu_flags() -> str:
    """Return the processor's name and which instructions for 8-bit products it has."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    facts = {name.strip(): value.split() for name, value in lines.items()}
    wanted = ("avx2", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "amx_int8")
    flags = [flag for flag in wanted if flag in facts.get("flags", [])]
    return f"{' '.join(facts.get('model name', ['unknown']))} ({', '.join(flags) or 'none'})"
