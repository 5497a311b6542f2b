"""Chat models behind any server of the OpenAI protocol: vLLM, Ollama, llama.cpp, LM Studio, hosted.

Servers differ, fail and lie. Each request ends in a reply or in one typed error; each attempt is
counted once; what a server refuses is left out from then on; what it does not tell stays unknown.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from ..address import Address
from ..errors import AccessError, EndpointError, MissingExtraError, ReplyError, UsageError
from ..ports import Message, Reply
from .attempts import Attempts, Spent
from .budget import Meter
from .faults import PassingError, RefusedError, one_line, reason_of, retry_after
from .prompts import JSON, REPAIR
from .schema import ReplyFaultError, check_schema, read_reply
from .sse import MalformedStreamError, StreamReader
from .wire import SEED, Dialect, MalformedError, Said, Tokens, clean, encode, request
from .wire import read_body as read_said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["RemoteChat"]

_LARGEST = 64 * 1024 * 1024  # bytes of one answer; a server gone wild must not fill the memory
_AGAIN = frozenset({408, 409, 425, 429})
_REFUSED = frozenset({400, 422})
_UNABLE = re.compile(r"not (?:supported|implemented)|unsupported")

_T = TypeVar("_T")

_PROBE: Mapping[str, object] = MappingProxyType(
    {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["violet"]}},
        "required": ["colour"],
        "additionalProperties": False,
    }
)


@dataclass(frozen=True, slots=True)
class _Wants:
    schema: Mapping[str, object] | None = None
    max_tokens: int = 512
    logprobs: bool = False
    stream: bool = False
    in_words: bool = True


class RemoteChat:
    """A `ChatModel` behind a server of the OpenAI protocol; one object serves many threads.

    Nothing is sent before the first call. Replies are decoded with temperature 0 and a fixed seed
    where the server takes them. A reply's thinking is left out of its text, and log-probabilities
    are those of the first token after it; None when the server tells none or that token cannot be
    found. Waits between attempts double from ``backoff`` seconds, with jitter; a server's
    Retry-After is kept to, up to ``max_wait``.

    Args:
        model: The model's name on the server.
        base_url: The server's address, which mostly ends in ``/v1``.
        api_key: The key; None: as `address.Address` says.
        timeout: Seconds for one request; for a stream, for each pause in it.
        retries: Repetitions of a request that failed in a way that may pass.
        concurrency: Requests at a time; a call that waits to repeat keeps its place.
        meter: Counts and limits what is spent; one of its own by default.
        revision: Names the weights where the server's address does not say enough.
        max_wait: Longest wait between two attempts, seconds.
        backoff: First wait, seconds.
        headers: Further headers of each request.
        extra: Further fields of each request, for what one server wants.

    Raises:
        ConfigError: The address or the key cannot be used.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None = None,
        *,
        timeout: float = 120.0,
        retries: int = 4,
        concurrency: int = 4,
        meter: Meter | None = None,
        revision: str = "",
        max_wait: float = 60.0,
        backoff: float = 0.5,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        if not model.strip():
            raise UsageError("a chat model needs the name that its server knows it by")
        if timeout <= 0 or retries < 0 or concurrency < 1:
            raise UsageError("timeout and concurrency must be above zero, retries not below")
        self._model, self._revision = model.strip(), revision
        self._address = Address(base_url, api_key)
        self._timeout, self._concurrency = timeout, concurrency
        self._headers, self._extra = dict(headers or {}), dict(extra or {})
        self._meter = meter if meter is not None else Meter()
        self._slots = threading.BoundedSemaphore(concurrency)
        self._lock = threading.Lock()
        self._attempts = Attempts(
            self._where, self._meter, retries=retries, backoff=backoff, max_wait=max_wait
        )
        self._client: Any = None

    def __repr__(self) -> str:
        return f"RemoteChat({self._model!r}, {self._address.shown!r})"

    @property
    def name(self) -> str:
        """The model's name on the server."""
        return self._model

    @property
    def revision(self) -> str:
        """The revision given, otherwise the server's address without credentials.

        A server does not say which weights it holds, so replies are told apart by where they came
        from.
        """
        return self._revision or self._address.shown

    @property
    def concurrency(self) -> int:
        """Requests at a time."""
        return self._concurrency

    @property
    def meter(self) -> Meter:
        """What counts the calls."""
        return self._meter

    @property
    def settings(self) -> Mapping[str, str]:
        """Whatever else changes replies; part of the key under which they are kept."""
        told = {"temperature": "0", "seed": str(SEED), "json": JSON.id, "repair": REPAIR.id}
        return told | ({"extra": json.dumps(self._extra, sort_keys=True)} if self._extra else {})

    @property
    def dialect(self) -> Dialect:
        """What the server is known to take, as far as was seen."""
        return self._attempts.dialect

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        max_tokens: int = 512,
        logprobs: bool = False,
    ) -> Reply:
        """Return the reply to a conversation; see `ports.ChatModel.chat`.

        Raises:
            EndpointError: The server cannot be reached, refuses, or fails after all retries.
            ReplyError: With a schema: the reply does not follow it after one repair, or was cut.
                Always: the server withheld the reply.
            BudgetError: The budget is spent.
            MissingExtraError: The extra ``remote`` is not installed.
        """
        _check(messages, max_tokens)
        if schema is not None:
            check_schema(schema)
        self._meter.check()
        sent, spent = encode(messages), Spent()
        wants = _Wants(schema, max_tokens, logprobs)
        with self._slots:
            said = self._say(sent, wants, spent)
            if schema is None:
                return _reply(said, spent)
            data, fault = self._data(said, schema)
            if fault:
                sent.append({"role": "assistant", "content": clean(said.text)})
                sent.append({"role": "user", "content": clean(REPAIR.fill(fault=fault))})
                said = self._say(sent, wants, spent)
                data, fault = self._data(said, schema)
            if fault:
                raise ReplyError(f"{self._model}: the reply does not follow the schema: {fault}")
            return _reply(said, spent, data)

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int = 512
    ) -> Iterator[str | Reply]:
        """Yield the reply in pieces of text as they come, and the whole `Reply` at the end.

        Failures before the first piece are retried as in `chat`. A stream that ends without the
        `Reply` is not a reply. One that is left early is counted with estimated tokens.

        Raises:
            EndpointError: As in `chat`, and when the connection is cut within the reply.
            ReplyError: The server withheld the reply.
            BudgetError: The budget is spent.
        """
        _check(messages, max_tokens)
        self._meter.check()
        sent, spent = encode(messages), Spent()
        with self._slots:
            first, reader = self._ask(
                sent, _Wants(max_tokens=max_tokens, stream=True), spent, self._begin
            )
            try:
                yield from chain((first,) if first else (), self._rest(reader))
            except EndpointError:
                self._meter.fail()
                raise
            finally:
                reader.close()
                self._settle(reader.tokens, spent)
        self._withheld(reader.finish, "")
        finish = _finish(reader.finish)
        yield Reply(
            reader.text.strip(), None, None, spent.prompt, spent.reply, spent.calls, False, finish
        )

    def served(self) -> Mapping[str, Any]:
        """Return what the server tells of this model in its list of models; empty when nothing.

        Raises:
            EndpointError: The server cannot be reached or refuses.
        """
        try:
            entries = json.loads(self._once(self._list))["data"]
            found = [entry for entry in entries if entry.get("id") == self._model]
            if len(entries) == 1:  # servers of one model take any name for it
                found = entries
        except PassingError as error:
            raise EndpointError(f"{self._where}: {error}") from None
        except (RefusedError, ValueError, LookupError, TypeError, AttributeError):
            return {}
        return dict(found[0]) if found else {}

    def schema_support(self) -> Literal["yes", "ignored", "no"]:
        """Return whether the server enforces JSON schemas, takes them without effect, or refuses.

        One small request: the words ask for something else than the schema does.

        Raises:
            EndpointError: The server cannot be reached or refuses.
            BudgetError: The budget is spent.
        """
        asked = encode([Message("user", "Reply with the one word hello.")])
        wants = _Wants(_PROBE, max_tokens=512, in_words=False)
        with self._slots:
            said = self._say(asked, wants, Spent())
        if self.dialect.schema != "json_schema":
            return "no"
        try:
            read_reply(said.text, _PROBE)
        except ReplyFaultError:
            return "ignored"
        return "yes"

    # --- one question ----------------------------------------------------------------------------

    def _say(self, sent: list[dict[str, Any]], wants: _Wants, spent: Spent) -> Said:
        said = self._ask(sent, wants, spent, self._whole)
        self._settle(said.tokens, spent)
        self._withheld(said.finish, said.refusal)
        return said

    def _settle(self, tokens: Tokens, spent: Spent) -> None:
        spent.add(tokens)
        self._meter.settle(tokens.prompt, tokens.reply, estimated=not tokens.told)

    def _withheld(self, finish: str, refusal: str) -> None:
        if refusal:
            raise ReplyError(f"{self._model} declined to reply: {one_line(refusal)}")
        if finish == "content_filter":
            raise ReplyError(f"{self._model}: the server's content filter withheld the reply")

    def _data(self, said: Said, schema: Mapping[str, object]) -> tuple[Any, str]:
        """Return the reply's JSON and "", or None and what is wrong with it."""
        if said.finish == "length":
            raise ReplyError(
                f"{self._model}: the reply was cut off at the most tokens allowed; allow more"
            )
        try:
            return read_reply(said.text, schema), ""
        except ReplyFaultError as fault:
            return None, str(fault)

    def _ask(
        self,
        sent: list[dict[str, Any]],
        wants: _Wants,
        spent: Spent,
        attempt: Callable[[dict[str, Any]], _T],
    ) -> _T:
        def body_for(dialect: Dialect) -> dict[str, Any]:
            body = request(
                sent,
                dialect,
                schema=wants.schema,
                max_tokens=wants.max_tokens,
                logprobs=wants.logprobs,
                in_words=wants.in_words,
            )
            if wants.stream:
                usage = {"stream_options": {"include_usage": True}} if dialect.stream_usage else {}
                body |= {"stream": True, **usage}
            return body

        return self._attempts.make(body_for, attempt, spent)

    def _failed(self, reason: str, kind: type[EndpointError] = EndpointError) -> EndpointError:
        return kind(f"{self._where}: {reason}")

    @property
    def _where(self) -> str:
        return f"{self._model} at {self._address.shown}"

    # --- one attempt -----------------------------------------------------------------------------

    def _whole(self, body: dict[str, Any]) -> Said:
        try:
            return read_said(self._once(lambda: self._post(body)), body)
        except MalformedError as error:
            raise PassingError(one_line(self._address.hide(str(error)))) from None

    def _post(self, body: dict[str, Any]) -> bytes:
        with self._open().chat.completions.with_streaming_response.create(
            model=self._model, extra_body=self._extra or None, **body
        ) as response:
            return self._read(response)

    def _list(self) -> bytes:
        with self._open().models.with_streaming_response.list() as response:
            return self._read(response)

    def _read(self, response: Any) -> bytes:
        """Return the body; a server that only drips bytes is a server that is too slow."""
        deadline, parts, size = time.monotonic() + self._timeout, [], 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > _LARGEST:
                raise self._failed("the answer is too long to be a reply")
            if time.monotonic() > deadline:
                raise PassingError(f"no whole reply within {self._timeout:g} s")
        return b"".join(parts)

    def _begin(self, body: dict[str, Any]) -> tuple[str, StreamReader]:
        """Open a stream and read up to its first piece of text; "" when it has none."""
        reader = StreamReader(
            self._open().chat.completions.with_streaming_response.create(
                model=self._model, extra_body=self._extra or None, **body
            ),
            body,
        )
        try:
            return self._once(lambda: reader.next() or ""), reader
        except BaseException:
            reader.close()
            raise

    def _rest(self, reader: StreamReader) -> Iterator[str]:
        while True:
            try:
                piece = self._once(reader.next)
            except PassingError as error:
                raise self._failed(f"the reply broke off ({error})") from None
            if piece is None:
                return
            yield piece

    def _once(self, act: Callable[[], _T]) -> _T:
        """Do something with the SDK; every way in which it fails becomes one of ours."""
        openai = _sdk()
        try:
            return act()
        except openai.APIStatusError as error:
            raise self._status(error) from None
        except openai.APITimeoutError:
            raise PassingError(f"no reply within {self._timeout:g} s") from None
        except openai.APIConnectionError as error:
            raise PassingError(self._unreached(error)) from None
        except MalformedStreamError as error:
            raise PassingError(one_line(self._address.hide(str(error)))) from None
        except _transport_errors() as error:
            slow = "Timeout" in type(error).__name__
            reason = f"no reply within {self._timeout:g} s" if slow else "the connection was cut"
            raise PassingError(reason) from None
        except (openai.OpenAIError, UnicodeError) as error:
            raise self._failed(one_line(self._address.hide(str(error)))) from None

    def _unreached(self, error: BaseException) -> str:
        cause = error.__cause__
        reason = one_line(self._address.hide(str(cause or error))) or type(cause).__name__
        return f"cannot be reached ({reason}); is the server running, and is the address right?"

    def _status(self, error: Any) -> Exception:
        """Return the error that a status of the server's stands for."""
        status, (message, param) = int(error.status_code), reason_of(error)
        message, param = self._address.hide(message), self._address.hide(param)
        told = f" ({one_line(message)})" if message else ""
        # llama.cpp says 500 for what its model cannot do; that does not pass.
        if status in _REFUSED or (status >= 500 and _UNABLE.search(message.lower())):
            return RefusedError(one_line(message) or f"status {status}", message, param)
        if "insufficient_quota" in f"{message} {getattr(error, 'code', '')}":
            return self._failed(f"the account has nothing left{told}; pay in, or use another key")
        if status in _AGAIN or status >= 500:
            wait = retry_after(error.response.headers)
            return PassingError(f"status {status}{told}", wait)
        if status in (401, 403):
            advice = "set models.api_key to a key that may use this model"
            refused = f"the server refuses the key, status {status}{told}; {advice}"
            return self._failed(refused, AccessError)
        if status == 404:
            advice = "check the model's name and the address, which mostly ends in /v1"
            return self._failed(f"no such model or path, status 404{told}; {advice}", AccessError)
        return self._failed(f"status {status}{told}")

    def _open(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> Any:
        openai = _sdk()
        limits = openai.Timeout(self._timeout, connect=min(self._timeout, 10.0))
        # A proxy of the environment is for the outer world; it cannot reach this machine.
        http = openai.DefaultHttpxClient(trust_env=not self._address.is_local, timeout=limits)
        client = openai.OpenAI(
            api_key=self._address.key,
            base_url=self._address.url,
            timeout=limits,
            max_retries=0,  # attempts are counted and repeated here
            default_headers=self._headers or None,
            http_client=http,
        )
        if not self._address.is_openai:  # the account's names are nobody else's business
            client.organization = client.project = None
        weakref.finalize(self, http.close)
        return client


def _sdk() -> Any:
    try:
        import openai
    except ImportError as error:
        raise MissingExtraError("openai", "remote") from error
    return openai


def _transport_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the HTTP library beneath the SDK, whichever its version uses."""
    found = set()
    for base in _sdk().DefaultHttpxClient.__mro__:
        library = sys.modules.get(base.__module__.partition(".")[0])
        for name in ("HTTPError", "StreamError"):
            kind = getattr(library, name, None)
            if isinstance(kind, type) and issubclass(kind, Exception):
                found.add(kind)
    return (*found, ConnectionError, TimeoutError)


def _check(messages: Sequence[Message], max_tokens: int) -> None:
    if not messages or messages[-1].role != "user":
        raise UsageError("a conversation must end with a message of the user's")
    if max_tokens < 1:
        raise UsageError(f"max_tokens must be at least 1, not {max_tokens}")


def _finish(told: str) -> Literal["stop", "length"]:
    return "length" if told == "length" else "stop"


def _reply(said: Said, spent: Spent, data: Any = None) -> Reply:
    return Reply(
        text=said.text,
        logprobs=said.logprobs,
        data=data,
        prompt_tokens=spent.prompt,
        reply_tokens=spent.reply,
        calls=spent.calls,
        finish=_finish(said.finish),
    )
