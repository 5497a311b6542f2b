"""Pagetrail: ask your documents; get an answer, and the trail of pages behind it.

This file is the table of contents, in the order of the data flow. Everything is loaded on first
use, so that ``import pagetrail`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asking import Explained
    from .config import Settings, load_settings
    from .errors import PagetrailError
    from .library import AddedDocument, Finding, Library, open
    from .recipes import recipe
    from .retrieve.beam import Beam
    from .retrieve.filter import Filter
    from .retrieve.fuse import fuse
    from .retrieve.keep import Keep
    from .retrieve.pipeline import Pipeline, Search
    from .retrieve.rescore import Rescore
    from .retrieve.walk import Walk
    from .retrieve.weigh import Weigh
    from .types import (
        Answer,
        Block,
        Box,
        Citation,
        Document,
        Edge,
        Hit,
        Page,
        Query,
        Ranking,
        Scope,
        Trace,
        Verdict,
        Visit,
        Word,
    )

__version__ = "0.1.0"

__all__ = [
    # the library: one folder, all the verbs
    "open",
    "Library",
    "AddedDocument",
    "Finding",
    # the nouns
    "Document",
    "Page",
    "Block",
    "Word",
    "Box",
    "Query",
    "Scope",
    "Hit",
    "Ranking",
    "Verdict",
    "Edge",
    "Visit",
    "Explained",
    "Citation",
    "Answer",
    "Trace",
    # pipelines are values
    "Pipeline",
    "Search",
    "fuse",
    "Filter",
    "Rescore",
    "Weigh",
    "Walk",
    "Beam",
    "Keep",
    "recipe",
    # settings and errors
    "Settings",
    "load_settings",
    "PagetrailError",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(("open", "Library", "AddedDocument", "Finding"), "library"),
    **dict.fromkeys(
        ("Document", "Page", "Block", "Word", "Box", "Query", "Scope", "Hit", "Ranking"), "types"
    ),
    **dict.fromkeys(("Verdict", "Edge", "Visit", "Citation", "Answer", "Trace"), "types"),
    "Explained": "asking",
    **dict.fromkeys(("Pipeline", "Search"), "retrieve.pipeline"),
    "fuse": "retrieve.fuse",
    "Filter": "retrieve.filter",
    "Rescore": "retrieve.rescore",
    "Weigh": "retrieve.weigh",
    "Walk": "retrieve.walk",
    "Beam": "retrieve.beam",
    "Keep": "retrieve.keep",
    "recipe": "recipes",
    **dict.fromkeys(("Settings", "load_settings"), "config"),
    "PagetrailError": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pagetrail' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
