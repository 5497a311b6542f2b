"""One line of text names any encoder of pictures: a folder, a model hub's name, or an endpoint.

::

    siglip:google/siglip-so400m-patch14-384@9fdffc58afc957d1a03a25b10dba0329ab15c2a3
    clip:/models/clip-vit-large          a folder; absolute, or beginning with ./ or ../ or ~
    /models/clip-vit-large               the same: the folder's own files say what it is
    colqwen2:vidore/colqwen2-v1.0-hf?pool=3&pixels=600000&dtype=bfloat16
    vllm:ibm-granite/granite-vision@http://127.0.0.1:8000

Nothing heavy is imported here; `load_image_encoder` imports what the one kind needs.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from ..errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..ports import Encoder, ImageEncoder

__all__ = [
    "DENSE_KINDS",
    "ENDPOINT_KINDS",
    "KINDS",
    "LATE_KINDS",
    "Spec",
    "default_channel",
    "folder_kind",
    "load_image_encoder",
    "parse_spec",
]

DENSE_KINDS = ("clip", "siglip", "siglip2", "openclip", "sentence")  # one vector per picture
LATE_KINDS = ("colpali", "colqwen2", "colqwen2_5", "colsmol", "colmodernvbert", "late")
ENDPOINT_KINDS = ("openai", "vllm")
KINDS = (*DENSE_KINDS, *LATE_KINDS, *ENDPOINT_KINDS)

# What may be asked of a model that runs here; endpoints check theirs themselves.
_OPTIONS = ("dtype", "pixels", "pool")
_DTYPES = ("auto", "float32", "bfloat16", "float16")
_NUMBERS = {"pixels": 1000, "pool": 1}  # whole numbers, and the least allowed
_NAMED = frozenset(KINDS) - {"sentence", "late", *ENDPOINT_KINDS}  # the kind says which model
_HEAD = re.compile(r"([a-z][a-z0-9_]*):(?![\\/]{2})(.*)", re.DOTALL)
_ENDPOINT = re.compile(r"(.+?)@(https?://.+)", re.DOTALL)
_OPTION_NAME = re.compile(r"[a-z][a-z0-9_]*")
_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Spec:
    """What one line of text says; ``str()`` writes it back so that it parses to the same value.

    Attributes:
        kind: One of `KINDS`.
        model: Folder, hub name, or the name that an endpoint knows.
        revision: Commit, tag or branch on the hub; empty for the newest, and for folders.
        url: Where the endpoint is; empty for models that run here.
        options: Whatever stood behind ``?``, by name.
    """

    kind: str
    model: str
    revision: str = ""
    url: str = ""
    options: Mapping[str, str] = field(default_factory=lambda: _EMPTY, hash=False)

    def __str__(self) -> str:
        behind = self.revision or self.url
        options = "&".join(f"{k}={quote(v, safe='/:.,')}" for k, v in sorted(self.options.items()))
        tail = f"?{options}" if options else ""
        return f"{self.kind}:{self.model}{'@' if behind else ''}{behind}{tail}"

    @property
    def folder(self) -> Path | None:
        """The model's folder; None when it is a name on the hub or an endpoint's."""
        if self.url or not _names_folder(self.model):
            return None
        return Path(self.model).expanduser()

    def number(self, option: str) -> int | None:
        """Return an option that is a whole number; None when it is not given."""
        return int(self.options[option]) if option in self.options else None


def parse_spec(text: str) -> Spec:
    """Read a line such as ``siglip:google/siglip-so400m-patch14-384@<revision>?dtype=float16``.

    A bare folder is looked into for its kind; nothing else is read, and nothing fetched.

    Raises:
        UsageError: The line makes no sense; the message says what is known.
    """
    body, options = _split_options(text.strip())
    head = _HEAD.fullmatch(body)
    if head is None:
        if not _names_folder(body):
            raise _bad(text, f"neither a folder nor KIND:MODEL; kinds are {', '.join(KINDS)}")
        kind, model = folder_kind(Path(body).expanduser()), body
    else:
        kind, model = head[1], head[2]
        if kind not in KINDS:
            raise _bad(text, f"no kind {kind!r}; kinds are {', '.join(KINDS)}")
    revision = url = ""
    if kind in ENDPOINT_KINDS:
        model, url = _split_endpoint(text, kind, model)
    else:
        _check_options(text, kind, options)
        if kind == "openclip":
            model = model.removeprefix("hf-hub:").removeprefix("local-dir:")
        if not _names_folder(model):
            model, at, revision = model.partition("@")
            if at and not revision:
                raise _bad(text, "nothing stands behind @; give a commit, tag or branch there")
    if not model:
        raise _bad(text, "it names no model")
    return Spec(kind, model, revision, url, MappingProxyType(options))


def default_channel(spec: Spec) -> str:
    """Return a short name for a channel of this model: letters, digits, ``-`` and ``_``.

    It is the kind where that says which model it is, else the last part of the model's name.
    """
    if spec.kind in _NAMED:
        return spec.kind
    last = spec.model.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    return re.sub(r"[^a-z0-9_-]+", "-", last).strip("-_")[:40] or spec.kind


def folder_kind(folder: Path) -> str:
    """Return the kind of the model that a folder holds, by its own files.

    Raises:
        UsageError: There is no such folder, or it holds no model that is known.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    sentence = _json(folder / "config_sentence_transformers.json")
    if (folder / "modules.json").is_file():
        late = sentence.get("model_type") in ("MultiVectorEncoder", "ColBERT")
        return "late" if late else "sentence"
    if (folder / "open_clip_config.json").is_file():
        return "openclip"
    config = _json(folder / "config.json")
    kind = str(config.get("model_type", ""))
    if kind == "colqwen2" and _backbone(config) == "qwen2_5_vl":
        return "colqwen2_5"
    if kind in KINDS and kind not in ENDPOINT_KINDS:
        return kind
    if any(str(name).endswith("ForRetrieval") for name in config.get("architectures") or ()):
        return "late"
    if (folder / "adapter_config.json").is_file():
        raise UsageError(
            f"{folder} holds an adapter only; merge it into its base model and save both together"
        )
    found = f"a model of type {kind!r}" if kind else "no config.json that names a model"
    raise UsageError(
        f"{folder} holds {found}; name the kind before it, such as clip:{folder}; kinds are "
        f"{', '.join(DENSE_KINDS + LATE_KINDS)}"
    )


