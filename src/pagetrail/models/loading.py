"""What models that run on this machine share: loading with nothing missing, and naming weights.

torch and transformers are imported inside functions, for `local` and `cross` only.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import math
import os
import re
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError, ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "fingerprint",
    "first_line",
    "folder_of",
    "is_out_of_memory",
    "need",
    "open_picture",
    "pick_device",
    "quietly",
    "release_memory",
    "require_complete",
    "revision_of",
    "translated",
    "watched_loads",
]

_MIB = 1 << 20
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".onnx", ".gguf")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_OUT_OF_MEMORY = re.compile(
    r"out of memory|not enough memory|can't allocate|alloc.*failed", re.IGNORECASE
)
_MOST_RATIO = 150  # some processors refuse pictures beyond 200 times as long as wide
_LEAST_SIDE = 28  # and some those smaller than a patch
_LARGEST = (
    80_000_000  # pixels of a picture that is opened at all; PIL itself warns above 89 million
)
_WATCHING = Lock()


def need(module: str, package: str) -> Any:
    """Import a library of the extra ``local``.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(package, "local") from error


def pick_device(device: str) -> Any:
    """Return the torch device; ``auto`` is cuda, then mps, then cpu.

    Raises:
        UsageError: torch knows no such device, or it is not there.
    """
    torch = need("torch", "torch")
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        picked = torch.device(device)
        torch.empty(1, device=picked)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(f"device {device!r} cannot be used: {first_line(error)}") from error
    return picked


def folder_of(model: str) -> Path | None:
    """Return the folder that a model is loaded from; None for a name on the hub."""
    path = Path(model).expanduser()
    looks = model.startswith(("/", "./", "../", "~")) or model in (".", "..")
    try:
        return path if looks or path.is_dir() else None
    except OSError:
        return None


def revision_of(model: str, revision: str) -> str:
    """Return the hub's commit of a model, or the `fingerprint` of its folder.

    For a branch or tag the commit is asked of the hub, or of its cache here when the hub is out of
    reach; weights are not loaded.

    Raises:
        ModelError: There is no such model.
        MissingExtraError: The extra ``local`` is not installed.
    """
    folder = folder_of(model)
    if folder is not None:
        if not folder.is_dir():
            raise ModelError(f"{model}: there is no such folder")
        return fingerprint(folder)
    if _COMMIT.fullmatch(revision):
        return revision
    hub = need("transformers.utils.hub", "transformers")
    with translated(model):
        found = hub.cached_file(model, "config.json", revision=revision or None)
        # In the hub's cache a file stands under .../snapshots/<commit>/.
        commit = hub.extract_commit_hash(str(found), None)
    return str(commit or revision or "unknown")


