"""What all local models share: loading with nothing missing, naming weights, pictures, vectors.

torch and transformers are imported inside functions, for `image` and `late` only.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtraError, ModelError, UsageError
from .batches import first_line, is_out_of_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from .spec import Spec

__all__ = [
    "clean_text",
    "fingerprint",
    "load_pretrained",
    "load_processor",
    "model_name",
    "model_revision",
    "need",
    "pick_device",
    "pick_dtype",
    "pictures",
    "placed",
    "require_complete",
    "revision_of",
    "spec_settings",
    "translated",
    "unit_rows",
    "watched_loads",
]

_WATCHING = Lock()
_MIB = 1 << 20
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".onnx", ".gguf")
_SNAPSHOT = re.compile(r"snapshots[\\/]([0-9a-f]{40})[\\/]")
_MAX_CHARACTERS = 20_000  # far beyond what any model reads; keeps hostile text cheap
_MOST_RATIO = 150  # some processors refuse pictures beyond 200 times as long as wide


def need(module: str, package: str, extra: str) -> Any:
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
    torch = need("torch", "torch", "local")
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


def pick_dtype(dtype: str, device: Any, *, late: bool) -> Any:
    """Return the torch dtype of the weights; see `spec.load_image_encoder` for ``auto``."""
    torch = need("torch", "torch", "local")
    if dtype == "auto":
        dtype = "bfloat16" if late and device.type == "cuda" else "float32"
    return getattr(torch, dtype)


@contextmanager
def translated(spec: Spec) -> Iterator[None]:
    """Turn whatever a library raises while it loads into one ModelError with a clear line."""
    try:
        yield
    except (ModelError, MissingExtraError, UsageError):
        raise
    except ImportError as error:
        # transformers and open_clip say themselves which of their own optional parts is absent.
        raise ModelError(f"{spec}: a library is missing: {first_line(error)}") from error
    except Exception as error:
        if spec.folder is None and isinstance(error, OSError):
            raise ModelError(
                f"{spec}: not found on the hub or in its local cache, or the hub cannot be "
                f"reached: {first_line(error)}"
            ) from error
        raise ModelError(f"{spec}: cannot be loaded: {first_line(error)}") from error


def load_pretrained(loader: Any, spec: Spec, **arguments: Any) -> Any:
    """Return ``loader.from_pretrained`` of the spec's model, once all weights are accounted for.

    Code that comes with a model is never run.

    Raises:
        ModelError: It cannot be loaded, or weights are missing or of another shape.
    """
    with translated(spec), _quietly():
        model, info = loader.from_pretrained(
            _source(spec), **revision_of(spec), trust_remote_code=False,
            output_loading_info=True, ignore_mismatched_sizes=True, **arguments,
        )  # fmt: skip
    require_complete(spec, info)
    return model


def load_processor(loader: Any, spec: Spec, **arguments: Any) -> Any:
    """Return the processor or tokenizer that lies beside the spec's model.

    Raises:
        ModelError: It cannot be loaded.
    """
    with translated(spec), _quietly():
        return loader.from_pretrained(
            _source(spec), **revision_of(spec), trust_remote_code=False, **arguments
        )


def revision_of(spec: Spec) -> dict[str, str]:
    """Return ``revision`` as keyword argument where the spec gives one."""
    return {"revision": spec.revision} if spec.revision else {}


def require_complete(spec: Spec, info: Mapping[str, Any]) -> None:
    """Check what transformers says of a load: nothing missing, nothing of another shape.

    Weights that the file lacks are filled at random, and the vectors would look like vectors. The
    list leaves out what the model's class declares as not stored.

    Raises:
        ModelError: Names the first missing weights.
    """
    missing = sorted(map(str, info.get("missing_keys") or ()))
    if missing:
        named = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise ModelError(
            f"{spec}: {len(missing)} weights are missing, so its vectors would be random: {named}; "
            "is it only an adapter, or saved without its projection head?"
        )
    other = sorted(str(key[0] if isinstance(key, tuple) else key) for key in _other_shapes(info))
    if other:
        raise ModelError(f"{spec}: weights have another shape than its config says: {other[0]}")


def _other_shapes(info: Mapping[str, Any]) -> Iterable[Any]:
    return [*(info.get("mismatched_keys") or ()), *(info.get("error_msgs") or ())]


@contextmanager
def watched_loads(spec: Spec) -> Iterator[None]:
    """Check every model that another library loads through transformers inside the block.

    sentence-transformers keeps transformers' word on missing weights to itself; asking a second
    time would mean loading a model of gigabytes twice.

    Raises:
        ModelError: Weights are missing, or nothing was loaded that could be checked.
    """
    base = need("transformers", "transformers", "local").PreTrainedModel
    reports: list[Mapping[str, Any]] = []
    loads = base.__dict__["from_pretrained"]

    def watched(cls: Any, *args: Any, **kwargs: Any) -> Any:
        asked = kwargs.pop("output_loading_info", False)
        kwargs |= {"output_loading_info": True, "ignore_mismatched_sizes": True}
        model, info = loads.__func__(cls, *args, **kwargs)
        reports.append(info)
        return (model, info) if asked else model

    with _WATCHING, _quietly():
        base.from_pretrained = classmethod(watched)
        try:
            yield
        finally:
            base.from_pretrained = loads
    if not reports:
        raise ModelError(f"{spec}: it holds no transformers model, so its weights go unchecked")
    for info in reports:
        require_complete(spec, info)


@contextmanager
def _quietly() -> Iterator[None]:
    # Progress bars belong to the command line, which shows its own; what matters of the reports on
    # a load becomes an error here.
    logging = importlib.import_module("transformers.utils.logging")
    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()


def placed(model: Any, device: Any, dtype: Any) -> Any:
    """Return the model ready to run: on its device, in its dtype, without gradients.

    Raises:
        ModelError: The device has no room for it.
    """
    try:
        return model.to(device=device, dtype=dtype).eval().requires_grad_(requires_grad=False)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise ModelError(
            f"the model does not fit into the memory of {device}; try dtype float16, or device cpu"
        ) from error


def model_name(spec: Spec) -> str:
    """Return the model's own name with its kind: ``siglip:google/siglip-...``, ``clip:folder``."""
    folder = spec.folder
    return f"{spec.kind}:{spec.model if folder is None else folder.resolve().name}"


