"""A real server of the OpenAI protocol on this machine, for tests: obedient, faulty or hostile.

It speaks HTTP on 127.0.0.1 and does what it is told, request by request::

    with ChatServer([Turn(status=429, headers={"Retry-After": "1"}), "yes"]) as server:
        model = RemoteChat("test", server.url)
        assert model.chat([Message("user", "Is it?")]).text == "yes"
        assert len(server.asked) == 2

It answers ``/v1/models``, ``/v1/chat/completions`` (pictures, streams, JSON schemas, log
probabilities), ``/v1/embeddings`` (texts, or a message with a picture) and ``/pooling``.
"""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal, Self

from .protocol import Asked, BadRequestError, Turn, completion, events, instance, read_asked
from .protocol import vectors as vectors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

__all__ = ["Asked", "ChatServer", "Turn"]


class ChatServer:
    """A context manager; the server runs in threads of this process while it is entered.

    Args:
        replies: What is done with each request to chat, in order, the last one again and again; or
            a function of the request, called from several threads. Plain text is a good reply.
        refuses: Parameters that are refused with status 400.
        names: A refusal names the parameter; otherwise it only says that the request is bad.
        schema: ``honoured``: a JSON schema is answered with a value that follows it, unless the
            scripted reply is JSON itself; ``ignored``: it is taken and has no effect.
        models: Names that are served; others get status 404.
        key: The key that requests must bring; None: any.
        dimension: Numbers per embedding.
        page_vectors: Vectors per picture at ``/pooling``.
        embeddings: What is done with each request for vectors, as ``replies``; a plain text or a
            `Turn` with status 200 and no body stands for the right answer.
    """

    def __init__(
        self,
        replies: Callable[[Asked], Turn | str] | Sequence[Turn | str] | Turn | str = "yes",
        *,
        refuses: Collection[str] = (),
        names: bool = True,
        schema: Literal["honoured", "ignored"] = "honoured",
        models: Sequence[str] = ("test",),
        key: str | None = None,
        dimension: int = 8,
        page_vectors: int = 5,
        embeddings: Sequence[Turn] = (),
    ) -> None:
        self._replies, self._embeddings = replies, embeddings
        self.refuses, self.names, self.schema = frozenset(refuses), names, schema
        self.models, self.key = tuple(models), key
        self.dimension, self.page_vectors = dimension, page_vectors
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._asked: list[Asked] = []
        self._counts = {"chat": 0, "vectors": 0}
        self._open: set[socket.socket] = set()
        self._at_once = self._most_at_once = 0
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        assert self._server is not None
        assert self._thread is not None
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        with self._lock:
            left = list(self._open)
        for connection in left:
            _hang_up(connection)

    @property
    def url(self) -> str:
        """The address to give to a client, with ``/v1``."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        """The address without ``/v1``, where ``/pooling`` is."""
        assert self._server is not None, "the server runs only inside its with block"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def asked(self) -> list[Asked]:
        """The requests so far, in the order in which they came."""
        with self._lock:
            return list(self._asked)

    @property
    def most_at_once(self) -> int:
        """Most requests that were open at one moment."""
        with self._lock:
            return self._most_at_once

    # --- for the handler -------------------------------------------------------------------------

    def began(self, asked: Asked) -> None:
        """Record a request; it counts as open until `ended`."""
        with self._lock:
            self._asked.append(asked)
            self._at_once += 1
            self._most_at_once = max(self._most_at_once, self._at_once)

    def ended(self) -> None:
        """Record that a request was answered, in whatever way."""
        with self._lock:
            self._at_once -= 1

    def keep(self, connection: socket.socket, *, is_open: bool) -> None:
        """Know which connections must be cut at the end."""
        with self._lock:
            (self._open.add if is_open else self._open.discard)(connection)

    def turn(self, asked: Asked) -> Turn:
        """Return what to do with a request to chat."""
        if callable(self._replies):
            turn = self._replies(asked)
        elif isinstance(self._replies, str | Turn):
            turn = self._replies
        else:
            turn = self._next("chat", self._replies)
        return Turn(turn) if isinstance(turn, str) else turn

    def vector_turn(self) -> Turn:
        """Return what to do with a request for vectors."""
        turn = self._next("vectors", self._embeddings) if self._embeddings else Turn()
        return Turn(turn) if isinstance(turn, str) else turn

    def _next(self, kind: str, turns: Sequence[Turn | str]) -> Turn | str:
        with self._lock:
            number = self._counts[kind]
            self._counts[kind] += 1
        return turns[min(number, len(turns) - 1)]


def _hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster


class _Handler(BaseHTTPRequestHandler):
    owner: ChatServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # small answers must not wait for each other

    def setup(self) -> None:
        super().setup()
        self.owner.keep(self.connection, is_open=True)

    def finish(self) -> None:
        self.owner.keep(self.connection, is_open=False)
        try:
            super().finish()
        except OSError:
            return  # the client has gone

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True

    def log_message(self, *unused: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if self._is_locked():
            return
        if self.path != "/v1/models":
            self._error(404, f"no such path: {self.path}")
            return
        listed = [
            {"id": name, "object": "model", "owned_by": "pagetrail-testing", "license": "none"}
            for name in self.owner.models
        ]
        self._send(200, json.dumps({"object": "list", "data": listed}).encode())

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            asked = read_asked(self.path, dict(self.headers.items()), content)
        except BadRequestError as error:
            self._error(400, str(error))
            return
        self.owner.began(asked)
        try:
            if not self._is_locked():
                self._answer(asked)
        finally:
            self.owner.ended()

    def _is_locked(self) -> bool:
        key = self.owner.key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return False
        self._error(401, f"Incorrect API key provided: {self.headers.get('Authorization')}")
        return True

    def _answer(self, asked: Asked) -> None:
        paths = {
            "/v1/chat/completions": self._chat,
            "/v1/embeddings": self._vectors,
            "/pooling": self._vectors,
            "/v1/pooling": self._vectors,
        }
        if self.path not in paths:
            self._error(404, f"no such path: {self.path}")
        elif asked.body.get("model") not in self.owner.models:
            self._error(404, f"The model `{asked.body.get('model')}` does not exist.")
        elif refused := sorted(self.owner.refuses & set(asked.body)):
            message = (
                f"Unsupported parameter: '{refused[0]}'" if self.owner.names else "bad request"
            )
            self._error(400, message, refused[0] if self.owner.names else "")
        else:
            paths[self.path](asked)

    def _chat(self, asked: Asked) -> None:
        turn = self.owner.turn(asked)
        if not self._faulty(turn):
            text = turn.text
            if asked.schema is not None and self.owner.schema == "honoured" and not _is_json(text):
                text = json.dumps(instance(asked.schema))
            if asked.body.get("stream"):
                self._stream(turn, events(asked, turn, text))
            else:
                self._whole(turn, completion(asked, turn, text))

    def _vectors(self, asked: Asked) -> None:
        turn = self.owner.vector_turn()
        if not self._faulty(turn):
            late = "pooling" in self.path
            count = self.owner.page_vectors if late else None
            data = vectors_of(asked, self.owner.dimension, count)
            kind = "pooling" if late else "embedding"
            entries = [{"index": i, "object": kind, kind: v} for i, v in enumerate(data)]
            if late:
                entries = [{"index": i, "object": kind, "data": v} for i, v in enumerate(data)]
            body = {"object": "list", "model": asked.body["model"], "data": entries}
            self._whole(turn, json.dumps(body).encode())

    # --- sending ---------------------------------------------------------------------------------

    def _faulty(self, turn: Turn) -> bool:
        """Wait where told to; send an error or a ready-made body; say whether that was all."""
        if turn.delay and self.owner.stopping.wait(turn.delay):
            self.close_connection = True
            return True
        if turn.status != 200 and turn.body is None:
            self._error(turn.status, turn.message, turn.param, turn)
            return True
        if turn.body is not None:
            self._whole(turn, turn.body)
            return True
        return False

    def _error(self, status: int, message: str, param: str = "", turn: Turn | None = None) -> None:
        fault = {"message": message, "type": "error", "param": param or None, "code": None}
        self._send(status, json.dumps({"error": fault}).encode(), turn)

    def _whole(self, turn: Turn, body: bytes) -> None:
        self._send(turn.status, body, turn)

    def _send(self, status: int, body: bytes, turn: Turn | None = None) -> None:
        turn = turn or Turn()
        self.send_response(status)
        self.send_header("Content-Type", turn.content_type)
        for name, value in turn.headers.items():
            self.send_header(name, value)
        if turn.tells_length:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        sent = body if turn.cut is None else body[: turn.cut]
        step = 16 if turn.pause else max(len(sent), 1)
        for start in range(0, len(sent), step):
            self.wfile.write(sent[start : start + step])
            if turn.pause and self.owner.stopping.wait(turn.pause):
                break
        if turn.cut is not None or not turn.tells_length:
            self._hang_up()

    def _stream(self, turn: Turn, parts: Iterator[Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        if turn.tells_length:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        for number, part in enumerate(parts):
            if turn.cut is not None and number >= turn.cut:
                self._hang_up()
                return
            data = f"data: {part if isinstance(part, str) else json.dumps(part)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if turn.tells_length else data)
            if turn.pause and self.owner.stopping.wait(turn.pause):
                break
        if turn.tells_length:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._hang_up()

    def _hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        _hang_up(self.connection)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False