def fingerprint(folder: Path) -> str:
    """Return 16 hexadecimal digits of a SHA-256 over the files of a model's folder.

    Names and sizes of all files count, small files whole, weights by their first and last MiB:
    a folder of 10 GB takes milliseconds. Hidden files and ``.md`` do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda p: p.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") for part in name.split("/"))
        if hidden or not path.is_file() or path.suffix == ".md":
            continue
        size = path.stat().st_size
        digest.update(f"{name}\0{size}\0".encode("utf-8", "surrogateescape"))
        with path.open("rb") as file:
            if size <= 4 * _MIB or path.suffix not in _WEIGHTS:
                for part in iter(lambda: file.read(_MIB), b""):
                    digest.update(part)
            else:
                digest.update(file.read(_MIB))
                file.seek(-_MIB, os.SEEK_END)
                digest.update(file.read(_MIB))
    return digest.hexdigest()[:16]


def open_picture(data: bytes, pixels: int | None) -> Any:
    """Return a picture as RGB, scaled down to so many pixels, and not too thin for a processor.

    Args:
        data: Bytes of a PNG, JPEG or the like.
        pixels: Most pixels; None: as it comes.

    Raises:
        ModelError: It cannot be opened, or is too large to be.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as opened:
            width, height = opened.size
            if width * height > _LARGEST:
                raise ModelError(f"a picture of {width} x {height} pixels is too large")
            image = opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ModelError("a picture for the model cannot be opened; give PNG or JPEG") from error
    if pixels is not None and width * height > pixels:
        scale = math.sqrt(pixels / (width * height))
        size = max(1, int(width * scale)), max(1, int(height * scale))
        image = image.resize(size, Image.Resampling.LANCZOS)
    width, height = image.size
    least = max(_LEAST_SIDE, -(-max(width, height) // _MOST_RATIO))
    if min(width, height) < least:
        padded = Image.new("RGB", (max(width, least), max(height, least)), "white")
        padded.paste(image)
        image = padded
    return image


@contextmanager
def translated(model: str) -> Iterator[None]:
    """Turn whatever a library raises while it loads into one ModelError with a clear line."""
    try:
        yield
    except (ModelError, MissingExtraError, UsageError):
        raise
    except ImportError as error:
        # transformers says itself which of its own optional parts is absent.
        raise ModelError(f"{model}: a library is missing: {first_line(error)}") from error
    except Exception as error:
        if is_out_of_memory(error):
            raise ModelError(
                f"{model}: it does not fit into memory; try dtype float16, or another device"
            ) from error
        if isinstance(error, OSError) and "huggingface" in str(error):
            where = "in that folder" if folder_of(model) else "on the hub or in its local cache"
            raise ModelError(
                f"{model}: no such model {where}, or the hub cannot be reached"
            ) from error
        raise ModelError(f"{model}: cannot be loaded: {first_line(error)}") from error


def require_complete(model: str, info: Mapping[str, Any]) -> None:
    """Check what transformers says of a load: nothing missing, nothing of another shape.

    Weights that the file lacks are filled at random, and the model's words would look like words.

    Raises:
        ModelError: Names the first missing weights.
    """
    missing = sorted(map(str, info.get("missing_keys") or ()))
    if missing:
        named = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise ModelError(
            f"{model}: {len(missing)} weights are missing and would be random: {named}; is it only "
            "an adapter, or a model without the head that this use needs?"
        )
    other = [*(info.get("mismatched_keys") or ()), *(info.get("error_msgs") or ())]
    if other:
        first = min(str(key[0] if isinstance(key, tuple) else key) for key in other)
        raise ModelError(f"{model}: weights have another shape than its config says: {first}")


@contextmanager
def watched_loads(model: str) -> Iterator[None]:
    """Check every model that another library loads through transformers inside the block.

    Raises:
        ModelError: Weights are missing, or nothing was loaded that could be checked.
    """
    base = need("transformers", "transformers").PreTrainedModel
    reports: list[Mapping[str, Any]] = []
    with _WATCHING, quietly():
        loads = base.__dict__["from_pretrained"]

        def watched(cls: Any, *args: Any, **kwargs: Any) -> Any:
            asked = kwargs.pop("output_loading_info", False)
            loaded, info = loads.__func__(cls, *args, output_loading_info=True, **kwargs)
            reports.append(info)
            return (loaded, info) if asked else loaded

        base.from_pretrained = classmethod(watched)
        try:
            yield
        finally:
            base.from_pretrained = loads
    if not reports:
        raise ModelError(f"{model}: it holds no transformers model, so its weights go unchecked")
    for info in reports:
        require_complete(model, info)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep progress bars off standard error, which belongs to the command line."""
    logging = need("transformers.utils.logging", "transformers")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on any device."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and bool(_OUT_OF_MEMORY.search(str(error)))


def release_memory() -> None:
    """Give memory that nothing uses back to the device."""
    import gc

    torch = need("torch", "torch")
    gc.collect()
    for backend in (torch.cuda, torch.mps):
        if backend.is_available():
            backend.empty_cache()


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, at most 300 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]
