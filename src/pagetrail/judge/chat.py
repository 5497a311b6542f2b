"""Judges that ask a chat model about one page at a time: yes or no, or a grade from 1 to 5.

Both ask with the page's picture and for the first token's alternatives. Where the model tells
those, a verdict is a matter of degree: two pages hardly ever tie. Where it does not, the reply is
read strictly, and one that is anything but the word asked for is `unparsed`, without a number.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ..errors import PageError
from ..ports import Message, Picture
from ..types import Verdict
from .asking import as_data, ask_each
from .parse import (
    contains_yes,
    expected_grade,
    first_digit,
    read_grade,
    read_yes_no,
    spelled,
    yes_no_log_odds,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..ports import ChatModel, Pictures, Prompt, Reply
    from ..types import Page, Query
    from .asking import Asked
    from .calibrate import Calibration, Scale

__all__ = ["Grade", "YesNo"]

_SHOWN = 40  # characters of an unparsed reply that its reason shows


class _PageJudge:
    """What the two judges have in common: one call for each page."""

    def __init__(
        self,
        model: ChatModel,
        prompt: Prompt,
        *,
        pixels: int,
        calibration: Calibration | None,
        strict: bool,
        name: str,
        characters: int,
        max_tokens: int,
    ) -> None:
        self.name = name
        self._model, self._prompt, self._strict = model, prompt, strict
        self._pixels, self._characters, self._max_tokens = pixels, characters, max_tokens
        self._calibration = calibration

    def judge(self, query: Query, pages: Sequence[Page], pictures: Pictures) -> Sequence[Verdict]:
        """Return one verdict per page, in the order given.

        Raises:
            ModelError: The model cannot be used at all.
        """

        def conversation(page: Page) -> list[Message]:
            return self._conversation(query, page, pictures)

        return _verdicts(
            self._model, pages, conversation, self._read, self._max_tokens, logprobs=self._strict
        )

    def _read(self, page: str, asked: Asked) -> Verdict:
        raise NotImplementedError

    def _conversation(self, query: Query, page: Page, pictures: Pictures) -> list[Message]:
        """Return the messages of one call: the prompt's own, with picture and text of the page."""
        images = [] if query.image is None else [_picture(query.image)]
        if self._pixels <= 0 and not page.blocks:
            raise PageError(page.document, page.number, "it has no words to judge it by")
        if self._pixels > 0:
            images.append(pictures.picture(page.id, pixels=self._pixels))
        text = self._prompt.fill(question=query.text, page=as_data(page.text, self._characters))
        turns = [Message("system", self._prompt.system)] if self._prompt.system else []
        return [*turns, Message("user", text, tuple(images))]

    def _probability(self, scale: Scale, score: float, otherwise: float) -> float:
        """Return the calibrated probability, or ``otherwise`` without a calibration that fits."""
        if self._calibration is None or self._calibration.scale != scale:
            return otherwise
        return self._calibration.apply(score)


class YesNo(_PageJudge):
    """Can this page answer the question, yes or no? A `Judge` over any chat model.

    With log-probabilities the verdict carries ``log_odds``, the natural logarithm of how much
    likelier the model was to begin with yes than with no, over all spellings, and the probability
    that goes with it; see `parse.yes_no_log_odds` for how a side that is not shown is bounded.
    Without them the reply must be exactly yes or no (`unparsed` otherwise) and the probability is
    1 or 0.

    Args:
        model: Whom to ask.
        prompt: May hold ``{question}`` and ``{page}``, the page's words as data.
        pixels: Most pixels of the page's picture; 0 asks by its words alone, and a page that has
            none is `failed` without a call.
        calibration: Applied where it was fitted on the same kind of number: ``log_odds``, or
            ``probability`` for replies that are only a word.
        parse: ``contains`` reproduces V-RAG's code: ``yes`` anywhere in the reply is 1, every other
            reply 0; log-probabilities are not asked for.
        name: Name of the judge.
        characters: Most characters of the page's words.
        max_tokens: Most tokens of a reply; 8 by default, 128 for ``contains``.
    """

    def __init__(
        self,
        model: ChatModel,
        prompt: Prompt,
        *,
        pixels: int,
        calibration: Calibration | None = None,
        parse: Literal["strict", "contains"] = "strict",
        name: str = "yes_no",
        characters: int = 6000,
        max_tokens: int | None = None,
    ) -> None:
        super().__init__(
            model,
            prompt,
            pixels=pixels,
            calibration=calibration,
            strict=parse == "strict",
            name=name,
            characters=characters,
            max_tokens=max_tokens or (8 if parse == "strict" else 128),
        )

    def _read(self, page: str, asked: Asked) -> Verdict:
        if asked.reply is None:
            return Verdict(page, "failed", reason=asked.reason)
        odds = yes_no_log_odds(asked.reply.logprobs or {}) if self._strict else None
        if odds is not None:
            probability = self._probability("log_odds", odds, _sigmoid(odds))
            return Verdict(page, "judged", probability=probability, log_odds=odds)
        text = asked.reply.text
        word = read_yes_no(text) if self._strict else contains_yes(text)
        if word is None:
            return Verdict(page, "unparsed", reason=_odd(asked.reply, "yes or no"))
        probability = self._probability("probability", float(word), float(word))
        return Verdict(page, "judged", probability=probability)


