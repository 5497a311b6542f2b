"""References in the text: how many lead to the right page.

Opens a library of the development documents (`bench_retrieval.py` builds it), resolves what their
texts point at, and compares that with ``references.jsonl``: references drawn at random from the
files' text by a plain word search, before the resolver was tuned, and followed by hand. The last
number named in a label's text is the one that is meant; a label without a target leads out of its
document or nowhere. Tuned on every second document by name. Of the other half, two misses were seen
and mended as well: two numbered sides on one page, and a heading read as a cell of a table.

Precision: of the labelled references that were resolved, the share that lead to the right page.
Recall: of those with a target in the document, the share that were resolved to it. A page that
names the same thing twice must have both right.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pagetrail
from pagetrail.graph.digest import digest
from pagetrail.graph.resolve import resolve
from pagetrail.mentions import mentions

ROOT = Path(__file__).resolve().parents[2]
LABELS = Path(__file__).with_name("references.jsonl")


class Label(NamedTuple):
    """A reference followed by hand; ``target`` is None when it leads out or nowhere."""

    doc: str
    page: int
    text: str
    target: int | None
    half: str

    @property
    def named(self) -> tuple[str, str]:
        """Kind and key of what is meant; a range means its first."""
        found = mentions(self.text)
        if not found:
            return "unknown", ""
        kind, key = found[-1][:2]
        return kind, key.partition("-")[0] if kind == "page" else key


def labels() -> list[Label]:
    """Return the labelled references; the documents' halves alternate by name."""
    rows = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    place = {doc: at for at, doc in enumerate(sorted({row["doc"] for row in rows}))}
    return [Label(**row, half=("tuning", "other")[place[row["doc"]] % 2]) for row in rows]


def follow(
    library: Path, wanted: set[str]
) -> tuple[dict[tuple[str, int, str, str], set[int]], str]:
    """Return where the references of the named documents lead, and what finding that cost."""
    found: dict[tuple[str, int, str, str], set[int]] = defaultdict(set)
    spent = pages = 0.0
    with pagetrail.open(library, create=False) as opened:
        for document in opened.documents():
            if document.name not in wanted:
                continue
            read = [opened.page(document.id, n + 1) for n in range(document.page_count)]
            started = time.process_time()
            for r in resolve([digest(page) for page in read]):
                found[document.name, r.source, r.pointer.kind, r.key].add(r.target)
            spent += time.process_time() - started
            pages += len(read)
    return found, f"{1000 * spent / pages:.2f} CPU ms a page over {pages:.0f} pages"


def row(title: str, judged: list[tuple[Label, set[int]]]) -> str:
    """Return precision and recall of some labels as a line."""
    resolved = [(label, pages) for label, pages in judged if pages]
    right = sum(pages == {label.target} for label, pages in resolved)
    inside = sum(label.target is not None for label, _ in judged)
    precision = f"{right / len(resolved):.3f}" if resolved else "-"
    recall = f"{right / inside:.3f}" if inside else "-"
    return f"{title:<14}{len(judged):>6}{inside:>8}{len(resolved):>10}{precision:>11}{recall:>8}"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, default=ROOT / ".bench" / "mmlongbench-dev")
    options = parser.parse_args()
    if not options.library.is_dir():
        print(f"{options.library}: no library there; bench_retrieval.py builds it")
        return
    wanted = labels()
    found, cost = follow(options.library, {label.doc for label in wanted})
    judged = [(label, found.get((label.doc, label.page, *label.named), set())) for label in wanted]
    print(f"{'':<14}{'labels':>6}{'inside':>8}{'resolved':>10}{'precision':>11}{'recall':>8}")
    print(row("all", judged))
    for half in ("tuning", "other"):
        print(row(half, [(label, pages) for label, pages in judged if label.half == half]))
    elsewhere = [(label, pages) for label, pages in judged if label.target != label.page]
    print(row("other pages", elsewhere))
    for kind in sorted({label.named[0] for label in wanted}):
        print(row(kind, [(label, pages) for label, pages in judged if label.named[0] == kind]))
    print(f"\n{cost}\n\nNot as labelled:")
    for label, pages in judged:
        if pages != ({label.target} if label.target else set()):
            where = ", ".join(map(str, sorted(pages))) or "nowhere"
            goal = label.target or "nowhere"
            print(f"  {label.half} {label.doc} p. {label.page} {label.text!r}: {where}, not {goal}")


if __name__ == "__main__":
    main()
