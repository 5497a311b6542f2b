"""Searching the vectors of a large library: several encoders as one, and pooled vectors first.

Part one, the ensemble: three encoders of one vector per page (768, 1,152 and 512 numbers), the
exact weighted sum over all pages, against numpy's float32 product with the concatenated matrix and
with the three apart; and the memory of a process that searches. Part two, late interaction: pages
of 64 vectors of 128 numbers, exactly and by way of pooled vectors, at growing sizes; how often the
page that a question was made from is kept. All times are CPU seconds of one thread.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from shelves import add_pages, cpu, fill, open_shelf, resident, run_plainly, unit

from pagetrail.index import pooled
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.ensemble import Ensemble
from pagetrail.index.folder import open_folder
from pagetrail.index.publish import Registration, VectorWriter
from pagetrail.index.segments import VectorIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTHS = {"siglip": 768, "siglip-so": 1152, "clip": 512}
WEIGHTS = (1.0, 0.7, 1.3)
ROWS, WIDTH, BATCH = 64, 128, 5000
NOISE = 1.0  # length of what is added to a question's vectors, which are of length 1


def one_each(pages: int, width: int, seed: int) -> Iterator[np.ndarray]:
    random = np.random.default_rng(seed)
    for at in range(0, pages, 25_000):
        yield unit(random, min(25_000, pages - at), 1, width)


def build_ensemble(root: Path, pages: int) -> None:
    catalogue = open_shelf(root)
    add_pages(catalogue, pages)
    for seed, (name, width) in enumerate(WIDTHS.items()):
        writer = VectorWriter(
            catalogue, name=name, revision="1", dimension=width, registration=Registration(name)
        )
        fill(writer, one_each(pages, width, seed))
    catalogue.close()


def open_ensemble(root: Path) -> Ensemble:
    catalogue = Catalogue(open_folder(root))
    return Ensemble(
        [
            VectorIndex(catalogue, name=name, revision="1", dimension=width, channel=name)
            for name, width in WIDTHS.items()
        ]
    )


def questions(count: int, seed: int = 9) -> list[list[np.ndarray]]:
    random = np.random.default_rng(seed)
    return [[unit(random, width) for width in WIDTHS.values()] for _ in range(count)]


def search_only(root: Path) -> None:
    """Open a library, search it, and say what that took: memory, seconds to the first result."""
    before = resident()
    started = time.process_time()
    together = open_ensemble(root)
    together.search(questions(1)[0], WEIGHTS, limit=100)
    first = time.process_time() - started
    for queries in questions(10):
        together.search(queries, WEIGHTS, limit=100)
    print(json.dumps({"bytes": resident() - before, "first": first}))


def ensemble(folder: Path, pages: int) -> None:
    root = folder / "ensemble"
    build_ensemble(root, pages)
    size = pages * sum(WIDTHS.values())
    output = subprocess.run(
        [sys.executable, __file__, "--search-only", str(root)],
        check=True,
        capture_output=True,
        text=True,
    )
    child = json.loads(output.stdout)
    together = open_ensemble(root)
    asked = questions(20)
    together.search(asked[0], WEIGHTS, limit=100)
    ours = [cpu(lambda q=q: together.search(q, WEIGHTS, limit=100)) for q in asked]
    matrices = [
        np.concatenate(list(one_each(pages, width, seed)))[:, 0]
        for seed, width in enumerate(WIDTHS.values())
    ]
    apart = [cpu(lambda q=q: _apart(matrices, q)) for q in asked]
    joined = np.concatenate(matrices, axis=1)
    matrices.clear()
    whole = [np.concatenate([w * v for v, w in zip(q, WEIGHTS, strict=True)]) for q in asked]
    concatenated = [cpu(lambda q=q: joined @ q) for q in whole]
    same = []
    for queries, query in zip(asked, whole, strict=True):
        found = together.search(queries, WEIGHTS, limit=10).found
        keys = np.argsort(-(joined @ query), kind="stable")[:10]
        places = (found.keys >> 20) * 100 - 100 + (found.keys & 0xFFFFF) - 1
        same.append(len(set(places.tolist()) & set(keys.tolist())) / 10)
    one = float(np.median(ours))
    print(f"ensemble, {pages:,} pages x {sum(WIDTHS.values()):,}: CPU ms, median of {len(asked)}")
    print(f"  pagetrail, int8, exact           {one * 1e3:8.1f}")
    for name, seconds in (
        ("numpy float32, concatenated", concatenated),
        ("numpy float32, apart", apart),
    ):
        ms = float(np.median(seconds))
        print(f"  {name:<30}   {ms * 1e3:8.1f}   {ms / one:.1f} x")
    print(f"  memory of a searching process: {child['bytes'] / size:.2f} x the int8 bytes")
    print(f"  opening and first search: {child['first'] * 1e3:.0f} ms")
    print(f"  top 10 as in float32: {np.mean(same):.3f}")


def family_pages(count: int, seed: int) -> np.ndarray:
    """Return float32 ``[count, 64, 128]``: pages of independent directions."""
    return unit(np.random.default_rng(seed), count, ROWS, WIDTH)


def build_late(root: Path, pages: int) -> None:
    catalogue = open_shelf(root)
    add_pages(catalogue, pages)
    pooled.MANY = 0  # pool at every size
    writer = VectorWriter(
        catalogue, name="late", revision="1", dimension=WIDTH, registration=Registration("late")
    )
    fill(writer, (family_pages(min(BATCH, pages - at), at) for at in range(0, pages, BATCH)))
    catalogue.close()


def planted(pages: int, count: int, tokens: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield page keys and questions made of noisy copies of some of the page's vectors."""
    random = np.random.default_rng(5)
    wanted = np.sort(random.choice(pages, count, replace=False))
    for at in range(0, pages, BATCH):
        here = wanted[(wanted >= at) & (wanted < at + BATCH)]
        held = family_pages(min(BATCH, pages - at), at) if len(here) else None
        for page in here.tolist():
            assert held is not None
            query = held[page - at][random.choice(ROWS, tokens, replace=False)]
            query = query + NOISE * unit(random, tokens, WIDTH)
            query /= np.linalg.norm(query, axis=1, keepdims=True)
            yield (page // 100 + 1) << 20 | (page % 100 + 1), query


def late(folder: Path, pages: int, targets: int) -> None:
    cosine = 1 / np.sqrt(1 + NOISE**2)
    print(f"late interaction, {ROWS} vectors a page, 20 a question at cosine {cosine:.2f}")
    for size in (pages // 4, pages):
        root = folder / f"late-{size}"
        build_late(root, size)
        catalogue = Catalogue(open_folder(root))
        index = VectorIndex(catalogue, name="late", revision="1", dimension=WIDTH, channel="late")
        pooled.MANY = 0  # take a first look at every size, to compare them
        asked = list(planted(size, targets, 20))
        some = [query for _, query in asked[:5]]
        index.search(some[0], limit=10, exact=True)
        whole, first = (_cost(index, some, exact=way) for way in (True, False))
        kept = np.mean([key in index.search(q, limit=10).keys for key, q in asked])
        print(f"  {size:,} pages: exact {whole * 1e3:.1f} ms, {whole / size * 1e6:.2f} us a page")
        print(f"    by way of pooled vectors {first * 1e3:.1f} ms, {first / whole:.1%} of that")
        print(f"    page asked for among the first ten: {kept:.4f} of {len(asked)}", flush=True)
        catalogue.close()
        shutil.rmtree(root)


def _cost(index: VectorIndex, queries: list[np.ndarray], *, exact: bool) -> float:
    """Return the median CPU seconds of a search."""
    return float(
        np.median([cpu(lambda q=q: index.search(q, limit=10, exact=exact)) for q in queries])
    )


def _apart(matrices: list[np.ndarray], queries: list[np.ndarray]) -> np.ndarray:
    total = np.zeros(len(matrices[0]), np.float32)
    for matrix, query, weight in zip(matrices, queries, WEIGHTS, strict=True):
        total += weight * (matrix @ query)
    return total


def main() -> None:
    run_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--targets", type=int, default=400)
    parser.add_argument("--part", choices=["ensemble", "late", "both"], default="both")
    parser.add_argument("--search-only", type=Path)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if arguments.search_only:
        search_only(arguments.search_only)
        return
    with tempfile.TemporaryDirectory() as folder:
        if arguments.part in ("ensemble", "both"):
            ensemble(Path(folder), arguments.pages)
        if arguments.part in ("late", "both"):
            late(Path(folder), arguments.pages, arguments.targets)


if __name__ == "__main__":
    main()
