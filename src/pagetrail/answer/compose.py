"""Reading, checking and deciding, one after the other: a ranking becomes an answer or none."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ..types import Answer, Step, Trace
from .extract import ExtractiveReader
from .gate import decide
from .ground import QuoteFinder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..ports import AnswerReader, Draft
    from ..types import Citation, Page, Query, Ranking

__all__ = ["CONCLUDED", "EXTRACTED", "UNVERIFIED", "answer"]

EXTRACTED = "no reading model is configured; this answer is extracted word for word"
CONCLUDED = "no reading model is configured; this answer is concluded from the words quoted"
UNVERIFIED = "nothing that was found could be verified on its page"
_NOTHING = "no page matches the question"


def answer(
    query: Query,
    ranking: Ranking,
    fetch: Callable[[Sequence[str]], Sequence[Page]],
    *,
    pages: int = 5,
    threshold: float | None = None,
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None = None,
    reader: AnswerReader | None = None,
    trace: Trace | None = None,
) -> Answer:
    """Return an answer all of whose citations were found again on their pages, or an abstention.

    Args:
        query: The question.
        ranking: Pages, best first.
        fetch: Page ids to pages, in the order asked.
        pages: How many of the best pages are read.
        threshold: Abstain below this confidence, 0..1; None for the calibrated one.
        similarity: Question and texts to one cosine per text; helps the built-in reader.
        reader: Reads the pages; the built-in extractive one when None.
        trace: What was done so far; the step of reading is added.
    """
    start = time.perf_counter()
    read = list(fetch([h.page for h in ranking.hits[:pages]]))
    reads = reader or ExtractiveReader(similarity)
    drafts = list(reads.read(query, ranking, read)) if read else []
    checked = _checked(drafts, read)
    decision = decide(query, [d for d, _ in checked], ranking, read, threshold=threshold)
    step = Step("answer", seconds=time.perf_counter() - start)
    result = Answer(
        question=query.text,
        text="",
        confidence=decision.confidence,
        abstained=True,
        reason=_NOTHING if not read else UNVERIFIED if drafts and not checked else decision.reason,
        pages_considered=tuple(p.id for p in read),
        trace=(trace or Trace()).then(step),
    )
    if decision.abstain:
        return result
    draft, citations = checked[0]
    note = _note(draft) if reader is None else ""
    shown = replace(result, text=draft.text, citations=citations, reason=note)
    return replace(shown, source="evidence", abstained=False)


def _checked(
    drafts: Sequence[Draft], pages: Sequence[Page]
) -> list[tuple[Draft, tuple[Citation, ...]]]:
    """Return the drafts whose quote stands on its page, with verified citations only."""
    finders: dict[str, QuoteFinder] = {}
    by_id = {page.id: page for page in pages}
    kept = []
    for draft in drafts:
        found = []
        for page, block, quote in ((draft.page, draft.block, draft.quote), *draft.also):
            if page not in by_id:
                continue
            if page not in finders:
                finders[page] = QuoteFinder(by_id[page])
            found.append(finders[page].find(quote, block=block))
        # The first citation carries the answer: a draft without it is dropped, whatever else holds.
        if found and found[0].verified and draft.page in by_id:
            kept.append((draft, tuple(dict.fromkeys(c for c in found if c.verified))))
    return kept


def _note(draft: Draft) -> str:
    derived = draft.features.get("claim") or draft.features.get("counted")
    return CONCLUDED if derived else EXTRACTED
