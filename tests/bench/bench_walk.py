"""What the page graph adds: recall against pages judged, and what each kind of edge reaches.

Every answerable question on a development document of at least ``--least-pages`` pages is asked
within its document. A judge that knows the gold pages answers, then the same with errors (15 % of
grades off by one or two, 5 % of verdicts failed), then, with ``--text N``, the built-in judge.
The walk goes by weights fitted on one half of the documents and is reported on the other, both
ways, for several divisions; the gain is the paired difference to judging down the same ranking at
the same budget, with a 95 % interval over documents. ``down, rescored`` judges down the ranking and
then ranks as the walk does: what it lacks to the walk is the choice of pages.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench_retrieval import build

from pagetrail.evaluate.charts import aligned, curve_table, reach_table
from pagetrail.evaluate.curves import curve_points
from pagetrail.evaluate.noise import GoldJudge
from pagetrail.recipes import trusted
from pagetrail.replaying import LibraryJudge
from pagetrail.retrieve.walk import Walk, _Path
from pagetrail.studying import (
    SHARES,
    beams,
    curves,
    down,
    handed_on,
    outcome,
    reaches,
    walking,
    weigh,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pagetrail.evaluate.curves import Outcome, Point
    from pagetrail.replaying import AnyJudge, Case
    from pagetrail.retrieve.walk import Chances

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
METHODS = {"down": down, "weigh": weigh}
FALL = 0.05  # of recall@3 by which errors of the judge may lower a curve

Key = tuple[str, float | None]


def pages(case: Case, share: float) -> int:
    """Return how many pages of a case's document may be judged."""
    return max(1, math.ceil(share * case.pages))


def plain(cases: Sequence[Case], judge: AnyJudge) -> dict[Key, list[Outcome]]:
    """Return what every method does that has no weights: down the ranking, published beams."""
    found: dict[Key, list[Outcome]] = {
        (name, share): [method(case, pages(case, share), judge) for case in cases]
        for share in SHARES
        for name, method in METHODS.items()
    }
    for name, stage in beams("dense").items():
        found[name, None] = [outcome(case, stage, judge) for case in cases]
    return found


class Down(_Path):
    """Judges the first pages of the ranking, and ranks as the walk does."""

    def go(self) -> str:
        """Judge as many as the budget allows."""
        count = self.walk.most(self.resources.page_total(self.query))
        for row in range(min(count, len(self.ranking.hits))):
            self._ask([row], self._chances())
        return "budget_spent"


def rescored(case: Case, budget: int, judge: AnyJudge, chances: Chances) -> Outcome:
    """Return what judging down the ranking does when the rest is done as the walk does it."""
    trust = trusted(judge.name if isinstance(judge, LibraryJudge) else "")
    stage = Walk(budget=budget, batch=1, trust=trust)
    path = Down(stage, chances, case.ranking.query, case.ranking, case.resources(judge))
    path.go()
    return handed_on(case, path.ranked(), {visit.page for visit in path.visits()})


def walked(
    cases: Sequence[Case], judge: AnyJudge, chances: dict[str, Chances], batch: int
) -> dict[Key, list[Outcome]]:
    """Return what the walk does, by the weights of each document."""
    found: dict[Key, list[Outcome]] = {}
    for share in SHARES:
        for case in cases:
            budget, how = pages(case, share), chances[case.document]
            found.setdefault(("walk", share), []).append(walking(case, budget, judge, how, batch))
            other = rescored(case, budget, judge, how)
            found.setdefault(("down, rescored", share), []).append(other)
    return found


def curve(
    cases: Sequence[Case], judge: AnyJudge, divisions: Sequence[dict[str, Chances]], batch: int
) -> list[Point]:
    """Return the curves of one judge; a question counts once for each division."""
    found = {key: rows * len(divisions) for key, rows in plain(cases, judge).items()}
    for chances in divisions:
        for key, rows in walked(cases, judge, chances, batch).items():
            found.setdefault(key, []).extend(rows)
    clusters = [case.document for case in cases] * len(divisions)
    points = curve_points(found, clusters, "down")
    return sorted(points, key=lambda point: (point.budget or math.inf, point.method))


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, default=ROOT / ".bench" / "mmlongbench-dev")
    parser.add_argument("--start", default="default", help="ranking that is walked, see fit_walk")
    parser.add_argument("--least-pages", type=int, default=20)
    parser.add_argument("--divisions", type=int, default=3)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument(
        "--text", type=int, metavar="N", help="ask the built-in judge about N pages a question too"
    )
    options = parser.parse_args()
    data = Path(os.environ.get("PAGETRAIL_DATA", "")) / "mmlongbench-dev"
    if "PAGETRAIL_DATA" not in os.environ or not data.is_dir():
        print("PAGETRAIL_DATA names no folder with mmlongbench-dev; nothing was measured")
        return
    from fit_walk import halves, load_all, ranking_of

    with build(options.library, data / "docs") as library:
        known = load_all(library, data, options.least_pages)
        cases = known[options.start]
        print(f"{len(cases)} questions on {len({c.document for c in cases})} documents")
        print("\nGold pages within some hops of the first three, beside as many next pages:")
        print(aligned(reach_table(reaches(cases))))
        started = time.process_time()
        divisions = list(halves(known, options.divisions))
        print(f"\n{2 * len(divisions)} fits, {time.process_time() - started:.0f} CPU s")
        judges: list[AnyJudge] = [GoldJudge(), GoldJudge(off=0.15, failed=0.05)]
        found: list[list[Point]] = []
        for judge in judges:
            started = time.process_time()
            found.append(curve(cases, judge, divisions, options.batch))
            print(f"\nRecall against pages judged, {judge}:")
            print(aligned(curve_table(found[-1])))
            print(f"({time.process_time() - started:.0f} CPU s)")
        falls(found[0], found[1])
        if options.text:
            channels = library._ready(ranking_of(options.start))
            real = LibraryJudge("text", channels, options.text)
            for name, points in curves(cases, [real], chances=divisions[0]).items():
                print(f"\nRecall against pages judged, {name} (one division):")
                print(aligned(curve_table(points)))


def falls(perfect: Sequence[Point], noisy: Sequence[Point]) -> None:
    """Print how far errors of the judge lower the curves at most, per method."""
    print("\nLargest fall of recall@3 by errors of the judge:")
    lost: dict[str, float] = {}
    for one, other in zip(perfect, noisy, strict=True):
        fall = one.recall[1] - other.recall[1]
        lost[one.method] = max(fall, lost.get(one.method, -math.inf))
    for method, fall in lost.items():
        print(f"{method:<16}{fall:>7.3f}{'  more than 5 points' if fall > FALL else ''}")


if __name__ == "__main__":
    main()
