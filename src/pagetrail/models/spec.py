"""One line of text names any chat model: a folder, a model hub's name, or a server's model.

::

    local:Qwen/Qwen2.5-VL-7B-Instruct@cc594898137f460bfe9f0759e9844b3ce807cfb5
    local:/models/qwen2-vl?dtype=bfloat16&device=cuda&pixels=800000
    openai:gpt-4o-mini@https://api.openai.com/v1
    openai:qwen2.5vl:7b@http://127.0.0.1:11434/v1

Nothing heavy is imported here. A key never stands in the line: it comes from a setting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, quote, urlsplit

from ..errors import UsageError

__all__ = ["ChatSpec", "parse_chat_spec"]

DTYPES = ("auto", "float32", "bfloat16", "float16")
_OPTIONS = {"local": ("device", "dtype", "pixels"), "openai": ("pixels",)}
_PIXELS = (1_000, 100_000_000)
_DEVICE = re.compile(r"auto|[a-z]+(:\d{1,3})?")
_PLAIN = "/:.,-_"


@dataclass(frozen=True, slots=True)
class ChatSpec:
    """What one line of text says; ``str()`` writes it back so that it parses to the same value.

    Attributes:
        kind: ``local`` runs on this machine; ``openai`` is a server of that protocol.
        model: Folder, name on the hub, or the name that the server knows.
        revision: Commit, tag or branch on the hub; empty for the newest, and for folders.
        url: Where the server is; empty for local models.
        pixels: Most pixels of a picture, or None for what the caller asks for.
        dtype: Number format of a local model's weights; ``auto`` is the checkpoint's own on a
            graphics card and float32 on a processor.
        device: Where a local model runs, as torch calls it; ``auto`` is cuda, then mps, then cpu.
    """

    kind: Literal["local", "openai"]
    model: str
    revision: str = ""
    url: str = ""
    pixels: int | None = None
    dtype: str = "auto"
    device: str = "auto"

    def __str__(self) -> str:
        options = {
            "device": "" if self.device == "auto" else self.device,
            "dtype": "" if self.dtype == "auto" else self.dtype,
            "pixels": "" if self.pixels is None else str(self.pixels),
        }
        tail = "&".join(f"{name}={quote(v, safe=_PLAIN)}" for name, v in options.items() if v)
        behind = self.url or self.revision
        return (
            f"{self.kind}:{self.model}{'@' + behind if behind else ''}{'?' + tail if tail else ''}"
        )

    @property
    def folder(self) -> Path | None:
        """The model's folder; None when it is a name on the hub or a server's."""
        if self.kind != "local" or self.revision or not _is_path(self.model):
            return None
        return Path(self.model).expanduser()


def parse_chat_spec(text: str) -> ChatSpec:
    """Read a line such as ``local:PATH_OR_HUB@REVISION?dtype=float16`` or ``openai:MODEL@URL``.

    A folder is written with a slash or dot in front (``./model``) or exists; all other names of
    local models are names on the hub. Only whether a folder exists is looked at.

    Raises:
        UsageError: The line makes no sense; the message says what would.
    """
    line = text.strip()
    kind, colon, rest = line.partition(":")
    if not colon or kind not in _OPTIONS or re.search(r"[\x00-\x1f\x7f]", line):
        raise _bad(text, "write local:FOLDER, local:HUB/NAME or openai:MODEL@http://host:port/v1")
    if kind == "openai":
        return _server(text, rest)
    body, options = _options(text, rest, "local")
    model, revision = body, ""
    if not _is_path(body):
        model, at, revision = body.partition("@")
        if at and not revision:
            raise _bad(text, "nothing stands behind @; give a commit, tag or branch there")
        if revision and not re.fullmatch(r"[\w./-]+", revision):
            raise _bad(text, "behind @ stands a commit, tag or branch")
    if not model:
        raise _bad(text, "it names no model")
    dtype, device = options.get("dtype", "auto"), options.get("device", "auto")
    if dtype not in DTYPES:
        raise _bad(text, f"no dtype {dtype!r}; there are {', '.join(DTYPES)}")
    if not _DEVICE.fullmatch(device):
        raise _bad(text, "a device is auto, cpu, cuda, cuda:1, mps, ...")
    return ChatSpec("local", model, revision, "", _pixels(text, options), dtype, device)


def _server(text: str, rest: str) -> ChatSpec:
    # Model names hold colons (qwen2.5vl:7b) and even @; the address begins at the last "@http".
    found = re.fullmatch(r"(.+)@(https?://[^@]+)", rest, re.DOTALL)
    if found is None:
        raise _bad(text, "a server's model is written openai:MODEL@http://host:port/v1")
    url, options = _options(text, found[2], "openai")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or re.search(r"[\s#]", url):
        raise _bad(text, "the address is http(s)://host[:port][/path], without a key in it")
    return ChatSpec("openai", found[1], "", url.rstrip("/"), _pixels(text, options))


def _options(text: str, rest: str, kind: str) -> tuple[str, dict[str, str]]:
    body, mark, tail = rest.partition("?")
    if not mark:
        return body, {}
    try:
        pairs = parse_qsl(tail, keep_blank_values=True, strict_parsing=True, max_num_fields=10)
    except ValueError:
        pairs = []
    options = dict(pairs)
    if not pairs or len(options) < len(pairs):
        raise _bad(text, "behind ? stand options, each once, such as ?dtype=float16&pixels=800000")
    for name in options:
        if name not in _OPTIONS[kind]:
            raise _bad(text, f"no option {name!r}; there are {', '.join(_OPTIONS[kind])}")
    return body, options


def _pixels(text: str, options: dict[str, str]) -> int | None:
    if "pixels" not in options:
        return None
    value, (least, most) = options["pixels"], _PIXELS
    if not (value.isascii() and value.isdigit() and len(value) < 12):
        raise _bad(text, "pixels is a whole number")
    if not least <= int(value) <= most:
        raise _bad(text, f"pixels is a whole number from {least} to {most}")
    return int(value)


def _is_path(model: str) -> bool:
    opening = ("/", "./", "../", "~", ".\\", "..\\")
    drive = re.match(r"[A-Za-z]:[\\/]", model)
    return model.startswith(opening) or model in (".", "..") or bool(drive) or _exists(model)


def _exists(model: str) -> bool:
    try:
        return bool(model) and Path(model).is_dir()
    except (OSError, ValueError):
        return False


def _bad(text: str, reason: str) -> UsageError:
    shown = text if len(text) <= 200 else text[:199] + "…"
    # A password in an address is not to be shown.
    shown = re.sub(r"(https?://)[^/@\s]*@", r"\1***@", shown)
    return UsageError(f"cannot read the model {shown!r}: {reason}")
