"""A chat model behind a real server of the protocol, obedient, faulty and hostile."""

from __future__ import annotations

import contextlib
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from types import SimpleNamespace

import pytest

from pagetrail.errors import (
    BudgetError,
    ConfigError,
    EndpointError,
    MissingExtraError,
    ModelError,
    ReplyError,
    UsageError,
)
from pagetrail.models import attempts
from pagetrail.models.budget import Meter
from pagetrail.models.faults import retry_after
from pagetrail.models.prompts import REPAIR
from pagetrail.models.remote import RemoteChat
from pagetrail.ports import Message, Picture, Reply
from pagetrail.testing import ChatServer, Turn, plain_png

pytest.importorskip("openai", reason="needs the extra remote")
pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

KEY = "sk-a-very-secret-key"
ASK = [Message("system", "Be brief."), Message("user", "Is it?")]
LOGPROBS = {"Yes": -0.25, "No": -2.0}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def _no_key_of_the_environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@contextlib.contextmanager
def chat_with(replies="yes", *, client=None, **server):
    options = {"backoff": 0.001, "max_wait": 0.01, "timeout": 20.0, "retries": 2}
    with (
        ChatServer(replies, **server) as running,
        RemoteChat("test", running.url, KEY, **(options | (client or {}))) as model,
    ):
        yield running, model


def spent(model):
    usage = model.meter.usage
    return usage.calls, usage.tokens, usage.failures


# --- asking and replies --------------------------------------------------------------------------


def test_a_plain_reply():
    with chat_with("  Yes.\n") as (server, model):
        reply = model.chat(ASK, max_tokens=7)
    assert reply == Reply("Yes.", prompt_tokens=11, reply_tokens=3, calls=1)
    assert spent(model) == (1, 14, 0)
    (asked,) = server.asked
    assert asked.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Is it?"},
    ]
    assert (asked.body["temperature"], asked.body["seed"], asked.body["max_tokens"]) == (0, 0, 7)
    assert "logprobs" not in asked.body
    assert "response_format" not in asked.body
    assert asked.headers["authorization"] == f"Bearer {KEY}"


def test_pictures_stand_before_the_text_and_are_drawn_once():
    from io import BytesIO

    from PIL import Image

    out = BytesIO()
    Image.new("RGB", (8, 8), "blue").save(out, "JPEG")
    png, jpeg, drawn = plain_png(8, 8, (200, 0, 0)), out.getvalue(), []

    def picture(key, data):
        return Picture(key, lambda: drawn.append(key) or data)

    message = Message("user", "Which?", (picture("a", png), picture("b", jpeg), picture("a", png)))
    turns = [Turn(status=503), "no JSON", '{"a": 1}']
    with chat_with(turns, schema="ignored") as (server, model):
        assert model.chat([message], schema=SCHEMA).data == {"a": 1}
    assert drawn == ["a", "b"]  # not again for the repetition and the repair
    assert [asked.images for asked in server.asked] == [(png, jpeg, png)] * 3
    content = server.asked[0].body["messages"][0]["content"]
    assert [part["type"] for part in content] == ["image_url"] * 3 + ["text"] * 2
    starts = [part["image_url"]["url"][:22] for part in content[:3]]
    assert starts == ["data:image/png;base64,", "data:image/jpeg;base64", starts[0]]


def test_a_picture_of_another_kind_is_refused_before_anything_is_asked():
    with chat_with() as (server, model), pytest.raises(ModelError, match="neither PNG nor JPEG"):
        model.chat([Message("user", "?", (Picture("g", lambda: b"GIF89a"),))])
    assert server.asked == []
    assert spent(model) == (0, 0, 0)


def test_odd_text_arrives():
    with chat_with() as (server, model):
        model.chat([Message("user", "a\ud800b\x00 橋 \u202e")])
    assert server.asked[0].text == "a?b\x00 橋 \u202e"


