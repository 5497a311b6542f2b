"""Sums over channels of vectors: exact, because there every page has a score in every channel.

A channel of words returns the pages that match, and a page it lacks counts 0. A channel of vectors
scores all pages and returns the best ones; adding two such lists would count a page 0 wherever it
was not among the best. So the library is asked for the sum itself.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..types import Trace
from .asking import content
from .table import Column, Table, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ports import Resources
    from ..types import Query
    from .pipeline import Pipeline

__all__ = ["exact_sum"]


def exact_sum(
    value: Pipeline,
    terms: Sequence[Pipeline],
    weights: Sequence[float],
    query: Query,
    resources: Resources,
) -> tuple[Table, Trace] | None:
    """Return the weighted sum of several searches if all of them are channels of vectors.

    Args:
        value: The pipeline that asks, for the trace.
        terms: What is to be added.
        weights: One per term.
        query: The question.
        resources: The library.

    Raises:
        ModelError: A score is not a finite number.
    """
    searches = [term.search for term in terms if term.search is not None]
    if len({s.channel for s in searches}) < len(terms) or len({s.trim for s in searches}) > 1:
        return None
    started = time.perf_counter()
    asked = replace(query, text=content(query.text)) if searches[0].trim else query
    channels = [s.channel for s in searches]
    blend = resources.blend(channels, weights, asked, max(s.depth for s in searches))
    if blend is None:
        return None
    keys = np.asarray(blend.found.keys, np.int64)
    order = np.argsort(keys)
    keys, scores = keys[order], np.asarray(blend.found.scores, float)[order]
    if not np.isfinite(scores).all():
        raise ModelError(f"the sum of {', '.join(channels)} is not a finite number on some page")
    columns = {}
    for channel, weight in zip(channels, weights, strict=True):
        raw = np.asarray(blend.parts[channel], float)[order]
        columns[channel] = Column(keys, raw, raw, weight * raw)
    table = Table(keys, scores, np.full(len(keys), -1, np.int32), columns)
    made = step(value, f"search {' + '.join(channels)}", len(table), started)
    return table, Trace((made,))
