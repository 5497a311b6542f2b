"""Replies kept by content: the same question to the same model is asked once.

A reply's key is the SHA-256 of everything that went into the call. Pictures count by their own
keys, which name file, page and pixels, so a kept reply needs no drawing.
"""

from __future__ import annotations

import copy
import hashlib
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..ports import Reply
from .store import ReplyStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..ports import ChatModel, Message
    from .budget import Meter

__all__ = ["CachedChat", "DecodeSettings", "MemoryStore", "ReplyStore", "Store", "reply_key"]

FORMAT = 1
"""Rises when what is kept, or how a reply comes about, changes."""


class Store(Protocol):
    """Where replies are kept, as bytes by key; safe to call from several threads."""

    def get(self, key: str) -> bytes | None:
        """Return what was kept, or None."""
        ...

    def put(self, key: str, model: str, body: bytes) -> None:
        """Keep something; a place that cannot be written to loses it without an error."""
        ...

    def drop(self, key: str) -> None:
        """Forget one reply."""
        ...


class MemoryStore:
    """A `Store` that lasts as long as the object."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """Return what was kept, or None."""
        return self._kept.get(key)

    def put(self, key: str, model: str, body: bytes) -> None:
        """Keep something."""
        del model
        self._kept[key] = body

    def drop(self, key: str) -> None:
        """Forget one reply."""
        self._kept.pop(key, None)


@runtime_checkable
class DecodeSettings(Protocol):
    """A chat model with further settings that change its replies, such as a seed."""

    @property
    def settings(self) -> Mapping[str, str]: ...


def reply_key(
    model: ChatModel,
    messages: Sequence[Message],
    *,
    schema: Mapping[str, object] | None,
    max_tokens: int,
    logprobs: bool,
) -> str:
    """Return the key of a call: 64 hexadecimal digits, equal for equal calls in every process."""
    settings = dict(model.settings) if isinstance(model, DecodeSettings) else {}
    parts = [
        FORMAT,
        model.name,
        model.revision,
        sorted(settings.items()),
        [[m.role, m.text, [picture.key for picture in m.images]] for m in messages],
        schema,
        max_tokens,
        logprobs,
    ]
    text = json.dumps(parts, separators=(",", ":"), default=dict)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass
class _Flight:
    """A call that is under way, for those who want the same."""

    done: threading.Event = field(default_factory=threading.Event)
    reply: Reply | None = None
    error: Exception | None = None


class CachedChat:
    """A `ChatModel` that asks another only what was not asked before.

    Failed calls and empty replies are never kept. Threads that ask the same at the same time share
    one call, and its failure. A reply kept from before says so and costs nothing.

    Args:
        model: Whom to ask.
        store: Where replies are kept; one store belongs to one library.
        meter: Counts the replies kept from before; the model's own, when it has one, by default.
    """

    def __init__(self, model: ChatModel, store: Store, meter: Meter | None = None) -> None:
        self._model, self._store = model, store
        self._meter: Meter | None = meter if meter is not None else getattr(model, "meter", None)
        self._lock = threading.Lock()
        self._flights: dict[str, _Flight] = {}

    def __repr__(self) -> str:
        return f"CachedChat({self._model!r})"

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def revision(self) -> str:
        """The model's revision."""
        return self._model.revision

    @property
    def concurrency(self) -> int:
        """How many calls at a time are worth making."""
        return self._model.concurrency

    @property
    def model(self) -> ChatModel:
        """The model that is asked."""
        return self._model

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        max_tokens: int = 512,
        logprobs: bool = False,
    ) -> Reply:
        """Return the reply kept from before, or ask; see `ports.ChatModel.chat` for the errors."""
        messages = tuple(messages)
        key = reply_key(
            self._model, messages, schema=schema, max_tokens=max_tokens, logprobs=logprobs
        )
        while True:
            with self._lock:
                flight = self._flights.get(key)
                leads = flight is None
                if flight is None:
                    flight = self._flights[key] = _Flight()
            if not leads:
                flight.done.wait()
                if flight.error is not None:
                    raise _again(flight.error)
                if flight.reply is not None:
                    return self._hit(flight.reply)
                continue  # the other thread was stopped; ask in its place
            return self._lead(key, flight, messages, schema, max_tokens, logprobs)

    def forget(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        max_tokens: int = 512,
        logprobs: bool = False,
    ) -> None:
        """Forget a kept reply that turned out to be of no use, so that it is asked for again."""
        self._store.drop(
            reply_key(
                self._model, messages, schema=schema, max_tokens=max_tokens, logprobs=logprobs
            )
        )

    def _lead(
        self,
        key: str,
        flight: _Flight,
        messages: Sequence[Message],
        schema: Mapping[str, object] | None,
        max_tokens: int,
        logprobs: bool,  # noqa: FBT001 (as `chat` got it)
    ) -> Reply:
        try:
            kept = self._store.get(key)
            reply = _read(kept) if kept is not None else None
            if reply is not None:
                flight.reply = reply
                return self._hit(reply)
            reply = self._model.chat(
                messages, schema=schema, max_tokens=max_tokens, logprobs=logprobs
            )
            flight.reply = reply
            if reply.text.strip() or reply.data is not None:
                self._store.put(key, self._model.name, _write(reply))
        except Exception as error:
            flight.error = error
            raise
        else:
            return reply
        finally:
            with self._lock:
                del self._flights[key]
            flight.done.set()

    def _hit(self, reply: Reply) -> Reply:
        if self._meter is not None:
            self._meter.hit()
        return Reply(
            text=reply.text,
            logprobs=reply.logprobs,
            data=copy.deepcopy(reply.data),
            calls=0,
            cached=True,
            finish=reply.finish,
        )


def _again(error: Exception) -> Exception:
    """Return a copy of another thread's error, so that each has a traceback of its own."""
    try:
        return copy.copy(error)
    except TypeError:  # a foreign error that cannot be built from its arguments
        return error


def _write(reply: Reply) -> bytes:
    body: dict[str, Any] = {
        "text": reply.text,
        "logprobs": dict(reply.logprobs) if reply.logprobs is not None else None,
        "data": reply.data,
        "finish": reply.finish,
    }
    return json.dumps(body, separators=(",", ":")).encode("ascii")


def _read(body: bytes) -> Reply | None:
    """Return the reply that was kept; None when the bytes are damaged, so that it is asked for."""
    try:
        kept = json.loads(body)
        logprobs = kept["logprobs"]
        return Reply(
            text=str(kept["text"]),
            logprobs=None if logprobs is None else {k: float(v) for k, v in logprobs.items()},
            data=kept["data"],
            finish="length" if kept["finish"] == "length" else "stop",
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