def test_extra_fields_and_headers_are_sent():
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    client = {"extra": extra, "headers": {"X-Team": "maps"}}
    with chat_with(client=client) as (server, model):
        model.chat(ASK)
    assert server.asked[0].body["chat_template_kwargs"] == {"enable_thinking": False}
    assert server.asked[0].headers["x-team"] == "maps"
    assert "enable_thinking" in model.settings["extra"]


@pytest.mark.parametrize(
    "messages", [[], [Message("user", "a"), Message("assistant", "b")], [Message("system", "a")]]
)
def test_a_conversation_must_end_with_the_user(messages):
    with pytest.raises(UsageError, match="the user"):
        RemoteChat("test", "http://127.0.0.1:1/v1").chat(messages)


# --- thinking and log-probabilities --------------------------------------------------------------


@pytest.mark.parametrize(
    "turn",
    [
        Turn("Yes", logprobs=LOGPROBS),
        Turn("\n Yes", logprobs=LOGPROBS),
        Turn("<think>No. Yes? No</think>\n\nYes", logprobs=LOGPROBS),
        Turn("No, rather</think>Yes", logprobs=LOGPROBS),
        Turn("Yes", reasoning="Yes it is, Yes", logprobs=LOGPROBS),
    ],
    ids=["plain", "blank", "marked", "only the end is marked", "apart"],
)
def test_logprobs_are_those_of_the_first_token_after_any_thinking(turn):
    with chat_with(turn) as (server, model):
        reply = model.chat(ASK, logprobs=True)
    assert reply.text == "Yes"
    assert reply.logprobs == pytest.approx(LOGPROBS)
    assert (server.asked[0].body["logprobs"], server.asked[0].body["top_logprobs"]) == (True, 20)


def test_absent_logprobs_are_none():
    with chat_with(Turn("Yes")) as (_, model):
        assert model.chat(ASK, logprobs=True).logprobs is None


def test_logprobs_that_belong_to_thinking_only_are_none():
    with chat_with(Turn("<think>Yes and", finish="length", logprobs=LOGPROBS)) as (_, model):
        reply = model.chat(ASK, logprobs=True)
    assert (reply.text, reply.finish, reply.logprobs) == ("", "length", None)


def test_logprobs_that_are_refused_are_left_out_from_then_on():
    with chat_with("Yes", refuses=["logprobs"]) as (server, model):
        first, second = model.chat(ASK, logprobs=True), model.chat(ASK, logprobs=True)
    assert (first.logprobs, first.calls) == (None, 2)
    assert (second.logprobs, second.calls) == (None, 1)
    assert ["logprobs" in asked.body for asked in server.asked] == [True, False, False]
    assert spent(model) == (3, 28, 1)


# --- schemas -------------------------------------------------------------------------------------


def test_a_schema_that_the_server_honours():
    with chat_with("gibberish") as (server, model):
        reply = model.chat(ASK, schema=SCHEMA)
    assert (reply.data, reply.calls) == ({"a": 0}, 1)
    form = server.asked[0].body["response_format"]
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"] == SCHEMA
    assert '"additionalProperties"' in server.asked[0].text  # told in words too


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 3}',
        '```json\n{"a": 3}\n```',
        'Sure!\n{"a": 3}\nAnything else?',
        '<think>{</think>{"a":3}',
    ],
)
def test_json_is_found_in_the_reply_of_a_server_that_ignores_schemas(text):
    with chat_with([text], schema="ignored") as (_, model):
        reply = model.chat(ASK, schema=SCHEMA)
    assert (reply.data, reply.calls) == ({"a": 3}, 1)