def load_image_encoder(
    spec: Spec | str, *, device: str = "auto", dtype: str = "auto", batch: int = 8
) -> ImageEncoder | Encoder:
    """Load the encoder that a spec names.

    Of an ``openai:`` endpoint it encodes text, every other encodes pictures.

    Args:
        spec: A `Spec` or its text.
        device: Any device torch knows; ``auto`` takes cuda, then mps, then cpu.
        dtype: Number format of the weights; the spec's own ``dtype`` wins. ``auto`` is float32,
            except for late interaction on cuda, whose models were trained in bfloat16.
        batch: Most pictures encoded at a time.

    Raises:
        UsageError: The spec, the device or the dtype makes no sense.
        MissingExtraError: A library that it needs is not installed.
        ModelError: The model cannot be loaded, or some of its weights are missing.
    """
    spec = parse_spec(spec) if isinstance(spec, str) else spec
    dtype = spec.options.get("dtype", dtype)
    if dtype not in _DTYPES:
        raise UsageError(f"no dtype {dtype!r}; there are {', '.join(_DTYPES)}")
    if batch < 1:
        raise UsageError(f"batch must be at least 1, not {batch}")
    if spec.kind in ENDPOINT_KINDS:
        from .remote import open_remote_encoder

        return open_remote_encoder(spec)
    if spec.kind in LATE_KINDS:
        from .late import open_late_encoder

        return open_late_encoder(spec, device=device, dtype=dtype, batch=batch)
    from .image import open_dense_encoder

    return open_dense_encoder(spec, device=device, dtype=dtype, batch=batch)


def _split_options(text: str) -> tuple[str, dict[str, str]]:
    body, mark, tail = text.partition("?")
    if not mark:
        return text, {}
    try:
        pairs = parse_qsl(tail, keep_blank_values=True, strict_parsing=True, max_num_fields=20)
    except ValueError:
        pairs = []
    options = dict(pairs)
    if not pairs or len(options) < len(pairs) or not all(map(_OPTION_NAME.fullmatch, options)):
        raise _bad(text, "behind ? stand options, each once, such as ?pool=3&dtype=float16")
    return body, options


def _split_endpoint(text: str, kind: str, model: str) -> tuple[str, str]:
    found = _ENDPOINT.fullmatch(model)
    if found is None:
        raise _bad(text, f"an endpoint is written {kind}:MODEL@http://host:port/v1")
    try:
        address = urlsplit(found[2])
    except ValueError as error:
        raise _bad(text, f"{found[2]!r} is not an address") from error
    if not address.hostname or address.username or re.search(r"\s", found[2]):
        raise _bad(text, "the address must be http(s)://host[:port][/path], without a key in it")
    return found[1], found[2].rstrip("/")


def _check_options(text: str, kind: str, options: Mapping[str, str]) -> None:
    for name, value in options.items():
        if name not in _OPTIONS:
            raise _bad(text, f"no option {name!r}; there are {', '.join(_OPTIONS)}")
        least = _NUMBERS.get(name)
        if least is not None and not (
            value.isascii() and value.isdigit() and least <= int(value[:12]) <= 10**9
        ):
            raise _bad(text, f"{name} must be a whole number of at least {least}")
    if options.get("dtype", "auto") not in _DTYPES:
        raise _bad(text, f"no dtype {options['dtype']!r}; there are {', '.join(_DTYPES)}")
    if "pool" in options and kind not in LATE_KINDS:
        raise _bad(text, f"pool is for models with many vectors per page: {', '.join(LATE_KINDS)}")


def _is_path(model: str) -> bool:
    return model.startswith(("/", "./", "../", "~", ".\\", "..\\")) or model in (".", "..")


def _names_folder(model: str) -> bool:
    try:
        return _is_path(model) or Path(model).is_dir()
    except OSError:  # longer than any file's name
        return False


def _backbone(config: Mapping[str, Any]) -> str:
    inner = config.get("vlm_config")
    return str(inner.get("model_type", "")) if isinstance(inner, dict) else ""


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _bad(text: str, reason: str) -> UsageError:
    return UsageError(f"cannot read the model spec {text!r}: {reason}")
