"""Encoders behind a server: OpenAI's embeddings for text, vLLM's pooling endpoints for pictures.

`RemoteTextEncoder` sends passages to ``/v1/embeddings``. `RemoteImageEncoder` sends pictures as
chat messages, which vLLM takes at ``/v1/embeddings`` (one vector each) and ``/pooling`` (late
interaction). The SDK repeats requests that failed in a way that may pass, with growing waits and
the server's Retry-After. Vectors are brought to unit length here; none that is missing, of another
size or not finite gets through.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from ..address import Address
from ..errors import AccessError, EndpointError, MissingExtraError, ModelError, UsageError
from ..types import Vectors
from .passages import passages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..types import Page
    from .spec import Spec

__all__ = [
    "RemoteImageEncoder",
    "RemoteTextEncoder",
    "open_remote_encoder",
    "remote_image_encoder",
    "remote_text_encoder",
]

_TEXTS = 64  # per request
_CHARACTERS = 20_000  # of one text, as with the built-in encoder
_PIXELS = 1_000_000
_OPTIONS = {
    "openai": ("dimensions", "passage", "query", "revision"),
    "vllm": ("pixels", "prompt", "query", "revision", "task"),
}


def open_remote_encoder(
    spec: Spec, *, api_key: str | None = None, timeout: float = 120.0
) -> RemoteTextEncoder | RemoteImageEncoder:
    """Return the encoder that a spec with an address names; nothing is sent yet.

    ``openai:MODEL@URL`` encodes text, ``vllm:MODEL@URL`` pictures; ``?task=token_embed`` makes it
    late interaction. ``docs/models.md`` lists the options.

    Raises:
        UsageError: An option is unknown or makes no sense.
        ConfigError: The address or the key cannot be used.
    """
    known = _OPTIONS.get(spec.kind, ())
    unknown = sorted(set(spec.options) - set(known))
    if unknown:
        raise UsageError(f"{spec}: no option {unknown[0]!r}; there are {', '.join(known)}")
    options: dict[str, Any] = dict(spec.options)
    for name in ("dimensions", "pixels"):
        if name in options:
            text = options[name]
            if not (text.isascii() and text.isdigit() and 1 <= int(text[:12]) <= 10**9):
                raise UsageError(f"{spec}: {name} must be a whole number above 0, not {text!r}")
            options[name] = int(text)
    if spec.kind == "openai":
        return remote_text_encoder(spec.model, spec.url, api_key, timeout=timeout, **options)
    task = options.pop("task", "embed")
    if task not in ("embed", "token_embed"):
        raise UsageError(f"{spec}: task must be embed or token_embed, not {task!r}")
    late = task == "token_embed"
    return remote_image_encoder(
        spec.model, spec.url, api_key, late=late, timeout=timeout, **options
    )


def remote_text_encoder(
    model: str,
    base_url: str,
    api_key: str | None = None,
    *,
    query: str = "",
    passage: str = "",
    dimensions: int | None = None,
    revision: str = "",
    timeout: float = 120.0,
    retries: int = 4,
    concurrency: int = 4,
) -> RemoteTextEncoder:
    """Return an `Encoder` of texts behind ``/v1/embeddings``.

    Args:
        model: The model's name on the server.
        base_url: The server's address, which mostly ends in ``/v1``.
        api_key: The key; None: as `address.Address` says.
        query: Put before each question, as some models were trained (``query: ``).
        passage: Put before each passage.
        dimensions: Ask for shorter vectors, where the model can give them.
        revision: Names the weights; a server does not tell them.
        timeout: Seconds for one request.
        retries: Repetitions of a request that failed in a way that may pass.
        concurrency: Requests at a time.
    """
    server = _Server(model, base_url, api_key, timeout, retries, concurrency)
    return RemoteTextEncoder(server, query, passage, dimensions, revision)


def remote_image_encoder(
    model: str,
    base_url: str,
    api_key: str | None = None,
    *,
    late: bool = False,
    prompt: str = "",
    query: str = "",
    pixels: int = _PIXELS,
    revision: str = "",
    timeout: float = 120.0,
    retries: int = 4,
    concurrency: int = 4,
) -> RemoteImageEncoder:
    """Return an `ImageEncoder` behind vLLM's endpoints.

    Args:
        model: The model's name on the server.
        base_url: The server's address, with or without ``/v1``.
        api_key: The key; None: as `address.Address` says.
        late: Late interaction: many vectors per picture and question.
        prompt: Text sent with each picture; models made from chat models want one.
        query: Put before each question.
        pixels: Larger pictures are made smaller before they are sent.
        revision: Names the weights; a server does not tell them.
        timeout: Seconds for one request.
        retries: Repetitions of a request that failed in a way that may pass.
        concurrency: Requests at a time.
    """
    server = _Server(model, base_url, api_key, timeout, retries, concurrency)
    return RemoteImageEncoder(server, late, prompt, query, pixels, revision)


class RemoteTextEncoder:
    """An `Encoder` of texts; see `remote_text_encoder`. A page has a vector per passage."""

    def __init__(
        self, server: _Server, query: str, passage: str, dimensions: int | None, revision: str
    ) -> None:
        self._server, self._query, self._passage = server, query, passage
        self._dimensions, self._revision = dimensions, revision

    def __repr__(self) -> str:
        return f"RemoteTextEncoder({self._server})"

    @property
    def name(self) -> str:
        """The model's name on the server."""
        return self._server.model

    @property
    def revision(self) -> str:
        """The revision given, or ``endpoint``; with a mark of the settings that change vectors."""
        settings = [self._query, self._passage, self._dimensions]
        return _revision(self._revision, settings if any(settings) else None)

    @property
    def dimension(self) -> int:
        """Numbers per vector; the server is asked once."""
        if self._server.dimension is None:
            self.encode_queries(["dimension"])
        assert self._server.dimension is not None
        return self._server.dimension

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text.

        Raises:
            EndpointError: The server cannot be reached, refuses, or fails after all retries.
            ModelError: What it sent are no vectors.
        """
        return self._vectors([self._query + text for text in texts], [1] * len(texts))

    def encode_pages(self, pages: Sequence[Page]) -> Vectors:
        """Return a vector for each of a page's passages; none for a page without words."""
        cut = [passages(page) for page in pages]
        texts = [self._passage + part.text for page in cut for part in page]
        return self._vectors(texts, [len(page) for page in cut])

    def _vectors(self, texts: list[str], counts: list[int]) -> Vectors:
        # Running heads and repeated forms are common: the same text is sent once.
        distinct = list(dict.fromkeys(map(_clean, texts)))
        more = {"dimensions": self._dimensions} if self._dimensions else {}

        def ask(start: int) -> list[np.ndarray]:
            batch = distinct[start : start + _TEXTS]
            body = {"input": batch, "encoding_format": "float", **more}
            return self._server.vectors("/embeddings", body, len(batch), late=False)

        parts = self._server.each(ask, range(0, len(distinct), _TEXTS))
        found = dict(zip(distinct, [v for part in parts for v in part], strict=True))
        rows = [found[_clean(text)] for text in texts]
        if not rows:
            rows = [np.empty((0, self.dimension), np.float32)]
        offsets = np.cumsum([0, *counts], dtype=np.int64)
        return Vectors(np.concatenate(rows), offsets, self.name, self.revision)


