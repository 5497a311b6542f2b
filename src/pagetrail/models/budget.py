"""What model calls cost, and how much they may."""

from __future__ import annotations

from dataclasses import dataclass, fields
from threading import Lock

from ..errors import BudgetError, ConfigError

__all__ = ["Meter", "Usage"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent; the difference of two says what happened between them.

    Attributes:
        calls: Requests made, failed ones and repetitions included.
        prompt_tokens: Tokens read by models.
        reply_tokens: Tokens written by models.
        cost: Money, in the currency of the prices.
        cache_hits: Replies that were kept from before and cost nothing.
        failures: Requests among ``calls`` that brought no reply.
        estimated: Replies whose server did not tell its tokens; theirs are estimated from lengths.
    """

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    cost: float = 0.0
    cache_hits: int = 0
    failures: int = 0
    estimated: int = 0

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.reply_tokens

    def __sub__(self, before: Usage) -> Usage:
        return Usage(*(getattr(self, f.name) - getattr(before, f.name) for f in fields(self)))


class Meter:
    """Counts what models cost and says no when a limit is reached; shared by threads and models.

    A call is counted when it is reserved, so calls in flight never exceed ``max_calls``. Tokens
    and money are known only afterwards: calls that are in flight when the limit is reached are
    finished and counted, and none is begun.

    Args:
        max_calls: Most requests; None: no limit. Repetitions of failed requests count.
        max_tokens: Most tokens, read and written together.
        max_cost: Most money.
        price_in: Price of a million tokens read.
        price_out: Price of a million tokens written.

    Raises:
        ConfigError: A limit or a price is below zero, or money is limited without a price.
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        price_in: float = 0.0,
        price_out: float = 0.0,
    ) -> None:
        given = {
            "max_calls": max_calls,
            "max_tokens": max_tokens,
            "max_cost": max_cost,
            "price_in": price_in,
            "price_out": price_out,
        }
        for name, value in given.items():
            if value is not None and not value >= 0:
                raise ConfigError(f"{name} must not be below zero: {value}")
        if max_cost is not None and not (price_in or price_out):
            raise ConfigError("max_cost has no effect without price_in or price_out: give a price")
        self._max_calls, self._max_tokens, self._max_cost = max_calls, max_tokens, max_cost
        self._price_in, self._price_out = price_in, price_out
        self._lock = Lock()
        self._used = Usage()

    def __repr__(self) -> str:
        return f"Meter({self.usage})"

    @property
    def usage(self) -> Usage:
        """What was spent so far."""
        with self._lock:
            return self._used

    def check(self) -> None:
        """Raise BudgetError when no further call may be made; count nothing."""
        with self._lock:
            self._check()

    def reserve(self) -> None:
        """Count one call that is about to be made; every attempt is one.

        Raises:
            BudgetError: A limit is reached; nothing was counted and nothing may be asked.
        """
        with self._lock:
            self._check()
            self._add(calls=1)

    def settle(self, prompt_tokens: int, reply_tokens: int, *, estimated: bool = False) -> None:
        """Count the tokens of a reserved call that brought a reply."""
        cost = (prompt_tokens * self._price_in + reply_tokens * self._price_out) / 1_000_000
        with self._lock:
            self._add(
                prompt_tokens=prompt_tokens,
                reply_tokens=reply_tokens,
                cost=cost,
                estimated=int(estimated),
            )

    def fail(self) -> None:
        """Count a reserved call that brought no reply; it stays counted as a call."""
        with self._lock:
            self._add(failures=1)

    def hit(self) -> None:
        """Count a reply that was kept from before."""
        with self._lock:
            self._add(cache_hits=1)

    def _add(self, **more: float) -> None:
        used = {f.name: getattr(self._used, f.name) for f in fields(Usage)}
        self._used = Usage(**{name: value + more.get(name, 0) for name, value in used.items()})

    def _check(self) -> None:
        used = self._used
        for name, limit, spent in (
            ("calls", self._max_calls, used.calls),
            ("tokens", self._max_tokens, used.tokens),
            ("cost", self._max_cost, used.cost),
        ):
            if limit is not None and spent >= limit:
                shown = f"{spent:g} of {limit:g}"
                raise BudgetError(
                    f"the budget for model {name} is spent ({shown}); what was found so far stays; "
                    f"raise models.max_{name} to go on"
                )
