"""What a pipeline will ask of judges, told from the value alone."""

from __future__ import annotations

from dataclasses import fields

from .filter import Filter
from .pipeline import Chain, Cut, Pipeline, Search, Then
from .value import Piece

__all__ = ["channels_of", "judged"]


def judged(pipeline: Pipeline, total: int) -> list[tuple[str, int]]:
    """Return which judges are asked, and about how many pages at most, in order.

    Args:
        pipeline: What is to run.
        total: Pages in scope.
    """
    found: list[tuple[str, int]] = []
    _walk(pipeline, total, found)
    return found


def channels_of(pipeline: Piece, *, variants: bool = False) -> list[str]:
    """Return the names of all channels that a pipeline asks, each once; variants cut off or not."""
    names: dict[str, None] = {}
    for piece in _pieces(pipeline):
        channel = getattr(piece, "channel", None)
        if isinstance(channel, str):
            names.setdefault(channel if variants else channel.partition("?")[0])
    return list(names)


def _walk(value: Piece, total: int, found: list[tuple[str, int]]) -> int:
    """Note what is judged, and return how many pages come out at most."""
    if isinstance(value, Search):
        return min(value.depth, total)
    if isinstance(value, Cut):
        return min(value.k, total)
    if isinstance(value, Filter):
        found.append((value.judge, total))
        return total
    if isinstance(value, Then):
        pages = _walk(value.start, total, found)
        for stage in value.stages:
            pages = _walk(stage, pages, found)
        return pages
    if isinstance(value, Chain):
        for stage in value.stages:
            total = _walk(stage, total, found)
        return total
    if isinstance(value, Pipeline):  # a sum or a fusion: whatever any side finds
        counts = [_walk(each, total, found) for each in _children(value)]
        return min(total, sum(counts)) if counts else total
    return total


def _children(value: Piece) -> list[Piece]:
    found: list[Piece] = []
    for field in fields(value):
        inner = getattr(value, field.name)
        parts = inner if isinstance(inner, tuple) else (inner,)
        found += [part for part in parts if isinstance(part, Piece)]
    return found


def _pieces(value: Piece) -> list[Piece]:
    return [value, *(piece for child in _children(value) for piece in _pieces(child))]
