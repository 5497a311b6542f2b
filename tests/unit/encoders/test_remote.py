"""Encoders behind a real server, good and bad."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from pagetrail.encoders.remote import (
    open_remote_encoder,
    remote_image_encoder,
    remote_text_encoder,
)
from pagetrail.encoders.spec import parse_spec
from pagetrail.errors import ConfigError, EndpointError, MissingExtraError, ModelError, UsageError
from pagetrail.testing import ChatServer, Turn, check_encoder, check_image_encoder, tiny_pages

pytest.importorskip("openai", reason="needs the extra remote")
pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]


@pytest.fixture(autouse=True)
def _no_key_of_the_environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_texts_keep_the_contract():
    with ChatServer(dimension=64) as server:
        check_encoder(remote_text_encoder("test", server.url))


@pytest.mark.parametrize("late", [False, True])
def test_pictures_keep_the_contract(late):
    with ChatServer() as server:
        check_image_encoder(remote_image_encoder("test", server.url, late=late, prompt="Look."))


def test_what_is_sent_for_texts():
    with ChatServer() as server:
        encoder = remote_text_encoder(
            "test", server.url, "k", query="query: ", passage="passage: ", dimensions=8
        )
        encoder.encode_queries(["one", "two", "one"])
        encoder.encode_pages(tiny_pages())
    first, second = server.asked
    assert first.body == {
        "model": "test",
        "input": ["query: one", "query: two"],
        "encoding_format": "float",
        "dimensions": 8,
    }
    assert first.headers["authorization"] == "Bearer k"
    assert all(text.startswith("passage: ") for text in second.body["input"])
    assert encoder.revision.startswith("endpoint+")
    assert remote_text_encoder("test", server.url, revision="r").revision == "r"


def test_the_accounts_names_go_to_no_other_server(monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    with ChatServer() as server:
        remote_text_encoder("test", server.url).encode_queries(["one"])
    assert "secret" not in str(dict(server.asked[0].headers))


def test_many_texts_go_in_several_requests_and_come_back_in_order():
    texts = [f"text number {number}" for number in range(150)]
    with ChatServer() as server:
        encoder = remote_text_encoder("test", server.url)
        together = encoder.encode_queries(texts).data
        assert sorted(len(asked.body["input"]) for asked in server.asked) == [22, 64, 64]
        assert np.allclose(together[100], encoder.encode_queries([texts[100]]).data[0])


@pytest.mark.parametrize(("late", "path"), [(False, "/v1/embeddings"), (True, "/pooling")])
def test_what_is_sent_for_pictures(late, path):
    image = np.zeros((200, 100, 3), np.uint8)
    with ChatServer() as server:
        for url in (server.url, server.root):
            encoder = remote_image_encoder(
                "test", url, late=late, prompt="Look.", query="Q: ", pixels=800
            )
            pages, questions = encoder.encode_images([image]), encoder.encode_queries(["who pays"])
    asked = server.asked
    assert {request.path for request in asked} == {path}
    content = asked[0].body["messages"][0]["content"]
    assert [part["type"] for part in content] == ["image_url", "text"]
    (picture,) = asked[0].images
    with Image.open(__import__("io").BytesIO(picture)) as sent:
        assert sent.size == (20, 40)
    if late:
        assert asked[1].body["input"] == ["Q: who pays"]
        assert asked[1].body["task"] == "token_embed"
        assert (len(pages.data), len(questions.data)) == (5, 3)
    else:
        assert asked[1].body["messages"][0]["content"] == [{"type": "text", "text": "Q: who pays"}]
        assert (len(pages.data), len(questions.data)) == (1, 1)
    assert pages.grids == ()


def answer(*vectors, kind="embedding"):
    entries = [{"index": i, kind: vector} for i, vector in enumerate(vectors)]
    return Turn(body=json.dumps({"data": entries}).encode())


@pytest.mark.parametrize(
    ("turn", "match"),
    [
        (answer([1.0, 0.0]), "1 vectors instead of 2"),
        (answer([1.0, 0.0], [1.0]), "vectors of 1 numbers instead of 2"),
        (answer([1.0, 0.0], [float("nan"), 0.0]), "not finite"),
        (answer([1.0, 0.0], [1e200, 1e200]), "not finite"),
        (answer([1.0, 0.0], [0.0, 0.0]), "no length"),
        (answer([1.0, 0.0], []), "without numbers"),
        (answer([1.0, 0.0], "AAAA"), "holds no vectors"),
        (answer([1.0, 0.0], [10**400, 0]), "holds no vectors"),
        (Turn(body=b'{"data": [{"index": 1e999, "embedding": [1]}]}'), "holds no vectors"),
        (answer([1.0, 0.0], [[1.0], [2.0, 3.0]]), "holds no vectors"),
        (Turn(body=b'{"data": 3}'), "holds no vectors"),
        (Turn(body=b"[]"), "holds no vectors"),
        (Turn(body=b"<html>", content_type="text/html"), "holds no vectors"),
    ],
)
def test_what_are_no_vectors_is_an_error(turn, match):
    with ChatServer(embeddings=[turn]) as server, pytest.raises(ModelError, match=match):
        remote_text_encoder("test", server.url).encode_queries(["a", "b"])


def test_vectors_come_back_by_their_index():
    entries = [{"index": 1, "embedding": [0.0, 2.0]}, {"index": 0, "embedding": [3.0, 0.0]}]
    turn = Turn(body=json.dumps({"data": entries}).encode())
    with ChatServer(embeddings=[turn]) as server:
        vectors = remote_text_encoder("test", server.url).encode_queries(["a", "b"])
    assert vectors.data.tolist() == [[1, 0], [0, 1]]


def test_another_size_later_is_an_error():
    with ChatServer(embeddings=[Turn(), answer([1.0, 0.0])]) as server:
        encoder = remote_text_encoder("test", server.url)
        assert encoder.dimension == 8
        with pytest.raises(ModelError, match="2 numbers instead of 8"):
            encoder.encode_queries(["a"])


def test_failures_that_may_pass_are_repeated():
    turns = [Turn(status=500, headers={"Retry-After-Ms": "1"}), Turn(cut=30), Turn()]
    with ChatServer(embeddings=turns) as server:
        encoder = remote_text_encoder("test", server.url)
        assert len(encoder.encode_queries(["a"])) == 1
        assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("turn", "match"),
    [
        (Turn(status=500, headers={"Retry-After-Ms": "1"}), "500"),
        (Turn(status=400, message="too long"), "too long"),
        (Turn(status=404), "check the model's name"),
        (Turn(body=b"{"), "not JSON"),
        (Turn(delay=30), "no answer within"),
    ],
)
def test_failures_that_stay_are_errors(turn, match):
    timeout = 0.2 if turn.delay else 20.0
    with ChatServer(embeddings=[turn]) as server:
        encoder = remote_text_encoder("test", server.url, retries=1, timeout=timeout)
        with pytest.raises(EndpointError, match=match):
            encoder.encode_queries(["a"])


def test_the_key_is_never_shown():
    with ChatServer(key="another") as server:
        url = server.url.replace("http://", "http://user:pass-word@")
        encoder = remote_text_encoder("test", url, "sk-very-secret")
        with pytest.raises(EndpointError, match="refuses the key") as caught:
            encoder.encode_queries(["a"])
    shown = f"{caught.value!r} {encoder!r} {encoder.revision}"
    assert "sk-very-secret" not in shown
    assert "pass-word" not in shown


def test_specs_name_encoders():
    text = open_remote_encoder(
        parse_spec("openai:e5@http://127.0.0.1:1/v1?query=q%3A&dimensions=9")
    )
    assert (text.name, repr(text)) == ("e5", "RemoteTextEncoder('e5', 'http://127.0.0.1:1/v1')")
    late = open_remote_encoder(
        parse_spec("vllm:col@http://127.0.0.1:1?task=token_embed&pixels=5000"), api_key="k"
    )
    assert (late.name, late.pixels, late.settings["task"]) == ("col", 5000, "token_embed")


@pytest.mark.parametrize(
    "spec",
    [
        "openai:m@http://127.0.0.1/v1?pixels=3",
        "openai:m@http://127.0.0.1/v1?dimensions=none",
        "openai:m@http://127.0.0.1/v1?dimensions=²",
        "vllm:m@http://127.0.0.1/v1?pixels=" + "9" * 5000,
        "vllm:m@http://127.0.0.1?task=classify",
        "vllm:m@http://127.0.0.1?pixels=0",
    ],
)
def test_options_that_make_no_sense_are_refused(spec):
    with pytest.raises(UsageError, match=r"option|whole number|task"):
        open_remote_encoder(parse_spec(spec))


def test_bad_addresses_and_missing_sdk(monkeypatch):
    with pytest.raises(ConfigError, match="base_url"):
        remote_text_encoder("m", "nonsense")
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(MissingExtraError, match="remote"):
        remote_text_encoder("m", "http://127.0.0.1:1").encode_queries(["a"])
