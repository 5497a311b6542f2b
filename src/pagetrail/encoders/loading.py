"""What encoders on this machine share: loading by spec, dtypes, pictures, vectors.

torch and transformers are imported inside functions, for `image` and `late` only.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, UsageError
from ..weights import fingerprint, is_out_of_memory, need, quietly, require_complete, translated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .spec import Spec

__all__ = [
    "LocalEncoder",
    "clean_text",
    "load_pretrained",
    "load_processor",
    "model_name",
    "model_revision",
    "pick_dtype",
    "pictures",
    "placed",
    "revision_of",
    "spec_settings",
    "unit_rows",
]

_SNAPSHOT = re.compile(r"snapshots[\\/]([0-9a-f]{40})[\\/]")
_MAX_CHARACTERS = 20_000  # far beyond what any model reads; keeps hostile text cheap
_MOST_RATIO = 150  # some processors refuse pictures beyond 200 times as long as wide


class LocalEncoder:
    """What every encoder on this machine tells of itself.

    Attributes:
        name: Kind and the model's own name: that of the hub, or of its folder.
        revision: The hub's commit, or a fingerprint of the folder's files.
        pixels: Most pixels that the model looks at.
        settings: Options that change the vectors.
        dimension: Numbers per vector.
    """

    dimension: int

    def __init__(self, name: str, revision: str, pixels: int, settings: Mapping[str, str]) -> None:
        self.name, self.revision, self.pixels = name, revision, pixels
        self.settings: Mapping[str, str] = MappingProxyType(dict(settings))


def pick_dtype(dtype: str, device: Any, *, late: bool) -> Any:
    """Return the torch dtype of the weights; see `spec.load_image_encoder` for ``auto``."""
    torch = need("torch", "torch")
    if dtype == "auto":
        dtype = "bfloat16" if late and device.type == "cuda" else "float32"
    return getattr(torch, dtype)


def load_pretrained(loader: Any, spec: Spec, **arguments: Any) -> Any:
    """Return ``loader.from_pretrained`` of the spec's model, once all weights are accounted for.

    Code that comes with a model is never run.

    Raises:
        ModelError: It cannot be loaded, or weights are missing or of another shape.
    """
    with translated(str(spec), hub=spec.folder is None), quietly():
        model, info = loader.from_pretrained(
            _source(spec), **revision_of(spec), trust_remote_code=False,
            output_loading_info=True, ignore_mismatched_sizes=True, **arguments,
        )  # fmt: skip
    require_complete(str(spec), info)
    return model


def load_processor(loader: Any, spec: Spec, **arguments: Any) -> Any:
    """Return the processor or tokenizer that lies beside the spec's model.

    Raises:
        ModelError: It cannot be loaded.
    """
    with translated(str(spec), hub=spec.folder is None), quietly():
        return loader.from_pretrained(
            _source(spec), **revision_of(spec), trust_remote_code=False, **arguments
        )


def revision_of(spec: Spec) -> dict[str, str]:
    """Return ``revision`` as keyword argument where the spec gives one."""
    return {"revision": spec.revision} if spec.revision else {}


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
    look = need("huggingface_hub", "huggingface-hub").try_to_load_from_cache
    for name in ("config.json", "modules.json", "open_clip_config.json"):
        path = look(spec.model, name, revision=spec.revision or None)
        found = _SNAPSHOT.search(str(path))
        if found:
            return found[1]
    return spec.revision or "unknown"


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
