"""Replies kept by content, in memory and in a library's catalogue."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pagetrail.errors import CorruptError, EndpointError, LibraryError, ReplyError
from pagetrail.index.schema import connect
from pagetrail.models.budget import Meter
from pagetrail.models.cache import CachedChat, MemoryStore, ReplyStore, reply_key
from pagetrail.models.remote import RemoteChat
from pagetrail.ports import Message, Picture, Reply
from pagetrail.testing import ChatServer, ScriptedChat, Turn, plain_png

ASK = (Message("user", "Is it?"),)
SCHEMA = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}


def key(messages=ASK, model=None, *, schema=None, max_tokens=9, logprobs=False):
    return reply_key(
        model or ScriptedChat(), messages, schema=schema, max_tokens=max_tokens, logprobs=logprobs
    )


def picture(name):
    return Picture(name, lambda: plain_png(8, 8, (0, 0, 0)))


class _Warm(ScriptedChat):
    @property
    def settings(self):
        return {"temperature": "1"}


def test_the_key_depends_on_everything_that_goes_into_a_call():
    keys = [
        key(),
        key((Message("system", "Is it?"),)),
        key((Message("user", "Is it? "),)),
        key((*ASK, *ASK)),
        key((Message("user", "Is it?", (picture("a"),)),)),
        key((Message("user", "Is it?", (picture("b"),)),)),
        key((Message("user", "Is it?", (picture("a"), picture("b"))),)),
        key((Message("user", "Is it?", (picture("b"), picture("a"))),)),
        key(model=ScriptedChat(name="other")),
        key(model=ScriptedChat(revision="2")),
        key(model=_Warm()),
        key(schema=SCHEMA),
        key(max_tokens=10),
        key(logprobs=True),
    ]
    assert len(set(keys)) == len(keys)


def test_the_key_is_the_same_in_every_process():
    assert key() == "22b0e453879532a1659ffc9e7a32d388e920de89f19970b64468dd4101e1b800"
    assert key((Message("user", "\ud800"),)) != key((Message("user", "?"),))


def test_the_second_call_asks_nobody_and_draws_nothing():
    drawn = []
    asked = [
        Message(
            "user", "Is it?", (Picture("k", lambda: drawn.append(1) or plain_png(1, 1, (0, 0, 0))),)
        )
    ]
    model = ScriptedChat(Reply("Yes", {"Yes": -0.5}, None, 20, 1))
    meter = Meter()
    cached = CachedChat(model, MemoryStore(), meter)
    first, second = (cached.chat(asked, logprobs=True) for _ in range(2))
    assert first == Reply("Yes", {"Yes": -0.5}, None, 20, 1)
    assert second == Reply("Yes", {"Yes": -0.5}, None, 0, 0, 0, True)
    assert (len(model.calls), len(drawn), meter.usage.cache_hits) == (1, 1, 1)


def test_data_and_the_way_a_reply_ended_are_kept():
    cached = CachedChat(
        ScriptedChat(Reply('{"a": 1}', data={"a": 1}, finish="length")), MemoryStore()
    )
    cached.chat(ASK, schema=SCHEMA).data["a"] = 2
    again = cached.chat(ASK, schema=SCHEMA)
    assert (again.data, again.finish, again.cached) == ({"a": 1}, "length", True)
    again.data["a"] = 3
    assert cached.chat(ASK, schema=SCHEMA).data == {"a": 1}


@pytest.mark.parametrize("bad", [EndpointError("gone"), ReplyError("no JSON"), "", " \n"])
def test_failed_calls_and_empty_replies_are_not_kept(bad):
    model = ScriptedChat([bad, "yes"])
    cached = CachedChat(model, MemoryStore())
    if isinstance(bad, Exception):
        with pytest.raises(type(bad), match=str(bad)):
            cached.chat(ASK)
    else:
        assert cached.chat(ASK).text == bad
    second = cached.chat(ASK)
    assert (second.text, second.cached) == ("yes", False)
    assert len(model.calls) == 2


def test_a_reply_can_be_forgotten():
    model = ScriptedChat(["mumble", "yes"])
    cached = CachedChat(model, MemoryStore())
    cached.chat(ASK)
    cached.forget(ASK)
    assert cached.chat(ASK).text == "yes"


def test_threads_that_ask_the_same_share_one_call():
    begun, go = threading.Event(), threading.Event()

    def slow(call):
        begun.set()
        assert go.wait(30)
        return "yes"

    meter = Meter()
    model = ScriptedChat(slow)
    cached = CachedChat(model, MemoryStore(), meter)
    with ThreadPoolExecutor(6) as pool:
        first = pool.submit(cached.chat, ASK)
        assert begun.wait(30)
        rest = [pool.submit(cached.chat, ASK) for _ in range(5)]
        go.set()
        replies = [first.result(), *(future.result() for future in rest)]
    assert len(model.calls) == 1
    assert [reply.text for reply in replies] == ["yes"] * 6
    assert sum(reply.calls for reply in replies) == 1
    assert meter.usage.cache_hits == 5


def test_threads_that_ask_the_same_share_its_failure():
    begun, go = threading.Event(), threading.Event()

    def fails(call):
        begun.set()
        assert go.wait(30)
        return EndpointError("gone")

    model = ScriptedChat(fails)
    cached = CachedChat(model, MemoryStore())
    waiting = threading.Barrier(2)

    def second():
        waiting.wait(30)
        return cached.chat(ASK)

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(cached.chat, ASK)
        assert begun.wait(30)
        two = pool.submit(second)
        waiting.wait(30)
        time.sleep(0.05)  # let it come as far as the wait; if it comes later it asks for itself
        go.set()
        errors = [one.exception(), two.exception()]
    assert [str(error) for error in errors] == ["gone", "gone"]
    assert errors[0] is not errors[1]
    assert len(model.calls) <= 2


def test_a_damaged_reply_is_asked_for_again():
    store = MemoryStore()
    cached = CachedChat(ScriptedChat(["yes", "no"]), store)
    cached.chat(ASK, max_tokens=9)
    store.put(key(), "scripted", b"{damaged")
    assert cached.chat(ASK, max_tokens=9).text == "no"


# --- in SQLite -----------------------------------------------------------------------------------


@pytest.fixture
def catalogue(tmp_path):
    """A library's catalogue, as the library makes it."""
    path = tmp_path / "catalogue.db"
    connect(path, create=True).close()
    return path


