"""Exact late interaction over pages of 1,024 vectors of 128 numbers: int8 against float and peers.

Prints CPU milliseconds of one thread for a question of 20 and of 32 vectors, and how often int8 and
float32 agree. Peers live in an environment of their own, whose folder PAGETRAIL_PEERS names
(``pip install maxsim-cpu lancedb torch``); those that are absent are passed over. Their cost is
linear in pages, so they may be given fewer; what is printed is per 1,000 pages.

The made-up pages come in families of twenty that differ little, and a question is made of noisy
copies of one page's vectors, so the first ten places are near ties.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from shelves import cpu, cpu_flags, run_plainly, unit

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, WIDTH = 1024, 128
FAMILY = 20
COMPARED = 1000  # pages over which int8 and float32 are compared
LIKE, HEARD = 0.5, 0.6  # noise of a page in its family, and of a question's vector
PEERS = ("maxsim-cpu", "torch bfloat16", "lancedb")


def pages_of(count: int, rows: int, width: int, seed: int = 0) -> np.ndarray:
    """Return float32 ``[count, rows, width]`` of unit vectors, families of near duplicates."""
    random = np.random.default_rng(seed)
    pages = np.empty((count, rows, width), np.float32)
    for at in range(0, count, FAMILY):
        family = unit(random, rows, width)
        for n in range(at, min(at + FAMILY, count)):
            page = family + LIKE * unit(random, rows, width)
            pages[n] = page / np.linalg.norm(page, axis=1, keepdims=True)
    return pages


def questions_of(pages: np.ndarray, tokens: int, count: int, seed: int = 1) -> np.ndarray:
    """Return float32 ``[count, tokens, width]``: noisy copies of vectors of one page each."""
    random = np.random.default_rng(seed)
    queries = np.empty((count, tokens, pages.shape[2]), np.float32)
    for n in range(count):
        page = pages[random.integers(len(pages))]
        query = page[random.choice(len(page), tokens, replace=False)]
        query = query + HEARD * unit(random, *query.shape)
        queries[n] = query / np.linalg.norm(query, axis=1, keepdims=True)
    return queries


def blocked(pages: np.ndarray, query: np.ndarray, block: int = 4) -> np.ndarray:
    """Score pages as numpy does best: a few at a time, so that the products stay in the cache."""
    scores = np.empty(len(pages), np.float32)
    columns = np.ascontiguousarray(query.T)
    for at in range(0, len(pages), block):
        part = pages[at : at + block]
        product = part.reshape(-1, pages.shape[2]) @ columns
        best = product.reshape(len(part), -1, len(query)).max(axis=1)
        scores[at : at + block] = best.sum(axis=1)
    return scores / len(query)


def scanner(pages: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that scores all pages as a library does."""
    from pagetrail.index.loaded import Loaded, Part
    from pagetrail.index.maxsim import Question, Rows, quantise

    count, rows, width = pages.shape
    codes = np.empty((count * rows, width), np.uint8)
    scales = np.empty(count, np.float32)
    for n, page in enumerate(pages):
        codes[n * rows : (n + 1) * rows], shared = quantise(page, np.array([rows]))
        scales[n] = shared[0]
    starts = np.arange(0, count * rows + 1, rows)
    state = Loaded()
    keys = np.arange(count, dtype=np.int64)
    state.parts[1] = Part("bench", keys, Rows(codes, scales, starts, common=True), None, None)
    state._join()
    chosen = np.ones(count, bool)
    return lambda query: state.scan(Question.of(query), chosen)


def agreement(ours: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """Return the overlap of the first ten and whether the first is the same."""
    mine, theirs = np.argsort(-ours, kind="stable"), np.argsort(-exact, kind="stable")
    return len(set(mine[:10]) & set(theirs[:10])) / 10, float(mine[0] == theirs[0])


def peer_call(name: str, pages: np.ndarray, folder: Path) -> Callable[[np.ndarray], object]:
    """Return a peer's way to score pages; raises ImportError when it is absent."""
    if name == "maxsim-cpu":
        import maxsim_cpu

        return lambda query: maxsim_cpu.maxsim_scores(query, pages)
    if name == "torch bfloat16":
        import torch

        torch.set_num_threads(1)
        held = torch.from_numpy(pages).to(torch.bfloat16)

        def einsum(query: np.ndarray) -> object:
            asked = torch.from_numpy(query[None]).to(torch.bfloat16)
            parts = [
                torch.einsum("bnd,csd->bcns", asked, held[at : at + 128]).max(dim=3)[0].sum(dim=2)
                for at in range(0, len(held), 128)
            ]
            return torch.cat(parts, dim=1)

        return einsum
    import lancedb
    import pyarrow as pa

    kind = pa.list_(pa.list_(pa.float32(), pages.shape[2]))
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("vector", kind)])
    table = lancedb.connect(folder).create_table("pages", schema=schema)
    for at in range(0, len(pages), 50):
        inner = pa.FixedSizeListArray.from_arrays(
            pa.array(pages[at : at + 50].ravel()), pages.shape[2]
        )
        some = pages[at : at + 50]
        offsets = pa.array(np.arange(len(some) + 1, dtype=np.int32) * pages.shape[1])
        vectors = pa.ListArray.from_arrays(offsets, inner)
        ids = pa.array(np.arange(at, at + len(some)))
        table.add(pa.Table.from_arrays([ids, vectors], schema=schema))
    return lambda query: table.search(query).distance_type("cosine").limit(10).to_arrow()


