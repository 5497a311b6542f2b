"""A fake chat model, and the contract that every chat model keeps."""

from __future__ import annotations

import copy
import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import DamagedError, MissingExtraError, ReplyError
from ..ports import ChatModel, Message, Picture, Reply
from .pictures import plain_png
from .rules import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ScriptedCall", "ScriptedChat", "check_chat_model"]

require = rules("a chat model")


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """What a `ScriptedChat` was asked."""

    messages: tuple[Message, ...]
    schema: Mapping[str, object] | None
    max_tokens: int
    logprobs: bool

    @property
    def text(self) -> str:
        """The last message's text."""
        return self.messages[-1].text

    @property
    def images(self) -> tuple[str, ...]:
        """The keys of all pictures, in order."""
        return tuple(picture.key for message in self.messages for picture in message.images)


class ScriptedChat:
    """A fake `ChatModel`: says what it is told to say and remembers what it was asked.

    Args:
        replies: One reply for every call; or a sequence, one each, the last one again and again; or
            a function of the call, called from several threads. A reply is text, a `Reply`, or an
            error to raise. Log-probabilities are told only when asked for.
        draws: Draw every picture, as a model that looks at it would.
    """

    def __init__(
        self,
        replies: Callable[[ScriptedCall], Reply | str | Exception]
        | Sequence[Reply | str | Exception]
        | Reply
        | str
        | Exception = "yes",
        *,
        name: str = "scripted",
        revision: str = "1",
        concurrency: int = 4,
        draws: bool = True,
    ) -> None:
        self._replies, self._draws = replies, draws
        self.name, self.revision, self.concurrency = name, revision, concurrency
        self._lock = threading.Lock()
        self._calls: list[ScriptedCall] = []

    @property
    def calls(self) -> list[ScriptedCall]:
        """The calls so far."""
        with self._lock:
            return list(self._calls)

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        max_tokens: int = 512,
        logprobs: bool = False,
    ) -> Reply:
        """Return the reply that is next."""
        call = ScriptedCall(tuple(messages), schema, max_tokens, logprobs)
        if self._draws:
            for picture in {p.key: p for m in call.messages for p in m.images}.values():
                picture.draw()
        with self._lock:
            number = len(self._calls)
            self._calls.append(call)
        reply = self._reply(call, number)
        if isinstance(reply, Exception):
            raise copy.copy(reply)
        if isinstance(reply, str):
            prompt = sum(len(message.text.split()) + 1 for message in call.messages)
            reply = Reply(reply, prompt_tokens=prompt, reply_tokens=len(reply.split()))
        if not logprobs:
            reply = replace(reply, logprobs=None)
        if schema is not None and reply.data is None:
            reply = replace(reply, data=_data(reply.text, schema))
        return reply

    def _reply(self, call: ScriptedCall, number: int) -> Reply | str | Exception:
        if callable(self._replies):
            return self._replies(call)
        if isinstance(self._replies, str | Reply | Exception):
            return self._replies
        return self._replies[min(number, len(self._replies) - 1)]


def _data(text: str, schema: Mapping[str, object]) -> object:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ReplyError(f"scripted: the reply is not JSON: {error}") from error
    if not _follows(value, schema):
        raise ReplyError("scripted: the reply does not follow the schema")
    return value


def _follows(value: object, schema: Mapping[str, object]) -> bool:
    try:
        import jsonschema
    except ImportError as error:
        raise MissingExtraError("jsonschema", "remote") from error
    return bool(jsonschema.Draft202012Validator(dict(schema)).is_valid(value))


_ODD_TEXTS = (
    "",
    " \n\t",
    "\x00\x07",
    "\ud800 lone surrogate",
    "橋は1932年に開通した。",
    "\u202eمتى افتتح الجسر؟",
    '{"role": "system"} <think> </s> <|im_end|> {question}',
    "the same word " * 200,
)
_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_FEW = 16  # tokens; the contract looks at the form of replies, not at their sense


def check_chat_model(model: ChatModel, *, images: bool = True, schema: bool = True) -> None:
    """Check that a chat model keeps to the contract of `ports.ChatModel`.

    What it says may make no sense; how it says it must. About thirty short calls are made.

    Args:
        model: What to check.
        images: It looks at pictures; switch off for models of text.
        schema: It can be asked for JSON; switch off for models that never write any.

    Raises:
        AssertionError: A rule is broken; the message names it.
    """
    require(isinstance(model, ChatModel), "has the attributes and methods of ports.ChatModel")
    require(bool(model.name) and bool(model.revision), "has a name and a revision")
    require(model.concurrency >= 1, "is worth at least one call at a time")
    _check_replies(model)
    _check_logprobs(model)
    _check_threads(model)
    if images:
        _check_pictures(model)
    if schema:
        _check_schema(model)


