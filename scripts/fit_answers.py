"""Fit the weights of the built-in answers: which candidate is best, and when to abstain.

Run: ``PAGETRAIL_DATA=... python scripts/fit_answers.py --library DIR [--write]``; DIR is a library
of the development documents. Both models are cross-fitted over five groups of documents: every
figure printed is for documents that the weights in use were not fitted on (the drafts that a gate
is fitted on come from rankers that may have seen its test documents; no label of a test document
enters the gate itself). The weights written at the end are fitted on all documents.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "bench"))

from bench_answer import read_questions  # type: ignore[import-not-found] # noqa: E402
from mmlongbench import score  # type: ignore[import-not-found] # noqa: E402

from pagetrail.answer.extract import ExtractiveReader, drafts_of  # noqa: E402
from pagetrail.answer.gate import signals_of  # noqa: E402
from pagetrail.answer.question import Question, understand  # noqa: E402
from pagetrail.answer.rank import group_of, score_of  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pagetrail import Library
    from pagetrail.answer.candidates import Candidate
    from pagetrail.types import Page, Ranking

WEIGHTS = ROOT / "src" / "pagetrail" / "answer" / "weights.json"
GROUPS = ("quantity", "phrase", "sentence")
# Weights set by judgement before any were fitted; a fit is pulled towards them.
_COMMON = {"unit": 2.0, "own": 0.5, "covered": 1.0, "prior": 0.8, "order": 0.5, "near": 0.8}
_COMMON |= {"similarity": 1.0, "pair": 1.0, "field": 1.0, "tile": 0.5, "run": 0.5}
_COMMON |= {"opens": -0.5, "label_cell": -0.5, "digits": -1.5, "letterless": -1.5}
_COMMON |= {"ragged": -0.5, "member": 1.0}
# A heading or caption may hold a figure that is asked for, but hardly a phrase.
_HEADING = {"heading": -1.0}
START: dict[str, dict[str, float]] = {
    "quantity": _COMMON | {"fit": 1.5, "near": 1.5, "echo": -1.0, "length": -0.3, "head": 0.3},
    "phrase": _COMMON
    | _HEADING
    | {"fit": 1.2, "echo": -1.5, "length": -0.8, "head": 0.3, "proper": 0.8, "listed": 0.8}
    | {"extreme": 1.0, "cell": 0.3, "next": 0.3}
    | {"code": 1.0, "email": 2.0, "link": 2.0, "phone": 2.0},
    "sentence": _COMMON
    | _HEADING
    | {"fit": 0.5, "length": -0.8, "tight": 0.5, "whole": 0.5, "extreme": 1.0},
}
SPEAKS_FOR = {"draft_" + n for n in _COMMON if _COMMON[n] > 0} | {"margin", "lead", "same_page"}
SPEAKS_FOR |= {"ahead"}
SPEAKS_FOR |= {"draft_fit", "draft_tight", "draft_agree", "draft_rest"}
SPEAKS_AGAINST = {"draft_" + n for n in _COMMON if _COMMON[n] < 0} | {"missing", "missing_name"}
SPEAKS_AGAINST |= {"computed", "visual"}
FOLDS = 5
KEPT = 80  # candidates per question that enter the fit
FEWEST = 20  # answers shown from which their mean rightness counts
PENALTY, GATE_PENALTY = 3.0, 3.0
MAIN_WEIGHT = 2.0  # of a question of the main set against one of the single-page set


@dataclass
class Case:
    """A question in one protocol, its candidates and how right each is, 0..1."""

    row: dict[str, Any]
    question: Question
    ranking: Ranking
    pages: list[Page]
    alone: bool
    found: list[tuple[Candidate, dict[str, float]]]
    gains: list[float]
    scores: list[float] = field(default_factory=list)

    @property
    def main(self) -> bool:
        return "task_type" in self.row or "molorag_id" in self.row


def make_case(
    row: dict[str, Any],
    ranking: Ranking,
    pages: list[Page],
    *,
    alone: bool,
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None = None,
) -> Case:
    """Read the pages and score every candidate against the gold answer."""
    question = understand(row["question"])
    found, _, _ = ExtractiveReader(similarity).candidates(question, ranking, pages)
    known: dict[str, float] = {}
    for candidate, _ in found:
        if candidate.text not in known:
            right = score(str(row["answer"]), candidate.text, row["kind"])
            known[candidate.text] = right if row.get("answerable", True) else 0.0
    gains = [known[c.text] for c, _ in found]
    return Case(row, question, ranking, pages, alone, found, gains)


def read_cases(library: Library, rows: Iterable[dict[str, Any]], *, alone: bool) -> list[Case]:
    """Search and read for every question."""
    from pagetrail.encoders.text import TextEncoder
    from pagetrail.types import split_page_id

    encoder = TextEncoder()

    def similarity(question: str, texts: Sequence[str]) -> list[float]:
        vectors = encoder.encode_queries([question, *texts]).data
        cosines: list[float] = (vectors[1:] @ vectors[0]).tolist()
        return cosines

    ids = {d.name: d.id for d in library.documents()}
    names = {d.id: d.source for d in library.documents()}
    cases = []
    for row in rows:
        scope = [ids[row["doc"]]] if alone else []
        ranking = library.search(row["question"], documents=scope, limit=50)
        places = [split_page_id(h.page) for h in ranking.hits[: library.settings.answer.pages]]
        pages = [library.page(names[document], number) for document, number in places]
        case = make_case(row, ranking, pages, alone=alone, similarity=similarity)
        cases.append(case)
    return cases


def folds_of(cases: Sequence[Case]) -> np.ndarray:
    """Return the fold of each case; all questions on a document share one."""
    documents = sorted({c.row["doc"] for c in cases})
    random.Random(7).shuffle(documents)
    place = {name: i % FOLDS for i, name in enumerate(documents)}
    return np.array([place[c.row["doc"]] for c in cases])


def fit_ranker(cases: Sequence[Case], start: dict[str, float]) -> dict[str, float]:
    """Fit one group's weights: the softmax over the candidates shall fall on right ones.

    The ridge pulls towards ``start``, weights set by judgement, so that little data moves little,
    and what judgement says speaks for (or against) an answer never comes to speak the other way.
    """
    cases = [c for c in cases if max(c.gains, default=0.0) > 0]
    names = sorted({name for c in cases for _, f in c.found for name in f} | set(start))
    prior = np.array([start.get(name, 0.0) for name in names])
    place = {name: i for i, name in enumerate(names)}
    x = np.zeros((len(cases), KEPT, len(names)))
    gain = np.zeros((len(cases), KEPT))
    mask = np.full((len(cases), KEPT), -1e9)
    for a, case in enumerate(cases):
        now = [sum(start.get(n, 0.0) * v for n, v in f.items()) for _, f in case.found]
        best = sorted(range(len(now)), key=lambda i: -now[i])
        for b, i in enumerate(best[:KEPT]):
            gain[a, b], mask[a, b] = case.gains[i], 0.0
            for name, value in case.found[i][1].items():
                x[a, b, place[name]] = value
    kept = gain.max(axis=1) > 0
    x, gain, mask = x[kept], gain[kept], mask[kept]
    share = np.array([MAIN_WEIGHT if c.main else 1.0 for c in cases])[kept]

    def slope(w: np.ndarray) -> np.ndarray:
        p = np.exp((z := x @ w + mask) - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        aim = p * gain
        aim /= aim.sum(axis=1, keepdims=True) + 1e-12
        pull = np.einsum("qc,qcf->qf", aim - p, x)
        total: np.ndarray = (
            (pull * share[:, None]).sum(axis=0) - PENALTY * (w - prior)
        ) / share.sum()
        return total

    w = climb(slope, prior)
    return {n: round(float(v), 2) for n, v in zip(names, w, strict=True) if abs(v) >= 0.01}


def climb(
    slope: Callable[[np.ndarray], np.ndarray], start: np.ndarray, steps: int = 250
) -> np.ndarray:
    """Maximise a function given its slope, by Adam; what starts with a sign does not change it."""
    w, m, v = start.copy(), np.zeros(len(start)), np.zeros(len(start))
    for t in range(1, steps + 1):
        g = slope(w)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        w = w + 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
        w = np.where(w * start < 0, 0.0, w)
    return w


def best_drafts(case: Case, tables: dict[str, dict[str, float]]) -> tuple[list[Any], float]:
    """Return a case's drafts under given weights, and how right the first is."""
    if case.question.kind == "yes_no":
        scores = [score_of(case.question, f) for _, f in case.found]
    else:
        table = tables[group_of(case.question)]
        scores = [sum(table.get(n, 0.0) * v for n, v in f.items()) for _, f in case.found]
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    drafts = drafts_of([(scores[i], *case.found[i]) for i in order])
    return drafts, case.gains[order[0]] if order else 0.0


