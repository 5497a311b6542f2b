"""Compose channels into rankings: the pipeline algebra, fusion, the question's own pointers."""

# Every kind of piece is known as soon as one is, so that `value.from_json` reads them all.
from . import boost, fuse, pipeline

__all__ = ["boost", "fuse", "pipeline"]
