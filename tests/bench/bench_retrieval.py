"""Finding the evidence: hit, recall and reciprocal rank on real documents.

Builds a library of the development documents once, under ``.bench`` (an interrupted run goes on,
an unchanged library is used as it is), asks every answerable question within its document and
within all documents, and prints the measures beside plain BM25 over the text layer, with 95 %
intervals over documents, and what a warm search costs.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from ranking import MEASURES, PlainBM25, Question, measure, summary

import pagetrail
from pagetrail.index.analysis import analyzer, prepare
from pagetrail.recipes import recipe

if TYPE_CHECKING:
    from collections.abc import Callable

    from pagetrail import Library

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ["default", "bm25", "dense"]  # those that need no model; others may be named
DEPTH = 50

Rank = "Callable[[Question, bool], list[tuple[str, int]]]"


def questions(file: Path) -> list[Question]:
    """Return the questions that have evidence within the file's pages."""
    result = []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if not (row.get("answerable", True) and row.get("pages_in_range", True)):
            continue
        evidence = frozenset((row["doc"], number) for number in row["evidence_pages"])
        if evidence:
            image_only = bool(row.get("evidence_image_only"))
            result.append(Question(row["question"], row["doc"], evidence, image_only))
    return result


def build(folder: Path, documents: Path) -> Library:
    """Return a library of all development documents, adding what it lacks."""
    library = pagetrail.open(folder)
    for added in library.add_iter([documents]):
        if not added.unchanged:
            print(f"  {Path(added.document).name}: {added.status} {added.reason}", flush=True)
    return library


def by_recipe(library: Library, name: str) -> Callable[[Question, bool], list[tuple[str, int]]]:
    """Return a ranking function over the library."""
    names = {d.id: d.name for d in library.documents()}
    ids = {d.name: d.id for d in library.documents()}
    pipeline = recipe(name, DEPTH)

    def rank(question: Question, alone: bool) -> list[tuple[str, int]]:
        scope = [ids[question.document]] if alone else []
        hits = library.search(question.text, documents=scope, limit=DEPTH, pipeline=pipeline).hits
        places = (pagetrail.types.split_page_id(hit.page) for hit in hits)
        return [(names[document], number) for document, number in places]

    return rank


def by_text_layer(documents: Path) -> Callable[[Question, bool], list[tuple[str, int]]]:
    """Return plain BM25 over what the PDFs hold as text."""
    import pypdfium2

    pages, texts = [], []
    for file in sorted(documents.glob("*.pdf")):
        with pypdfium2.PdfDocument(file) as pdf:
            for index, page in enumerate(pdf):
                pages.append((file.name, index + 1))
                texts.append(page.get_textpage().get_text_range())
    cut = analyzer()
    bm25 = PlainBM25(pages, texts, lambda text: list(cut.analyze(prepare(text))))
    return lambda question, alone: bm25.rank(
        question.text, question.document if alone else None, DEPTH
    )


def report(title: str, asked: list[Question], values: np.ndarray) -> None:
    """Print one row of measures and one of intervals."""
    mean, low, high = summary(values, [q.document for q in asked])
    print(f"{title:<30}" + "".join(f"{v:>12.3f}" for v in mean))
    print(" " * 30 + "".join(f"{f'{a:.2f}-{b:.2f}':>12}" for a, b in zip(low, high, strict=True)))


def cost(library: Library, asked: list[Question]) -> None:
    """Print the CPU time of a warm search over everything and of encoding its question."""
    from pagetrail.encoders.text import TextEncoder

    encoder = TextEncoder()
    texts = [q.text for q in asked[:100]]
    for text in texts[:20]:
        library.search(text)
        encoder.encode_queries([text])
    started = time.process_time()
    for text in texts:
        library.search(text)
    search = time.process_time() - started
    started = time.process_time()
    for text in texts:
        encoder.encode_queries([text])
    encode = time.process_time() - started
    print(
        f"\na warm search: {1000 * search / len(texts):.2f} CPU ms, encoding its question: "
        f"{1000 * encode / len(texts):.2f} CPU ms, ratio {search / encode:.2f}"
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, default=ROOT / ".bench" / "mmlongbench-dev")
    parser.add_argument("--recipes", nargs="*", default=RECIPES, metavar="NAME")
    options = parser.parse_args()
    data = Path(os.environ.get("PAGETRAIL_DATA", "")) / "mmlongbench-dev"
    if "PAGETRAIL_DATA" not in os.environ or not data.is_dir():
        print("PAGETRAIL_DATA names no folder with mmlongbench-dev; nothing was measured")
        return
    with build(options.library, data / "docs") as library:
        rankings = {"BM25 over the text layer": by_text_layer(data / "docs")}
        rankings |= {name: by_recipe(library, name) for name in options.recipes}
        sets = {
            "questions": questions(data / "questions.jsonl"),
            "questions-ohr": questions(data / "questions-ohr.jsonl"),
        }
        sets["image-only evidence"] = [q for q in sets["questions"] if q.image_only]
        sets["several pages"] = [q for q in sets["questions"] if len(q.evidence) > 1]
        for alone in (True, False):
            protocol = "in the document" if alone else "in the corpus"
            for name, asked in sets.items():
                print(f"\n{name}, {len(asked)}, {protocol}")
                print(" " * 30 + "".join(f"{m:>12}" for m in MEASURES))
                for title, rank in rankings.items():
                    rows = [measure(rank(q, alone), q.evidence) for q in asked]
                    report(title, asked, np.array(rows))
        cost(library, sets["questions"])


if __name__ == "__main__":
    main()