def fit_gate(
    signals: Sequence[dict[str, float]], right: np.ndarray, share: np.ndarray
) -> dict[str, float]:
    """Fit the gate: logistic regression with a ridge, the bias left free.

    Better evidence never lowers the probability, and worse never raises it.
    """
    names = sorted({n for s in signals for n in s})
    x = np.array([[s.get(n, 0.0) for n in names] for s in signals])
    free = np.array([0.0 if n == "bias" else 1.0 for n in names])

    def slope(w: np.ndarray) -> np.ndarray:
        p = 1 / (1 + np.exp(-(x @ w)))
        total: np.ndarray = (((right - p) * share) @ x - GATE_PENALTY * free * w) / share.sum()
        return total

    signs = [1e-6 * ((n in SPEAKS_FOR) - float(n in SPEAKS_AGAINST)) for n in names]
    w = climb(slope, np.array(signs), 600)
    return {n: round(float(v), 2) for n, v in zip(names, w, strict=True)}


def confidence(table: dict[str, float], signals: dict[str, float]) -> float:
    """Return the gate's probability."""
    return float(1 / (1 + np.exp(-sum(table.get(n, 0.0) * v for n, v in signals.items()))))


def cross_fit(cases: list[Case]) -> tuple[list[dict[str, float]], np.ndarray, np.ndarray]:
    """Return signals, rightness and out-of-fold confidence of each case's first draft."""
    fold = folds_of(cases)
    tables = []
    for k in range(FOLDS):
        held = [c for c, f in zip(cases, fold, strict=True) if f != k and c.alone]
        tables.append({g: fit_ranker([c for c in held if _fits(c, g)], START[g]) for g in GROUPS})
    signals, right = [], np.zeros(len(cases))
    for i, case in enumerate(cases):
        drafts, right[i] = best_drafts(case, tables[fold[i]])
        signals.append(
            signals_of(case.question, drafts, case.ranking, case.pages) if drafts else {}
        )
    share = np.array([MAIN_WEIGHT if c.main else 1.0 for c in cases])
    sure = np.zeros(len(cases))
    for k in range(FOLDS):
        train = [i for i in range(len(cases)) if fold[i] != k and signals[i]]
        gate = fit_gate([signals[i] for i in train], right[train], share[train])
        for j in np.flatnonzero(fold == k):
            sure[j] = confidence(gate, signals[j]) if signals[j] else 0.0
    return signals, right, sure


