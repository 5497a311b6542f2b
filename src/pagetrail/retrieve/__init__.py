"""Compose channels into rankings: the pipeline algebra, fusion, judges, walks, the pointers."""

# Every kind of piece is known as soon as one is, so that `value.from_json` reads them all.
from . import beam, boost, filter, fuse, keep, pipeline, rescore, walk, weigh  # noqa: A004

__all__ = [
    "beam",
    "boost",
    "filter",
    "fuse",
    "keep",
    "pipeline",
    "rescore",
    "walk",
    "weigh",
]
