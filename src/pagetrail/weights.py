"""What all models on this machine share: loading with nothing missing, naming weights, memory.

torch and transformers are imported inside functions, for the doors to them: `encoders.image`,
`encoders.late`, `models.local` and `models.cross`.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import re
import sys
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from .errors import MissingExtraError, ModelError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = [
    "fingerprint",
    "first_line",
    "is_out_of_memory",
    "need",
    "pick_device",
    "quietly",
    "release_memory",
    "require_complete",
    "translated",
    "watched_loads",
]

_MIB = 1 << 20
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".onnx", ".gguf")
# Devices other than cuda raise a plain RuntimeError; their words differ.
_OUT_OF_MEMORY = re.compile(
    r"out of memory|not enough memory|can't allocate|alloc.*failed", re.IGNORECASE
)
_LONGEST = 300
_WATCHING = Lock()


def need(module: str, package: str, extra: str = "local") -> Any:
    """Import an optional library.

    Raises:
        MissingExtraError: It is not installed; names the extra that brings it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(package, extra) from error


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


@contextmanager
def translated(who: str, *, hub: bool) -> Iterator[None]:
    """Turn whatever a library raises while it loads into one ModelError with a clear line.

    Args:
        who: The model, for the message.
        hub: It is named on the hub, not by a folder.
    """
    try:
        yield
    except (ModelError, MissingExtraError, UsageError):
        raise
    except ImportError as error:
        # transformers and open_clip say themselves which of their own optional parts is absent.
        raise ModelError(f"{who}: a library is missing: {first_line(error)}") from error
    except Exception as error:
        if is_out_of_memory(error):
            raise ModelError(
                f"{who}: it does not fit into memory; try dtype float16, or another device"
            ) from error
        if hub and isinstance(error, OSError):
            raise ModelError(
                f"{who}: not found on the hub or in its local cache, or the hub cannot be "
                f"reached: {first_line(error)}"
            ) from error
        raise ModelError(f"{who}: cannot be loaded: {first_line(error)}") from error


def require_complete(who: str, info: Mapping[str, Any]) -> None:
    """Check what transformers says of a load: nothing missing, nothing of another shape.

    Weights that the file lacks are filled at random, and what comes of them looks like vectors or
    words. The list leaves out what the model's class declares as not stored.

    Raises:
        ModelError: Names the first missing weights.
    """
    missing = sorted(map(str, info.get("missing_keys") or ()))
    if missing:
        named = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise ModelError(
            f"{who}: {len(missing)} weights are missing and would be random: {named}; is it only "
            "an adapter, or saved without its projection or the head that this use needs?"
        )
    other = [*(info.get("mismatched_keys") or ()), *(info.get("error_msgs") or ())]
    if other:
        first = min(str(key[0] if isinstance(key, tuple) else key) for key in other)
        raise ModelError(f"{who}: weights have another shape than its config says: {first}")


@contextmanager
def watched_loads(who: str) -> Iterator[None]:
    """Check every model that another library loads through transformers inside the block.

    sentence-transformers keeps transformers' word on missing weights to itself; asking a second
    time would mean loading a model of gigabytes twice.

    Raises:
        ModelError: Weights are missing, or nothing was loaded that could be checked.
    """
    base = need("transformers", "transformers").PreTrainedModel
    reports: list[Mapping[str, Any]] = []
    with _WATCHING, quietly():
        loads = base.__dict__["from_pretrained"]

        def watched(cls: Any, *args: Any, **kwargs: Any) -> Any:
            asked = kwargs.pop("output_loading_info", False)
            kwargs |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
            loaded, info = loads.__func__(cls, *args, **kwargs)
            reports.append(info)
            return (loaded, info) if asked else loaded

        base.from_pretrained = classmethod(watched)
        try:
            yield
        finally:
            base.from_pretrained = loads
    if not reports:
        raise ModelError(f"{who}: it holds no transformers model, so its weights go unchecked")
    for info in reports:
        require_complete(who, info)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep progress bars and reports off standard error, which belongs to the command line.

    What matters of the reports on a load becomes an error here.
    """
    logging = need("transformers.utils.logging", "transformers")
    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on any device."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and bool(_OUT_OF_MEMORY.search(str(error)))


def release_memory() -> None:
    """Give memory that nothing uses back to the device."""
    gc.collect()
    torch = sys.modules.get("torch")
    for backend in (torch.cuda, torch.mps) if torch is not None else ():
        if backend.is_available():
            backend.empty_cache()


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, at most 300 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:_LONGEST]