def test_one_repair_shows_the_model_its_reply_and_the_fault():
    with chat_with(['{"a": "many"}', '{"a": 3}'], schema="ignored") as (server, model):
        reply = model.chat(ASK, schema=SCHEMA)
    assert reply == Reply('{"a": 3}', None, {"a": 3}, 22, 6, 2)
    assert spent(model) == (2, 28, 0)
    *_, said, repair = server.asked[1].body["messages"]
    assert said == {"role": "assistant", "content": '{"a": "many"}'}
    assert "'many' is not of type 'integer'" in repair["content"]
    assert repair["content"].startswith(REPAIR.text[:20])


@pytest.mark.parametrize(
    "text", ["nothing", '{"a": 1} {"a": 2}', '{"a": 1, "b": 2}', '{"b": {"a": 1}']
)
def test_a_reply_that_stays_wrong_is_an_error(text):
    with chat_with(text, schema="ignored") as (server, model):
        with pytest.raises(ReplyError, match="does not follow the schema"):
            model.chat(ASK, schema=SCHEMA)
        assert len(server.asked) == 2
    assert spent(model) == (2, 28, 0)


@pytest.mark.parametrize("names", [True, False])
def test_a_refused_response_format_is_left_out_and_remembered(names):
    with chat_with('{"a": 3}', refuses=["response_format"], names=names) as (server, model):
        first, second = model.chat(ASK, schema=SCHEMA), model.chat(ASK, schema=SCHEMA)
    assert (first.data, first.calls) == ({"a": 3}, 3)
    assert (second.data, second.calls) == ({"a": 3}, 1)
    forms = [asked.body.get("response_format", {}).get("type") for asked in server.asked]
    assert forms == ["json_schema", "json_object", None, None]
    assert spent(model) == (4, 28, 2)


def test_a_reply_that_was_cut_off_is_no_json():
    with chat_with(Turn('{"a": 1}', finish="length"), schema="ignored") as (server, model):
        with pytest.raises(ReplyError, match="cut off"):
            model.chat(ASK, schema=SCHEMA)
        assert len(server.asked) == 1
        assert model.chat(ASK).finish == "length"


def test_a_schema_that_is_none_is_a_mistake_of_the_caller():
    with chat_with() as (server, model), pytest.raises(UsageError, match="schema"):
        model.chat(ASK, schema={"type": "nonsense"})
    assert server.asked == []


@pytest.mark.parametrize(
    ("turn", "match"),
    [
        (Turn("", refusal="I cannot."), "declined.*I cannot"),
        (Turn("", finish="content_filter"), "filter"),
    ],
)
def test_a_withheld_reply_is_an_error(turn, match):
    with chat_with(turn) as (_, model), pytest.raises(ReplyError, match=match):
        model.chat(ASK)
    assert spent(model) == (1, 14, 0)


# --- what servers refuse -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "instead"),
    [("max_tokens", "max_completion_tokens"), ("temperature", None), ("seed", None)],
)
def test_other_parameters_that_are_refused(parameter, instead):
    with chat_with(refuses=[parameter]) as (server, model):
        assert [model.chat(ASK, max_tokens=9).calls for _ in range(2)] == [2, 1]
    assert [parameter in asked.body for asked in server.asked] == [True, False, False]
    if instead:
        assert server.asked[-1].body[instead] == 9


def test_a_request_that_nothing_cures_is_refused_once():
    turn = Turn(status=400, message="This model's maximum context length is 4096 tokens.")
    with chat_with(turn) as (server, model):
        with pytest.raises(EndpointError, match=r"refuses the request.*maximum context length"):
            model.chat(ASK, logprobs=True, schema=SCHEMA)
        assert len(server.asked) == 1
    assert model.dialect.logprobs  # nothing was learnt from it
    assert spent(model) == (1, 0, 1)


@pytest.mark.parametrize(("status", "advice"), [(401, "key"), (403, "key"), (404, "/v1")])
def test_errors_that_do_not_pass_are_raised_at_once(status, advice):
    with chat_with(Turn(status=status)) as (server, model):
        with pytest.raises(EndpointError, match=rf"{status}.*{advice}"):
            model.chat(ASK)
        assert len(server.asked) == 1
    assert spent(model) == (1, 0, 1)