def model_revision(spec: Spec) -> str:
    """Return the hub's commit of what was loaded; for a folder its `fingerprint`.

    The commit is read off the hub's local cache, where what was loaded lies: transformers no longer
    says it on every config.
    """
    folder = spec.folder
    if folder is not None:
        return fingerprint(folder)
    look = need("huggingface_hub", "huggingface-hub", "local").try_to_load_from_cache
    for name in ("config.json", "modules.json", "open_clip_config.json"):
        path = look(spec.model, name, revision=spec.revision or None)
        found = _SNAPSHOT.search(str(path))
        if found:
            return found[1]
    return spec.revision or "unknown"


def fingerprint(folder: Path) -> str:
    """Return 16 hexadecimal digits of a SHA-256 over the files of a model's folder.

    Names and sizes of all files count, small files whole, weights by their first and last MiB:
    a folder of 10 GB takes milliseconds. Hidden files, and text that no program reads (``.md``,
    ``.txt`` outside vocabularies), do not count.
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
                file.seek(-_MIB, 2)
                digest.update(file.read(_MIB))
    return digest.hexdigest()[:16]


def spec_settings(spec: Spec, dtype: str) -> dict[str, str]:
    """Return what a spec asks for that changes vectors.

    A dtype counts when it was asked for: what ``auto`` picks depends on the device, and differs by
    less than the tolerance of the probe.
    """
    settings = {name: spec.options[name] for name in ("pixels", "pool") if name in spec.options}
    if settings.get("pool") == "1":
        del settings["pool"]
    if dtype not in ("auto", "float32"):
        settings["dtype"] = dtype
    return settings


def pictures(images: Sequence[np.ndarray]) -> list[Any]:
    """Return uint8 RGB arrays ``[height, width, 3]`` as pictures.

    One more than 150 times as long as wide gets white beside it: models refuse such strips.

    Raises:
        UsageError: One is not such an array; names it by index.
    """
    from PIL import Image

    made = []
    for index, image in enumerate(images):
        array = np.asarray(image)
        if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or not array.size:
            raise UsageError(
                f"picture {index} is {array.dtype} {list(array.shape)}; uint8 [height, width, 3] "
                "is needed"
            )
        height, width = array.shape[:2]
        least = -(-max(height, width) // _MOST_RATIO)
        if min(height, width) < least:
            wide = np.full((max(height, least), max(width, least), 3), 255, np.uint8)
            wide[:height, :width] = array
            array = wide
        made.append(Image.fromarray(np.ascontiguousarray(array), "RGB"))
    return made


def clean_text(text: str) -> str:
    """Return text that every tokenizer takes: no lone surrogates, no more than can be read."""
    return text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def unit_rows(rows: Any, who: str) -> np.ndarray:
    """Return a tensor ``[n, d]`` as float32 rows of unit length.

    Raises:
        ModelError: A row is not finite (a float16 overflow) or all zero.
    """
    data: np.ndarray = rows.detach().float().cpu().numpy().reshape(-1, rows.shape[-1])
    lengths = np.linalg.norm(data.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise ModelError(
            f"{who} gives vectors that are not finite, or zero; try dtype float32 or bfloat16"
        )
    rows_of_one: np.ndarray = (data / lengths).astype(np.float32)
    return rows_of_one


def _source(spec: Spec) -> str:
    return str(spec.folder or spec.model)
