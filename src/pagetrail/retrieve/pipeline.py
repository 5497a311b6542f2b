"""The pipeline algebra: how pages are found, written as a value.

======================  ==========================================================================
``Search("lexical")``   a channel's pages for the question
``a >> stage``          then: hand the ranking of ``a`` to a stage
``a + b``               add the channels' own scores; a page that one side lacks counts 0 there
``fuse(a, b)``          make the scores comparable first (`fuse.Fuse`), then add them
``a % k``               keep the best ``k`` pages
======================  ==========================================================================

Two kinds of piece take part. A `Pipeline` starts from the question alone (`Search`, `Sum`, `Then`,
`fuse.Fuse`); a `Transform` turns one ranking into another (`Cut`, `boost.Boost`, ...). ``>>`` and
``+`` are associative to the last bit. The same value over the same library gives the same result.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError, UsageError
from ..types import Ranking, Trace
from .asking import content
from .blend import exact_sum
from .table import Column, Table, combine, from_ranking, step, to_ranking, top
from .value import Piece, check_count, fingerprint, piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..ports import Resources
    from ..types import Query, Step

__all__ = ["Chain", "Cut", "Pipeline", "Search", "Sum", "Then", "Transform"]

DEPTH = 200  # pages asked of a channel; deeper did not rank better on 2,347 pages, only slower


@dataclass(frozen=True)
class Transform(Piece):
    """A ranking to another one (`ports.Stage`); joined by ``>>`` and cut by ``%``."""

    def run(self, query: Query, ranking: Ranking, resources: Resources) -> tuple[Ranking, Trace]:
        """Return the new ranking and what it cost."""
        raise NotImplementedError

    def on_table(self, query: Query, table: Table, resources: Resources) -> tuple[Table, Trace]:
        """Do the same on columns; stages that look at single pages need not say more."""
        ranking, trace = self.run(query, to_ranking(query, table, resources), resources)
        return from_ranking(ranking, resources), trace

    def __rshift__(self, other: object) -> Chain:
        if not isinstance(other, Transform):
            raise UsageError(f"only a stage can follow '>>', not {other!r}")
        return Chain((*_stages(self), *_stages(other)))

    def __mod__(self, k: int) -> Chain:
        return self >> Cut(k)


@dataclass(frozen=True)
class Pipeline(Piece):
    """Question to ranking; the whole of a search."""

    def run(self, query: Query, resources: Resources) -> tuple[Ranking, Trace]:
        """Return the pages found, best first, and the steps that found them.

        Raises:
            NotFoundError: The library lacks a channel that is named.
            ModelError: A channel returned a score that is not a finite number.
        """
        table, trace = self.table(query, resources)
        return to_ranking(query, table, resources), trace

    def table(self, query: Query, resources: Resources) -> tuple[Table, Trace]:
        """Return the pages found as columns."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """A short name, used for the parts of a hit."""
        raise NotImplementedError

    @property
    def search(self) -> Search | None:
        """The search that this is, when it is nothing more."""
        return None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON form; the same in every process."""
        return fingerprint(self)

    def __rshift__(self, other: object) -> Then:
        if isinstance(other, Pipeline):
            raise UsageError(
                f"{other} starts from the question and cannot follow '>>'; combine with '+' or fuse"
            )
        if not isinstance(other, Transform):
            raise UsageError(f"only a stage can follow '>>', not {other!r}")
        return Then(self, _stages(other))

    def __mod__(self, k: int) -> Then:
        return self >> Cut(k)

    def __add__(self, other: object) -> Sum:
        if not isinstance(other, Pipeline):
            raise UsageError(f"only another search can be added, not {other!r}")
        return Sum((*_terms(self), *_terms(other)))


