"""The built-in text encoder: all-MiniLM-L6-v2 with 8-bit weights, by ONNX Runtime, without a hub.

Each text runs alone and unpadded: nothing is spent on padding, and a vector depends on its text
only, never on what else was in the batch. More threads encode more texts at a time.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..types import Vectors
from .passages import passages

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from ..types import Page

__all__ = ["TextEncoder"]

_DATA = Path(__file__).parent / "data"
_ADVICE = "reinstall it with: pip install --force-reinstall --no-deps pagetrail"
_MAX_CHARACTERS = 20_000  # far beyond 256 tokens of any script; keeps hostile text cheap


class TextEncoder:
    """Text to unit vectors of 384 dimensions; an `Encoder`.

    Loading (checksums, 0.2 s) happens at the first use. One object may be shared by threads.

    Args:
        threads: Texts encoded at the same time, each on one core.
        folder: Where model, tokenizer and manifest are; the built-in ones by default.
    """

    def __init__(self, *, threads: int = 1, folder: Path | None = None) -> None:
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self._threads = threads
        self._folder = folder or _DATA
        self._lock = Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return str(self._manifest["name"])

    @property
    def revision(self) -> str:
        """The first 16 digits of the model file's SHA-256."""
        return str(self._manifest["sha256"]["model.onnx"][:16])

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return int(self._manifest["dimension"])

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text; what stands beyond 256 tokens is not seen.

        Raises:
            ModelError: The model's files are missing or damaged.
        """
        return self._vectors(texts, [1] * len(texts))

    def encode_pages(self, pages: Sequence[Page]) -> Vectors:
        """Return a vector for each of a page's `passages`; none for a page without words.

        Raises:
            ModelError: The model's files are missing or damaged.
        """
        cut = [passages(page) for page in pages]
        return self._vectors([p.text for page in cut for p in page], [len(page) for page in cut])

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        try:
            manifest: dict[str, Any] = json.loads(self._read("manifest.json"))
        except ValueError as error:
            raise self._damaged("manifest.json") from error
        return manifest

    def _vectors(self, texts: Sequence[str], counts: list[int]) -> Vectors:
        import numpy as np

        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        # Running heads and repeated forms are common: the same text is encoded once.
        distinct = list(dict.fromkeys(texts))
        rows = np.zeros((len(distinct), self.dimension), np.float32)
        if distinct:
            session, tokenizer = self._load()

            def encode(row: int) -> None:
                ids = np.array([tokenizer.encode(_clean(distinct[row])).ids], np.int64)
                rows[row] = session.run(None, {"ids": ids})[0][0]

            if self._threads == 1 or len(distinct) == 1:
                for row in range(len(distinct)):
                    encode(row)
            else:
                with ThreadPoolExecutor(self._threads) as pool:
                    list(pool.map(encode, range(len(distinct))))
        place = {text: row for row, text in enumerate(distinct)}
        data: np.ndarray = rows[[place[text] for text in texts]] if distinct else rows
        return Vectors(data, offsets, self.name, self.revision)

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _open(self) -> tuple[Any, Any]:
        import onnxruntime
        from tokenizers import Tokenizer

        model, words = self._verified("model.onnx"), self._verified("tokenizer.json")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # The graph is fused by hand where it pays; fusing more costs time.
        level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.graph_optimization_level = level
        # Every length would get its own memory plan; with 256 lengths that only adds memory.
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_buffer(words)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._manifest["max_tokens"])
        return session, tokenizer

    def _verified(self, name: str) -> bytes:
        content = self._read(name)
        if hashlib.sha256(content).hexdigest() != self._manifest["sha256"][name]:
            raise self._damaged(name)
        return content

    def _read(self, name: str) -> bytes:
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            path = self._folder / name
            raise ModelError(f"text encoder: cannot read {path} ({reason}); {_ADVICE}") from error

    def _damaged(self, name: str) -> ModelError:
        path = self._folder / name
        return ModelError(f"text encoder: {path} does not match its checksum; {_ADVICE}")


def _clean(text: str) -> str:
    # Damaged PDFs yield lone surrogates, which the tokenizer refuses.
    return text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
