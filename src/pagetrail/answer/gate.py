"""Whether to answer: the probability that the best draft is right, or abstaining and why.

A logistic regression over some thirty signals that exist when a question is asked. Its table
stands in `weights.json` and comes from ``scripts/fit_answers.py``, which fits it on labelled
questions and reports what it does on documents it was not fitted on. Better evidence never lowers
the probability.

The threshold is the lowest at which 45 of 100 answers shown to look-up questions asked of a whole
library were right: 0.15, where 43 % of them are answered and 46 % of the answers right. Of
questions that need charts, counting or calculating 12 % are answered, with 10 % of these right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .question import understand
from .rank import group_of, weights
from .terms import stem, stems, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..ports import Draft
    from ..types import Page, Query, Ranking
    from .question import Question

__all__ = ["Decision", "decide", "signals_of"]

_NAMED = 3  # missing names shown in a reason, at most


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's word.

    Attributes:
        abstain: Say nothing and show the nearest pages.
        confidence: Probability that the best draft answers the question rightly, 0..1.
        reason: Why it abstains, one line; empty when it does not.
        signals: What was weighed, by name.
    """

    abstain: bool
    confidence: float
    reason: str = ""
    signals: Mapping[str, float] = field(default_factory=dict)


def decide(
    query: Query,
    drafts: Sequence[Draft],
    ranking: Ranking,
    pages: Sequence[Page],
    *,
    threshold: float | None = None,
) -> Decision:
    """Return whether the best draft is good enough to be shown.

    Args:
        query: The question.
        drafts: Of one reader, best first.
        ranking: How the pages were ranked.
        pages: The pages that were read, best first.
        threshold: Abstain below this confidence, 0..1; None for the one chosen when fitting.
    """
    question = understand(query.text)
    if not drafts:
        return Decision(True, 0.0, _reason(question, pages))
    signals = signals_of(question, drafts, ranking, pages)
    table = weights()["gate"]
    z = sum(table.get(name, 0.0) * value for name, value in signals.items())
    confidence = 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, z))))
    limit = weights()["threshold"]["confidence"] if threshold is None else threshold
    if confidence >= limit:
        return Decision(False, confidence, signals=signals)
    return Decision(True, confidence, _reason(question, pages), signals)


def signals_of(
    question: Question, drafts: Sequence[Draft], ranking: Ranking, pages: Sequence[Page]
) -> dict[str, float]:
    """Return what the gate weighs, by name; at least one draft is needed."""
    best = drafts[0]
    out = {f"draft_{n}": best.features.get(n, 0.0) for n in _FROM_DRAFT}
    out["bias"] = 1.0
    rest = [d.score for d in drafts[1:]]
    out["margin"] = min(2.0, best.score - rest[0]) if rest else 1.0
    # Drafts of one block are mostly shorter and longer forms of one answer.
    others = [d.score for d in drafts if (d.page, d.block) != (best.page, best.block)]
    out["ahead"] = min(4.0, best.score - others[0]) if others else 4.0
    out["same_page"] = sum(d.page == best.page for d in drafts) / len(drafts)
    out["lead"] = _lead(ranking)
    missing = _missing(question, pages)
    out["missing"] = len(missing) / max(1, len(question.terms))
    out["missing_name"] = 1.0 if _missing_names(question, pages) else 0.0
    out["computed"] = float(question.computed)
    out["visual"] = float(question.visual)
    out["count"] = float(question.kind == "count")
    out["yes_no"] = float(question.kind == "yes_no")
    out["list"] = float(question.kind == "list")
    out["phrase"] = float(group_of(question) == "phrase")
    return out


_FROM_DRAFT = (
    *("own", "covered", "similarity", "fit", "near", "tight", "order", "prior", "run"),
    *("agree", "heading", "opens", "echo", "rest", "pair", "field", "cell", "label_cell", "whole"),
)


def _lead(ranking: Ranking) -> float:
    """Return how far the best page stands before the others read: 0 level, 1 far ahead."""
    scores = [h.score for h in ranking.hits[:10]]
    if len(scores) < 2 or scores[0] <= scores[-1]:
        return 0.0
    return (scores[0] - scores[1]) / (scores[0] - scores[-1])


def _missing(question: Question, pages: Sequence[Page]) -> list[str]:
    """Return the question's terms that none of the pages read has."""
    held = {s for page in pages for s in stems(page.text)}
    return [s for s in question.terms if s not in held]


def _missing_names(question: Question, pages: Sequence[Page]) -> list[str]:
    """Return the names and numbers of the question of which a word is on none of the pages."""
    held = {stem(w) for page in pages for w in words(page.text)}
    lost = [n for n in question.names if any(s not in held for s in stems(n))]
    return lost + [n for n in question.numbers if n not in held]


def _reason(question: Question, pages: Sequence[Page]) -> str:
    lost = [n for n in _missing_names(question, pages) if len(n) < 60]
    if lost:
        named = ", ".join(f"'{n}'" for n in lost[:_NAMED])
        return f"the pages nearest to the question do not mention {named}"
    if question.visual:
        return "the answer seems to need looking at the page, which takes a reading model"
    if question.computed:
        return "the answer would have to be worked out from several values, not read"
    return "the evidence found is too weak for an answer"
