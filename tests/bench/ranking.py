"""How well a ranking finds the pages that hold the evidence, with honest intervals."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pagetrail.evaluate.bootstrap import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["MEASURES", "PlainBM25", "Question", "measure", "summary"]

MEASURES = ("hit@1", "hit@3", "hit@5", "recall@1", "recall@3", "recall@5", "MRR")


@dataclass(frozen=True)
class Question:
    """A question with its evidence: pages as ``(file name, physical number)``."""

    text: str
    document: str
    evidence: frozenset[tuple[str, int]]
    image_only: bool = False


def measure(ranked: Sequence[tuple[str, int]], evidence: frozenset[tuple[str, int]]) -> list[float]:
    """Return `MEASURES` for one question; a question without any hit counts 0 throughout."""
    found = [page in evidence for page in ranked]
    values = [float(any(found[:k])) for k in (1, 3, 5)]
    values += [sum(found[:k]) / len(evidence) for k in (1, 3, 5)]
    first = next((rank for rank, hit in enumerate(found, 1) if hit), math.inf)
    return [*values, 1 / first]


def summary(values: np.ndarray, clusters: Sequence[str]) -> np.ndarray:
    """Return mean, lower and upper end of the 95 % interval per measure, ``[3, measures]``.

    Args:
        values: ``[questions, measures]``.
        clusters: The document of each question; documents are drawn, not questions.
    """
    found = [interval(column, clusters) for column in values.T]
    return np.array([[i.mean, i.low, i.high] for i in found]).T


class PlainBM25:
    """BM25 (k1 1.2, b 0.75) over whole pages: the baseline that everybody can make.

    Args:
        pages: Name of each page.
        texts: Its text.
        terms: Text to index terms; the same for pages and questions.
    """

    def __init__(
        self,
        pages: Sequence[tuple[str, int]],
        texts: Sequence[str],
        terms: Callable[[str], list[str]],
    ) -> None:
        self._pages = list(pages)
        self._terms = terms
        counts = [Counter(terms(text)) for text in texts]
        lengths = np.array([sum(c.values()) for c in counts], float)
        self._norm = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
        rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for page, count in enumerate(counts):
            for term, times in count.items():
                rows[term].append((page, times))
        self._rows = {term: np.array(found) for term, found in rows.items()}

    def rank(self, text: str, document: str | None, limit: int) -> list[tuple[str, int]]:
        """Return the best pages with any word of the question, of one document or of all."""
        scores = np.zeros(len(self._pages))
        for term in set(self._terms(text)) & set(self._rows):
            at, times = self._rows[term].T
            rarity = math.log(1 + (len(self._pages) - len(at) + 0.5) / (len(at) + 0.5))
            scores[at] += rarity * times * 2.2 / (times + self._norm[at])
        order = np.argsort(-scores, kind="stable")
        ranked = (self._pages[i] for i in order if scores[i] > 0)
        inside = (page for page in ranked if document is None or page[0] == document)
        return [page for page, _ in zip(inside, range(limit), strict=False)]
