"""What adding files and asking a question will cost, told before anything is spent.

Part of the composition root. Files are opened to count their pages; nothing is parsed, drawn or
sent. Times are those of a two-core machine of 2026, scaled by cores: an order of magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .config import workers
from .documents.load import find_files, open_source
from .errors import DocumentError, NotFoundError, PagetrailError, UnsupportedError
from .retrieve.cost import channels_of, judged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .library import Library
    from .retrieve.pipeline import Pipeline

__all__ = ["Estimate", "estimate"]

_PARSE = 0.15  # CPU seconds a page: reading, indexing and embedding a page with a text layer
_OCR = 1.6  # the same for a page that has to be read from its picture
_PATCH = 28 * 28  # pixels per token of the Qwen-VL family; others are near it
_PROMPT, _REPLY = 130, 8  # tokens of a judge's prompt without the picture, and of its reply
_PAGE_TOKENS = 700  # of a page's words, where a judge reads words


@dataclass(frozen=True)
class Estimate:
    """What would be spent.

    Attributes:
        files: Files that can be read.
        pages: Their pages.
        unread: Path to why a file was not counted.
        stored: Pages that the library holds already.
        parse_seconds: Wall-clock seconds to add the files: all with text layers, all scans.
        encode: Added encoder to the pages that it will have to encode and the seconds that this
            takes at the pace of its last run, None before the first.
        calls: Model calls for one question, at most.
        tokens: Tokens of these calls.
        cost: Money for these calls by the prices in the settings; 0 without prices.
        missing: What the recipe needs and the library or the settings lack.
    """

    files: int
    pages: int
    unread: dict[str, str]
    stored: int
    parse_seconds: tuple[float, float]
    encode: dict[str, tuple[int, float | None]] = field(default_factory=dict)
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    missing: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        return {
            "files": self.files,
            "pages": self.pages,
            "unread": self.unread,
            "stored": self.stored,
            "parse_seconds": [round(s, 1) for s in self.parse_seconds],
            "encode": {
                name: {"pages": count, "seconds": None if took is None else round(took, 1)}
                for name, (count, took) in self.encode.items()
            },
            "per_question": {
                "calls": self.calls,
                "tokens": self.tokens,
                "cost": round(self.cost, 6),
            },
            "missing": list(self.missing),
        }


def estimate(library: Library, paths: Sequence[Path], pipeline: Pipeline) -> Estimate:
    """Count pages, and what one question would ask of models."""
    files, pages, unread = _count(library, paths)
    stored = library.page_total()
    cores = workers(library.settings.documents)
    encode = {}
    for name, record in library.encoders().items():
        rate, count = library.encode_rate(name), pages + record.pending
        encode[name] = (count, None if rate is None else rate * count)
    missing = [
        f"encoder {name}: pagetrail encode add SPEC --name {name}"
        for name in channels_of(pipeline)
        if not library.has_channel(name)
    ]
    models = library.settings.models
    calls = tokens = 0
    cost = 0.0
    for judge, count in judged(pipeline, stored + pages):
        kind, _, variant = judge.partition("?")
        if kind == "text":
            continue
        needed = models.reranker if kind == "cross_encoder" else models.judge
        if not needed and not library.has_judge(kind):
            missing.append(f"a model for the judge {kind}")
        if kind == "cross_encoder":
            continue
        page = _PAGE_TOKENS if variant == "text" else models.pixels // _PATCH
        calls += count
        tokens += count * (page + _PROMPT + _REPLY)
        cost += count * ((page + _PROMPT) * models.price_in + _REPLY * models.price_out) / 1e6
    return Estimate(
        files,
        pages,
        unread,
        stored,
        (pages * _PARSE / cores, pages * _OCR / cores),
        encode,
        calls,
        tokens,
        cost,
        tuple(missing),
    )


def _count(library: Library, paths: Sequence[Path]) -> tuple[int, int, dict[str, str]]:
    """Return readable files, their pages, and why the others were not counted."""
    files = pages = 0
    unread: dict[str, str] = {}

    def stop() -> None:
        raise UnsupportedError("", "its pages are known only after LibreOffice has converted it")

    for path in paths:
        if not path.exists():
            raise NotFoundError(f"{str(path)!r}: there is no such file or folder")
    for path in find_files(paths):
        try:
            settings = library.settings.documents
            with open_source(path, str(path), settings=settings, converting=stop) as source:
                files, pages = files + 1, pages + source.page_count
        except DocumentError as error:
            unread[str(path)] = error.reason
        except PagetrailError as error:
            unread[str(path)] = str(error)
    return files, pages, unread
