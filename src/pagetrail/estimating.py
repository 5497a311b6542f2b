"""What adding files and asking a question will cost, told before anything is spent.

Part of the composition root. Files are opened to count their pages; nothing is parsed, drawn or
sent. Times are those of a two-core machine of 2026, scaled by cores: an order of magnitude.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .config import workers
from .documents.load import find_files, open_source
from .errors import DocumentError, NotFoundError, PagetrailError, UnsupportedError
from .index.catalogue import decode_path
from .index.changes import file_stamp
from .retrieve.cost import channels_of, judged

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from .config import DocumentSettings, ModelSettings, Settings
    from .encoding import Encoders
    from .index.catalogue import Catalogue
    from .judging import Judges
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
        files: Files that can be read and are not in the library as they are.
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


def estimate(
    catalogue: Catalogue,
    settings: Settings,
    encoders: Encoders,
    judges: Judges,
    channels: Collection[str],
    paths: Sequence[Path],
    pipeline: Pipeline,
) -> Estimate:
    """Count pages, and what one question would ask of models.

    Args:
        catalogue: What the library holds.
        settings: Limits, cores, prices.
        encoders: The added encoders.
        judges: Which judges could be asked.
        channels: Names of the channels that can be searched.
        paths: Files and folders to be added; those that are stored unchanged cost nothing.
        pipeline: How questions are searched.
    """
    files, pages, unread = _count(catalogue, settings.documents, paths)
    stored = catalogue.page_total()
    cores = workers(settings.documents)
    encode = {}
    for name, record in encoders.records().items():
        rate, count = encoders.rate(name), pages + record.pending
        if count:
            encode[name] = (count, None if rate is None else rate * count)
    missing = [
        f"encoder {name}: pagetrail encode add SPEC --name {name}"
        for name in channels_of(pipeline)
        if name not in channels
    ]
    asked = _asked(judged(pipeline, stored + pages), settings.models, judges)
    calls, tokens, cost, lacking = asked
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
        tuple(missing + lacking),
    )


def _asked(
    judged: Sequence[tuple[str, int]], models: ModelSettings, judges: Judges
) -> tuple[int, int, float, list[str]]:
    """Return calls, tokens and money of one question's judges, and what they lack."""
    calls = tokens = 0
    cost = 0.0
    lacking: list[str] = []
    for judge, count in judged:
        kind, _, variant = judge.partition("?")
        if not judges.has(kind):
            lacking.append(f"a model for the judge {kind}")
        if kind in ("text", "cross_encoder"):
            continue
        page = _PAGE_TOKENS if variant == "text" else models.pixels // _PATCH
        calls += count
        tokens += count * (page + _PROMPT + _REPLY)
        cost += count * ((page + _PROMPT) * models.price_in + _REPLY * models.price_out) / 1e6
    return calls, tokens, cost, lacking


def _count(
    catalogue: Catalogue, settings: DocumentSettings, paths: Sequence[Path]
) -> tuple[int, int, dict[str, str]]:
    """Return readable files that are new, their pages, and why the others were not counted."""
    rows = catalogue.rows("SELECT path, stamp FROM documents WHERE state != 'staged'")
    stamps = {decode_path(path): stamp for path, stamp in rows}
    files = pages = 0
    unread: dict[str, str] = {}

    def stop() -> None:
        raise UnsupportedError("", "its pages are known only after LibreOffice has converted it")

    for path in paths:
        if not path.exists():
            raise NotFoundError(f"{str(path)!r}: there is no such file or folder")
    for path in find_files(paths):
        real = os.path.realpath(path)
        if real in stamps and stamps[real] == file_stamp(real):
            continue
        try:
            with open_source(path, str(path), settings=settings, converting=stop) as source:
                files, pages = files + 1, pages + source.page_count
        except DocumentError as error:
            unread[str(path)] = error.reason
        except PagetrailError as error:
            unread[str(path)] = str(error)
    return files, pages, unread