@piece("search")
@dataclass(frozen=True)
class Search(Pipeline):
    """The best pages of one channel of the library, such as ``pages`` or ``dense``.

    Attributes:
        channel: Its name in the library.
        depth: Most pages to ask for.
        trim: Ask without the instruction on how the answer should be written (`asking.content`).
    """

    channel: str
    depth: int = DEPTH
    trim: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.channel, str) or not self.channel:
            raise UsageError(f"a channel has a name, not {self.channel!r}")
        check_count(self.depth, "depth")
        if not isinstance(self.trim, bool):
            raise UsageError(f"trim is true or false, not {self.trim!r}")

    @property
    def search(self) -> Search | None:
        return self

    @property
    def label(self) -> str:
        return self.channel

    def __str__(self) -> str:
        extra = "" if self.depth == DEPTH else f", depth={self.depth}"
        return f'Search("{self.channel}"{extra}{", trim=True" if self.trim else ""})'

    def _lines(self) -> list[str]:
        trimmed = ", for what is asked alone" if self.trim else ""
        return [f"search {self.channel}, at most {self.depth} pages{trimmed}"]

    def table(self, query: Query, resources: Resources) -> tuple[Table, Trace]:
        started = time.perf_counter()
        asked = replace(query, text=content(query.text)) if self.trim else query
        found = resources.find(self.channel, asked, self.depth)
        keys = np.asarray(found.keys, np.int64)
        order = np.argsort(keys)
        scores = np.asarray(found.scores, float)[order]
        if not np.isfinite(scores).all():
            worst = int(np.flatnonzero(~np.isfinite(scores))[0])
            (page,) = resources.page_ids([int(keys[order[worst]])])
            raise ModelError(
                f"channel {self.channel!r} gave page {page} the score {scores[worst]}, "
                "which is not a finite number"
            )
        unknown = np.full(len(keys), -1, np.int32)
        blocks = unknown if found.blocks is None else np.asarray(found.blocks, np.int32)[order]
        keys = keys[order]
        columns = {self.channel: Column(keys, scores, scores, scores, found.ways)}
        table = Table(keys, scores, blocks, columns)
        return table, Trace((step(self, f"search {self.channel}", len(table), started),))


@piece("sum")
@dataclass(frozen=True)
class Sum(Pipeline):
    """Several searches' own scores, added; meant for scores on one scale, such as cosines.

    Over channels of vectors the sum is exact: no page is missing on either side.
    """

    terms: tuple[Pipeline, ...]

    def __post_init__(self) -> None:
        check_inputs(self.terms, "a sum")
        if any(isinstance(t, Sum) for t in self.terms):
            # Kept flat, so that (a + b) + c and a + (b + c) are one value.
            object.__setattr__(self, "terms", tuple(u for t in self.terms for u in _terms(t)))

    @property
    def label(self) -> str:
        return "+".join(t.label for t in self.terms)

    def __str__(self) -> str:
        return f"({' + '.join(map(str, self.terms))})"

    def _lines(self) -> list[str]:
        return ["add the scores of", *indent(self.terms)]

    def table(self, query: Query, resources: Resources) -> tuple[Table, Trace]:
        exact = exact_sum(self, self.terms, [1.0] * len(self.terms), query, resources)
        if exact is not None:
            return exact
        found, trace = table_each(self.terms, query, resources)
        started = time.perf_counter()
        tables = [found[i] for i in fixed_order(self.terms)]
        total = combine(tables, [t.scores for t in tables], [0.0] * len(tables))
        return total, trace.then(step(self, "add", len(total), started))


@piece("then")
@dataclass(frozen=True)
class Then(Pipeline):
    """A search, and the stages its ranking goes through."""

    start: Pipeline
    stages: tuple[Transform, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.start, Pipeline):
            raise UsageError(f"a pipeline starts with a search, not {self.start!r}")
        check_stages(self.stages)
        if isinstance(self.start, Then) or any(isinstance(s, Chain) for s in self.stages):
            # Kept flat, so that (a >> b) >> c and a >> (b >> c) are one value.
            before = self.start.stages if isinstance(self.start, Then) else ()
            after = tuple(s for stage in self.stages for s in _stages(stage))
            object.__setattr__(self, "stages", (*before, *after))
            start = self.start.start if isinstance(self.start, Then) else self.start
            object.__setattr__(self, "start", start)

    @property
    def label(self) -> str:
        return self.start.label

    def __str__(self) -> str:
        return f"({join([str(self.start)], self.stages)})"

    def _lines(self) -> list[str]:
        return [*self.start._lines(), *(f"then {line}" for s in self.stages for line in s._lines())]

    def table(self, query: Query, resources: Resources) -> tuple[Table, Trace]:
        table, trace = self.start.table(query, resources)
        for stage in self.stages:
            table, more = stage.on_table(query, table, resources)
            trace = Trace(trace.steps + more.steps)
        return table, trace

    def run(self, query: Query, resources: Resources) -> tuple[Ranking, Trace]:
        # Columns as long as the stages work on them, hits from the first one that does not.
        plain = (type(stage).on_table is Transform.on_table for stage in self.stages)
        first = next((n for n, is_plain in enumerate(plain) if is_plain), len(self.stages))
        inner = self.stages[:first]
        start = Then(self.start, inner) if inner else self.start
        table, trace = start.table(query, resources)
        ranking = to_ranking(query, table, resources)
        for stage in self.stages[len(inner) :]:
            ranking, more = stage.run(query, ranking, resources)
            trace = Trace(trace.steps + more.steps)
        return ranking, trace