def test_what_a_server_calls_an_error_of_its_own_but_never_passes_is_raised_at_once():
    with chat_with(Turn(status=500, message="image input is not supported")) as (server, model):
        with pytest.raises(EndpointError, match="image input is not supported"):
            model.chat(ASK)
        assert len(server.asked) == 1
    assert spent(model) == (1, 0, 1)


def test_what_the_server_tells_of_its_models():
    with chat_with(models=["other", "test"]) as (_, model):
        assert model.served()["id"] == "test"
    with chat_with(models=["other"]) as (_, model):
        assert model.served()["id"] == "other"  # servers of one model take any name
    with chat_with(models=["other", "another"]) as (_, model):
        assert model.served() == {}
    assert spent(model) == (0, 0, 0)


def test_an_empty_account_is_not_waited_for():
    body = b'{"error": {"message": "insufficient_quota: pay", "code": "insufficient_quota"}}'
    with chat_with(Turn(status=429, body=body)) as (server, model):
        with pytest.raises(EndpointError, match="nothing left"):
            model.chat(ASK)
        assert len(server.asked) == 1


def test_the_key_is_never_shown(caplog):
    caplog.set_level(logging.DEBUG)
    with chat_with(key="another") as (server, model):
        with pytest.raises(EndpointError) as caught:  # the server echoes the key
            model.chat(ASK)
        url = server.url.replace("http://", "http://user:pass-word@")
        named = RemoteChat("test", url, KEY)
        shown = [str(caught.value), repr(caught.value), repr(model), repr(named), named.revision]
    assert "***" in str(caught.value)
    assert caught.value.__cause__ is None
    assert [text for text in (*shown, caplog.text) if KEY in text or "pass-word" in text] == []


# --- what passes ---------------------------------------------------------------------------------


@pytest.fixture
def waits(monkeypatch):
    """Seconds waited between attempts; no time passes."""
    recorded = []
    monkeypatch.setattr(attempts, "time", SimpleNamespace(sleep=recorded.append))
    return recorded


def test_retry_after_is_kept_to_up_to_a_limit(waits):
    turns = [Turn(status=429, headers={"Retry-After": told}) for told in ("7", "0.5", "900")]
    with chat_with([*turns, "yes"], client={"max_wait": 60.0, "retries": 3}) as (_, model):
        assert model.chat(ASK).calls == 4
    assert waits == [7, 0.5, 60]
    assert spent(model) == (4, 14, 3)


def test_retry_after_as_a_date(waits):
    headers = {"Retry-After": formatdate(time.time() + 30, usegmt=True)}
    turns = [Turn(status=503, headers=headers), "yes"]
    with chat_with(turns, client={"max_wait": 60.0}) as (_, model):
        assert model.chat(ASK).calls == 2
    assert 0 < waits[0] <= 30


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, 0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:02:00 GMT"}, 20),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
    ],
)
def test_how_retry_after_is_read(headers, seconds):
    assert retry_after(headers, now=100.0) == seconds


def test_waits_double_with_jitter(waits):
    with chat_with(Turn(status=500), client={"backoff": 1.0, "max_wait": 5.0, "retries": 4}) as (
        server,
        model,
    ):
        with pytest.raises(EndpointError, match=r"status 500 \(as scripted\) \(5 attempts\)"):
            model.chat(ASK)
        assert len(server.asked) == 5
    assert spent(model) == (5, 0, 5)
    limits = [(0.5, 1), (1, 2), (2, 4), (4, 5)]
    assert all(low <= wait <= high for wait, (low, high) in zip(waits, limits, strict=True))


