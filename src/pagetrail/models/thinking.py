"""Telling a model's thinking from its reply, in whole texts, in streams and among tokens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ThinkingFilter", "split", "start_of_reply"]

_OPEN, _CLOSE = "<think>", "</think>"
_END_MARKS = re.compile(
    rb"(?:\s|<[^<>\s]{1,40}>)*"
)  # end-of-turn tokens, as some servers show them


def split(raw: str) -> tuple[str, str]:
    """Return (thinking, reply) of a text, without blank space around them.

    Thinking stands in front, between ``<think>`` and ``</think>``. Where a chat template opens it
    itself, only the end is seen. Thinking that was cut off before its end has no reply.
    """
    body = raw.strip()
    if body.startswith(_OPEN):
        thought, found, reply = body[len(_OPEN) :].partition(_CLOSE)
        return (thought.strip(), reply.strip()) if found else (thought.strip(), "")
    thought, found, reply = body.partition(_CLOSE)
    if found and _OPEN not in thought:
        return thought.strip(), reply.strip()
    return "", body


def start_of_reply(tokens: Sequence[bytes], reply: str, *, thought: bool) -> int | None:
    """Return the place of the token with which a reply begins; None when it cannot be told.

    The reply is looked for at the end of the tokens, because thinking may hold the same words.
    """
    text = reply.encode("utf-8", "replace")
    if not text:
        return None
    joined = b"".join(tokens)
    start = joined.rfind(text)
    if start < 0 or not _END_MARKS.fullmatch(joined, start + len(text)):
        return None if thought else _first_word(tokens, text)
    place = 0
    for index, token in enumerate(tokens):
        if place + len(token) > start:
            return index if not joined[place:start].strip() else None
        place += len(token)
    return None


def _first_word(tokens: Sequence[bytes], text: bytes) -> int | None:
    """Return the first token that is not blank, if the reply begins with it."""
    for index, token in enumerate(tokens):
        if token.strip():
            return index if text.startswith(token.strip()) else None
    return None


class ThinkingFilter:
    """Takes a reply in pieces and lets through what is not thinking.

    Only thinking that opens with ``<think>`` is known in time; blank space before the reply is
    dropped.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    def feed(self, piece: str) -> str:
        """Return the part of the reply that is certain after one more piece."""
        if self._state == "reply":
            return piece
        self._held += piece
        if self._state == "start":
            self._held = self._held.lstrip()
            if self._held.startswith(_OPEN):
                self._state, self._held = "thinking", self._held[len(_OPEN) :]
            elif _OPEN.startswith(self._held):
                return ""  # may still become the mark
            else:
                return self._release()
        if self._state == "thinking":
            before, found, after = self._held.partition(_CLOSE)
            # The end of what is thrown away is kept: the mark may be cut between two pieces.
            self._held = after if found else before[-len(_CLOSE) :]
            self._state = "after" if found else "thinking"
        if self._state == "after":
            self._held = self._held.lstrip()
            return self._release() if self._held else ""
        return ""

    def end(self) -> str:
        """Return what was held back when no more pieces come."""
        return self._release() if self._state == "start" else ""

    def _release(self) -> str:
        held, self._held, self._state = self._held, "", "reply"
        return held
