"""Many questions to one chat model: in parallel, in order, and each ends in a reply or a reason."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from ..errors import (
    AccessError,
    BudgetError,
    DocumentError,
    EndpointError,
    NotFoundError,
    PageError,
    ReplyError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..ports import ChatModel, Message, Reply

__all__ = ["Asked", "as_data", "ask_each", "one_line"]

_FAILURES = 5  # of the server in a row, before any reply, from which on nothing more is asked
_REASON = 300  # characters
_MARKS = re.compile(r"<{3,}|>{3,}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one question.

    Attributes:
        reply: The reply, or None when none came.
        reason: Why none came, one line; empty when one did.
        calls: Requests made for it; a failed one counts once, however often it was tried.
        stopped: It was not its turn any more: the budget was spent, or the server kept failing.
    """

    reply: Reply | None = None
    reason: str = ""
    calls: int = 0
    stopped: bool = False

    @property
    def tokens(self) -> int:
        return self.reply.prompt_tokens + self.reply.reply_tokens if self.reply else 0


def ask_each(
    model: ChatModel,
    conversations: Sequence[Callable[[], Sequence[Message]]],
    *,
    max_tokens: int,
    logprobs: bool,
) -> list[Asked]:
    """Ask a model several questions, at most ``model.concurrency`` at a time.

    Once the budget is spent, or the server has failed five times without a single reply, nothing
    more is asked and the rest says so.

    Args:
        model: Whom to ask.
        conversations: Make the messages when it is their turn; they may raise DocumentError,
            PageError or NotFoundError, which fails that question alone.
        max_tokens: Most tokens of each reply.
        logprobs: Ask for the first token's alternatives.

    Returns:
        One outcome per conversation, in their order.

    Raises:
        ModelError: The model cannot be used at all: it cannot be loaded, or its server refuses the
            key or the model before it has replied once.
    """
    run = _Run(model, max_tokens=max_tokens, logprobs=logprobs)
    workers = min(max(1, model.concurrency), len(conversations))
    if workers <= 1:
        return [run.ask(conversation) for conversation in conversations]
    pool = ThreadPoolExecutor(workers, thread_name_prefix="pagetrail-judge")
    try:
        return list(pool.map(run.ask, conversations))
    finally:
        run.stop("stopped after another page's call failed")
        pool.shutdown(wait=True, cancel_futures=True)


class _Run:
    """What the threads of one `ask_each` share."""

    def __init__(self, model: ChatModel, *, max_tokens: int, logprobs: bool) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._logprobs = logprobs
        self._lock = Lock()
        self._failures: int | None = 0  # None once a reply has come
        self._halted = ""

    def stop(self, reason: str) -> None:
        """Ask nothing more."""
        with self._lock:
            self._halted = self._halted or reason

    def ask(self, conversation: Callable[[], Sequence[Message]]) -> Asked:
        """Ask one question."""
        if self._halted:
            return Asked(reason=self._halted, stopped=True)
        try:
            reply = self._model.chat(
                conversation(), max_tokens=self._max_tokens, logprobs=self._logprobs
            )
        except BudgetError:
            self.stop("budget spent")
            return Asked(reason="budget spent", stopped=True)
        except AccessError as error:
            if self._failures is not None:
                self.stop("stopped: the model cannot be used")
                raise
            return Asked(reason=one_line(error), calls=1)
        except EndpointError as error:
            self._count_failure()
            return Asked(reason=one_line(error), calls=1)
        except ReplyError as error:
            return Asked(reason=one_line(error), calls=1)
        except (DocumentError, PageError, NotFoundError) as error:
            return Asked(reason=one_line(error))
        except BaseException:
            self.stop("stopped after another page's call failed")
            raise
        self._failures = None
        return Asked(reply, calls=reply.calls)

    def _count_failure(self) -> None:
        with self._lock:
            if self._failures is None:
                return
            self._failures += 1
            if self._failures >= _FAILURES:
                self._halted = self._halted or (
                    f"not asked: the model failed {_FAILURES} times without a reply"
                )


def one_line(error: BaseException) -> str:
    """Return an error's text as one line of at most 300 characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _REASON else text[: _REASON - 1] + "…"


def as_data(text: str, characters: int) -> str:
    """Return a page's text to be put between a prompt's marks: at most so many characters.

    Marks are ``<<<PAGE`` and ``PAGE>>>``; three angle brackets in a row are set apart, so that no
    page can close the marks and speak in the prompt's name.
    """
    return _MARKS.sub(lambda run: " ".join(run[0]), text[:characters])