@pytest.mark.parametrize(
    "turn",
    [
        *(Turn(status=status) for status in (408, 409, 429, 500, 502, 503)),
        Turn(body=b'{"choices": ['),
        Turn(body=b"<html>Bad gateway</html>", content_type="text/html"),
        Turn(body=b'{"choices": []}'),
        Turn(body=b'{"error": {"message": "overloaded"}}'),
        Turn(body=b"[1, 2]"),
        Turn(cut=0),
        Turn(cut=40),
        Turn(cut=40, tells_length=False),
    ],
    ids=lambda turn: f"{turn.status} {turn.body} {turn.cut} {turn.tells_length}",
)
def test_one_bad_answer_is_asked_again(turn):
    with chat_with([turn, "yes"]) as (server, model):
        reply = model.chat(ASK)
        assert len(server.asked) == 2
    assert reply == Reply("yes", prompt_tokens=11, reply_tokens=3, calls=2)
    assert spent(model) == (2, 14, 1)


def test_only_bad_answers_are_an_error():
    body = b'{"error": {"message": "overloaded\\u001b[31m"}}'
    with chat_with(Turn(body=body)) as (_, model), pytest.raises(EndpointError) as caught:
        model.chat(ASK)
    assert str(caught.value).endswith("overloaded [31m (3 attempts)")
    assert spent(model) == (3, 0, 3)


def test_a_slow_server():
    client = {"timeout": 0.15, "retries": 1}
    slow = pytest.raises(EndpointError, match=r"no reply within 0\.15 s \(2 attempts\)")
    with chat_with(Turn(delay=30), client=client) as (_, model), slow:
        model.chat(ASK)
    assert spent(model) == (2, 0, 2)


def test_a_server_that_drips():
    client = {"timeout": 0.3, "retries": 0}
    slow = pytest.raises(EndpointError, match=r"no (whole )?reply within 0\.3 s")
    with chat_with(Turn("x" * 2000, pause=0.02), client=client) as (_, model), slow:
        model.chat(ASK)
    assert spent(model) == (1, 0, 1)


def test_nobody_listens():
    with ChatServer() as server:
        url = server.url
    model = RemoteChat("test", url, retries=1, backoff=0.001)
    with pytest.raises(EndpointError, match=r"cannot be reached .*is the server running"):
        model.chat(ASK)
    assert spent(model) == (2, 0, 2)


