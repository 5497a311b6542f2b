"""Judges that read a page's words: the built-in one, which needs no model, and cross-encoders.

The built-in judge is a logistic regression over a dozen features of question and page. Its weights
stand in `weights.json` and come from ``scripts/fit_judge.py``, which reports what they do on
documents that they were not fitted on. Its probability is that a page among the first twenty that
the default search finds holds evidence.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ..errors import (
    BudgetError,
    DocumentError,
    EndpointError,
    NotFoundError,
    PageError,
    ReplyError,
    UsageError,
)
from ..types import Verdict
from .asking import one_line
from .features import covered, features, passages, sought

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..ports import Pictures
    from ..types import Page, Query
    from .calibrate import Calibration

__all__ = ["BASE_RATE", "CrossEncoderJudge", "PictureScorer", "Scorer", "TextJudge", "weights"]

_WEIGHTS = Path(__file__).with_name("weights.json")
BASE_RATE = 0.1
"""About the share of pages with evidence among those that the built-in judge was fitted on."""
_READ = 4  # passages of a page that the text encoder reads: those with most of the question's words
_NO_WORDS = "the page has no words to judge it by"


@lru_cache(maxsize=1)
def weights() -> Mapping[str, float]:
    """Return the built-in judge's weight of each feature."""
    table: dict[str, float] = json.loads(_WEIGHTS.read_text(encoding="utf-8"))
    return table


class TextJudge:
    """The built-in `Judge`: how well the words of a page fit the question; no model of its own.

    A verdict carries ``log_odds`` and the probability that goes with them, already calibrated. A
    page without words is `failed`: its picture may well hold the answer.

    Args:
        similarity: Question and texts to one cosine per text, -1..1, such as the built-in
            encoder's. At most four passages of 110 words are read per page.
        table: Weights to use in place of the packaged ones.
        name: Name of the judge.
    """

    def __init__(
        self,
        similarity: Callable[[str, Sequence[str]], Sequence[float]],
        *,
        table: Mapping[str, float] | None = None,
        name: str = "text",
    ) -> None:
        self.name = name
        self._similarity, self._table = similarity, table

    def judge(self, query: Query, pages: Sequence[Page], pictures: Pictures) -> Sequence[Verdict]:
        """Return one verdict per page, in the order given; pictures are not looked at."""
        del pictures
        table = weights() if self._table is None else self._table
        made: dict[str, Verdict] = {}
        for page, found in self.features(query, pages).items():
            z = sum(table.get(name, 0.0) * value for name, value in found.items())
            made[page] = Verdict(page, "judged", probability=_sigmoid(z), log_odds=z)
        return [made.get(p.id, Verdict(p.id, "failed", reason=_NO_WORDS)) for p in pages]

    def features(self, query: Query, pages: Sequence[Page]) -> dict[str, dict[str, float]]:
        """Return the features of each page that has words, by page id and name."""
        wanted = sought(query.text)
        readable = {page.id: page for page in pages if page.text.strip()}
        texts: list[str] = []
        spans: dict[str, slice] = {}
        for page in readable.values():
            # The best by words, the earlier ones of equals.
            best = sorted(passages(page), key=lambda text: -covered(wanted, text))[:_READ]
            spans[page.id] = slice(len(texts), len(texts) + len(best))
            texts += best
        cosines = list(self._similarity(query.text, texts)) if texts else []
        return {
            page.id: features(wanted, page, max(cosines[spans[page.id]], default=0.0))
            for page in readable.values()
        }


@runtime_checkable
class Scorer(Protocol):
    """A cross-encoder: question and texts to one logit per text, higher for a better fit."""

    def __call__(self, question: str, texts: Sequence[str]) -> Sequence[float]: ...


@runtime_checkable
class PictureScorer(Protocol):
    """A cross-encoder that looks at pictures (encoded bytes): one logit per picture."""

    def score_pictures(self, question: str, pictures: Sequence[bytes]) -> Sequence[float]: ...