def _fits(case: Case, group: str) -> bool:
    return group_of(case.question) == group and case.question.kind != "yes_no"


def report(
    title: str, cases: Sequence[Case], right: np.ndarray, sure: np.ndarray, limits: Sequence[float]
) -> None:
    """Print what would be said and withheld at several thresholds."""
    answerable = np.array([bool(c.row.get("answerable", True)) for c in cases])
    # Rows whose gold is "none" though they count as answerable are right when nothing is said.
    silent_gain = np.array([float(c.row["kind"] == "None") for c in cases])
    print(
        f"\n{title}: {len(cases)} questions, {int((~answerable).sum())} unanswerable; first draft "
        f"right {right[answerable].mean():.3f} of the answerable"
    )
    error = [abs(right[b].mean() - sure[b].mean()) * b.sum() for b in _bins(sure)]
    print(
        f"  mean confidence {sure.mean():.3f}, right {right.mean():.3f}, calibration error "
        f"{sum(error) / len(sure):.3f}, area under ROC: right {_area(right > 0, sure):.3f}, "
        f"answerable {_area(answerable, sure):.3f}"
    )
    for limit in limits:
        said = sure >= limit
        total = np.where(said, right * answerable, silent_gain).mean()
        kept = right[said].mean() if said.any() else float("nan")
        precision = (~answerable[~said]).mean() if (~said).any() else float("nan")
        recall = (~said[~answerable]).mean() if (~answerable).any() else float("nan")
        print(
            f"  at {limit:.2f}: answers {said.mean():.2f}, right among them {kept:.3f}, "
            f"typed accuracy {total:.3f}, abstention precision {precision:.3f} recall {recall:.3f}"
        )