def peer(name: str, count: int) -> None:
    """Measure a peer and print its seconds per page for both lengths of question, as JSON."""
    pages = pages_of(count, ROWS, WIDTH)
    with tempfile.TemporaryDirectory() as folder:
        call = peer_call(name, pages, Path(folder))
        seconds = {}
        for tokens in (20, 32):
            query = questions_of(pages, tokens, 1)[0]
            rounds = 1 if name == "lancedb" else 3
            seconds[tokens] = cpu(lambda q=query: call(q), rounds=rounds) / count
    print(json.dumps(seconds))


def peers(count: int) -> dict[str, dict[int, float]]:
    """Measure what is installed; returns CPU seconds per page by peer and length of question."""
    home = os.environ.get("PAGETRAIL_PEERS")
    if not home:
        print("  peers passed over: PAGETRAIL_PEERS names no environment")
        return {}
    found = {}
    for name in PEERS:
        command = [f"{home}/bin/python", __file__, "--peer", name, "--peer-pages", str(count)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            reason = run.stderr.strip().splitlines()[-1:] or ["no reason given"]
            print(f"  {name} passed over: {reason[0]}")
            continue
        found[name] = {int(t): s for t, s in json.loads(run.stdout.splitlines()[-1]).items()}
    return found


def two_threads(scan: Callable[[np.ndarray], np.ndarray], query: np.ndarray) -> float | None:
    """Return how much faster two cores are by the clock; None where there is only one."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        return None
    best = []
    for some in (cores[:1], cores):
        os.sched_setaffinity(0, some)
        seconds = []
        for _ in range(5):
            started = time.perf_counter()
            scan(query)
            seconds.append(time.perf_counter() - started)
        best.append(min(seconds))
    return best[0] / best[1]


def measure(pages: np.ndarray, count: int, theirs: dict[str, dict[int, float]]) -> None:
    scan, part = scanner(pages), scanner(pages[:COMPARED])
    whole = os.sched_getaffinity(0)
    for tokens in (20, 32):
        queries = questions_of(pages, tokens, count)
        os.sched_setaffinity(0, {min(whole)})
        ours = [cpu(lambda q=q: scan(q)) for q in queries[:5]]
        numpy = [cpu(lambda q=q: blocked(pages, q)) for q in queries[:5]]
        one = float(np.median(ours)) / len(pages)
        rows = {"numpy float32, blocked": float(np.median(numpy)) / len(pages)}
        rows |= {name: seconds[tokens] for name, seconds in theirs.items()}
        print(f"{tokens} vectors a question: CPU ms per 1,000 pages, one thread")
        print(f"  {'pagetrail int8':<26}{one * 1e6:10.1f}")
        for name, seconds in rows.items():
            print(f"  {name:<26}{seconds * 1e6:10.1f}{seconds / one:8.1f} x")
        some = pages[:COMPARED]
        queries = questions_of(some, tokens, count)
        same = np.mean([agreement(part(q), blocked(some, q)) for q in queries], axis=0)
        print(
            f"  as float32, {count} questions, {len(some):,} pages: "
            f"top 10 {same[0]:.4f}, first place {same[1]:.4f}"
        )
        os.sched_setaffinity(0, whole)
        faster = two_threads(scan, queries[0])
        os.sched_setaffinity(0, whole)
        print("  one core only" if faster is None else f"  two threads: {faster:.2f} x one")


def main() -> None:
    run_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--peer-pages", type=int, default=500)
    parser.add_argument("--peer", choices=PEERS)
    arguments = parser.parse_args()
    if arguments.peer:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        peer(arguments.peer, arguments.peer_pages)
        return
    print(f"{arguments.pages:,} pages x {ROWS:,} x {WIDTH}; processor: {cpu_flags()}")
    theirs = peers(arguments.peer_pages)
    measure(pages_of(arguments.pages, ROWS, WIDTH), arguments.questions, theirs)


if __name__ == "__main__":
    main()
