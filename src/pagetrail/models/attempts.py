"""Making one request until it is answered: each attempt counted, waits kept to, refusals learnt."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import EndpointError
from .faults import PassingError, RefusedError
from .wire import Dialect, Tokens, narrower

if TYPE_CHECKING:
    from collections.abc import Callable

    from .budget import Meter

__all__ = ["Attempts", "Spent"]

_T = TypeVar("_T")


@dataclass(slots=True)
class Spent:
    """What one conversation took, over all its requests."""

    calls: int = 0
    prompt: int = 0
    reply: int = 0

    def add(self, tokens: Tokens) -> None:
        """Add the tokens of one request."""
        self.prompt += tokens.prompt
        self.reply += tokens.reply


class Attempts:
    """Sends requests for one model; safe to call from several threads.

    Args:
        where: Names the model and its server in errors.
        meter: Every attempt is reserved there first.
        retries: Repetitions of an attempt that failed in a way that may pass.
        backoff: First wait, seconds; it doubles each time, with jitter.
        max_wait: Longest wait, seconds, even where the server asks for more.
    """

    def __init__(
        self, where: str, meter: Meter, *, retries: int, backoff: float, max_wait: float
    ) -> None:
        self._where, self._meter = where, meter
        self._retries, self._backoff, self._max_wait = retries, backoff, max_wait
        self._lock = threading.Lock()
        self._dialect = Dialect()

    @property
    def dialect(self) -> Dialect:
        """What the server is known to take, as far as was seen."""
        with self._lock:
            return self._dialect

    def make(
        self,
        body_for: Callable[[Dialect], dict[str, Any]],
        attempt: Callable[[dict[str, Any]], _T],
        spent: Spent,
    ) -> _T:
        """Return what ``attempt`` returns for a body that the server takes.

        A refused request is made again with less; what had to be left out is remembered once a
        request without it was taken.

        Raises:
            EndpointError: The server refuses, or fails after all retries.
            BudgetError: The budget is spent.
        """
        first = dialect = self.dialect
        refused: RefusedError | None = None
        while True:
            body = body_for(dialect)
            try:
                result = self._repeat(body, attempt, spent)
            except RefusedError as error:
                refused = refused or error
                named = narrower(dialect, body, error.param) if error.param else None
                smaller = named or narrower(dialect, body, error.message)
                if smaller is None:
                    raise EndpointError(f"{self._where}: refuses the request: {refused}") from None
                dialect = smaller
                continue
            self._learn(first, dialect)
            return result

    def _learn(self, before: Dialect, after: Dialect) -> None:
        names = [f.name for f in fields(Dialect)]
        lost = {n: getattr(after, n) for n in names if getattr(after, n) != getattr(before, n)}
        if lost:
            with self._lock:
                self._dialect = replace(self._dialect, **lost)

    def _repeat(
        self, body: dict[str, Any], attempt: Callable[[dict[str, Any]], _T], spent: Spent
    ) -> _T:
        for number in range(self._retries + 1):
            self._meter.reserve()
            spent.calls += 1
            try:
                return attempt(body)
            except PassingError as error:
                self._meter.fail()
                if number == self._retries:
                    times = f" ({number + 1} attempts)" if number else ""
                    raise EndpointError(f"{self._where}: {error}{times}") from None
                time.sleep(self._wait(number, error.wait))
            except BaseException:
                self._meter.fail()
                raise
        raise AssertionError("unreachable")

    def _wait(self, number: int, asked: float | None) -> float:
        """Return the seconds to wait after the attempt of this number, counted from 0."""
        if asked is None:
            asked = self._backoff * 2.0**number * random.uniform(0.5, 1.0)  # noqa: S311 (jitter)
        return min(max(asked, 0.0), self._max_wait)
