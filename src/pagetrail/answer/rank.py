"""Which candidate answer is best: a weighted sum of a few signals, weights from `weights.json`."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from .terms import stems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
_PERSON = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_PIECES = ("whole", "predicate", "clause", "consequent", "next")
_PROPER = re.compile(r"^[^\W\d_a-z][^\d\s]*(?: [^\W\d_a-z][^\d\s]*){1,3}$")
# Words that begin or end a piece that was cut out of its sentence.
_OPENING = re.compile(r"(?:and|or|but|nor|of|that|which|who|as well|so|than|with)\b|[a-z]\)")
_ENDING = re.compile(
    r"\b(?:and|or|the|an?|of|to|for|with|by|in|on|at|from|as|is|are|be|your|its|that|which|if|when|"
    r"can|will|not|has|have)$"
)


def _ragged(text: str) -> float:
    """Return how torn a piece looks: half for each end that leans on words not in it."""
    tail = text.rstrip()[-12:].casefold()
    return 0.5 * bool(_OPENING.match(text.lstrip())) + 0.5 * bool(_ENDING.search(tail))


def group_of(question: Question) -> AnswerGroup:
    """Return which table of weights a question uses."""
    if question.kind in _QUANTITIES:
        return "quantity"
    return "sentence" if question.explains or question.kind == "definition" else "phrase"


def agreement(candidates: Iterable[Candidate]) -> dict[str, float]:
    """Return for each answer text how many blocks give it besides the first: 0, 0.5 or 1."""
    blocks: dict[str, set[tuple[str, int]]] = {}
    for c in candidates:
        unit = c.source.unit
        blocks.setdefault(_key(c.text), set()).add((unit.page.id, unit.block.order))
    return {text: min(1.0, (len(held) - 1) / 2) for text, held in blocks.items()}


def _key(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .")


def features_of(
    question: Question, candidate: Candidate, top: Weighed, agreed: Mapping[str, float]
) -> dict[str, float]:
    """Return what speaks for a candidate, by name, each about 0..1.

    Args:
        question: What is asked.
        candidate: A possible answer.
        top: The best unit of evidence, to compare its own with.
        agreed: What ``agreement`` says of all candidates.
    """
    w = candidate.source
    held = stems(candidate.text)
    said = w.unit.stems | candidate.label
    asked = set(question.terms)
    length = len(candidate.text.split())
    target = _LENGTH.get(question.kind, 1.5)
    if question.kind == "phrase" and question.explains:
        target = _LENGTH["definition"]
    extreme = candidate.form == "extreme"
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
        # The label of the row that is most or least is as long as it is.
        "length": 0.0 if extreme else abs(math.log((1 + length) / (1 + target))),
        "tight": w.tight,
        "run": w.run,
        "first": 1.0 if w.unit.place == 0 else 0.0,
        "agree": agreed.get(_key(candidate.text), 0.0),
        "heading": 1.0 if w.unit.block.kind in ("heading", "caption") else 0.0,
        "row_unit": 1.0 if w.unit.is_row else 0.0,
        "opens": 1.0 if candidate.text.rstrip().endswith((":", "?")) else 0.0,
        "head": 1.0 if set(question.head) & said else 0.0,
    }
    if not question.head:
        out["length_open"] = out["length"]
    out["ragged"] = _ragged(candidate.text)
    # What the unit says about the question besides the candidate itself.
    others = said - set(held)
    out["rest"] = len(asked & others) / max(1, len(asked))
    return out | _traits(question, candidate, said | w.unit.heading)


def _traits(question: Question, candidate: Candidate, said: frozenset[str]) -> dict[str, float]:
    """Return what only some candidates or questions have; ``said`` is what stands around."""
    out = {candidate.form: 1.0}
    held, asked = set(stems(candidate.text)), set(question.terms)
    if question.explains and candidate.form in _PIECES:
        out[f"{candidate.form}_explains"] = 1.0
    letters = [t for t in question.terms if len(t) == 1]
    if letters:
        out["letterless"] = sum(t not in said for t in letters) / len(letters)
    if _PERSON.search(question.text) and re.search(r"\d", candidate.text):
        out["digits"] = 1.0  # no person's name
    named = candidate.form == "name" or _PROPER.match(candidate.text) is not None
    if named and question.kind in ("name", "place"):
        out["proper"] = 1.0
    if candidate.form == "name" and set(question.head) & held and not asked >= held:
        out["member"] = 1.0  # "Line C" where it is asked which line
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
