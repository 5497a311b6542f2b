"""What a pipeline will ask of judges, told from the value alone."""

from __future__ import annotations

from dataclasses import fields

from .beam import Beam
from .filter import Filter
from .keep import Keep
from .pipeline import Chain, Cut, Pipeline, Search, Then
from .value import Piece
from .walk import Walk
from .weigh import Weigh

__all__ = ["channels_of", "judged"]


def judged(pipeline: Pipeline, total: int) -> list[tuple[str, int]]:
    """Return which judges are asked, and about how many pages at most, in order.

    Args:
        pipeline: What is to run.
        total: Pages in scope.
    """
    found: list[tuple[str, int]] = []
    _count(pipeline, total, total, found)
    return found


def channels_of(pipeline: Piece, *, variants: bool = False) -> list[str]:
    """Return the names of all channels that a pipeline asks, each once; variants cut off or not."""
    names: dict[str, None] = {}
    for piece in _pieces(pipeline):
        if isinstance(piece, Beam) and piece.edges == "graph":
            continue  # its channel is not asked
        channel = getattr(piece, "channel", None)
        if isinstance(channel, str):
            names.setdefault(channel if variants else channel.partition("?")[0])
    return list(names)


def _count(value: Piece, pages: int, scope: int, found: list[tuple[str, int]]) -> int:
    """Note what is judged, and return how many pages come out at most.

    Args:
        value: A piece of the pipeline.
        pages: Pages that come in.
        scope: Pages that there are.
        found: Where judges are noted.
    """
    if isinstance(value, Search):
        return min(value.depth, pages)
    if isinstance(value, Cut | Keep):
        return min(value.k if isinstance(value, Cut) else value.most, pages)
    if isinstance(value, Filter | Weigh):
        top = pages if isinstance(value, Filter) or not value.top else min(value.top, pages)
        found.append((value.judge, top))
        return pages
    if isinstance(value, Walk | Beam):
        # A walk may reach pages that no search found.
        judged = value.most(scope)
        found.append((value.judge, judged))
        drops = isinstance(value, Beam) and value.rest == "drop"
        return judged if drops else min(scope, pages + judged)
    if isinstance(value, Then | Chain):
        start = _count(value.start, pages, scope, found) if isinstance(value, Then) else pages
        for stage in value.stages:
            start = _count(stage, start, scope, found)
        return start
    if isinstance(value, Pipeline):  # a sum or a fusion: whatever any side finds
        counts = [_count(each, pages, scope, found) for each in _children(value)]
        return min(pages, sum(counts)) if counts else pages
    return pages


def _children(value: Piece) -> list[Piece]:
    found: list[Piece] = []
    for field in fields(value):
        inner = getattr(value, field.name)
        parts = inner if isinstance(inner, tuple) else (inner,)
        found += [part for part in parts if isinstance(part, Piece)]
    return found


def _pieces(value: Piece) -> list[Piece]:
    return [value, *(piece for child in _children(value) for piece in _pieces(child))]
