"""Many vectors per page: ColPali, ColQwen2, ColQwen2.5, ColSmol, ColModernVBert and their kin.

Checkpoints come in two forms that are read here: those of transformers' own retrieval classes
(``...ForRetrieval`` in ``config.json``), and those of sentence-transformers' ``MultiVectorEncoder``
(``modules.json``). colpali-engine's own form is not read: most of its models exist in one of these.

Of a page only the vectors of its patches are kept, without special tokens and the instruction that
stands around them. Of a question every token counts as in the models' own scoring: the prefix, the
words, and the augmentation tokens behind them, which these models were trained to use; padding that
only fills up a batch does not.
"""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import ModelError
from ..types import Vectors
from ..weights import need, pick_device, translated, watched_loads
from .batches import Limits, encode_in_batches
from .grids import pool_patches, pooled_grid
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
    revision_of,
    spec_settings,
    unit_rows,
)
from .places import Places, Seen, keep_positions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..types import Grid
    from .spec import Spec

__all__ = ["LateEncoder", "open_late_encoder"]

_TEXTS = 16  # questions at a time
_QUESTION_CHARACTERS = 2000  # these models were trained on questions of some 50 tokens
_USUAL_PIXELS = 600_000  # what a page costs in these models' own defaults; batches are sized by it
_MULTI_VECTOR = ("MultiVectorEncoder", "ColBERT")  # as sentence-transformers and PyLate name it
_FAMILIES = {  # the model beneath, as transformers names its type
    "paligemma": "colpali",
    "qwen2_vl": "colqwen2",
    "qwen2_5_vl": "colqwen2_5",
    "idefics3": "colsmol",
    "smolvlm": "colsmol",
    "modernvbert": "colmodernvbert",
}


class _Model(Protocol):
    processor: Any
    pixels: int

    def queries(self, texts: list[str]) -> list[Any]: ...

    def pages(self, images: list[Any]) -> list[Seen]: ...