@pytest.fixture
def store(catalogue):
    opened = ReplyStore(catalogue)
    yield opened
    opened.close()


def test_replies_outlive_the_object(store, catalogue):
    model = ScriptedChat("yes")
    assert not CachedChat(model, store).chat(ASK).cached
    store.close()
    again = ReplyStore(catalogue)
    assert CachedChat(model, again).chat(ASK).cached
    again.close()
    assert len(model.calls) == 1
    assert store.lost == 0


def test_each_library_has_its_own(tmp_path):
    model = ScriptedChat("yes")
    for name in ("a.db", "b.db"):
        connect(tmp_path / name, create=True).close()
        opened = ReplyStore(tmp_path / name)
        assert not CachedChat(model, opened).chat(ASK).cached
        opened.close()
    assert len(model.calls) == 2


def test_kept_and_purge(store):
    for number in range(3):
        store.put(f"a{number}", "a", b"12345")
    store.put("b", "b", b"123")
    kept = store.kept()
    assert (kept.replies, kept.size, kept.models) == (4, 18, {"a": 3, "b": 1})
    assert store.purge(model="a", before=time.time() - 60) == 0
    assert store.purge(model="a") == 3
    assert store.get("b") == b"123"
    assert store.purge(before=time.time() + 60) == 1
    assert store.kept().replies == 0
    store.put("c", "c", b"1")
    assert store.purge() == 1