class Grade(_PageJudge):
    """How much of the answer does this page hold, 1 to 5? A `Judge` over any chat model.

    With log-probabilities the grade is the expected value over the five digits, so that ties are
    rare; without them the reply must be exactly one digit from 1 to 5 (`unparsed` otherwise). The
    probability is ``(grade - 1) / 4`` unless calibrated.

    Args:
        model: Whom to ask.
        prompt: May hold ``{question}`` and ``{page}``, the page's words as data.
        pixels: Most pixels of the page's picture; 0 asks by its words alone, and a page that has
            none is `failed` without a call.
        calibration: Applied when it was fitted on grades.
        parse: ``molorag`` reproduces MoLoRAG's code: the first digit from 1 to 5 anywhere in the
            reply; a reply without one counts as judged 3 and a failed call as judged 1, and
            `Verdict.reason` says so (it begins with ``unparsed`` or ``failed``); log-probabilities
            are not asked for. Pages not asked because the budget is spent stay `failed`.
        name: Name of the judge.
        characters: Most characters of the page's words.
        max_tokens: Most tokens of a reply; 8 by default, 16 for ``molorag``.
    """

    def __init__(
        self,
        model: ChatModel,
        prompt: Prompt,
        *,
        pixels: int,
        calibration: Calibration | None = None,
        parse: Literal["strict", "molorag"] = "strict",
        name: str = "grade",
        characters: int = 6000,
        max_tokens: int | None = None,
    ) -> None:
        super().__init__(
            model,
            prompt,
            pixels=pixels,
            calibration=calibration,
            strict=parse == "strict",
            name=name,
            characters=characters,
            max_tokens=max_tokens or (8 if parse == "strict" else 16),
        )

    def _read(self, page: str, asked: Asked) -> Verdict:
        if not self._strict:
            return self._read_as_published(page, asked)
        if asked.reply is None:
            return Verdict(page, "failed", reason=asked.reason)
        grade = expected_grade(asked.reply.logprobs or {})
        if grade is None:
            grade = read_grade(asked.reply.text)
        if grade is None:
            return Verdict(page, "unparsed", reason=_odd(asked.reply, "a grade from 1 to 5"))
        return self._graded(page, float(grade))

    def _read_as_published(self, page: str, asked: Asked) -> Verdict:
        if asked.reply is None:
            if asked.stopped:
                return Verdict(page, "failed", reason=asked.reason)
            return self._graded(page, 1.0, f"failed, counted as 1: {asked.reason}")
        digit = first_digit(asked.reply.text)
        if digit is None:
            odd = _odd(asked.reply, "a grade from 1 to 5")
            return self._graded(page, 3.0, f"unparsed, counted as 3: {odd}")
        return self._graded(page, float(digit))

    def _graded(self, page: str, grade: float, reason: str = "") -> Verdict:
        probability = self._probability("grade", grade, (grade - 1) / 4)
        return Verdict(page, "judged", probability=probability, grade=grade, reason=reason)


def _verdicts(
    model: ChatModel,
    pages: Sequence[Page],
    conversation: Callable[[Page], Sequence[Message]],
    read: Callable[[str, Asked], Verdict],
    max_tokens: int,
    *,
    logprobs: bool,
) -> list[Verdict]:
    """Ask about each page once and read the replies; a page given again gets the same verdict.

    What a call cost stands in the first verdict on its page only, so that sums are right.
    """
    distinct = list({page.id: page for page in pages}.values())

    def turn(page: Page) -> Callable[[], Sequence[Message]]:
        return lambda: conversation(page)

    asked = ask_each(model, [turn(p) for p in distinct], max_tokens=max_tokens, logprobs=logprobs)
    made: dict[str, Verdict] = {}
    for page, outcome in zip(distinct, asked, strict=True):
        made[page.id] = replace(
            read(page.id, outcome),
            calls=outcome.calls,
            tokens=outcome.tokens,
            cached=outcome.reply is not None and outcome.reply.cached,
        )
    seen: set[str] = set()
    verdicts = []
    for page in pages:
        verdict = made[page.id]
        verdicts.append(replace(verdict, calls=0, tokens=0) if page.id in seen else verdict)
        seen.add(page.id)
    return verdicts


def _picture(image: bytes) -> Picture:
    return Picture(f"sha256:{hashlib.sha256(image).hexdigest()}", lambda: image)


def _odd(reply: Reply, wanted: str) -> str:
    text = " ".join(reply.text.split())
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    cut = ", cut off" if reply.finish == "length" and not spelled(text) else ""
    return f"the reply is not {wanted}{cut}: {shown!r}"


def _sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))