class LateEncoder(LocalEncoder):
    """Pictures and questions to many unit vectors each; an `ImageEncoder`.

    One object may be shared by threads; they take turns.

    Args:
        model: What encodes.
        pool: Keep about one vector in so many of a page's.
    """

    def __init__(
        self,
        model: _Model,
        *,
        name: str,
        revision: str,
        settings: Mapping[str, str],
        batch: int,
        pool: int = 1,
    ) -> None:
        self._model = model
        super().__init__(name, revision, model.pixels, settings)
        self._image_limits = Limits(batch, batch * min(model.pixels, _USUAL_PIXELS))
        self._text_limits = Limits(_TEXTS, _TEXTS * 1000)
        self._pool = pool
        self._lock = Lock()
        self.dimension = int(self._questions(["a page"])[0].shape[1])

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per token of each text; see the module for which tokens count.

        What stands beyond 2,000 characters is not seen.

        Raises:
            ModelError: The model gives vectors that are not finite.
        """
        return self._vectors(self._questions(texts))

    def encode_images(self, images: Sequence[np.ndarray]) -> Vectors:
        """Return one vector per patch of each picture, or per pooled group of patches, and grids.

        Grids are empty for models whose patches have no known places.

        Raises:
            UsageError: A picture has another shape or type than uint8 ``[height, width, 3]``.
            ModelError: A picture alone does not fit into memory, or vectors are not finite.
        """
        made = pictures(images)
        with self._lock:
            results = encode_in_batches(
                made,
                [min(p.width * p.height, self.pixels) for p in made],
                self._see,
                self._image_limits,
            )
        grids = [grid for _, grid in results if grid is not None]
        complete = tuple(grids) if len(grids) == len(results) else ()
        return self._vectors([rows for rows, _ in results], complete)

    def _see(self, images: list[Any]) -> list[tuple[np.ndarray, Grid | None]]:
        results: list[tuple[np.ndarray, Grid | None]] = []
        for seen in self._model.pages(images):
            if not len(seen.rows):
                raise ModelError(f"{self.name} gives a picture no vectors")
            rows, owners = pool_patches(unit_rows(seen.rows, self.name), self._pool)
            results.append((rows, pooled_grid(seen.grid, owners) if seen.grid else None))
        return results

    def _questions(self, texts: Sequence[str]) -> list[np.ndarray]:
        cleaned = [clean_text(text)[:_QUESTION_CHARACTERS] for text in texts]
        with self._lock:
            return encode_in_batches(
                cleaned,
                [len(text) + 64 for text in cleaned],
                lambda batch: [unit_rows(rows, self.name) for rows in self._model.queries(batch)],
                self._text_limits,
                what="text",
            )

    def _vectors(self, items: list[np.ndarray], grids: tuple[Grid, ...] = ()) -> Vectors:
        empty = np.empty((0, getattr(self, "dimension", 0)), np.float32)
        data = np.concatenate(items) if items else empty
        offsets = np.zeros(len(items) + 1, np.int64)
        np.cumsum([len(rows) for rows in items], out=offsets[1:])
        return Vectors(data, offsets, self.name, self.revision, grids)


def open_late_encoder(spec: Spec, *, device: str, dtype: str, batch: int) -> LateEncoder:
    """Load an encoder with many vectors per picture; see `spec.load_image_encoder`.

    Raises:
        UsageError: An option that this model does not have, or an unusable device.
        MissingExtraError: A library is not installed.
        ModelError: It cannot be loaded, is of another kind, or weights are missing.
    """
    need("torch", "torch")
    place = pick_device(device)
    form = pick_dtype(dtype, place, late=True)
    made = _sentence(spec, place, form) if _file(spec, "modules.json") else None
    model = made or _native(spec, place, form)
    return LateEncoder(
        model,
        name=model_name(spec),
        revision=model_revision(spec),
        settings=spec_settings(spec, dtype),
        batch=batch,
        pool=spec.number("pool") or 1,
    )


# --- transformers' own classes -------------------------------------------------------------------


class _NativeModel:
    def __init__(self, spec: Spec, model: Any, processor: Any) -> None:
        self._model, self.processor = model, processor
        self._places = Places(spec, processor)
        keep_positions(model, self._places.patch_id)
        self.pixels = self._places.pixels

    def queries(self, texts: list[str]) -> list[Any]:
        read = self.processor.process_queries(text=texts)
        rows = self._run(read)
        return [rows[i][mask] for i, mask in enumerate(read["attention_mask"].bool())]

    def pages(self, images: list[Any]) -> list[Seen]:
        read = self.processor.process_images(images=images)
        rows = self._run(read)
        shapes = read.get("image_grid_thw")
        return [
            self._places.seen(
                rows[i],
                read["input_ids"][i],
                read["attention_mask"][i],
                None if shapes is None else shapes[i],
            )
            for i in range(len(images))
        ]

    def _run(self, read: Any) -> Any:
        torch = need("torch", "torch")
        model = self._model
        # Labels are for training; the rest goes to the model as its processor made it.
        inputs = {
            name: tensor.to(
                device=model.device,
                dtype=model.dtype if tensor.is_floating_point() else tensor.dtype,
            )
            for name, tensor in read.items()
            if name != "labels"
        }
        with torch.inference_mode():
            return model(**inputs).embeddings.float().cpu()


def _native(spec: Spec, device: Any, dtype: Any) -> _Model:
    transformers = need("transformers", "transformers")
    config = load_processor(transformers.AutoConfig, spec)
    names = [str(name) for name in getattr(config, "architectures", None) or ()]
    wanted = next((name for name in names if name.endswith("ForRetrieval")), None)
    loader = getattr(transformers, wanted or "", None)
    if loader is None:
        raise ModelError(
            f"{spec}: it is a {config.model_type} model without a late-interaction head that "
            "transformers or sentence-transformers knows; models of colpali-engine exist in that "
            "form too, often under the same name with -hf behind it"
        )
    _check_family(spec, config)
    model = load_pretrained(loader, spec, dtype=dtype)
    processor = load_processor(transformers.AutoProcessor, spec)
    return _NativeModel(spec, placed(model, device, dtype), processor)


def _check_family(spec: Spec, config: Any) -> None:
    """Check that a model is of the kind that was named for it."""
    inner = getattr(config, "vlm_config", config)
    found = _FAMILIES.get(str(inner.model_type), str(config.model_type))
    if spec.kind not in ("late", found):
        raise ModelError(f"{spec}: it is a {found} model; write {found}: or late: before it")


# --- sentence-transformers -----------------------------------------------------------------------


class _SentenceModel:
    def __init__(self, spec: Spec, model: Any) -> None:
        self._model, self.processor = model, model.processor
        self._places = Places(spec, self.processor)
        keep_positions(_inner(model), self._places.patch_id)
        self.pixels = self._places.pixels

    def queries(self, texts: list[str]) -> list[Any]:
        found: list[Any] = self._model.encode_query(
            texts, batch_size=len(texts), show_progress_bar=False
        )
        return found

    def pages(self, images: list[Any]) -> list[Seen]:
        items = self._model.encode_document(
            images, batch_size=len(images), show_progress_bar=False, output_value=None
        )
        return [self._one(item) for item in items]

    def _one(self, item: Mapping[str, Any]) -> Seen:
        rows, mask = item["token_embeddings"], item["attention_mask"].bool()
        ids = item.get("input_ids")
        if ids is None or len(ids) != len(rows):
            # The checkpoint pools by itself: what is left of the patches has no known place.
            return Seen(rows[mask], None)
        return self._places.seen(rows, ids, mask, item.get("image_grid_thw"))


def _sentence(spec: Spec, device: Any, dtype: Any) -> _Model:
    library = need("sentence_transformers", "sentence-transformers")
    kind = _read(spec, "config_sentence_transformers.json").get("model_type")
    if kind not in _MULTI_VECTOR:
        raise ModelError(
            f"{spec}: it gives one vector per text ({kind or 'SentenceTransformer'}), not many; "
            "write sentence: before it"
        )
    with translated(str(spec), hub=spec.folder is None), watched_loads(str(spec)):
        model = library.MultiVectorEncoder(
            str(spec.folder or spec.model),
            revision=spec.revision or None,
            device="cpu",
            trust_remote_code=False,
            model_kwargs={"dtype": dtype},
        )
    _check_family(spec, _inner(model).config)
    return _SentenceModel(spec, placed(model, device, dtype))


def _inner(model: Any) -> Any:
    """Return the transformers model in a sentence-transformers one."""
    first = model[0]
    return first.model if hasattr(first, "model") else first.auto_model


def _file(spec: Spec, name: str) -> Path | None:
    """Return a small file of the model; None when it has none of that name."""
    folder = spec.folder
    if folder is not None:
        return folder / name if (folder / name).is_file() else None
    cached_file = need("transformers.utils", "transformers").cached_file
    with translated(str(spec), hub=spec.folder is None):
        found = cached_file(
            spec.model,
            name,
            **revision_of(spec),
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
    return Path(found) if found else None


def _read(spec: Spec, name: str) -> dict[str, Any]:
    path = _file(spec, name)
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError) as error:
        raise ModelError(f"{spec}: {name} cannot be read: {error}") from error
    return content if isinstance(content, dict) else {}