def test_threads_and_processes_may_write_together(catalogue):
    stores = [ReplyStore(catalogue) for _ in range(3)]
    with ThreadPoolExecutor(6) as pool:
        jobs = [pool.submit(stores[n % 3].put, f"key{n}", "m", bytes([n])) for n in range(60)]
        for job in jobs:
            job.result()
    assert {stores[0].get(f"key{n}") for n in range(60)} == {bytes([n]) for n in range(60)}
    assert sum(store.lost for store in stores) == 0
    for store in stores:
        store.close()


@pytest.mark.parametrize("log", [True, False], ids=["with a log", "without"])
def test_a_place_that_cannot_be_written_to_is_read_and_its_losses_counted(
    store, catalogue, monkeypatch, log
):
    model = ScriptedChat("yes")
    CachedChat(model, store).chat(ASK)
    if not log:
        store.close()  # the last one to leave puts the log away
    # Permissions do not bind every user who runs tests.
    monkeypatch.setattr("pagetrail.models.store.os.access", lambda *_: False)
    readonly = ReplyStore(catalogue)
    cached = CachedChat(model, readonly)
    assert cached.chat(ASK).cached
    assert cached.chat(ASK, max_tokens=3).text == "yes"
    assert readonly.lost == 1
    with pytest.raises(LibraryError, match="readonly"):
        readonly.purge()
    readonly.close()


def test_a_busy_or_missing_place_never_stops_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("pagetrail.models.store._PATIENCE", 0.01)
    missing = ReplyStore(tmp_path / "none.db")
    assert CachedChat(ScriptedChat("yes"), missing).chat(ASK).text == "yes"
    assert missing.lost == 1
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(LibraryError, match=r"none\.db"):
        missing.kept()

    path = tmp_path / "busy.db"
    connect(path, create=True).close()
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    busy = ReplyStore(path)
    assert CachedChat(ScriptedChat("yes"), busy).chat(ASK).text == "yes"
    assert busy.lost == 1
    busy.close()
    writer.close()


def test_a_damaged_file_is_said_to_be(tmp_path):
    path = tmp_path / "damaged.db"
    path.write_bytes(b"this is no database, whatever its name says" * 50)
    damaged = ReplyStore(path)
    assert damaged.get("a") is None
    with pytest.raises(CorruptError, match="damaged"):
        damaged.kept()
    damaged.close()


def test_a_store_of_its_own(tmp_path):
    own = ReplyStore(tmp_path / "own.db", create=True)
    own.put("a", "m", b"1")
    assert own.get("a") == b"1"
    own.drop("a")
    assert own.get("a") is None
    own.close()


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_second_run_makes_no_request(store, catalogue):
    pytest.importorskip("openai", reason="needs the extra remote")
    asked = [
        ((Message("user", f"Page {n}?", (picture(f"page{n}"),)),), n % 2 == 0) for n in range(8)
    ]

    def run(opened):
        with RemoteChat("test", server.url, "k", backoff=0.001, max_wait=0.01) as model:
            cached = CachedChat(model, opened)
            replies = [cached.chat(messages, logprobs=wants) for messages, wants in asked]
        return replies, model.meter.usage

    turns = [Turn(status=429), "yes", Turn(cut=10), Turn("no", logprobs={"no": -0.1})]
    with ChatServer(turns) as server:
        first, spent = run(store)
        requests = len(server.asked)
        again = ReplyStore(catalogue)
        second, nothing = run(again)
        again.close()
        assert len(server.asked) == requests == spent.calls == 10
    assert [r.text for r in first] == [r.text for r in second]
    assert [r.logprobs for r in first] == [r.logprobs for r in second]
    assert (spent.failures, spent.tokens) == (2, 8 * 14)
    assert (nothing.calls, nothing.tokens, nothing.cache_hits) == (0, 0, 8)
    assert all(reply.cached and reply.calls == 0 for reply in second)
