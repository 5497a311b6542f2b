"""Answering with the built-in parts: typed accuracy, abstention, citations, in both protocols.

Uses the library that `bench_retrieval` builds under ``.bench``. Answers are scored by
MMLongBench-Doc's rules by type (`mmlongbench`); an abstention counts as "Not answerable". The gate
and the ranking of answers were fitted on these questions, so the honest figures for them are the
out-of-fold ones that ``scripts/fit_answers.py`` prints; this bench shows what is shipped.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_retrieval import build
from mmlongbench import NOT_ANSWERABLE, score

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pagetrail import Answer, Library

ROOT = Path(__file__).resolve().parents[2]
OHR_KINDS = {"Short Answer": "Str", "Yes/No": "Str", "Numeric": "Float", "List": "List"}


@dataclass(frozen=True)
class Asked:
    """A question, its gold answer, what was said, and how right that is."""

    row: dict[str, Any]
    answer: Answer
    right: float
    seconds: float

    @property
    def answerable(self) -> bool:
        return bool(self.row.get("answerable", True))


def read_questions(file: Path) -> list[dict[str, Any]]:
    """Return the rows of a questions file, with ``kind`` one of Str, Int, Float, List, None."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["kind"] = OHR_KINDS.get(row["answer_format"], row["answer_format"])
    return rows


def ask_all(library: Library, rows: Iterable[dict[str, Any]], *, alone: bool) -> list[Asked]:
    """Ask every question, within its document or within all."""
    ids = {d.name: d.id for d in library.documents()}
    asked = []
    for row in rows:
        scope = [ids[row["doc"]]] if alone else []
        started = time.process_time()
        answer = library.ask(row["question"], documents=scope)
        seconds = time.process_time() - started
        said = NOT_ANSWERABLE if answer.abstained else answer.text
        asked.append(Asked(row, answer, score(str(row["answer"]), said, row["kind"]), seconds))
    return asked


def share(part: float, whole: float) -> float:
    """Return part of whole; not a number when there is no whole."""
    return part / whole if whole else float("nan")


def report(title: str, asked: list[Asked]) -> None:
    """Print accuracy by type, abstention and citations."""
    by_kind: dict[str, list[Asked]] = defaultdict(list)
    for a in asked:
        by_kind[a.row["kind"] if a.answerable else "unanswerable"].append(a)
    print(f"\n{title}: {len(asked)} questions")
    print(f"  typed accuracy, all            {share(sum(a.right for a in asked), len(asked)):.3f}")
    for kind, held in sorted(by_kind.items()):
        right = sum(a.right for a in held)
        print(f"    {kind:<14} {len(held):>4} questions  {share(right, len(held)):.3f}")
    said = [a for a in asked if not a.answer.abstained]
    silent = [a for a in asked if a.answer.abstained]
    rightly = sum(not a.answerable for a in silent)
    unanswerable = sum(not a.answerable for a in asked)
    right_said = sum(a.right for a in said if a.answerable)
    print(f"  answered {len(said)}, right among them {share(right_said, len(said)):.3f}")
    print(
        f"  abstained {len(silent)}: precision {share(rightly, len(silent)):.3f} "
        f"(all abstaining: {share(unanswerable, len(asked)):.3f}), "
        f"recall {share(rightly, unanswerable):.3f} of {unanswerable} unanswerable"
    )
    cited = [c.verified for a in said for c in a.answer.citations]
    print(f"  citations shown {len(cited)}, verified {share(sum(cited), len(cited)):.3f}")
    print(f"  CPU {1000 * share(sum(a.seconds for a in asked), len(asked)):.0f} ms a question")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, default=ROOT / ".bench" / "mmlongbench-dev")
    options = parser.parse_args()
    data = Path(os.environ.get("PAGETRAIL_DATA", "")) / "mmlongbench-dev"
    if "PAGETRAIL_DATA" not in os.environ or not data.is_dir():
        print("PAGETRAIL_DATA names no folder with mmlongbench-dev; nothing was measured")
        return
    with build(options.library, data / "docs") as library:
        for name in ("questions", "questions-ohr"):
            rows = read_questions(data / f"{name}.jsonl")
            for alone in (True, False):
                protocol = "in the document" if alone else "in the corpus"
                report(f"{name}, {protocol}", ask_all(library, rows, alone=alone))


if __name__ == "__main__":
    main()
