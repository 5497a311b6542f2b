"""One line of text names a chat model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pagetrail.errors import UsageError
from pagetrail.models.spec import ChatSpec, parse_chat_spec

COMMIT = "cc594898137f460bfe9f0759e9844b3ce807cfb5"


@pytest.mark.parametrize(
    ("line", "spec"),
    [
        ("local:Qwen/Qwen2-VL", ChatSpec("local", "Qwen/Qwen2-VL")),
        (f" local:Qwen/Q@{COMMIT} ", ChatSpec("local", "Qwen/Q", COMMIT)),
        ("local:Q@refs/pr/1", ChatSpec("local", "Q", "refs/pr/1")),
        (
            "local:/models/a@b?dtype=float16&device=cuda:1&pixels=800000",
            ChatSpec("local", "/models/a@b", "", "", 800_000, "float16", "cuda:1"),
        ),
        ("local:~/model", ChatSpec("local", "~/model")),
        ("local:C:/models/qwen", ChatSpec("local", "C:/models/qwen")),
        (
            "openai:qwen2.5vl:7b@http://127.0.0.1:11434/v1/",
            ChatSpec("openai", "qwen2.5vl:7b", "", "http://127.0.0.1:11434/v1"),
        ),
        (
            "openai:a@b@https://api.example.org/v1?pixels=1000",
            ChatSpec("openai", "a@b", "", "https://api.example.org/v1", 1000),
        ),
    ],
)
def test_lines_are_read_and_written_back(line, spec):
    assert parse_chat_spec(line) == spec
    assert parse_chat_spec(str(spec)) == spec


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "write local:"),
        ("Qwen/Qwen2-VL", "write local:"),
        ("clip:model", "write local:"),
        ("local:a\nb", "write local:"),
        ("local:", "names no model"),
        ("local:@main", "names no model"),
        ("local:Q@", "nothing stands behind @"),
        ("local:Q@a b", "commit, tag or branch"),
        ("local:Q?dtype=int4", "no dtype 'int4'"),
        ("local:Q?device=CUDA;rm", "a device is"),
        ("local:Q?pixels=12", "from 1000 to"),
        ("local:Q?pixels=many", "whole number"),
        ("local:Q?pixels=1000&pixels=2000", "each once"),
        ("local:Q?", "each once"),
        ("local:Q?trust_remote_code=1", "no option 'trust_remote_code'"),
        ("openai:gpt", "openai:MODEL@http"),
        ("openai:gpt@ftp://host", "openai:MODEL@http"),
        ("openai:@http://host", "openai:MODEL@http"),
        ("openai:m@http://", "openai:MODEL@http"),
        ("openai:m@http://:80", "http.s.://host"),
        ("openai:m@http://host:port", "http.s.://host"),
        ("openai:m@http://host/v1?dtype=float16", "no option 'dtype'"),
    ],
)
def test_lines_that_make_no_sense(line, why):
    with pytest.raises(UsageError, match=why):
        parse_chat_spec(line)


def test_a_password_in_an_address_is_refused_and_not_shown():
    with pytest.raises(UsageError) as caught:
        parse_chat_spec("openai:m@http://me:secret@host/v1?x=1")
    assert "secret" not in str(caught.value)


def test_a_folder_that_exists_needs_no_slash(tmp_path, monkeypatch):
    (tmp_path / "model@2").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse_chat_spec("local:model@2").folder == Path("model@2")
    assert parse_chat_spec("local:other@2").folder is None
    assert parse_chat_spec("local:./other").folder == Path("other")


def test_reading_a_line_loads_nothing_heavy():
    code = (
        "import sys; from pagetrail.models.spec import parse_chat_spec as p; p('local:a/b'); "
        "print([m for m in ('torch', 'transformers', 'openai', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
