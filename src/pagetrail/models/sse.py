"""A streamed reply: server-sent events to pieces of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..shallow import loads
from .thinking import ThinkingFilter
from .wire import MalformedError, Tokens, clean, read_body, read_usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MalformedStreamError", "StreamReader"]

_LARGEST = 64 * 1024 * 1024


class MalformedStreamError(ValueError):
    """The stream is not one of the protocol, or ended within the reply."""


class StreamReader:
    """Reads one stream; `next` gives the pieces.

    Args:
        opening: The SDK's manager of a streaming response; entered at the first `next`.
        body: What was asked, to estimate tokens where the server tells none.
    """

    def __init__(self, opening: Any, body: Mapping[str, Any]) -> None:
        self._opening, self._body = opening, body
        self._pieces: Iterator[str] | None = None
        self._entered = False
        self._usage: Any = None
        self._tokens: Tokens | None = None
        self.text = ""
        self.finish = ""

    @property
    def tokens(self) -> Tokens:
        """Tokens of the request, estimated where the server did not tell them."""
        return self._tokens or read_usage(self._usage, self._body, self.text)

    def next(self) -> str | None:
        """Return the next piece that is not empty; None when the reply is complete.

        Raises:
            MalformedStreamError: The stream makes no sense or ended within the reply.
        """
        if self._pieces is None:
            response = self._opening.__enter__()
            self._entered = True
            whole = "event-stream" not in response.headers.get("content-type", "event-stream")
            self._pieces = self._at_once(response) if whole else self._events(response)
        for piece in self._pieces:
            if piece:
                self.text += piece
                return piece
        return None

    def close(self) -> None:
        """Close the connection."""
        if self._entered:
            self._entered = False
            self._opening.__exit__(None, None, None)

    def _at_once(self, response: Any) -> Iterator[str]:
        """Yield the reply of a server that does not stream."""
        content = b"".join(_limited(response.iter_bytes()))
        try:
            said = read_body(content, self._body)
        except MalformedError as error:
            raise MalformedStreamError(str(error)) from error
        self.finish, self._tokens = said.finish, said.tokens
        yield said.text

    def _events(self, response: Any) -> Iterator[str]:
        thinking, done = ThinkingFilter(), False
        try:
            for line in _lines(_limited(response.iter_bytes())):
                name, _, value = line.partition(b":")
                if name != b"data":
                    continue
                done = value.strip() == b"[DONE]"
                if done:
                    break
                yield thinking.feed(self._event(value))
        except Exception:
            # What comes after the end of the reply is only the count of tokens.
            if not self.finish:
                raise
        if not (done or self.finish):
            raise MalformedStreamError("the connection was cut")
        yield thinking.end()

    def _event(self, value: bytes) -> str:
        try:
            event = loads(value)
            if event.get("error"):
                fault = event["error"]
                reason = fault.get("message", fault) if isinstance(fault, dict) else fault
                raise MalformedStreamError(str(reason))
            self._usage = event.get("usage") or self._usage
            if not event.get("choices"):
                return ""
            choice = event["choices"][0]
            self.finish = str(choice.get("finish_reason") or self.finish)
            piece = (choice.get("delta") or {}).get("content")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            if isinstance(error, MalformedStreamError):
                raise
            raise MalformedStreamError("the stream is not one of the OpenAI protocol") from error
        return clean(piece) if isinstance(piece, str) else ""


def _limited(parts: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for part in parts:
        size += len(part)
        if size > _LARGEST:
            raise MalformedStreamError("the answer is too long to be a reply")
        yield part


def _lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    held = b""
    for part in parts:
        *lines, held = (held + part).replace(b"\r\n", b"\n").split(b"\n")
        yield from lines
    if held:
        yield held
