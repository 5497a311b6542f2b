"""A judge that sees all candidates at once and chooses one, by letter.

Models like some positions better than others: shown the same candidates in another order, many
choose the same letter again. So the candidates are shown in several orders and their
probabilities averaged, and what the positions alone were worth is reported.
"""

from __future__ import annotations

import hashlib
import random
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..ports import Message, Picture
from .asking import as_data, ask_each
from .parse import letter_shares, read_letter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..ports import ChatModel, Pictures, Prompt
    from ..types import Page, Query
    from .asking import Asked

__all__ = ["Choice", "Choices"]


@dataclass(frozen=True, slots=True)
class Choices:
    """What was chosen, over all orders that gave a choice.

    Attributes:
        probabilities: Page id to its mean share, 0..1, summing to 1, in the order given; empty
            when no order gave a choice.
        bias: Per position, A first, the mean share of whatever stood there minus 1/n: 0 throughout
            for a model that does not care where a candidate stands; empty like ``probabilities``.
        judged: Orders whose reply was a choice.
        unparsed: Orders whose reply made no sense.
        failed: Orders for which no reply came.
        reason: Why an order has no choice, the first such, one line.
        calls: Model calls made.
        tokens: Tokens of those calls, prompt and reply.
        cached: Orders whose reply was kept from before.
    """

    probabilities: Mapping[str, float]
    bias: tuple[float, ...] = ()
    judged: int = 0
    unparsed: int = 0
    failed: int = 0
    reason: str = ""
    calls: int = 0
    tokens: int = 0
    cached: int = 0

    @property
    def best(self) -> str | None:
        """The page chosen: the likeliest, the earlier one of equals; None without a choice."""
        chances = self.probabilities
        return max(chances, key=lambda page: chances[page]) if chances else None


class Choice:
    """Which of these candidates answers the question? One call shows them all.

    Args:
        model: Whom to ask.
        prompt: May hold ``{question}``, ``{letters}`` ("A, B, C") and ``{pages}``: per candidate a
            line with its letter, then its words between marks, as data. Pictures stand before the
            text in the order of the letters, behind the question's own if there is one.
        pixels: Most pixels of each picture; 0 chooses by words alone.
        orders: In how many orders to show them. With a multiple of the number of candidates every
            candidate stands equally often at every position.
        seed: Decides the orders, together with question and candidates.
        characters: Most characters of each candidate's words; 0 chooses by pictures alone.
        name: Name of the judge.
        max_tokens: Most tokens of a reply.
    """

    def __init__(
        self,
        model: ChatModel,
        prompt: Prompt,
        *,
        pixels: int,
        orders: int = 4,
        seed: int = 0,
        characters: int = 2000,
        name: str = "choice",
        max_tokens: int = 8,
    ) -> None:
        if orders < 1:
            raise UsageError(f"candidates are shown in at least one order, not {orders}")
        self.name = name
        self._model, self._prompt = model, prompt
        self._pixels, self._characters = pixels, characters
        self._orders, self._seed, self._max_tokens = orders, seed, max_tokens

    def choose(self, query: Query, pages: Sequence[Page], pictures: Pictures) -> Choices:
        """Return how likely each page is the one; a page given twice counts once.

        With letters' log-probabilities each order gives every candidate a share, otherwise its
        one parsed letter gets all. No or a single candidate needs no call.

        Raises:
            UsageError: More candidates than letters.
            ModelError: The model cannot be used at all.
        """
        candidates = list({page.id: page for page in pages}.values())
        if len(candidates) > len(string.ascii_uppercase):
            raise UsageError(f"at most 26 candidates can be chosen from, not {len(candidates)}")
        if len(candidates) < 2:
            return Choices({page.id: 1.0 for page in candidates})
        orders = self._shuffled(query, candidates)

        def turn(order: Sequence[Page]) -> Callable[[], Sequence[Message]]:
            return lambda: self._conversation(query, order, pictures)

        asked = ask_each(
            self._model,
            [turn(order) for order in orders],
            max_tokens=self._max_tokens,
            logprobs=True,
        )
        return _averaged(candidates, orders, asked)

    def _shuffled(self, query: Query, candidates: Sequence[Page]) -> list[list[Page]]:
        """Return the orders: a random one and its rotations, then another and its, ..."""
        key = "\n".join([str(self._seed), query.text, *(page.id for page in candidates)])
        # The digest, not the text itself: a text may hold what cannot be encoded.
        digest = hashlib.sha256(key.encode("utf-8", "backslashreplace")).digest()
        chance = random.Random(digest)  # noqa: S311 (not for secrets)
        orders: list[list[Page]] = []
        while len(orders) < self._orders:
            order = list(candidates)
            chance.shuffle(order)
            orders += [order[i:] + order[:i] for i in range(len(order))]
        return orders[: self._orders]

    def _conversation(
        self, query: Query, order: Sequence[Page], pictures: Pictures
    ) -> list[Message]:
        images: list[Picture] = []
        if query.image is not None:
            image = query.image
            key = f"sha256:{hashlib.sha256(image).hexdigest()}"
            images.append(Picture(key, lambda: image))
        if self._pixels > 0:
            images += [pictures.picture(page.id, pixels=self._pixels) for page in order]
        letters = string.ascii_uppercase[: len(order)]
        shown = []
        if self._characters > 0:
            shown = [
                f"{letter}:\n<<<PAGE\n{as_data(page.text, self._characters)}\nPAGE>>>"
                for letter, page in zip(letters, order, strict=True)
            ]
        text = self._prompt.fill(
            question=query.text, letters=", ".join(letters), pages="\n".join(shown)
        )
        system = self._prompt.system
        turns = [Message("system", system)] if system else []
        return [*turns, Message("user", text, tuple(images))]


def _averaged(
    candidates: Sequence[Page], orders: Sequence[Sequence[Page]], asked: Sequence[Asked]
) -> Choices:
    letters = string.ascii_uppercase[: len(candidates)]
    totals = {page.id: 0.0 for page in candidates}
    places = [0.0] * len(letters)
    judged = unparsed = 0
    reasons = []
    for order, outcome in zip(orders, asked, strict=True):
        if outcome.reply is None:
            reasons.append(outcome.reason)
            continue
        shares = letter_shares(outcome.reply.logprobs or {}, letters)
        if not shares and (letter := read_letter(outcome.reply.text, letters)):
            shares = {letter: 1.0}
        if not shares:
            unparsed += 1
            reasons.append("the reply is not one of the letters " + ", ".join(letters))
            continue
        judged += 1
        for place, (letter, page) in enumerate(zip(letters, order, strict=True)):
            totals[page.id] += shares.get(letter, 0.0)
            places[place] += shares.get(letter, 0.0)
    even = 1 / len(letters)
    return Choices(
        {page: total / judged for page, total in totals.items()} if judged else {},
        tuple(total / judged - even for total in places) if judged else (),
        judged=judged,
        unparsed=unparsed,
        failed=len(orders) - judged - unparsed,
        reason=reasons[0] if reasons else "",
        calls=sum(a.calls for a in asked),
        tokens=sum(a.tokens for a in asked),
        cached=sum(a.reply is not None and a.reply.cached for a in asked),
    )
