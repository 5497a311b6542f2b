"""One way through the whole product with real loading code: encode examples, search, judge."""

from __future__ import annotations

from pathlib import Path

import pagetrail
from pagetrail.config import DocumentSettings, ModelSettings, load_settings

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = ("strategy-slides.pdf", "refund-form.pdf")
LATE = ("colpali", "colqwen2", "colqwen2_5", "colsmol", "late")


def settings(judge=None):
    return load_settings(
        documents=DocumentSettings(ocr=False, workers=1),
        models=ModelSettings(judge=judge, device="cpu", pixels=20_000),
    )


def build(folder):
    """Make a library of two of the example documents."""
    with pagetrail.open(folder, settings=settings()) as library:
        added = library.add([EXAMPLES / name for name in FILES])
        assert {a.status for a in added} == {"indexed"}
        return sum(a.pages for a in added)


def encode_and_search(folder, spec, pages):
    """Add an encoder, search it, and again after the library was closed; returns its channel."""
    with pagetrail.open(folder, settings=settings()) as library:
        (run,) = library.encode(spec)
        assert (run.pages, run.pending, run.failed) == (pages, 0, {})
        recipe = f"single:channel={run.channel}"
        first = library.search("What is the refund for a season ticket?", pipeline=recipe)
        assert len(first.hits) == min(pages, 10)
        assert all(-1 <= hit.score <= 1 for hit in first.hits)
        assert len({round(hit.score, 6) for hit in first.hits}) > 1
    with pagetrail.open(folder, create=False, settings=settings()) as library:
        again = library.search("What is the refund for a season ticket?", pipeline=recipe)
        assert [hit.page for hit in again.hits] == [hit.page for hit in first.hits]
        if spec.partition(":")[0] in LATE:
            heat = patch_scores(library, run.channel, first.hits[0].page)
            assert -1 <= heat.min() < heat.max() <= 1
    return run.channel


def patch_scores(library, channel, page):
    """Return how well each patch of a page fits a question, by the page's grid."""
    import numpy as np

    from pagetrail.types import Query

    index = library._encoders.index(channel)
    (key,) = library._catalogue.keys([page])
    grid = index.grid(key)
    scores = index.row_scores(library._encoders.question(channel, Query("the refund")), key)
    assert grid.rows > 0
    assert grid.columns > 0
    assert grid.cells.max() < scores.shape[1]
    placed = grid.cells[grid.cells >= 0]
    assert len(np.unique(placed)) >= scores.shape[1] / 2
    return scores.mean(axis=0)[placed]


def judge(folder, channel, spec):
    """Run V-RAG over one encoder with a chat model of this machine, twice."""
    for calls in (2, 0):
        with pagetrail.open(folder, create=False, settings=settings(spec)) as library:
            found = library.explain("Who gets a refund?", pipeline=f"vrag:encoders={channel},m=2")
        verdicts = [hit.verdicts["yes_no"] for hit in found.ranking.hits]
        assert [v.outcome for v in verdicts] == ["judged", "judged"]
        assert all(0 < v.probability < 1 and v.log_odds is not None for v in verdicts)
        assert sum(v.calls for v in verdicts) == calls
