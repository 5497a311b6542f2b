"""Which candidate answer is best: a weighted sum of a few signals, weights from `weights.json`."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from .terms import stems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .candidates import Candidate
    from .evidence import Weighed
    from .question import Question

__all__ = ["AnswerGroup", "features_of", "group_of", "score_of", "weights"]

AnswerGroup = Literal["quantity", "phrase", "sentence"]  # kinds that are weighed alike

_QUANTITIES = frozenset({"count", "number", "money", "percentage", "year", "date", "time"})
# Words that an answer of a kind usually has; the penalty grows with the distance from it.
_LENGTH = {
    "name": 3.0,
    "place": 4.0,
    "choice": 3.0,
    "list": 10.0,
    "definition": 15.0,
    "phrase": 4.0,
}


def group_of(question: Question) -> AnswerGroup:
    """Return which table of weights a question uses."""
    if question.kind in _QUANTITIES:
        return "quantity"
    return "sentence" if question.explains or question.kind == "definition" else "phrase"


def features_of(question: Question, candidate: Candidate, top: Weighed) -> dict[str, float]:
    """Return what speaks for a candidate, by name, each about 0..1.

    Args:
        question: What is asked.
        candidate: A possible answer.
        top: The best unit of evidence, to compare its own with.
    """
    w = candidate.source
    held = stems(candidate.text)
    asked = set(question.terms)
    length = len(candidate.text.split())
    target = _LENGTH.get(question.kind, 1.5)
    if question.kind == "phrase" and question.explains:
        target = _LENGTH["definition"]
    out = {
        "unit": w.score / top.score if top.score > 0 else 0.0,
        "own": w.own,
        "covered": w.covered,
        "prior": w.prior,
        "order": w.order,
        "similarity": w.similarity,
        "fit": candidate.fit,
        "near": candidate.near,
        "echo": sum(s in asked for s in held) / len(held) if held else 0.0,
        "length": abs(math.log((1 + length) / (1 + target))),
        "tight": w.tight,
        "head": 1.0 if set(question.head) & w.unit.stems else 0.0,
    }
    # What the unit says about the question besides the candidate itself.
    others = w.unit.stems - set(held)
    out["rest"] = len(asked & others) / max(1, len(asked))
    out[candidate.form] = 1.0
    if question.explains and candidate.form in ("whole", "predicate", "clause", "next"):
        out[f"{candidate.form}_explains"] = 1.0
    if question.kind in ("name", "place") and candidate.form == "name":
        out["proper"] = 1.0
    if question.kind == "list" and candidate.form in ("items", "enumeration"):
        out["listed"] = 1.0
    return out


@cache
def weights() -> Mapping[str, Mapping[str, float]]:
    """Return the fitted tables by name: one per answer group, and the gate's."""
    text = files(__package__).joinpath("weights.json").read_text("utf-8")
    tables: dict[str, dict[str, float]] = json.loads(text)
    return tables


def score_of(question: Question, features: Mapping[str, float]) -> float:
    """Return the weighted sum of a candidate's features; unknown features count nothing."""
    if question.kind == "yes_no":
        return features["fit"] * features["unit"]
    table = weights()[group_of(question)]
    return sum(table.get(name, 0.0) * value for name, value in features.items())
