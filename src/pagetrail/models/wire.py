"""The OpenAI chat protocol as data: what is sent for a conversation, what a reply says.

Nothing here talks to a server. Servers differ in what they take; `Dialect` is what is known of one
model's server, and `narrower` is the next thing to try when a request was refused.
"""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ModelError
from ..shallow import loads
from .prompts import JSON
from .thinking import split, start_of_reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..ports import Message, Picture

__all__ = [
    "SEED",
    "TOP",
    "Dialect",
    "MalformedError",
    "Said",
    "Tokens",
    "clean",
    "encode",
    "narrower",
    "read_body",
    "read_usage",
    "request",
]

SEED, TOP = 0, 20

_SchemaMode = Literal["json_schema", "json_object", "plain"]


class MalformedError(ValueError):
    """A server's answer is not one of the protocol."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a model's server takes; begins with everything and loses what is refused."""

    schema: _SchemaMode = "json_schema"
    logprobs: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    seed: bool = True
    stream_usage: bool = True


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one request; ``told`` is False when they are estimated from lengths."""

    prompt: int
    reply: int
    told: bool = True


@dataclass(frozen=True, slots=True)
class Said:
    """One reply as read from the wire, without the model's thinking.

    Attributes:
        finish: The server's own word: ``stop``, ``length``, ``content_filter``, ...
        refusal: The model's words when it declines a structured reply.
    """

    text: str
    finish: str
    logprobs: Mapping[str, float] | None
    tokens: Tokens
    refusal: str = ""


# --- sending -------------------------------------------------------------------------------------


def encode(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages as the protocol has them; every picture is drawn, once.

    Raises:
        ModelError: A picture is neither PNG nor JPEG.
    """
    drawn: dict[str, str] = {}
    result: list[dict[str, Any]] = []
    for message in messages:
        content: Any = clean(message.text)
        if message.images:
            content = [
                {"type": "image_url", "image_url": {"url": _address(picture, drawn)}}
                for picture in message.images
            ]
            content.append({"type": "text", "text": clean(message.text)})
        result.append({"role": message.role, "content": content})
    return result


def _address(picture: Picture, drawn: dict[str, str]) -> str:
    """Return a picture's data URI; equal keys mean equal bytes."""
    if picture.key not in drawn:
        data = picture.draw()
        kind = _kind(data)
        if not kind:
            raise ModelError(
                "a picture for the model is neither PNG nor JPEG; give it in one of these"
            )
        drawn[picture.key] = f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
    return drawn[picture.key]


def _kind(data: bytes) -> str:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    return "image/jpeg" if data.startswith(b"\xff\xd8\xff") else ""