def test_a_proxy_of_the_environment_does_not_stand_before_this_machine(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with chat_with() as (_, model):
        assert model.chat(ASK).text == "yes"


# --- streams -------------------------------------------------------------------------------------


def test_a_stream_ends_with_the_reply():
    with chat_with("Half past seven.") as (server, model):
        *pieces, reply = model.stream(ASK, max_tokens=50)
    assert len(pieces) > 1
    assert "".join(pieces) == reply.text == "Half past seven."
    assert (reply.prompt_tokens, reply.reply_tokens, reply.calls) == (11, 3, 1)
    assert spent(model) == (1, 14, 0)
    assert server.asked[0].body["stream"] is True


@pytest.mark.parametrize(
    "turn", [Turn("<think>Seven? Eight?</think>\n\nSeven."), Turn("Seven.", reasoning="Eight?")]
)
def test_a_stream_leaves_thinking_out(turn):
    with chat_with(turn) as (_, model):
        *pieces, reply = model.stream(ASK)
    assert "".join(pieces) == reply.text == "Seven."


@pytest.mark.parametrize("tells_length", [True, False])
def test_a_stream_that_is_cut_is_no_reply(tells_length):
    turn = Turn("Half past seven.", cut=3, tells_length=tells_length)
    with chat_with(turn) as (server, model):
        stream, got = model.stream(ASK), []
        with pytest.raises(EndpointError, match="broke off"):
            got.extend(stream)
        assert "".join(got) == "Half past "
        assert len(server.asked) == 1  # what was shown cannot be taken back
    usage = model.meter.usage
    assert (usage.calls, usage.failures, usage.estimated) == (1, 1, 1)
    assert usage.reply_tokens == 3


def test_a_stream_that_fails_before_the_first_piece_is_asked_again():
    turns = [Turn(status=500), Turn("Seven", cut=1), "Seven"]
    with chat_with(turns) as (_, model):
        *pieces, reply = model.stream(ASK)
    assert "".join(pieces) == "Seven"
    assert reply.calls == 3
    assert spent(model) == (3, 14, 2)


def test_a_stream_from_a_server_without_token_counts():
    with chat_with("Seven o'clock", refuses=["stream_options"]) as (_, model):
        *_, reply = model.stream(ASK)
    assert (reply.calls, reply.reply_tokens) == (2, 4)
    assert model.meter.usage.estimated == 1


def test_a_server_that_does_not_stream():
    with chat_with(lambda asked: Turn(body=b'{"choices":[{"message":{"content":"Seven"}}]}')) as (
        _,
        model,
    ):
        assert [str(getattr(part, "text", part)) for part in model.stream(ASK)] == ["Seven"] * 2


def test_a_stream_that_is_left_gives_its_place_back():
    with chat_with("word " * 200, client={"concurrency": 1}) as (_, model):
        stream = model.stream(ASK)
        next(stream)
        stream.close()
        assert model.chat(ASK).calls == 1
    assert model.meter.usage.calls == 2
    assert model.meter.usage.estimated == 1


# --- limits --------------------------------------------------------------------------------------


def test_requests_at_a_time_are_limited():
    with chat_with(Turn(delay=0.02), client={"concurrency": 2}) as (server, model):
        with ThreadPoolExecutor(8) as pool:
            assert len(list(pool.map(lambda _: model.chat(ASK), range(10)))) == 10
        assert server.most_at_once <= 2
    assert spent(model) == (10, 140, 0)


def test_a_budget_of_calls_holds_under_threads():
    with chat_with(client={"meter": Meter(max_calls=5), "concurrency": 8}) as (server, model):

        def ask(_):
            try:
                return model.chat(ASK)
            except BudgetError:
                return None

        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(ask, range(20)))
        assert len(server.asked) == 5
    assert sum(reply is not None for reply in replies) == 5
    assert spent(model) == (5, 70, 0)


def test_a_spent_budget_draws_nothing():
    drawn = []
    picture = Picture("a", lambda: drawn.append(1) or plain_png(8, 8, (0, 0, 0)))
    with chat_with(client={"meter": Meter(max_tokens=14)}) as (server, model):
        model.chat(ASK)
        with pytest.raises(BudgetError, match=r"models\.max_tokens"):
            model.chat([Message("user", "?", (picture,))])
        assert len(server.asked) == 1
    assert drawn == []


def test_tokens_that_are_not_told_are_estimated_and_said_to_be():
    with chat_with(Turn("a" * 40, usage=None)) as (_, model):
        reply = model.chat(ASK)
    assert (reply.prompt_tokens, reply.reply_tokens) == (5, 10)
    assert model.meter.usage.estimated == 1


# --- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://a/v1", "http://", "http://a:x/v1"])
def test_bad_addresses_are_refused_at_once(url):
    with pytest.raises(ConfigError, match="base_url"):
        RemoteChat("test", url)


def test_a_bad_key_is_refused_without_being_shown():
    with pytest.raises(ConfigError, match="api_key") as caught:
        RemoteChat("test", "http://127.0.0.1/v1", "sk-\u2026secret")
    assert "secret" not in str(caught.value)


def test_name_and_revision():
    model = RemoteChat("m", "http://127.0.0.1:8000/v1/")
    assert (model.name, model.revision) == ("m", "http://127.0.0.1:8000/v1")
    assert RemoteChat("m", "http://127.0.0.1:8000/v1", revision="abc").revision == "abc"


def test_without_the_sdk_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"pagetrail\[remote\]"):
        RemoteChat("test", "http://127.0.0.1:1/v1").chat(ASK)