@piece("chain")
@dataclass(frozen=True)
class Chain(Transform):
    """Stages one after the other, not yet joined to a search."""

    stages: tuple[Transform, ...]

    def __post_init__(self) -> None:
        check_stages(self.stages)
        if any(isinstance(s, Chain) for s in self.stages):
            flat = tuple(s for stage in self.stages for s in _stages(stage))
            object.__setattr__(self, "stages", flat)

    def __str__(self) -> str:
        return f"({join([], self.stages)})"

    def _lines(self) -> list[str]:
        return [f"then {line}" for s in self.stages for line in s._lines()]

    def run(self, query: Query, ranking: Ranking, resources: Resources) -> tuple[Ranking, Trace]:
        steps: tuple[Step, ...] = ()
        for stage in self.stages:
            ranking, more = stage.run(query, ranking, resources)
            steps += more.steps
        return ranking, Trace(steps)


@piece("cut")
@dataclass(frozen=True)
class Cut(Transform):
    """Keep the best ``k`` pages; ties were broken by page id, so the cut is always the same."""

    k: int

    def __post_init__(self) -> None:
        check_count(self.k, "the number of pages to keep")

    def __str__(self) -> str:
        return f"Cut({self.k})"

    def _lines(self) -> list[str]:
        return [f"keep the best {self.k}"]

    def run(self, query: Query, ranking: Ranking, resources: Resources) -> tuple[Ranking, Trace]:
        del resources
        started = time.perf_counter()
        kept = Ranking(query, ranking.hits[: self.k])
        return kept, Trace((step(self, f"keep {self.k}", len(kept.hits), started),))

    def on_table(self, query: Query, table: Table, resources: Resources) -> tuple[Table, Trace]:
        del query
        started = time.perf_counter()
        kept = top(table, self.k, resources)
        return kept, Trace((step(self, f"keep {self.k}", len(kept), started),))


# --- shared by the pieces -------------------------------------------------------------------------


def _stages(stage: Transform) -> tuple[Transform, ...]:
    return stage.stages if isinstance(stage, Chain) else (stage,)


def _terms(term: Pipeline) -> tuple[Pipeline, ...]:
    return term.terms if isinstance(term, Sum) else (term,)


def join(start: list[str], stages: Sequence[Transform]) -> str:
    """Return stages written in the algebra, cuts as ``% k`` where something stands before them."""
    text = list(start)
    for stage in stages:
        if isinstance(stage, Cut) and text:
            text = (
                [f"{text[0]} % {stage.k}"]
                if len(text) == 1
                else [f"({' >> '.join(text)}) % {stage.k}"]
            )
        else:
            text.append(str(stage))
    return " >> ".join(text)


def indent(inputs: Iterable[Piece]) -> list[str]:
    """Return the lines of several pieces, one step further in."""
    return [f"  {line}" for p in inputs for line in p._lines()]


def check_inputs(inputs: object, what: str) -> None:
    """Refuse anything but a tuple of two or more pipelines."""
    if not isinstance(inputs, tuple) or not all(isinstance(i, Pipeline) for i in inputs):
        raise UsageError(f"{what} takes searches, not {inputs!r}")
    if len(inputs) < 2:
        raise UsageError(f"{what} takes at least two searches")


def check_stages(stages: object) -> None:
    """Refuse anything but a tuple of one or more stages."""
    if not isinstance(stages, tuple) or not all(isinstance(s, Transform) for s in stages):
        raise UsageError(f"only stages can follow a search, not {stages!r}")
    if not stages:
        raise UsageError("at least one stage must follow")


def fixed_order(inputs: Sequence[Pipeline]) -> list[int]:
    """Return the places of inputs in an order of their own, however they were written.

    Sums of decimals depend on the order in their last bit, and a last bit can decide a rank.
    """
    return sorted(range(len(inputs)), key=lambda i: inputs[i].fingerprint)


def table_each(
    inputs: Sequence[Pipeline], query: Query, resources: Resources
) -> tuple[list[Table], Trace]:
    """Run several pipelines on one question, in the order given."""
    results = [each.table(query, resources) for each in inputs]
    return [t for t, _ in results], Trace(tuple(s for _, trace in results for s in trace.steps))
