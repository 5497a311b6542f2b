"""Fit the weights of the built-in text judge, and report what it does on documents held out.

Run: ``PAGETRAIL_DATA=... python scripts/fit_judge.py --library DIR [--write]``; DIR is a library of
the development documents. Every answerable question is asked within its document and within all
documents; the first twenty pages that the default search finds are judged, and those that hold
evidence are the positive ones. Figures are out of fold: five groups of documents, by the document
of the question. The weights written at the end are fitted on all questions.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "bench"))

from bench_retrieval import questions  # type: ignore[import-not-found] # noqa: E402

import pagetrail  # noqa: E402
from pagetrail.encoders.text import TextEncoder  # noqa: E402
from pagetrail.judge.calibrate import reliability  # noqa: E402
from pagetrail.judge.features import passages  # noqa: E402
from pagetrail.judge.text import TextJudge  # noqa: E402
from pagetrail.recipes import recipe  # noqa: E402
from pagetrail.types import Query, split_page_id  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pagetrail import Library
    from pagetrail.types import Page

WEIGHTS = ROOT / "src" / "pagetrail" / "judge" / "weights.json"
FOLDS, DEPTH, RIDGE = 5, 20, 2.0


@dataclass(frozen=True)
class Row:
    """One page judged for one question.

    ``bm25`` is minus the page's rank in the baseline within the same scope, ``found`` minus its
    rank in the search itself.
    """

    group: str
    case: int
    features: dict[str, float]
    bm25: float
    found: float
    positive: bool
    alone: bool


class Memory:
    """Cosines between questions and passages, every passage encoded once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._encoder = TextEncoder(threads=2)
        self._place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        parts = []
        known = list(self._place)
        for start in range(0, len(known), 500):
            parts.append(self._encoder.encode_queries(known[start : start + 500]).data)
            print(f"  {start + len(parts[-1])} of {len(known)} passages", flush=True)
        self._rows = np.concatenate(parts)

    def similarity(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one cosine per text."""
        vector = self._encoder.encode_queries([question]).data[0]
        cosines: list[float] = (self._rows[[self._place[t] for t in texts]] @ vector).tolist()
        return cosines


def read_rows(library: Library, data: Path) -> list[Row]:
    """Search for every question and describe the pages found."""
    asked = [q for n in ("questions", "questions-ohr") for q in questions(data / f"{n}.jsonl")]
    ids = {d.name: d.id for d in library.documents()}
    names = {d.id: d.name for d in library.documents()}
    sources = {d.id: d.source for d in library.documents()}
    found, pages = [], dict[str, "Page"]()
    for question in asked:
        for alone in (True, False):
            scope = [ids[question.document]] if alone else []
            ranked, lexical = (
                [
                    hit.page
                    for hit in library.search(
                        question.text,
                        documents=scope,
                        limit=limit,
                        pipeline=recipe(name, limit),
                    ).hits
                ]
                for name, limit in (("default", DEPTH), ("bm25", 200))
            )
            ranks = {page: i for i, page in enumerate(lexical)}
            found.append((question, alone, ranked, ranks))
            for page in ranked:
                if page not in pages:
                    document, number = split_page_id(page)
                    pages[page] = library.page(sources[document], number)
    print(f"{len(asked)} questions, {len(pages)} pages", flush=True)
    memory = Memory([text for page in pages.values() for text in passages(page)])
    judge = TextJudge(memory.similarity, table={})
    rows = []
    for case, (question, alone, ranked, ranks) in enumerate(found):
        made = judge.features(Query(question.text), [pages[p] for p in ranked])
        for rank, page in enumerate(ranked):
            if page in made:
                document, number = split_page_id(page)
                positive = (names[document], number) in question.evidence
                rows.append(
                    Row(question.document, case, made[page], -ranks.get(page, 200), -rank,
                        positive, alone)
                )  # fmt: skip
    return rows


def fit(x: np.ndarray, y: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the weights of a logistic regression with a ridge, by Newton's method.

    Args:
        x: float64 ``[n, d]``.
        y: 0 or 1, ``[n]``.
        free: 1 for weights that the ridge leaves alone.
    """
    w = np.zeros(x.shape[1])
    ridge = RIDGE * (1 - free) + 1e-9
    for _ in range(50):
        p = 0.5 + 0.5 * np.tanh(x @ w / 2)
        slope = x.T @ (p - y) + ridge * w
        bend = (x * (p * (1 - p))[:, None]).T @ x + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        w = w - step
        if np.abs(step).max() < 1e-8:
            break
    return w


def area(score: np.ndarray, y: np.ndarray) -> float:
    """Return the area under the ROC curve; ties count half."""
    order = np.argsort(score, kind="stable")
    _, place, count = np.unique(score[order], return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    rank = np.empty(len(score))
    rank[order] = (last - (count - 1) / 2)[place]
    n = y.sum()
    return float((rank[y > 0].sum() - n * (n + 1) / 2) / (n * (len(y) - n)))


def within(score: np.ndarray, y: np.ndarray, case: np.ndarray) -> tuple[float, float]:
    """Return, over questions with both kinds of page, the mean area and the share led rightly."""
    areas, first = [], []
    for number in np.unique(case):
        at = case == number
        if 0 < y[at].sum() < at.sum():
            areas.append(area(score[at], y[at]))
            first.append(y[at][score[at].argmax()])
    return float(np.mean(areas)), float(np.mean(first))


def report(title: str, score: np.ndarray, y: np.ndarray, case: np.ndarray) -> None:
    """Print how well a score tells pages apart, over all questions and within each."""
    each, first = within(score, y, case)
    print(
        f"  {title:32} AUC over all {area(score, y):.3f}, within questions {each:.3f}, "
        f"first page right {first:.3f}"
    )


def main() -> None:
    """Fit, report, and write when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="replace the packaged weights")
    options = parser.parse_args()
    if "PAGETRAIL_DATA" not in os.environ:
        parser.error("PAGETRAIL_DATA must name the folder that holds mmlongbench-dev")
    data = Path(os.environ["PAGETRAIL_DATA"]) / "mmlongbench-dev"
    with pagetrail.open(options.library, create=False) as library:
        rows = read_rows(library, data)
    names = list(rows[0].features)
    x = np.array([[r.features[n] for n in names] for r in rows])
    y = np.array([float(r.positive) for r in rows])
    case = np.array([r.case for r in rows])
    alone = np.array([r.alone for r in rows])
    free = np.array([float(n == "bias") for n in names])
    groups = sorted({r.group for r in rows})
    random.Random(7).shuffle(groups)
    place = {g: i % FOLDS for i, g in enumerate(groups)}
    fold = np.array([place[r.group] for r in rows])
    z, plain = np.zeros(len(y)), np.zeros(len(y))
    cosine = x[:, [names.index("bias"), names.index("cosine")]]
    for k in range(FOLDS):
        held = fold == k
        z[held] = x[held] @ fit(x[~held], y[~held], free)
        plain[held] = cosine[held] @ fit(cosine[~held], y[~held], np.array([1.0, 0.0]))
    print(f"{len(y)} pages judged, {y.mean():.3f} of them hold evidence; out of fold:")
    bm25, found = np.array([r.bm25 for r in rows]), np.array([r.found for r in rows])
    for title, part in (("within the document", alone), ("within all documents", ~alone)):
        print(f"{title}: {int(part.sum())} pages, {y[part].mean():.3f} positive")
        for name, score in (
            ("judge", z),
            ("cosine alone", plain),
            ("rank by BM25", bm25),
            ("rank by the search itself", found),
        ):
            report(name, score[part], y[part], case[part])
    for name, score in (("judge", z), ("cosine alone", plain)):
        table = reliability((0.5 + 0.5 * np.tanh(score / 2)).tolist(), (y > 0).tolist())
        print(f"{name}: expected calibration error {table.error:.4f}, Brier {table.brier:.4f}")
        for b in table.bins:
            print(f"    predicted {b.predicted:.3f}  positive {b.positive:.3f}  of {b.count}")
    final = fit(x, y, free)
    weights = {n: round(float(w), 3) for n, w in zip(names, final, strict=True)}
    print(json.dumps(weights, indent=1))
    if options.write:
        WEIGHTS.write_text(json.dumps(weights, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"wrote {WEIGHTS}")


if __name__ == "__main__":
    main()
