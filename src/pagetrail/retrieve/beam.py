"""The walk of MoLoRAG (arXiv 2509.07666): a beam over the graph of pages whose vectors are near.

The best pages of the search are judged; the unjudged neighbours of the best ``width`` of them are
judged next, and so on for some hops. Every page judged is then ranked by what search and judge say
of it together (`verdicts.joined`). What the published description and the published code choose
differently are fields of the stage; `recipes.molorag` sets them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from ..errors import UsageError
from ..types import Hit, Ranking, Similarity, Trace, Visit
from .pipeline import Transform
from .value import as_number, check_count, piece, written
from .verdicts import (
    Relevance,
    check_judge,
    check_share,
    joined,
    judge_step,
    judged_hit,
    probability_of,
    relevance_of,
    semantic_scores,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..ports import Resources
    from ..types import Edge, Query, Verdict

__all__ = ["Beam"]

_NAME = "beam"
_CHOICES = {
    "edges": ("alike", "graph"),
    "measure": ("cosine", "product"),
    "relevance": ("grade", "probability"),
    "rest": ("drop", "keep"),
}


@piece("beam")
@dataclass(frozen=True)
class Beam(Transform):
    """Judge the best pages, then their neighbours, then theirs; rank what was judged.

    Without any verdict the ranking is handed on as it was, and the step says
    ``outcome: no_verdict``. Of pages that stand equal the one with the lower id comes first.

    Attributes:
        judge: The judge's name in the library.
        width: Pages of the ranking to start from, and whose neighbours are judged at each hop.
        hops: How many times neighbours are judged.
        alpha: Share of the search's score in a page's score, 0..1; 0 is the judge alone.
        floor: Judged pages below this score are dropped.
        relevance: ``grade``: (grade - 1) / 4; ``probability``: the judge's, calibrated where the
            library has a calibration.
        edges: ``alike``: pages of a document whose mean vectors are near, by the fields below;
            ``graph``: every edge of the library's page graph.
        channel: A channel of vectors.
        k, theta, quantile, degree, measure, least: When two pages are alike, see
            `edges.Similarity`; None leaves a rule out.
        rest: Pages of the ranking that were not judged: ``drop``, or ``keep`` with the search's
            score alone.
    """

    judge: str = "grade"
    width: int = 3
    hops: int = 4
    alpha: float = 0.5
    floor: float = 0.0
    relevance: Relevance = "probability"
    edges: Literal["alike", "graph"] = "alike"
    channel: str = "colpali"
    k: int | None = 5
    theta: float | None = None
    quantile: float | None = None
    degree: float | None = None
    measure: Literal["cosine", "product"] = "cosine"
    least: int = 1
    rest: Literal["drop", "keep"] = "drop"

    def __post_init__(self) -> None:
        check_judge(self.judge)
        check_count(self.width, "the width of a beam")
        if self.hops != 0 or isinstance(self.hops, bool):
            check_count(self.hops, "the hops of a beam")
        for name in ("alpha", "floor"):
            object.__setattr__(self, name, check_share(getattr(self, name), name))
        for name in ("theta", "quantile", "degree"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_number(getattr(self, name), name))
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise UsageError(f"{name} is {' or '.join(known)}, not {getattr(self, name)!r}")
        if not isinstance(self.channel, str) or not self.channel:
            raise UsageError(f"a channel has a name, not {self.channel!r}")
        _ = self.rule

    @property
    def rule(self) -> Similarity:
        """When two pages are alike.

        Raises:
            UsageError: A number is out of its range.
        """
        return Similarity(
            self.channel,
            self.k,
            self.theta,
            self.quantile,
            self.degree,
            measure=self.measure,
            least=self.least,
        )

    def __str__(self) -> str:
        return written(self)

    def _lines(self) -> list[str]:
        ways = "that the page graph joins to them"
        if self.edges == "alike":
            rules = {
                "the {} nearest": self.k,
                f"{self.measure} of {{:g}} up": self.theta,
                "above the quantile {:g}": self.quantile,
                "{:g} per page on average": self.degree,
            }
            given = ", ".join(text.format(v) for text, v in rules.items() if v is not None)
            ways = f"alike by {self.channel} ({given or 'none'})"
        dropped = f", drop those below {self.floor:g}" if self.floor else ""
        rest = "" if self.rest == "drop" else ", keep the pages not judged"
        line = (
            f"ask {self.judge} about the best {self.width}, then {self.hops} times about the pages "
            f"{ways}, always from the best {self.width}; weigh the search {self.alpha:g} and the "
            f"judge {1 - self.alpha:g}{dropped}{rest}"
        )
        return [line]

    def run(self, query: Query, ranking: Ranking, resources: Resources) -> tuple[Ranking, Trace]:
        started = time.perf_counter()
        path = _Path(self, query, ranking, resources)
        path.go()
        verdicts = list(path.verdicts.values())
        silent = all(probability_of(verdict) is None for verdict in verdicts)
        kept = ranking if silent else path.ranked()
        below = 0 if silent else sum(path.below(page) for page in path.verdicts)
        step = judge_step(
            self,
            f"beam with {self.judge}",
            verdicts,
            started,
            visits=path.visits(),
            by_edges=str(len(path.came)),
            below_floor=str(below) if below else "",
            outcome="no_verdict" if verdicts and silent else "",
        )
        return kept, Trace((step,))

    def most(self, pages: int) -> int:
        """Return how many of so many pages in scope are judged at most."""
        if self.edges == "graph" or self.k is None:
            return pages
        # A page is joined to its k nearest and, on average, to as many that it is near to.
        return min(pages, self.width * (1 + self.hops * 2 * self.k))

    def neighbours(
        self, query: Query, pages: Sequence[str], resources: Resources
    ) -> Mapping[str, Sequence[Edge]]:
        """Return the edges that lead from pages."""
        if self.edges == "graph":
            return resources.neighbours(query, pages)
        return resources.alike(self.rule, query, pages)


@dataclass
class _Path:
    """One walk in progress."""

    beam: Beam
    query: Query
    ranking: Ranking
    resources: Resources
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    came: dict[str, tuple[str, Edge]] = field(default_factory=dict)
    hop: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.semantic = semantic_scores(self.ranking)

    def go(self) -> None:
        """Judge seeds and neighbours, until the hops are done or no neighbour is left."""
        best = sorted(self.semantic, key=lambda page: (-self.semantic[page], page))
        front = best[: self.beam.width]
        self._ask(front, 0)
        for hop in range(1, self.beam.hops + 1):
            found = self._beyond(front)
            if not found:
                return
            self._ask(found, hop)
            front = sorted(found, key=lambda page: (-self.score(page), page))[: self.beam.width]

    def score(self, page: str) -> float:
        """Return what search and judge say of a page, 0..1."""
        relevance = relevance_of(self.verdicts.get(page), self.beam.relevance)
        # A page that the search did not find is as far from the question as the last it found.
        return joined(self.semantic.get(page, 0.0), relevance, self.beam.alpha)

    def below(self, page: str) -> bool:
        """Say whether a page's verdict puts it below the floor."""
        judged = probability_of(self.verdicts.get(page)) is not None
        return judged and self.score(page) < self.beam.floor

    def ranked(self) -> Ranking:
        """Return the pages that the stage keeps, by their score."""
        known = {hit.page: hit for hit in self.ranking.hits}
        pages = list(self.verdicts)
        if self.beam.rest == "keep":
            pages += [page for page in known if page not in self.verdicts]
        return Ranking.of(
            self.query,
            (self._hit(page, known.get(page)) for page in pages if not self.below(page)),
        )

    def visits(self) -> list[Visit]:
        """Return the trail, in the order of the walk."""
        trail = []
        for page, verdict in self.verdicts.items():
            origin, edge = self.came.get(page, ("", None))
            trail.append(
                Visit(
                    page,
                    "seed" if edge is None else edge.kind,
                    origin,
                    "" if edge is None else edge.why,
                    self.hop[page],
                    self.semantic.get(page),
                    self.score(page),
                    verdict,
                )
            )
        return trail

    # --- steps -------------------------------------------------------------------------------

    def _ask(self, pages: Sequence[str], hop: int) -> None:
        verdicts = self.resources.judge(self.beam.judge, self.query, pages)
        for page, verdict in zip(pages, verdicts, strict=True):
            self.verdicts[page] = verdict
            self.hop[page] = hop

    def _beyond(self, front: Sequence[str]) -> list[str]:
        """Return the unjudged neighbours of some pages, noting how each was first reached."""
        edges = self.beam.neighbours(self.query, front, self.resources)
        found: dict[str, None] = {}
        for page in front:
            for edge in edges[page]:
                if edge.page not in self.verdicts and edge.page not in found:
                    found[edge.page] = None
                    self.came[edge.page] = (page, edge)
        return list(found)

    def _hit(self, page: str, known: Hit | None) -> Hit:
        hit = known or Hit(page, 0.0)
        _, edge = self.came.get(page, ("", None))
        via = ", ".join(filter(None, (hit.via, "" if edge is None else edge.why)))
        verdict = self.verdicts.get(page)
        return judged_hit(replace(hit, via=via), _NAME, self.score(page), self.beam.judge, verdict)
