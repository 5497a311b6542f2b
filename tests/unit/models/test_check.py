"""What a tiny question tells about a model."""

from __future__ import annotations

import pytest

from pagetrail.errors import EndpointError, ReplyError
from pagetrail.models.cache import CachedChat, MemoryStore
from pagetrail.models.check import check_model
from pagetrail.models.remote import RemoteChat
from pagetrail.ports import Reply
from pagetrail.testing import ChatServer, ScriptedChat, Turn


def test_a_model_that_can_do_everything():
    def says(call):
        return '{"colour": "violet"}' if call.schema else Reply("Yes.", {"Yes": -0.1}, None, 5, 1)

    model = ScriptedChat(says)
    check = check_model(model)
    assert (check.reachable, check.text, check.image) == (True, "ok", "ok")
    assert (check.logprobs, check.schema, check.errors, check.ok) == (True, "yes", (), True)
    assert check.calls == 3
    assert [len(call.images) for call in model.calls] == [0, 1, 0]


def test_what_fails_is_said_and_the_rest_still_tried():
    def says(call):
        if call.schema:
            return ReplyError("no JSON")
        return EndpointError("no pictures here") if call.images else "maybe"

    check = check_model(ScriptedChat(says))
    assert (check.reachable, check.text, check.image, check.schema) == (
        True,
        "wrong",
        "failed",
        "no",
    )
    assert (check.logprobs, check.ok) == (False, False)
    assert ["maybe" in e or "pictures" in e or "JSON" in e for e in check.errors] == [True] * 3


def test_nothing_more_is_asked_of_a_server_that_is_not_there():
    model = ScriptedChat(EndpointError("gone"))
    check = check_model(model)
    assert (check.reachable, check.text, check.image, check.schema) == (
        False, "failed", "skipped", "skipped",
    )  # fmt: skip
    assert len(model.calls) == 1


def test_replies_kept_from_before_prove_nothing():
    model = ScriptedChat("yes")
    cached = CachedChat(model, MemoryStore())
    assert [check_model(cached).text for _ in range(2)] == ["ok", "ok"]
    assert len(model.calls) == 6


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
@pytest.mark.parametrize(
    ("server", "logprobs", "schema", "calls"),
    [
        ({"replies": Turn("yes", logprobs={"yes": -0.1})}, True, "yes", 3),
        ({"replies": "yes", "schema": "ignored"}, False, "ignored", 3),
        ({"replies": "yes", "refuses": ["response_format", "logprobs"]}, False, "no", 6),
    ],
)
def test_a_server(server, logprobs, schema, calls):
    pytest.importorskip("openai", reason="needs the extra remote")
    with ChatServer(**server) as running, RemoteChat("test", running.url, "k") as model:
        check = check_model(model)
    assert (check.text, check.image, check.errors) == ("ok", "ok", ())
    assert (check.logprobs, check.schema, check.calls) == (logprobs, schema, calls)
    assert (check.owner, check.licence) == ("pagetrail-testing", "none")
    assert check.tokens == 3 * 14