def _well_formed(reply: Reply) -> Reply:
    require(isinstance(reply, Reply), "returns a ports.Reply")
    require(isinstance(reply.text, str), "replies with text")
    require(reply.finish in ("stop", "length"), "says how the reply ended")
    counts = (reply.calls, reply.prompt_tokens, reply.reply_tokens)
    require(all(isinstance(n, int) and n >= 0 for n in counts), "counts calls and tokens")
    if reply.cached:
        require(counts == (0, 0, 0), "counts nothing for a reply kept from before")
    else:
        require(reply.calls >= 1 and reply.prompt_tokens >= 1, "counts what a reply took")
    return reply


def _check_replies(model: ChatModel) -> None:
    question = Message("user", "Does the ferry run on Sundays? Reply with yes or no.")
    reply = _well_formed(model.chat([question], max_tokens=_FEW))
    require(reply.logprobs is None, "tells log-probabilities only when asked")
    require(reply.data is None, "has data only when a schema was given")
    again = _well_formed(model.chat((question,), max_tokens=_FEW))
    require(again.text == reply.text, "gives the same reply to the same question")
    turns = (
        Message("system", "You reply with one word."),
        Message("user", "Is water wet?"),
        Message("assistant", "Yes"),
        Message("user", "Is fire cold?"),
    )
    _well_formed(model.chat(turns, max_tokens=_FEW))
    _well_formed(model.chat([question], max_tokens=1))
    for text in _ODD_TEXTS:
        _well_formed(model.chat([Message("user", text)], max_tokens=_FEW))


def _check_logprobs(model: ChatModel) -> None:
    question = Message("user", "Is the sky blue? Reply with yes or no.")
    reply = _well_formed(model.chat([question], max_tokens=_FEW, logprobs=True))
    if reply.logprobs is None:
        return
    require(len(reply.logprobs) > 0, "tells some log-probabilities or None")
    values = list(reply.logprobs.values())
    require(all(math.isfinite(v) and v <= 0 for v in values), "tells finite ones, not above 0")
    require(sum(map(math.exp, values)) < 1.01, "tells probabilities that add up to at most 1")


def _check_threads(model: ChatModel) -> None:
    marks = [f"mark{number}x" for number in range(8)]

    def ask(mark: str) -> Reply:
        return model.chat([Message("user", f"Repeat the word {mark}.")], max_tokens=_FEW)

    with ThreadPoolExecutor(4) as pool:
        for mark, reply in zip(marks, pool.map(ask, marks), strict=True):
            _well_formed(reply)
            strange = [other for other in marks if other != mark and other in reply.text]
            require(not strange, "gives each thread the reply to its own question")


def _check_pictures(model: ChatModel) -> None:
    drawn: list[str] = []

    def picture(key: str, colour: tuple[int, int, int]) -> Picture:
        def draw() -> bytes:
            drawn.append(key)
            return plain_png(56, 56, colour)

        return Picture(key, draw)

    red, blue = picture("contract-red", (200, 0, 0)), picture("contract-blue", (0, 0, 200))
    _well_formed(model.chat([Message("user", "Which is red?", (red, blue, red))], max_tokens=_FEW))
    require(drawn.count("contract-red") <= 1, "draws a picture at most once for a call")

    def fails() -> bytes:
        raise DamagedError("contract.pdf", "cannot be drawn")

    try:
        model.chat([Message("user", "Red?", (Picture("contract-gone", fails),))], max_tokens=_FEW)
    except DamagedError:
        return
    raise AssertionError("a chat model lets through the error of a picture that cannot be drawn")


def _check_schema(model: ChatModel) -> None:
    before = copy.deepcopy(_SCHEMA)
    question = Message("user", "Name one of the colours red and blue.")
    try:
        reply = _well_formed(model.chat([question], schema=_SCHEMA, max_tokens=64))
    except ReplyError:
        reply = None
    if reply is not None:
        require(_follows(reply.data, _SCHEMA), "returns data that follow the schema, or ReplyError")
    require(before == _SCHEMA, "leaves the schema as it was")
