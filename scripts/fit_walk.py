"""Fit the chances by which a walk chooses pages, and report what they do on documents held out.

Run: ``PAGETRAIL_DATA=... python scripts/fit_walk.py --library DIR [--start RECIPE] [--write]``; DIR
is a library of the development documents. Every answerable question is asked within its document,
of at least ``--least-pages`` pages; a perfect judge (the gold pages) answers the walk.

The choice of a page is a conditional logit fitted by penalised likelihood (L2) on states that the
walk itself comes to: at each of them, the chance that the softmax gives to any page with evidence
that is left. A state weighs as much as there is still to gain for recall@3. Figures are of both
halves of the documents, each walked with weights fitted on the other, for several divisions; the
weights written at the end are fitted on all documents.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "bench"))

from bench_retrieval import questions  # type: ignore[import-not-found] # noqa: E402

import pagetrail  # noqa: E402
from pagetrail.recipes import recipe  # noqa: E402
from pagetrail.retrieve import walk as walking  # noqa: E402
from pagetrail.retrieve.frontier import FEATURES, Frontier  # noqa: E402
from pagetrail.retrieve.walk import Chances, Walk  # noqa: E402
from pagetrail.types import Query, Ranking, Verdict, page_id  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pagetrail import Library
    from pagetrail.types import Edge, Page

WEIGHTS = ROOT / "src" / "pagetrail" / "retrieve" / "walk.json"
SHARES = (0.05, 0.1, 0.25, 0.5)
DEPTH = 100_000
RIDGE, ROUNDS, JITTER = 0.2, 3, 0.5
STEPS = frozenset({*range(7), 8, 10, 12, 16, 20, 24, 32})  # steps of a walk that are learnt from
_JOINED = ("to_", "near", "several_near", "several_order")
SLOT = 3  # pages that count: recall@3


@dataclass
class Case:
    """One question with its ranking; implements what a walk asks of `ports.Resources`."""

    query: Query
    ranking: Ranking
    gold: frozenset[str]
    document: str
    total: int
    book: Mapping[str, Page]
    edges: Mapping[str, Sequence[Edge]]

    def page_total(self, query: Query) -> int:
        """Return the pages of the document."""
        del query
        return self.total

    def pages(self, ids: Sequence[str]) -> list[Page]:
        """Return pages of the document."""
        return [self.book[page] for page in ids]

    def neighbours(self, query: Query, ids: Sequence[str]) -> dict[str, Sequence[Edge]]:
        """Return the edges of pages."""
        del query
        return {page: self.edges.get(page, ()) for page in ids}

    def judge(self, judge: str, query: Query, ids: Sequence[str]) -> list[Verdict]:
        """Say what the gold says."""
        del judge, query
        return [Verdict(p, "judged", probability=float(p in self.gold)) for p in ids]


def load(library: Library, data: Path, start: str, least: int) -> list[Case]:
    """Return the questions on documents of at least so many pages."""
    documents = {d.name: d for d in library.documents() if d.page_count >= least}
    books: dict[str, tuple[dict[str, Page], dict[str, Any]]] = {}
    pipeline = recipe(start, DEPTH)
    cases = []
    for question in questions(data / "questions.jsonl"):
        document = documents.get(question.document)
        if document is None:
            continue
        found = library.search(question.text, documents=document.id, limit=DEPTH, pipeline=pipeline)
        if document.id not in books:
            channels = library._ready(pipeline)
            pages = {page.id: page for page in library._catalogue.iterate(document.id)}
            books[document.id] = (pages, dict(channels.neighbours(found.query, list(pages))))
        gold = frozenset(page_id(document.id, number) for _, number in question.evidence)
        cases.append(
            Case(found.query, found, gold, document.id, document.page_count, *books[document.id])
        )
    return cases


@dataclass
class State:
    """A moment of a walk: the columns of the pages left, which hold evidence, and its weight."""

    features: np.ndarray
    gold: np.ndarray
    weight: float


def states(case: Case, chances: Chances, rng: np.random.Generator, jitter: float) -> list[State]:
    """Walk through a case and return what it came to."""
    frontier = Frontier(case.query.text, case.ranking.hits)
    frontier.describe(case.pages(frontier.ids[:200]))
    vector = np.array([chances.weights.get(name, 0.0) for name in FEATURES])
    done: list[int] = []
    found: list[State] = []
    steps = min(len(case.ranking.hits) - 1, max(3, math.ceil(0.3 * case.total)), max(STEPS) + 1)
    for step in range(steps):
        features = frontier.features()
        left = np.ones(len(frontier), bool)
        left[done] = False
        gold = np.array([page in case.gold for page in frontier.ids])
        got, more = int(gold[done].sum()), int(gold[left].sum())
        if step in STEPS and more and got < SLOT:
            gain = min(more, SLOT - got) / len(case.gold) / math.sqrt(1 + step)
            found.append(State(features[left], gold[left].astype(float), gain))
        utility = features @ vector + rng.gumbel(size=len(frontier)) * jitter
        utility[done] = -np.inf
        row = int(np.argmax(utility))
        done.append(row)
        page = frontier.ids[row]
        new = frontier.judged(page, float(gold[row]), case.edges.get(page, ()))
        frontier.describe(case.book[p] for p in new if p in case.book)
    return found


def fit(cases: Sequence[Case]) -> Chances:
    """Return chances fitted on some cases."""
    chances = Chances({"rank": -1.0})
    rng = np.random.default_rng(0)
    known: list[State] = []
    for number in range(ROUNDS):
        for case in cases:
            known += states(case, chances, rng, JITTER if number else 0.0)
        chances = Chances(logit(known))
    return Chances(chances.weights, scale(cases, chances))


def logit(known: Sequence[State]) -> dict[str, float]:
    """Return the weights of the conditional logit."""
    table = np.concatenate([state.features for state in known])
    starts = np.cumsum([0, *(len(state.features) for state in known)])
    gold = np.concatenate([state.gold for state in known])
    weight = np.array([state.weight for state in known])
    spread = table.std(0)
    columns = (table - table.mean(0)) / np.where(spread > 1e-9, spread, 1.0)
    owner = np.repeat(np.arange(len(known)), np.diff(starts))

    def loss(vector: np.ndarray) -> tuple[float, np.ndarray]:
        utility = columns @ vector
        top = np.maximum.reduceat(utility, starts[:-1])
        raised = np.exp(utility - top[owner])
        total = np.add.reduceat(raised, starts[:-1])
        good = np.add.reduceat(raised * gold, starts[:-1]) + 1e-300
        pull = raised * gold / good[owner] - raised / total[owner]
        value = -(weight @ np.log(good / total)) / weight.sum() + RIDGE * vector @ vector
        slope = -((pull * weight[owner]) @ columns) / weight.sum() + 2 * RIDGE * vector
        return float(value), slope

    # Evidence on one page never makes the pages that it is joined to less likely.
    bounds = [(0, None) if name.startswith(_JOINED) else (None, None) for name in FEATURES]
    start = np.zeros(len(FEATURES))
    best = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    raw = np.where(spread > 1e-9, best / np.where(spread > 1e-9, spread, 1.0), 0.0)
    return dict(zip(FEATURES, np.round(raw, 4).tolist(), strict=True))


def scale(cases: Sequence[Case], chances: Chances) -> tuple[float, float, float, float]:
    """Return how log chances become probabilities: a logistic regression on walks of the cases."""
    rows, gold = [], []
    for case in cases:
        path = walking._Path(Walk(budget=1, batch=1), case.query, case.ranking, case)  # type: ignore[arg-type]
        for step in range(min(12, len(case.ranking.hits) - 1)):
            done = np.zeros(len(path.frontier), bool)
            done[list(path.verdicts)] = True
            found = max((v.probability or 0.0 for v in path.verdicts.values()), default=0.0)
            plain = Chances(chances.weights).of(path.frontier.features(), done, found)
            log_chance = np.log(plain[~done]) - np.log1p(-plain[~done])
            extra = np.tile([found, math.log1p(step)], (len(log_chance), 1))
            rows.append(np.column_stack([np.ones(len(extra)), log_chance, extra]))
            gold.append(
                [p in case.gold for p, d in zip(path.frontier.ids, done, strict=True) if not d]
            )
            path._ask([int(np.nanargmax(plain))], plain)
    table, said = np.concatenate(rows), np.concatenate(gold).astype(float)

    def loss(vector: np.ndarray) -> tuple[float, np.ndarray]:
        z = np.clip(table @ vector, -50, 50)
        value = np.logaddexp(0, z).mean() - (said * z).mean()
        return float(value), table.T @ (1 / (1 + np.exp(-z)) - said) / len(said)

    best = minimize(loss, np.array([0.0, 1.0, 0.0, 0.0]), jac=True, method="L-BFGS-B").x
    return tuple(np.round(best, 4).tolist())


def recall(ranked: Sequence[str], gold: frozenset[str]) -> list[float]:
    """Return recall@1, @3 and @5."""
    return [len(gold & set(ranked[:k])) / len(gold) for k in (1, 3, 5)]


def down(case: Case, budget: int) -> list[str]:
    """Return the ranking after so many of its first pages were judged."""
    ids = [hit.page for hit in case.ranking.hits]
    first = ids[:budget]
    good = [page for page in first if page in case.gold]
    return good + ids[budget:] + [page for page in first if page not in case.gold]


def walked(case: Case, budget: int, chances: Chances, batch: int = 1) -> list[str]:
    """Return the ranking after a walk."""
    walking.packaged = lambda: chances  # type: ignore[assignment]
    stage = Walk(budget=budget, batch=batch)
    ranking, _ = stage.run(case.query, case.ranking, case)  # type: ignore[arg-type]
    return [hit.page for hit in ranking.hits]


def compare(cases: Sequence[Case], chances: Chances, batch: int = 1) -> np.ndarray:
    """Return gain over judging down, ``[cases, shares, 2, 3]``: walk and down, recall@1/3/5."""
    rows = []
    for case in cases:
        budgets = [max(1, math.ceil(share * case.total)) for share in SHARES]
        rows.append(
            [
                [
                    recall(walked(case, b, chances, batch), case.gold),
                    recall(down(case, b), case.gold),
                ]
                for b in budgets
            ]
        )
    return np.array(rows)


def intervals(values: np.ndarray, groups: Sequence[str]) -> np.ndarray:
    """Return the 95 % interval of the mean, documents drawn with all their questions."""
    names = sorted(set(groups))
    index = np.array([names.index(group) for group in groups])
    sums = np.zeros((len(names), *values.shape[1:]))
    np.add.at(sums, index, values)
    counts = np.bincount(index).astype(float)
    draws = np.random.default_rng(0).integers(0, len(names), (4000, len(names)))
    means = sums[draws].sum(1) / counts[draws].sum(1).reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(np.percentile(means, [2.5, 97.5], axis=0))


def report(cases: Sequence[Case], divisions: int, batch: int) -> None:
    """Print what weights fitted on one half of the documents do on the other."""
    names = sorted({case.document for case in cases})
    rng = np.random.default_rng(1)
    tables = []
    for _ in range(divisions):
        half = set(rng.permutation(names)[: len(names) // 2])
        table = np.zeros((len(cases), len(SHARES), 2, 3))
        for side in (True, False):
            chances = fit([case for case in cases if (case.document in half) == side])
            rows = [n for n, case in enumerate(cases) if (case.document in half) != side]
            table[rows] = compare([cases[n] for n in rows], chances, batch)
        tables.append(table)
    mean = np.mean(tables, axis=0)
    low, high = intervals(mean[:, :, 0] - mean[:, :, 1], [case.document for case in cases])
    print(f"{'judged':>8}{'':>12}{'recall@1':>20}{'recall@3':>20}{'recall@5':>20}")
    for n, share in enumerate(SHARES):
        for m, name in enumerate(("walk", "down")):
            print(
                f"{share:>8.0%}{name:>12}" + "".join(f"{v:>20.3f}" for v in mean[:, n, m].mean(0))
            )
        gain = (mean[:, n, 0] - mean[:, n, 1]).mean(0)
        spans = [
            f"{g:+.3f} ({a:+.3f}..{b:+.3f})" for g, a, b in zip(gain, low[n], high[n], strict=True)
        ]
        print(f"{share:>8.0%}{'gain':>12}" + "".join(f"{s:>20}" for s in spans))


def main() -> None:
    """Fit, report, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, default=ROOT / ".bench" / "mmlongbench-dev")
    parser.add_argument("--start", default="default", help="recipe whose ranking is walked")
    parser.add_argument("--least-pages", type=int, default=20)
    parser.add_argument("--divisions", type=int, default=3)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    data = Path(os.environ["PAGETRAIL_DATA"]) / "mmlongbench-dev"
    with pagetrail.open(options.library) as library:
        cases = load(library, data, options.start, options.least_pages)
        print(f"{len(cases)} questions on {len({c.document for c in cases})} documents")
        if options.divisions:
            report(cases, options.divisions, options.batch)
        chances = fit(cases)
    for name, weight in chances.weights.items():
        print(f"{name:<18}{weight:>9.3f}")
    print("scale", chances.scale)
    if options.write:
        kept = {"weights": chances.weights, "scale": chances.scale}
        WEIGHTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