def clean(text: str) -> str:
    """Return text that can be sent and kept: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def request(
    messages: Sequence[Mapping[str, Any]],
    dialect: Dialect,
    *,
    schema: Mapping[str, object] | None,
    max_tokens: int,
    logprobs: bool,
    in_words: bool = True,
) -> dict[str, Any]:
    """Return the body of a request for encoded messages, without the model's name.

    With ``in_words`` the schema is told in the last message too: some servers take
    ``response_format`` and ignore it.
    """
    sent = [dict(message) for message in messages]
    body: dict[str, Any] = {"messages": sent, dialect.limit: max_tokens}
    if dialect.temperature:
        body["temperature"] = 0
    if dialect.seed:
        body["seed"] = SEED
    if logprobs and dialect.logprobs:
        body |= {"logprobs": True, "top_logprobs": TOP}
    if schema is not None:
        if in_words:
            _append(sent[-1], JSON.fill(schema=json.dumps(schema, default=dict)))
        if dialect.schema == "json_schema":
            form = {"name": "reply", "schema": dict(schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif dialect.schema == "json_object":
            body["response_format"] = {"type": "json_object"}
    return body


def _append(message: dict[str, Any], text: str) -> None:
    content = message["content"]
    if isinstance(content, str):
        message["content"] = f"{content}\n\n{text}"
    else:
        message["content"] = [*content, {"type": "text", "text": text}]


_NAMED: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "limit",
        re.compile(
            r"max_completion_tokens|^max_tokens$|unsupported.*\bmax_tokens\b"
            r"|\bmax_tokens\b.*(?:unsupported|not supported)"
        ),
    ),
    ("stream_usage", re.compile(r"stream_options|include_usage")),
    ("logprobs", re.compile(r"log_?probs?")),
    ("schema", re.compile(r"response_format|json_schema|json_object|schema|grammar|guided")),
    ("temperature", re.compile(r"temperature")),
    ("seed", re.compile(r"\bseed\b")),
)
# What no change of parameters cures; asking again without them would only cost more requests.
_HOPELESS = re.compile(r"context|too (?:long|large|many)|exceed|image|multimodal|vision|model")
_ORDER = ("schema", "logprobs", "stream_usage", "seed", "temperature")


def narrower(dialect: Dialect, body: Mapping[str, Any], message: str) -> Dialect | None:
    """Return what to try after a server refused ``body`` with 400; None when nothing is left.

    What the message names is dropped first; when it names nothing, the parameters that servers most
    often lack are dropped one after the other.
    """
    words = message.lower()
    for name, pattern in _NAMED:
        if pattern.search(words) and (smaller := _without(dialect, name, body)):
            return smaller
    if _HOPELESS.search(words):
        return None
    for name in _ORDER:
        if smaller := _without(dialect, name, body):
            return smaller
    return None


def _without(dialect: Dialect, name: str, body: Mapping[str, Any]) -> Dialect | None:
    """Return the dialect without one power, when the body made use of it."""
    if name == "limit" and "max_tokens" in body:
        return replace(dialect, limit="max_completion_tokens")
    if name == "schema" and "response_format" in body:
        full = body["response_format"]["type"] == "json_schema"
        return replace(dialect, schema="json_object" if full else "plain")
    if name == "logprobs" and "logprobs" in body:
        return replace(dialect, logprobs=False)
    if name == "stream_usage" and "stream_options" in body:
        return replace(dialect, stream_usage=False)
    if name == "temperature" and "temperature" in body:
        return replace(dialect, temperature=False)
    if name == "seed" and "seed" in body:
        return replace(dialect, seed=False)
    return None


# --- reading -------------------------------------------------------------------------------------


def read_body(content: bytes, body: Mapping[str, Any]) -> Said:
    """Return the reply in the body of a server's answer to ``body``.

    Raises:
        MalformedError: It is no JSON, or not a reply of the protocol.
    """
    try:
        data = loads(content)
        choice = data["choices"][0]
        message = choice["message"]
        raw = message.get("content")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise MalformedError(_why(content)) from error
    raw = "" if raw is None else raw
    if not isinstance(raw, str):
        raise MalformedError("the reply's content is not text")
    raw = clean(raw)
    thought, text = split(raw)
    apart = any(message.get(name) for name in ("reasoning_content", "reasoning"))
    return Said(
        text=text,
        finish=str(choice.get("finish_reason") or "stop"),
        logprobs=_first_token(choice.get("logprobs"), text, thought=bool(thought or apart)),
        tokens=read_usage(data.get("usage"), body, raw),
        refusal=str(message.get("refusal") or ""),
    )


def _why(content: bytes) -> str:
    """Say what a server sent instead of a reply; some put an error into a good answer."""
    try:
        fault = loads(content)["error"]
        return str(fault.get("message", fault) if isinstance(fault, dict) else fault)
    except (ValueError, LookupError, TypeError):
        return "its answer is not a reply of the OpenAI protocol"


def read_usage(usage: Any, body: Mapping[str, Any], reply: str) -> Tokens:
    """Return the tokens that a server tells, or an estimate where it tells none."""
    try:
        prompt, written = usage["prompt_tokens"], usage["completion_tokens"]
    except (LookupError, TypeError):
        prompt = written = None
    if isinstance(prompt, int) and isinstance(written, int) and prompt >= 0 and written >= 0:
        return Tokens(prompt, written)
    return Tokens(sum(_estimate(m["content"]) for m in body["messages"]), _estimate(reply), False)


def _estimate(content: Any) -> int:
    """Estimate tokens: four bytes each, and 1,000 for a picture."""
    if isinstance(content, str):
        return -(-len(content.encode()) // 4)
    return sum(_estimate(part["text"]) if "text" in part else 1000 for part in content)


def _first_token(told: Any, text: str, *, thought: bool) -> Mapping[str, float] | None:
    """Return the alternatives for the reply's first token after any thinking, or None.

    Tokens of blank space before the reply are passed over. None too when it cannot be told which
    token the reply begins with.
    """
    try:
        tokens = list(told["content"])
        at = start_of_reply([_bytes(token) for token in tokens], text, thought=thought)
        if at is None:
            return None
        chosen, others = tokens[at], tokens[at].get("top_logprobs") or []
        alternatives = [(clean(str(t["token"])), float(t["logprob"])) for t in others]
        word = clean(str(chosen["token"]))
        if word not in {known for known, _ in alternatives}:
            alternatives.append((word, float(chosen["logprob"])))
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    return _together(alternatives)


def _bytes(token: Mapping[str, Any]) -> bytes:
    raw = token.get("bytes")
    if isinstance(raw, list):
        return bytes(raw)
    return str(token["token"]).encode("utf-8", "replace")


def _together(alternatives: Iterable[tuple[str, float]]) -> dict[str, float] | None:
    """Add up the probabilities of tokens that are spelt alike; drop what is no log-probability."""
    result: dict[str, float] = {}
    for text, told in alternatives:
        if not math.isfinite(told) or told > 0.01:  # a little above 0 is rounding
            continue
        value, known = min(told, 0.0), result.get(text, -math.inf)
        high, low = max(known, value), min(known, value)
        result[text] = min(high + math.log1p(math.exp(low - high)), 0.0)
    return result or None