class RemoteImageEncoder:
    """An `ImageEncoder` behind vLLM; see `remote_image_encoder`. Patches' places are unknown."""

    def __init__(
        self,
        server: _Server,
        late: bool,  # noqa: FBT001 (made by `remote_image_encoder`)
        prompt: str,
        query: str,
        pixels: int,
        revision: str,
    ) -> None:
        self._server, self._late, self._prompt, self._query = server, late, prompt, query
        self._pixels, self._revision = pixels, revision

    def __repr__(self) -> str:
        return f"RemoteImageEncoder({self._server})"

    @property
    def name(self) -> str:
        """The model's name on the server."""
        return self._server.model

    @property
    def revision(self) -> str:
        """The revision given, or ``endpoint``."""
        return _revision(self._revision, None)

    @property
    def dimension(self) -> int:
        """Numbers per vector; the server is asked once."""
        if self._server.dimension is None:
            self.encode_queries(["dimension"])
        assert self._server.dimension is not None
        return self._server.dimension

    @property
    def pixels(self) -> int:
        """Most pixels of a picture that are sent."""
        return self._pixels

    @property
    def settings(self) -> Mapping[str, str]:
        """Whatever else changes the vectors."""
        told = {
            "task": "token_embed" if self._late else "embed",
            "prompt": self._prompt,
            "query": self._query,
            "pixels": str(self._pixels),
        }
        return {name: value for name, value in told.items() if value}

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of questions.

        Raises:
            EndpointError: The server cannot be reached, refuses, or fails after all retries.
            ModelError: What it sent are no vectors.
        """

        def ask(text: str) -> np.ndarray:
            asked = _clean(self._query + text)
            if self._late:
                return self._one({"input": [asked]})
            return self._one({"messages": _message({"type": "text", "text": asked})})

        return self._together(self._server.each(ask, texts))

    def encode_images(self, images: Sequence[np.ndarray]) -> Vectors:
        """Return the vectors of pictures, uint8 RGB ``[height, width, 3]``; errors as above."""

        def ask(image: np.ndarray) -> np.ndarray:
            address = {"url": _data_uri(image, self._pixels)}
            parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": address}]
            if self._prompt:
                parts.append({"type": "text", "text": self._prompt})
            return self._one({"messages": _message(*parts)})

        return self._together(self._server.each(ask, images))

    def encode_image_queries(self, images: Sequence[np.ndarray]) -> Vectors:
        """Return the vectors of pictures that are asked with."""
        return self.encode_images(images)

    def _one(self, body: dict[str, Any]) -> np.ndarray:
        if self._late:
            body = {**body, "task": "token_embed", "encoding_format": "float"}
            return self._server.vectors("/pooling", body, 1, late=True)[0]
        body = {**body, "encoding_format": "float"}
        return self._server.vectors("/embeddings", body, 1, late=False)[0]

    def _together(self, items: list[np.ndarray]) -> Vectors:
        offsets = np.cumsum([0, *map(len, items)], dtype=np.int64)
        data = np.concatenate(items) if items else np.empty((0, self.dimension), np.float32)
        return Vectors(data, offsets, self.name, self.revision)


class _Server:
    """One model on one server: asks for vectors and checks what comes."""

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None,
        timeout: float,
        retries: int,
        concurrency: int,
    ) -> None:
        self._address = Address(base_url, api_key)
        root = self._address.url.removesuffix("/v1")
        # vLLM's own endpoints stand beside those of the OpenAI protocol.
        self._root = root
        self._url = self._address.url if urlsplit(self._address.url).path else f"{root}/v1"
        self.model = model
        self.dimension: int | None = None
        self._timeout, self._retries, self._concurrency = timeout, retries, concurrency
        self._lock = threading.Lock()
        self._client: Any = None

    def __str__(self) -> str:
        return f"{self.model!r}, {self._address.shown!r}"

    def each(self, act: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``act`` of every item, in order, several at a time."""
        if len(items) < 2 or self._concurrency == 1:
            return [act(item) for item in items]
        with ThreadPoolExecutor(min(self._concurrency, len(items))) as pool:
            return list(pool.map(act, items))

    def vectors(
        self, path: str, body: dict[str, Any], count: int, *, late: bool
    ) -> list[np.ndarray]:
        """Return the vectors of ``count`` items, each float32 ``[n, dimension]``, unit length."""
        answer = self._post(f"{self._root}{path}" if late else path, body)
        try:
            entries = sorted(answer["data"], key=lambda entry: int(entry["index"]))
            raw = [entry["data" if late else "embedding"] for entry in entries]
            found = [np.array(item, np.float64, ndmin=2) for item in raw]
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            raise self._bad("its answer holds no vectors") from error
        if len(found) != count:
            raise self._bad(f"{len(found)} vectors instead of {count}")
        return [self._unit(rows) for rows in found]

    def _unit(self, rows: np.ndarray) -> np.ndarray:
        if rows.ndim != 2 or 0 in rows.shape:
            raise self._bad("a vector without numbers")
        with self._lock:
            self.dimension = self.dimension or rows.shape[1]
        if rows.shape[1] != self.dimension:
            raise self._bad(f"vectors of {rows.shape[1]} numbers instead of {self.dimension}")
        with np.errstate(over="ignore"):  # what overflows is not finite, which is said below
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or (lengths == 0).any():
            raise self._bad("a vector that is not finite, or has no length")
        unit: np.ndarray = (rows / lengths).astype(np.float32)
        return unit

    def _bad(self, reason: str) -> ModelError:
        return ModelError(f"{self.model} at {self._address.shown}: the server sent {reason}")

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        openai = _sdk()
        try:
            return self._open().post(path, cast_to=object, body={"model": self.model, **body})
        except openai.APIStatusError as error:
            status = int(error.status_code)
            kind = AccessError if status in (401, 403, 404) else EndpointError
            raise self._failed(_advice(status, str(error)), kind) from None
        except openai.APITimeoutError:
            raise self._failed(f"no answer within {self._timeout:g} s") from None
        except openai.APIConnectionError as error:
            reason = error.__cause__ or error
            raise self._failed(f"cannot be reached ({reason}); is the server running?") from None
        except openai.OpenAIError as error:
            raise self._failed(str(error)) from None
        except ValueError:
            raise self._failed("its answer is not JSON") from None

    def _failed(self, reason: str, kind: type[EndpointError] = EndpointError) -> EndpointError:
        reason = self._address.hide(reason)
        line = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
        return kind(f"{self.model} at {self._address.shown}: {line[:400]}")

    def _open(self) -> Any:
        openai = _sdk()
        with self._lock:
            if self._client is None:
                # A proxy of the environment is for the outer world; it cannot reach this machine.
                http = openai.DefaultHttpxClient(trust_env=not self._address.is_local)
                self._client = openai.OpenAI(
                    api_key=self._address.key,
                    base_url=self._url,
                    timeout=openai.Timeout(self._timeout, connect=min(self._timeout, 10.0)),
                    max_retries=self._retries,
                    http_client=http,
                )
                if not self._address.is_openai:  # the account's names are nobody else's business
                    self._client.organization = self._client.project = None
                weakref.finalize(self, http.close)
            return self._client


def _sdk() -> Any:
    try:
        import openai
    except ImportError as error:
        raise MissingExtraError("openai", "remote") from error
    return openai


def _advice(status: int, told: str) -> str:
    if status in (401, 403):
        advice = "set models.api_key, and models.base_url to its address"
        return f"the server refuses the key ({told}); {advice}"
    if status == 404:
        return f"no such model or path ({told}); check the model's name and the address"
    return told


def _revision(given: str, settings: list[Any] | None) -> str:
    base = given or "endpoint"
    if settings is None:
        return base
    return f"{base}+{hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:8]}"


def _message(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": list(parts)}]


def _clean(text: str) -> str:
    """Return text that can be sent; many servers refuse an empty one."""
    return text[:_CHARACTERS].encode("utf-8", "replace").decode("utf-8") or " "


def _data_uri(image: np.ndarray, pixels: int) -> str:
    from PIL import Image

    picture = Image.fromarray(image)
    if picture.width * picture.height > pixels:
        scale = (pixels / (picture.width * picture.height)) ** 0.5
        size = max(1, int(picture.width * scale)), max(1, int(picture.height * scale))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode('ascii')}"