class CrossEncoderJudge:
    """A `Judge` over a cross-encoder, which reads question and passage together.

    By words, a page is cut into passages of 110 words that overlap by 30, and its best one counts.
    By picture, the page is looked at as a whole. A verdict's ``log_odds`` are the model's own
    logit, of which its makers mostly say that the logistic function of it is a probability; on
    pages of documents it rarely is, so calibrate it.

    Args:
        scorer: A `Scorer`; with ``pixels`` a `PictureScorer`.
        pixels: Most pixels of the page's picture; 0 judges by words, and a page without any is
            `failed`.
        calibration: Applied when it was fitted on log-odds.
        name: Name of the judge.

    Raises:
        UsageError: Pictures are asked for, but the scorer does not look at any.
    """

    def __init__(
        self,
        scorer: Scorer | PictureScorer,
        *,
        pixels: int = 0,
        calibration: Calibration | None = None,
        name: str = "cross_encoder",
    ) -> None:
        if pixels > 0 and not isinstance(scorer, PictureScorer):
            raise UsageError("this cross-encoder reads text only; judge without pictures")
        if pixels <= 0 and not isinstance(scorer, Scorer):
            raise UsageError("this cross-encoder looks at pictures only; say how many pixels")
        self.name = name
        self._scorer, self._pixels, self._calibration = scorer, pixels, calibration

    def judge(self, query: Query, pages: Sequence[Page], pictures: Pictures) -> Sequence[Verdict]:
        """Return one verdict per page, in the order given.

        Raises:
            ModelError: The model cannot be used at all.
        """
        distinct = list({page.id: page for page in pages}.values())
        scores: dict[str, float] = {}
        reasons: dict[str, str] = {}
        try:
            if self._pixels > 0:
                scores = self._by_picture(query, distinct, pictures, reasons)
            else:
                scores = self._by_words(query, distinct)
        except BudgetError:
            reasons |= {page.id: "budget spent" for page in distinct}
        except (EndpointError, ReplyError) as error:
            reasons |= {page.id: one_line(error) for page in distinct}
        verdicts = []
        seen: set[str] = set()
        for page in pages:
            verdict = self._verdict(page.id, scores.get(page.id), reasons.get(page.id, _NO_WORDS))
            verdicts.append(replace(verdict, calls=0) if page.id in seen else verdict)
            seen.add(page.id)
        return verdicts

    def _verdict(self, page: str, score: float | None, reason: str) -> Verdict:
        if score is None:
            return Verdict(page, "failed", reason=reason)
        if not math.isfinite(score):
            reason = "the cross-encoder's score is not a finite number"
            return Verdict(page, "unparsed", reason=reason, calls=1)
        probability = _sigmoid(score)
        if self._calibration is not None and self._calibration.scale == "log_odds":
            probability = self._calibration.apply(score)
        return Verdict(page, "judged", probability=probability, log_odds=score, calls=1)

    def _by_words(self, query: Query, pages: Sequence[Page]) -> dict[str, float]:
        assert isinstance(self._scorer, Scorer)
        texts: list[str] = []
        spans: dict[str, slice] = {}
        for page in pages:
            found = passages(page)
            if found:
                spans[page.id] = slice(len(texts), len(texts) + len(found))
                texts += found
        scores = [float(s) for s in self._scorer(query.text, texts)] if texts else []
        return {page: max(scores[span]) for page, span in spans.items()}

    def _by_picture(
        self, query: Query, pages: Sequence[Page], pictures: Pictures, reasons: dict[str, str]
    ) -> dict[str, float]:
        assert isinstance(self._scorer, PictureScorer)
        drawn: dict[str, bytes] = {}
        for page in pages:
            try:
                drawn[page.id] = pictures.picture(page.id, pixels=self._pixels).draw()
            except (DocumentError, PageError, NotFoundError) as error:
                reasons[page.id] = one_line(error)
        if not drawn:
            return {}
        scores = self._scorer.score_pictures(query.text, list(drawn.values()))
        return {page: float(score) for page, score in zip(drawn, scores, strict=True)}


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
