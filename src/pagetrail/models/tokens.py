"""A tokenizer's special tokens in text, and its words among a model's logits."""

from __future__ import annotations

import math
import re
import string
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["alternatives", "broken_up", "special_tokens", "words_asked_for"]

_TOP = 50  # alternatives told, besides the words that judges ask for
_ASKED_FOR = frozenset({"yes", "no", *string.digits})


def special_tokens(tokenizer: Any) -> re.Pattern[str]:
    """Return what finds a tokenizer's special tokens in text, except blank space and letters."""
    tokens = {*tokenizer.get_added_vocab(), *tokenizer.all_special_tokens}
    known = sorted((t for t in tokens if len(t.strip()) > 1), key=lambda t: (-len(t), t))
    return re.compile("|".join(map(re.escape, known)) or r"(?!)")


def broken_up(text: str, special: re.Pattern[str]) -> str:
    """Return text that every tokenizer takes and that holds no special token.

    Otherwise a page could end its own message, or a pair's first half, by writing the token.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    return special.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)


def words_asked_for(tokenizer: Any) -> list[int]:
    """Return the tokens that spell yes, no, a digit or a capital letter, blank space aside."""
    found = []
    for token, index in tokenizer.get_vocab().items():
        word = token.strip("Ġ▁Ċ \n\t")
        if word.lower() in _ASKED_FOR or (len(word) == 1 and word in string.ascii_uppercase):
            found.append(index)
    return sorted(found)


def alternatives(tokenizer: Any, values: Any, always: Sequence[int]) -> dict[str, float]:
    """Return log-probabilities by token text: of the likeliest 50, and of those ``always`` told.

    Tokens that are spelt alike are added up; parts of characters go by their token's own name.

    Args:
        tokenizer: Spells the tokens.
        values: Log-probabilities of the whole vocabulary, a tensor ``[tokens]``.
        always: Tokens to tell however unlikely.
    """
    top = values.topk(min(_TOP, len(values))).indices.tolist()
    result: dict[str, float] = {}
    for index in dict.fromkeys([*top, *always]):
        value = float(values[index])
        if math.isfinite(value):
            text = tokenizer.decode([index])
            if "\ufffd" in text:
                text = str(tokenizer.convert_ids_to_tokens(index))
            result[text] = min(0.0, _log_add(result.get(text), value))
    return result


def _log_add(one: float | None, other: float) -> float:
    if one is None:
        return other
    high, low = max(one, other), min(one, other)
    return high + math.log1p(math.exp(low - high))
