"""What `server.ChatServer` reads and writes: the OpenAI protocol, without the HTTP."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "Asked",
    "BadRequestError",
    "Turn",
    "completion",
    "events",
    "instance",
    "read_asked",
    "vectors",
]

_DATA_URI = re.compile(r"data:image/(png|jpeg);base64,([A-Za-z0-9+/=]+)")
_MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff"}


class BadRequestError(ValueError):
    """The request breaks the protocol; the server answers with status 400."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the server does with one request.

    Attributes:
        text: The reply, thinking in its own marks included.
        status: Anything but 200 is an error with ``message`` and ``param``.
        headers: Further headers, such as Retry-After.
        reasoning: Thinking that is told apart from the reply.
        logprobs: Natural log-probabilities of alternatives for the first token after any thinking;
            told only when they are asked for.
        finish: Why the reply ends: ``stop``, ``length``, ``content_filter``.
        refusal: Words of a model that declines.
        usage: Tokens read and written; None: not told.
        body: Sent as it is in place of a reply.
        delay: Seconds before anything is sent.
        pause: Seconds after each event of a stream, or each 16 bytes of a body.
        cut: The connection is cut after so many bytes of the body, or events of a stream.
        tells_length: The length of the body is told, so that a cut can be noticed; otherwise a cut
            looks like the end.
    """

    text: str = "yes"
    status: int = 200
    message: str = "as scripted"
    param: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    reasoning: str = ""
    logprobs: Mapping[str, float] | None = None
    finish: str = "stop"
    refusal: str = ""
    usage: tuple[int, int] | None = (11, 3)
    body: bytes | None = None
    content_type: str = "application/json"
    delay: float = 0.0
    pause: float = 0.0
    cut: int | None = None
    tells_length: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the server got it.

    Attributes:
        headers: By lower-case names.
        text: All text of the last message, parts joined by line ends.
        images: The decoded pictures of all messages, in order.
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    text: str = ""
    images: tuple[bytes, ...] = ()

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema asked for."""
        form = self.body.get("response_format") or {}
        return form["json_schema"]["schema"] if form.get("type") == "json_schema" else None


def read_asked(path: str, headers: Mapping[str, str], content: bytes) -> Asked:
    """Return the request; what a strict server would refuse is refused."""
    try:
        body = json.loads(content)
    except ValueError as error:
        raise BadRequestError("the body is not JSON") from error
    messages = body.get("messages") or []
    images: list[bytes] = []
    text = ""
    for message in messages:
        content_parts = message["content"]
        if isinstance(content_parts, str):
            text = content_parts
            continue
        text = "\n".join(part["text"] for part in content_parts if part["type"] == "text")
        images += [
            _picture(part["image_url"]["url"])
            for part in content_parts
            if part["type"] == "image_url"
        ]
    if body.get("top_logprobs", 0) > 20:
        raise BadRequestError("top_logprobs must be at most 20")
    return Asked(path, {n.lower(): v for n, v in headers.items()}, body, text, tuple(images))


def _picture(url: str) -> bytes:
    found = _DATA_URI.fullmatch(url)
    if not found:
        raise BadRequestError("image_url: not a data URI of a PNG or JPEG picture")
    try:
        data = base64.b64decode(found[2], validate=True)
    except binascii.Error as error:
        raise BadRequestError("image_url: not base64") from error
    if not data.startswith(_MAGIC[found[1]]):
        raise BadRequestError(f"image_url: not a {found[1].upper()} picture")
    return data


def completion(asked: Asked, turn: Turn, text: str) -> bytes:
    """Return the body of a whole reply."""
    message: dict[str, Any] = {"role": "assistant", "content": None if turn.refusal else text}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.refusal:
        message["refusal"] = turn.refusal
    choice = {"index": 0, "message": message, "finish_reason": turn.finish, "logprobs": None}
    if asked.body.get("logprobs") and turn.logprobs is not None:
        choice["logprobs"] = {"content": _told(turn, text)}
    body: dict[str, Any] = {
        "id": "reply",
        "object": "chat.completion",
        "created": 0,
        "model": asked.body["model"],
        "choices": [choice],
    }
    if turn.usage:
        body["usage"] = _usage(turn.usage)
    return json.dumps(body).encode()


def _usage(tokens: tuple[int, int]) -> dict[str, int]:
    read, written = tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _told(turn: Turn, text: str) -> list[dict[str, Any]]:
    """Return log-probabilities per token, those of the thinking included, as servers do it."""
    assert turn.logprobs is not None
    thinking, mark, rest = text.partition("</think>")
    if not mark:
        thinking, rest = turn.reasoning, text
    before = re.findall(r"\s*\S+", thinking + mark) + re.findall(r"^\s+", rest)
    tokens = []
    for number, token in enumerate([*before, *re.findall(r"\S+\s*", rest)]):
        alternatives = turn.logprobs if number == len(before) else {token: -0.01}
        tokens.append(
            {
                "token": token,
                "logprob": alternatives.get(token, -6.0),
                "bytes": list(token.encode()),
                "top_logprobs": [
                    {"token": t, "logprob": p, "bytes": list(t.encode())}
                    for t, p in alternatives.items()
                ],
            }
        )
    return tokens


def events(asked: Asked, turn: Turn, text: str) -> Iterator[dict[str, Any] | str]:
    """Yield the events of a streamed reply, ``[DONE]`` at the end."""

    def event(delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "reply", "object": "chat.completion.chunk", "choices": [choice]}

    yield event({"role": "assistant", "content": ""})
    for start in range(0, len(turn.reasoning), 5):
        yield event({"reasoning_content": turn.reasoning[start : start + 5]})
    for start in range(0, len(text), 5):
        yield event({"content": text[start : start + 5]})
    yield event({}, turn.finish)
    wants = (asked.body.get("stream_options") or {}).get("include_usage")
    if turn.usage and wants:
        yield {"id": "reply", "choices": [], "usage": _usage(turn.usage)}
    yield "[DONE]"


def instance(schema: Mapping[str, Any]) -> Any:
    """Return a small value that follows a simple schema: types, enum, const, properties, items."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: instance(properties.get(name, {})) for name in schema.get("required", ())}
    if kind == "array":
        return [instance(schema.get("items", {}))] * schema.get("minItems", 0)
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return {"string": "", "boolean": False, "null": None}[kind]


def vectors(asked: Asked, dimension: int, count: int | None) -> list[Any]:
    """Return a vector per text or picture asked about, or ``count`` of them for late interaction.

    Texts that share words are near, pictures only when they are equal. Vectors are not of unit
    length, as with many servers. A text has a vector per word in late interaction.
    """
    late = count is not None
    if asked.body.get("messages"):
        seed = asked.images[0] if asked.images else asked.text.encode()
        many = [_hashed(seed + bytes([i]), dimension) for i in range(count or 1)]
        return [many if late else many[0]]
    texts = asked.body["input"]
    texts = [texts] if isinstance(texts, str) else texts
    result: list[Any] = []
    for text in texts:
        words = re.findall(r"\w+", text.lower()) or ["(none)"]
        each = [_hashed(word.encode("utf-8", "replace"), dimension) for word in words]
        result.append(each if late else [sum(column) for column in zip(*each, strict=True)])
    return result


def _hashed(seed: bytes, dimension: int) -> list[float]:
    numbers: list[float] = []
    block = 0
    while len(numbers) < dimension:
        digest = hashlib.sha256(seed + block.to_bytes(4, "little")).digest()
        numbers += [(byte - 127.5) / 32 for byte in digest]
        block += 1
    return numbers[:dimension]
