"""Cross-encoders that run on this machine, through sentence-transformers.

A cross-encoder reads question and passage together and gives the pair one logit: dearer than
comparing vectors, and better at telling what answers from what is merely alike. Sequence
classifiers with one or two labels and rerankers that weigh the tokens yes and no are taken; models
that look at pictures as well, where sentence-transformers knows them.
"""

from __future__ import annotations

from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, UsageError
from ..weights import (
    first_line,
    is_out_of_memory,
    need,
    pick_device,
    release_memory,
    translated,
    watched_loads,
)
from .loading import folder_of, open_picture, revision_of
from .tokens import broken_up, special_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CrossEncoder"]

_MAX_CHARACTERS = 20_000  # far beyond what any model reads; keeps hostile text cheap


class CrossEncoder:
    """Question and texts to logits, or question and pictures; threads wait for each other.

    Nothing is loaded before the first use. Special tokens in texts are broken up; code that comes
    with a model is never run; a model whose head is missing is refused.

    Args:
        model: A folder, or a name on the model hub, which ``@revision`` may follow.
        revision: Commit, tag or branch on the hub; empty: the newest.
        device: As torch calls it; ``auto`` is cuda, then mps, then cpu.
        dtype: Number format of the weights; ``auto`` is float32.
        batch: Most pairs at a time; halved when memory runs out.
        max_length: Most tokens of a pair, the rest is cut; None: the model's own limit.
    """

    def __init__(
        self,
        model: str,
        *,
        revision: str = "",
        device: str = "auto",
        dtype: str = "auto",
        batch: int = 16,
        max_length: int | None = None,
    ) -> None:
        if batch < 1 or (max_length is not None and max_length < 8):
            raise UsageError("batch must be at least 1, and max_length at least 8 tokens")
        if dtype not in ("auto", "float32", "bfloat16", "float16"):
            raise UsageError(f"no dtype {dtype!r}; there are auto, float32, bfloat16, float16")
        if not revision and folder_of(model) is None:
            model, _, revision = model.partition("@")
        if not model:
            raise UsageError("a cross-encoder needs a folder, or a name on the model hub")
        self._model, self._asked_revision = model, revision
        self._device, self._dtype = device, "float32" if dtype == "auto" else dtype
        self._batch, self._max_length = batch, max_length
        self._lock = RLock()

    def __repr__(self) -> str:
        return f"CrossEncoder({self._model!r})"

    @property
    def name(self) -> str:
        """The model's name: on the hub, or its folder's without the path."""
        folder = folder_of(self._model)
        return self._model if folder is None else folder.resolve().name

    @property
    def revision(self) -> str:
        """The hub's commit, or a fingerprint of the folder's files; weights are not loaded."""
        with self._lock:
            return self._revision

    @property
    def sees(self) -> bool:
        """Whether it looks at pictures; loads the model."""
        with self._lock:
            return bool(self._loaded.supports("image"))

    def __call__(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one logit per text, higher for a better fit.

        Raises:
            ModelError: It cannot be loaded, memory ran out, or a logit is not a number.
            MissingExtraError: The extra ``local`` is not installed.
        """
        if not texts:
            return []
        with self._lock:
            asked = self._clean(question)
            return self._logits([(asked, self._clean(text)) for text in texts])

    def score_pictures(self, question: str, pictures: Sequence[bytes]) -> Sequence[float]:
        """Return one logit per picture (encoded bytes), higher for a better fit.

        Raises:
            ModelError: As for texts; or the model does not look at pictures.
            MissingExtraError: The extra ``local`` is not installed.
        """
        if not pictures:
            return []
        with self._lock:
            if not self._loaded.supports("image"):
                raise ModelError(f"{self.name} reads text only; judge without pictures")
            asked = self._clean(question)
            return self._logits([(asked, open_picture(data, None)) for data in pictures])

    def _clean(self, text: str) -> Any:
        clean = broken_up(text[:_MAX_CHARACTERS], self._special)
        # A text that looks like a picture's address would be fetched; named as text it is not.
        return {"text": clean} if self._loaded.supports("image") else clean

    def _logits(self, pairs: list[tuple[Any, Any]]) -> list[float]:
        torch = need("torch", "torch")
        scores: list[float] = []
        batch, start = self._batch, 0
        while start < len(pairs):
            failure = ""
            try:
                found = self._loaded.predict(
                    pairs[start : start + batch],
                    batch_size=batch,
                    show_progress_bar=False,
                    activation_fn=torch.nn.Identity(),
                    convert_to_tensor=True,
                )
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                failure = first_line(error)
            if failure:  # outside the handler: the traceback would hold on to the tensors
                release_memory()
                if batch == 1:
                    raise ModelError(
                        f"{self.name}: memory ran out ({failure}); take a smaller max_length or "
                        "dtype, or another device"
                    )
                batch = max(1, batch // 2)
                continue
            values = found.detach().float().cpu()
            # Two labels, no and yes: their difference is the log-odds.
            values = values[:, 1] - values[:, 0] if values.ndim > 1 else values
            scores += values.tolist()
            start += batch
        if not all(abs(score) < float("inf") for score in scores):
            raise ModelError(
                f"{self.name} gives numbers that are not finite; try dtype float32 or bfloat16"
            )
        return scores

    @cached_property
    def _revision(self) -> str:
        return revision_of(self._model, self._asked_revision)

    @cached_property
    def _special(self) -> Any:
        return special_tokens(self._loaded.tokenizer)

    @cached_property
    def _loaded(self) -> Any:
        torch = need("torch", "torch")
        sentence = need("sentence_transformers", "sentence-transformers")
        folder = folder_of(self._model)
        if folder is not None and not folder.is_dir():
            raise ModelError(f"{self._model}: there is no such folder")
        device = pick_device(self._device)
        with (
            translated(self._model, hub=folder is None),
            watched_loads(self._model),
        ):
            model = sentence.CrossEncoder(
                str(folder or self._model),
                revision=(self._asked_revision or None) if folder is None else None,
                device=str(device),
                trust_remote_code=False,
                model_kwargs={"dtype": getattr(torch, self._dtype)},
            )
        if self._max_length is not None:
            model.max_seq_length = min(self._max_length, model.max_seq_length or self._max_length)
        if model.num_labels not in (1, 2):
            raise ModelError(
                f"{self._model}: it tells {model.num_labels} labels apart; a cross-encoder for "
                "search has one score, or the two labels no and yes"
            )
        return model
