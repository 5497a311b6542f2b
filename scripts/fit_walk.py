"""Fit the chances by which a walk chooses pages, and report what they do on documents held out.

Run: ``PAGETRAIL_DATA=... python scripts/fit_walk.py --library DIR [--start RANKING] [--write]``;
DIR is a library of the development documents. Every answerable question is asked within its
document, of at least ``--least-pages`` pages; a perfect judge (the gold pages) answers the walk.

The same questions are learnt from with the rankings of four recipes: what an edge is worth should
not depend on who found the first pages.

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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

import pagetrail
from pagetrail.evaluate.noise import GoldJudge
from pagetrail.recipes import recipe
from pagetrail.replaying import load_cases
from pagetrail.retrieve.frontier import FEATURES, Frontier
from pagetrail.retrieve.fuse import fuse
from pagetrail.retrieve.pipeline import Search
from pagetrail.retrieve.walk import Chances, Walk, _Path
from pagetrail.studying import curves

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pagetrail import Library
    from pagetrail.evaluate.curves import Point
    from pagetrail.replaying import Case
    from pagetrail.retrieve.pipeline import Pipeline
    from pagetrail.types import Ranking

ROOT = Path(__file__).resolve().parent.parent
WEIGHTS = ROOT / "src" / "pagetrail" / "retrieve" / "walk.json"
DEPTH = 100_000
STARTS = ("default", "plain", "bm25", "dense")
RIDGE, ROUNDS, JITTER = 0.2, 3, 0.5
STEPS = frozenset({*range(7), 8, 10, 12, 16, 20, 24, 32})  # steps of a walk that are learnt from
_JOINED = ("to_", "near", "several_near", "several_order")
SLOT = 3  # pages that count: recall@3


def ranking_of(start: str) -> Pipeline:
    """Return the pipeline of a recipe, or of ``plain``: words and meaning without anything else."""
    if start == "plain":
        return fuse(Search("pages"), Search("blocks"), Search("dense"))
    return recipe(start, DEPTH)


def load(library: Library, data: Path, start: str, least: int) -> list[Case]:
    """Return the questions on documents of at least so many pages."""
    pipeline = ranking_of(start)

    def search(question: str, document: str) -> Ranking:
        return library.search(question, documents=document, limit=DEPTH, pipeline=pipeline)

    channels, documents = library._ready(pipeline), library.documents()
    return load_cases(channels, documents, search, data, least=least)[0]


@dataclass
class State:
    """A moment of a walk: the columns of the pages left, which hold evidence, and its weight."""

    features: np.ndarray
    gold: np.ndarray
    weight: float


def states(case: Case, chances: Chances, rng: np.random.Generator, jitter: float) -> list[State]:
    """Walk through a case and return what it came to."""
    world = case.resources(GoldJudge())
    frontier = Frontier(case.ranking.query.text, case.ranking.hits)
    frontier.describe(world.pages(frontier.ids[:200]))
    vector = np.array([chances.weights.get(name, 0.0) for name in FEATURES])
    done: list[int] = []
    found: list[State] = []
    steps = min(len(case.ranking.hits) - 1, max(3, math.ceil(0.3 * case.pages)), max(STEPS) + 1)
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
        frontier.describe(world.pages(new))
    return found


def fit(cases: Sequence[Case], only: Collection[str] = FEATURES) -> Chances:
    """Return chances fitted on some cases, by some of the columns."""
    chances = Chances({"rank": -1.0})
    rng = np.random.default_rng(0)
    known: list[State] = []
    for number in range(ROUNDS):
        for case in cases:
            known += states(case, chances, rng, JITTER if number else 0.0)
        chances = Chances(logit(known, only))
    return Chances(chances.weights, scale(cases, chances))


def logit(known: Sequence[State], only: Collection[str]) -> dict[str, float]:
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
    bounds = [_bounds(name) if name in only else (0.0, 0.0) for name in FEATURES]
    start = np.zeros(len(FEATURES))
    best = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    raw = np.where(spread > 1e-9, best / np.where(spread > 1e-9, spread, 1.0), 0.0)
    return dict(zip(FEATURES, np.round(raw, 4).tolist(), strict=True))


def _bounds(name: str) -> tuple[float | None, float | None]:
    return (0.0 if name.startswith(_JOINED) else None), None


def scale(cases: Sequence[Case], chances: Chances) -> tuple[float, float, float, float]:
    """Return how log chances become probabilities: a logistic regression on walks of the cases."""
    rows, gold = [], []
    for case in cases:
        path = _Path(
            Walk(budget=1, batch=1),
            chances,
            case.ranking.query,
            case.ranking,
            case.resources(GoldJudge()),
        )
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


def load_all(library: Library, data: Path, least: int) -> dict[str, list[Case]]:
    """Return the questions with the ranking of each of `STARTS`."""
    return {start: load(library, data, start, least) for start in STARTS}


def halves(known: Mapping[str, Sequence[Case]], divisions: int) -> Iterator[dict[str, Chances]]:
    """Yield chances by document, fitted on the half of the documents that it is not in.

    Args:
        known: From `load_all`; all rankings are learnt from.
        divisions: How many times the documents are divided.
    """
    cases = [case for found in known.values() for case in found]
    names = sorted({case.document for case in cases})
    rng = np.random.default_rng(1)
    for _ in range(divisions):
        half = set(rng.permutation(names)[: len(names) // 2])
        fitted = {
            side: fit([case for case in cases if (case.document in half) == side])
            for side in (True, False)
        }
        yield {name: fitted[name not in half] for name in names}


def report(known: Mapping[str, Sequence[Case]], start: str, divisions: int, batch: int) -> None:
    """Print what weights fitted on one half of the documents do on the other."""
    cases = known[start]
    for number, chances in enumerate(halves(known, divisions), 1):
        found = curves(cases, [GoldJudge()], chances=chances, batch=batch)
        print(f"division {number}")
        for point in (point for points in found.values() for point in points):
            print(line(point))


def line(point: Point) -> str:
    """Return a point of a curve as a line of text."""
    budget = f"{point.judged if point.budget is None else point.budget:>6.1%}"
    recall = "".join(f"{value:>8.3f}" for value in point.recall)
    return f"{budget}{point.method:>14}{recall}   " + "  ".join(
        map(str, (*point.gain[1:2], *point.seen_gain[1:2]))
    )


def main() -> None:
    """Fit, report, and write when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, default=ROOT / ".bench" / "mmlongbench-dev")
    parser.add_argument(
        "--start", default="default", choices=STARTS, help="ranking that is walked in the report"
    )
    parser.add_argument("--least-pages", type=int, default=20)
    parser.add_argument("--divisions", type=int, default=3)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    data = Path(os.environ["PAGETRAIL_DATA"]) / "mmlongbench-dev"
    with pagetrail.open(options.library) as library:
        known = load_all(library, data, options.least_pages)
        cases = known[options.start]
        print(f"{len(cases)} questions on {len({c.document for c in cases})} documents")
        if options.divisions:
            report(known, options.start, options.divisions, options.batch)
        chances = fit([case for found in known.values() for case in found])
        plain = fit(cases, ["rank"])
    for name, weight in chances.weights.items():
        print(f"{name:<18}{weight:>9.3f}")
    print("scale", chances.scale)
    print("by rank alone", plain.weights["rank"], plain.scale)
    if options.write:
        kept = {"weights": chances.weights, "scale": chances.scale}
        WEIGHTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
