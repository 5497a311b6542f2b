"""One vector per picture: CLIP, SigLIP, SigLIP 2, OpenCLIP, and what sentence-transformers loads.

A model's own preprocessing is kept as it is: CLIP sees the middle square of a page, SigLIP the
whole page squeezed into a square, SigLIP 2 NaFlex the whole page in its own shape.
"""

from __future__ import annotations

import re
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import ModelError, UsageError
from ..types import Vectors
from ..weights import need, pick_device, require_complete, translated, watched_loads
from .batches import Limits, encode_in_batches
from .loading import (
    LocalEncoder,
    clean_text,
    load_pretrained,
    load_processor,
    model_name,
    model_revision,
    pick_dtype,
    pictures,
    placed,
    spec_settings,
    unit_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .spec import Spec

__all__ = ["DenseEncoder", "PaddedTextEncoder", "open_dense_encoder"]

_SIGLIP_TOKENS = 64  # the trained text length of every SigLIP
_TEXTS = 32  # at a time; they are short
_UNKNOWN_PIXELS = 1_000_000  # of a model behind sentence-transformers that does not say


class _Towers(Protocol):
    """The two halves of a model; each gives one row per item, of any length."""

    pixels: int

    def texts(self, texts: list[str], *, padded: bool) -> Any: ...

    def images(self, images: list[Any]) -> Any: ...


class DenseEncoder(LocalEncoder):
    """Pictures and questions to one unit vector each; an `ImageEncoder` with `ImageQueries`.

    One object may be shared by threads; they take turns.
    """

    def __init__(
        self, towers: _Towers, *, name: str, revision: str, settings: Mapping[str, str], batch: int
    ) -> None:
        self._towers = towers
        super().__init__(name, revision, towers.pixels, settings)
        self._image_limits = Limits(batch, 4 * towers.pixels * batch)
        self._text_limits = Limits(_TEXTS, _TEXTS)
        self._lock = Lock()
        self.dimension = int(self._text_rows(["a page"], padded=True).shape[1])

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text; what stands beyond the model's length is not seen.

        Raises:
            ModelError: The model gives vectors that are not finite.
        """
        return self._vectors(self._text_rows(texts, padded=True))

    def encode_images(self, images: Sequence[np.ndarray]) -> Vectors:
        """Return one vector per picture, uint8 RGB ``[height, width, 3]``.

        Raises:
            UsageError: A picture has another shape or type.
            ModelError: A picture alone does not fit into memory, or vectors are not finite.
        """
        made = pictures(images)
        with self._lock:
            rows = encode_in_batches(
                made,
                [min(p.width * p.height, 4 * self.pixels) for p in made],
                lambda batch: list(unit_rows(self._towers.images(batch), self.name)),
                self._image_limits,
            )
        return self._vectors(self._stacked(rows))

    def encode_image_queries(self, images: Sequence[np.ndarray]) -> Vectors:
        """Return one vector per picture that asks; the same as `encode_images` gives."""
        return self.encode_images(images)

    def _text_rows(self, texts: Sequence[str], *, padded: bool) -> np.ndarray:
        with self._lock:
            rows = encode_in_batches(
                [clean_text(text) for text in texts],
                [1] * len(texts),
                lambda batch: list(unit_rows(self._towers.texts(batch, padded=padded), self.name)),
                self._text_limits,
                what="text",
            )
        return self._stacked(rows)

    def _stacked(self, rows: list[np.ndarray]) -> np.ndarray:
        return np.stack(rows) if rows else np.empty((0, self.dimension), np.float32)

    def _vectors(self, rows: np.ndarray) -> Vectors:
        return Vectors(rows, np.arange(len(rows) + 1, dtype=np.int64), self.name, self.revision)


class PaddedTextEncoder(DenseEncoder):
    """A SigLIP: trained on text padded to 64 tokens; also a `QueryVariants`.

    The variant ``unpadded`` gives the model each question alone and as short as it is, as published
    code does (V-RAG). The model was never trained on that: it is there for comparison.
    """

    variants: tuple[str, ...] = ("unpadded",)

    def encode_queries_as(self, variant: str, texts: Sequence[str]) -> Vectors:
        """Return one vector per text, read in another way.

        Raises:
            UsageError: There is no such variant.
        """
        if variant not in self.variants:
            raise UsageError(f"{self.name} has no variant {variant!r}; it has unpadded")
        return self._vectors(self._text_rows(texts, padded=False))


def open_dense_encoder(spec: Spec, *, device: str, dtype: str, batch: int) -> DenseEncoder:
    """Load an encoder with one vector per picture; see `spec.load_image_encoder`.

    Raises:
        UsageError: An option that this model does not have, or an unusable device.
        MissingExtraError: A library is not installed.
        ModelError: It cannot be loaded, or weights are missing.
    """
    if spec.kind == "openclip":
        need("open_clip", "open-clip-torch", "openclip")
    need("torch", "torch")
    place = pick_device(device)
    form = pick_dtype(dtype, place, late=False)
    openers: dict[str, Callable[[Spec, Any, Any], _Towers]] = {
        "openclip": _open_clip_towers,
        "sentence": _sentence_towers,
    }
    towers = openers.get(spec.kind, _transformers_towers)(spec, place, form)
    made = PaddedTextEncoder if isinstance(towers, _SiglipTowers) else DenseEncoder
    return made(
        towers,
        name=model_name(spec),
        revision=model_revision(spec),
        settings=spec_settings(spec, dtype),
        batch=batch,
    )


# --- transformers --------------------------------------------------------------------------------


class _ClipTowers:
    """CLIP by transformers; text is read as far as the model goes, 77 tokens."""

    def __init__(self, model: Any, tokenizer: Any, processor: Any, pixels: int) -> None:
        self._model, self._tokenizer, self._processor = model, tokenizer, processor
        self._tokens = int(model.config.text_config.max_position_embeddings)
        self.pixels = pixels

    def texts(self, texts: list[str], *, padded: bool) -> Any:
        del padded  # only SigLIP knows two ways
        read = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self._tokens, return_tensors="pt"
        )
        return self._run(
            self._model.get_text_features,
            input_ids=read["input_ids"],
            attention_mask=read["attention_mask"],
        )

    def images(self, images: list[Any]) -> Any:
        seen = self._processor(images=images, return_tensors="pt")
        return self._run(self._model.get_image_features, **seen)

    def _run(self, features: Callable[..., Any], **tensors: Any) -> Any:
        torch = need("torch", "torch")
        with torch.inference_mode():
            found = features(**{
                name: tensor.to(
                    device=self._model.device,
                    dtype=self._model.dtype if tensor.is_floating_point() else tensor.dtype,
                )
                for name, tensor in tensors.items()
            })  # fmt: skip
        # An object since transformers 5, a tensor before.
        return found if isinstance(found, torch.Tensor) else found.pooler_output


class _SiglipTowers(_ClipTowers):
    """SigLIP and SigLIP 2: no attention mask on text, since they were trained without one."""

    def texts(self, texts: list[str], *, padded: bool) -> Any:
        if not padded:
            torch = need("torch", "torch")
            return torch.cat([self._read([text], padding=False) for text in texts])
        return self._read(texts, padding="max_length")

    def _read(self, texts: list[str], *, padding: bool | str) -> Any:
        length = min(_SIGLIP_TOKENS, self._tokens)
        read = self._tokenizer(
            texts, padding=padding, truncation=True, max_length=length, return_tensors="pt"
        )
        return self._run(self._model.get_text_features, input_ids=read["input_ids"])


class _NaFlexTowers(_SiglipTowers):
    """SigLIP 2 with pictures in their own shape: as many patches as the setting allows."""

    def __init__(self, model: Any, tokenizer: Any, processor: Any, pixels: int) -> None:
        super().__init__(model, tokenizer, processor, pixels)
        self._patch = int(model.config.vision_config.patch_size)

    def images(self, images: list[Any]) -> Any:
        patches = max(1, self.pixels // self._patch**2)
        seen = self._processor(images=images, max_num_patches=patches, return_tensors="pt")
        return self._run(self._model.get_image_features, **seen)


def _transformers_towers(spec: Spec, device: Any, dtype: Any) -> _Towers:
    transformers = need("transformers", "transformers")
    config = load_processor(transformers.AutoConfig, spec)
    found = str(config.model_type)
    allowed = {"clip": ("clip",)}.get(spec.kind, ("siglip", "siglip2"))
    if found not in allowed:
        raise ModelError(f"{spec}: it is a {found} model, not {' or '.join(allowed)}")
    model = load_pretrained(transformers.AutoModel, spec, dtype=dtype)
    tokenizer = load_processor(transformers.AutoTokenizer, spec)
    processor = load_processor(transformers.AutoImageProcessor, spec)
    asked = spec.number("pixels")
    towers: type[_ClipTowers] = _SiglipTowers if found == "siglip" else _ClipTowers
    if found == "siglip2":
        towers = _NaFlexTowers
        pixels = asked or int(processor.max_num_patches) * int(processor.patch_size) ** 2
    else:
        _refuse_pixels(spec)
        pixels = _square(processor)
    return towers(placed(model, device, dtype), tokenizer, processor, pixels)


def _square(processor: Any) -> int:
    """Return the pixels that a processor leaves of a picture."""
    cropped = getattr(processor, "do_center_crop", False)
    crop = getattr(processor, "crop_size", None) if cropped else None
    size = dict(crop or processor.size)
    side = int(size.get("shortest_edge") or 0)
    return side * side or int(size["height"]) * int(size["width"])


def _refuse_pixels(spec: Spec) -> None:
    if "pixels" in spec.options:
        raise UsageError(f"{spec}: this model looks at a fixed number of pixels; leave pixels out")


# --- open_clip -----------------------------------------------------------------------------------


class _OpenClipTowers:
    def __init__(self, model: Any, tokenizer: Any, preprocess: Any, device: Any) -> None:
        self._model, self._tokenizer, self._preprocess = model, tokenizer, preprocess
        self._device = device
        side = model.visual.image_size
        height, width = side if isinstance(side, (tuple, list)) else (side, side)
        self.pixels = int(height) * int(width)

    def texts(self, texts: list[str], *, padded: bool) -> Any:
        del padded  # only SigLIP knows two ways
        torch = need("torch", "torch")
        with torch.inference_mode():
            return self._model.encode_text(self._tokenizer(texts).to(self._device))

    def images(self, images: list[Any]) -> Any:
        torch = need("torch", "torch")
        stacked = torch.stack([self._preprocess(image) for image in images])
        dtype = next(self._model.parameters()).dtype
        with torch.inference_mode():
            return self._model.encode_image(stacked.to(device=self._device, dtype=dtype))


def _open_clip_towers(spec: Spec, device: Any, dtype: Any) -> _Towers:
    open_clip = need("open_clip", "open-clip-torch", "openclip")
    _refuse_pixels(spec)
    if spec.revision:
        raise UsageError(f"{spec}: open_clip takes no revision; download it and name the folder")
    folder = spec.folder
    source = f"local-dir:{folder}" if folder else f"hf-hub:{spec.model}"
    with translated(str(spec), hub=spec.folder is None):
        # Strict, and never without weights; weights are read as tensors only, nothing is run.
        try:
            model, preprocess = open_clip.create_model_from_pretrained(
                source, precision="fp32", device="cpu", weights_only=True
            )
        except RuntimeError as error:
            told = str(error).partition("Missing key(s)")[2].partition("\n")[0]
            require_complete(str(spec), {"missing_keys": re.findall(r'"([^"]+)"', told)})
            raise
        tokenizer = open_clip.get_tokenizer(source)
    return _OpenClipTowers(placed(model, device, dtype), tokenizer, preprocess, device)


# --- sentence-transformers -----------------------------------------------------------------------


class _SentenceTowers:
    def __init__(self, model: Any) -> None:
        self._model = model
        try:
            self.pixels = _square(model.processor.image_processor)
        except (AttributeError, KeyError):
            self.pixels = _UNKNOWN_PIXELS

    def texts(self, texts: list[str], *, padded: bool) -> Any:
        del padded  # only SigLIP knows two ways
        return self._encode(self._model.encode_query, texts)

    def images(self, images: list[Any]) -> Any:
        return self._encode(self._model.encode_document, images)

    def _encode(self, encode: Callable[..., Any], items: list[Any]) -> Any:
        return encode(
            items, batch_size=len(items), show_progress_bar=False, convert_to_tensor=True
        ).reshape(len(items), -1)


def _sentence_towers(spec: Spec, device: Any, dtype: Any) -> _Towers:
    library = need("sentence_transformers", "sentence-transformers")
    _refuse_pixels(spec)
    with translated(str(spec), hub=spec.folder is None), watched_loads(str(spec)):
        model = library.SentenceTransformer(
            str(spec.folder or spec.model),
            revision=spec.revision or None,
            device="cpu",
            trust_remote_code=False,
            model_kwargs={"dtype": dtype},
        )
    towers = _SentenceTowers(placed(model, device, dtype))
    try:
        towers.images(pictures([np.full((32, 32, 3), 255, np.uint8)]))
    except Exception as error:
        raise ModelError(f"{spec}: this model cannot encode pictures: {error}") from error
    return towers