def _bins(sure: np.ndarray) -> list[np.ndarray]:
    edges = np.quantile(sure, np.linspace(0, 1, 11))
    place = np.clip(np.searchsorted(edges, sure, side="right") - 1, 0, 9)
    return [place == b for b in range(10) if (place == b).any()]


def _area(positive: np.ndarray, sure: np.ndarray) -> float:
    a, b = sure[positive], sure[~positive]
    if not len(a) or not len(b):
        return float("nan")
    return float((a[:, None] > b).mean() + 0.5 * (a[:, None] == b).mean())


def choose(right: np.ndarray, sure: np.ndarray, precision: float) -> float:
    """Return the lowest threshold, in hundredths, from which on answers shown are right enough.

    Args:
        right: How right each first draft is, 0..1.
        sure: Its out-of-fold confidence.
        precision: Mean rightness that the drafts shown shall reach, 0..1.
    """
    found = 1.0
    for limit in np.arange(99, 0, -1) / 100:
        said = sure >= limit
        if said.sum() < FEWEST or right[said].mean() >= precision:
            found = float(limit)
        else:
            break
    return found


def fit_all(cases: list[Case], precision: float) -> dict[str, dict[str, float]]:
    """Report out-of-fold figures, then fit on everything and return the tables.

    The threshold is the lowest at which the mean rightness of what is shown for single-page
    questions asked of the whole corpus reaches ``precision``.
    """
    signals, right, sure = cross_fit(cases)
    single = np.array([not c.main and not c.alone for c in cases])
    threshold = choose(right[single], sure[single], precision)
    print(f"threshold {threshold:.2f}: at least {precision} right of what is shown")
    limits = sorted({threshold, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5})
    for main in (True, False):
        for alone in (True, False):
            held = [i for i, c in enumerate(cases) if c.main == main and c.alone == alone]
            if held:
                name = "questions" if main else "single-page questions"
                title = f"{name}, {'in the document' if alone else 'in the corpus'}"
                report(title, [cases[i] for i in held], right[held], sure[held], limits)
    ranked = [c for c in cases if c.alone]
    tables = {g: fit_ranker([c for c in ranked if _fits(c, g)], START[g]) for g in GROUPS}
    kept = [i for i, s in enumerate(signals) if s]
    share = np.array([MAIN_WEIGHT if c.main else 1.0 for c in cases])
    # The gate learns from out-of-fold drafts: those of the final ranker look better than they are.
    tables["gate"] = fit_gate([signals[i] for i in kept], right[kept], share[kept])
    tables["threshold"] = {"confidence": threshold}
    return tables


def main() -> None:
    """Fit, report, and write when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument(
        "--precision", type=float, default=0.45, help="share of shown answers that shall be right"
    )
    parser.add_argument("--write", action="store_true", help="replace the packaged weights")
    options = parser.parse_args()
    import pagetrail

    if "PAGETRAIL_DATA" not in os.environ:
        parser.error("PAGETRAIL_DATA must name the folder that holds mmlongbench-dev")
    data = Path(os.environ["PAGETRAIL_DATA"]) / "mmlongbench-dev"
    with pagetrail.open(options.library, create=False) as library:
        cases = []
        for name in ("questions", "questions-ohr"):
            rows = read_questions(data / f"{name}.jsonl")
            for alone in (True, False):
                cases += read_cases(library, rows, alone=alone)
    tables = fit_all(cases, options.precision)
    if options.write:
        WEIGHTS.write_text(json.dumps(tables, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"wrote {WEIGHTS}")
    else:
        print(json.dumps(tables, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
