"""Every chat model keeps to the contract, and the contract notices those that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pagetrail.errors import PagetrailError
from pagetrail.models.cache import CachedChat, MemoryStore
from pagetrail.models.remote import RemoteChat
from pagetrail.testing import ChatServer, ScriptedChat, Turn, check_chat_model

LOGPROBS = {"yes": -0.3, "no": -1.9}


def echo(call):
    return '{"colour": "red"}' if call.schema else call.text[-60:] or "nothing"


@pytest.mark.parametrize(
    "make",
    [
        lambda: ScriptedChat(echo),
        lambda: ScriptedChat("not JSON"),
        lambda: CachedChat(ScriptedChat(echo), MemoryStore()),
    ],
    ids=["scripted", "scripted without JSON", "cached"],
)
def test_chat_model_keeps_the_contract(make):
    check_chat_model(make())


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.parametrize("schema", ["honoured", "ignored"])
def test_remote_chat_keeps_the_contract(schema):
    pytest.importorskip("openai", reason="needs the extra remote")

    def says(asked):
        return Turn(asked.text[-60:] or "nothing", logprobs=LOGPROBS)

    with ChatServer(says, schema=schema) as server, RemoteChat("test", server.url, "k") as model:
        check_chat_model(model)
        check_chat_model(CachedChat(model, MemoryStore()))


class _Broken(ScriptedChat):
    def __init__(self, change):
        super().__init__(echo)
        self.change = change

    def chat(self, messages, **wants):
        return self.change(super().chat(messages, **wants), messages, wants)


class _SwallowsPictures(ScriptedChat):
    def chat(self, messages, **wants):
        try:
            return super().chat(messages, **wants)
        except PagetrailError:
            return super().chat([replace(m, images=()) for m in messages], **wants)


class _DrawsTwice(ScriptedChat):
    def chat(self, messages, **wants):
        for picture in messages[-1].images:
            picture.draw()
        return super().chat(messages, **wants)


class _MixesThreads(ScriptedChat):
    last = ""

    def chat(self, messages, **wants):
        reply = super().chat(messages, **wants)
        if "mark" in reply.text:
            reply, self.last = replace(reply, text=self.last or reply.text), reply.text
        return reply


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (_Broken(lambda r, m, w: replace(r, text=None)), "replies with text"),
        (_Broken(lambda r, m, w: replace(r, prompt_tokens=0)), "counts what a reply took"),
        (_Broken(lambda r, m, w: replace(r, cached=True)), "counts nothing for a reply kept"),
        (_Broken(lambda r, m, w: replace(r, logprobs={"a": -1.0})), "only when asked"),
        (
            _Broken(lambda r, m, w: replace(r, logprobs={"a": 0.5} if w.get("logprobs") else None)),
            "finite ones, not above 0",
        ),
        (
            _Broken(lambda r, m, w: replace(r, data=7 if w.get("schema") else None)),
            "follow the schema",
        ),
        (ScriptedChat(["yes", "no"]), "same reply to the same question"),
        (ScriptedChat(echo, revision=""), "revision"),
        (_SwallowsPictures(echo), "cannot be drawn"),
        (_DrawsTwice(echo), "at most once"),
        (_MixesThreads(echo), "its own question"),
    ],
)
def test_contract_notices_a_broken_model(model, rule):
    with pytest.raises(AssertionError, match=rule):
        check_chat_model(model)
