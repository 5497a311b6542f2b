"""JSON from strangers: model servers, models, files of questions.

A parser that meets its limit of depth does so at the very end of the stack, where whatever else
runs at that moment (a finalizer, a signal handler) fails as well. So depth is measured first.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["DEEPEST", "loads", "too_deep"]

DEEPEST = 100
"""Objects and lists that may stand inside one another."""

_BRACKET = re.compile(r"[\[\]{}]")


def loads(text: str | bytes, **options: Any) -> Any:
    """Return the value of a JSON text; options are those of `json.loads`.

    Raises:
        ValueError: It is not JSON, not Unicode, or nested more than `DEEPEST` deep.
    """
    plain = text if isinstance(text, str) else text.decode(json.detect_encoding(text))
    if too_deep(plain):
        raise ValueError("it is nested too deeply")
    return json.loads(plain, **options)


def too_deep(text: str) -> bool:
    """Say whether more than `DEEPEST` brackets are open at once, those in quoted text included.

    >>> too_deep("[" * 101), too_deep("[]" * 101)
    (True, False)
    """
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth = max(0, depth + (1 if bracket in "[{" else -1))
        if depth > DEEPEST:
            return True
    return False
