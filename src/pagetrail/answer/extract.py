"""The built-in reader: the answer is taken from the pages word for word, no model involved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..ports import Draft
from .candidates import Candidate, codes_from, phrases_in, quantities_in, runs_in
from .claims import verdict_on
from .evidence import units_of, weigh
from .lists import counts_in, lists_in
from .pairs import pairs_in
from .question import understand
from .rank import agreement, features_of, score_of
from .superlative import extremes_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..types import Page, Query, Ranking
    from .evidence import Unit, Weighed
    from .question import Question
    from .terms import Rarity

__all__ = ["ExtractiveReader", "drafts_of"]

_QUANTITIES = frozenset({"count", "number", "money", "percentage", "year", "date", "time"})
_DRAFTS = 8
_AHEAD = 24  # units that a list may run on


@dataclass(frozen=True)
class ExtractiveReader:
    """Answers without a model: typed values, cells, names, clauses and lists, quoted.

    Attributes:
        similarity: Question and texts to one cosine per text, such as an encoder's; None to do
            without.
    """

    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None = None

    def read(self, query: Query, ranking: Ranking, pages: Sequence[Page]) -> Sequence[Draft]:
        """Return up to eight drafts, best first, one per answer text; empty when nothing fits.

        Args:
            query: The question; its picture, if any, is not looked at.
            ranking: The pages' scores.
            pages: Pages to read, best first.
        """
        question = understand(query.text)
        weighed, _best, _ = self.candidates(question, ranking, pages)
        scored = [(score_of(question, features), c, features) for c, features in weighed]
        scored.sort(key=lambda item: -item[0])
        return drafts_of(scored)

    def candidates(
        self, question: Question, ranking: Ranking, pages: Sequence[Page]
    ) -> tuple[list[tuple[Candidate, dict[str, float]]], list[Weighed], Rarity]:
        """Return every candidate with its features, the units they come from, words' rarity."""
        units = units_of(pages)
        best, rarity = weigh(question, units, ranking, similarity=self.similarity)
        if not best:
            return [], [], rarity
        found = list(_candidates(question, best, units, rarity))
        agreed = agreement(found)
        return [(c, features_of(question, c, best[0], agreed)) for c in found], best, rarity


def _candidates(
    question: Question, best: Sequence[Weighed], units: Sequence[Unit], rarity: Rarity
) -> Iterator[Candidate]:
    rows = {(u.page.id, u.block.order): u for u in units if u.is_row}
    places = {(u.place, u.position): i for i, u in enumerate(units)}
    if question.kind == "yes_no":
        yield from verdict_on(question, best)
        return
    if question.extreme:
        yield from extremes_in(question, best, units, rarity)
    for weighed in best:
        at = places[weighed.unit.place, weighed.unit.position]
        yield from pairs_in(question, weighed, rows, rarity)
        following = [u for u in units[at + 1 : at + 1 + _AHEAD] if u.page is weighed.unit.page]
        if question.kind in _QUANTITIES:
            yield from quantities_in(question, weighed, rarity)
            if question.kind == "count":
                yield from counts_in(question, weighed, following)
            continue
        if question.kind in ("name", "place", "choice", "phrase", "list"):
            yield from runs_in(question, weighed)
            yield from codes_from(question, weighed)
        if question.kind in ("list", "phrase"):
            yield from lists_in(question, weighed, following)
        ahead = [] if question.kind == "list" else [u.text for u in following[:2]]
        yield from phrases_in(question, weighed, ahead)


def drafts_of(scored: Sequence[tuple[float, Candidate, Mapping[str, float]]]) -> list[Draft]:
    """Return the best candidates as drafts; of equal texts only the best."""
    drafts: list[Draft] = []
    seen: set[str] = set()
    for score, candidate, features in scored:
        key = " ".join(candidate.text.casefold().split())
        if not key or key in seen:
            continue
        seen.add(key)
        unit = candidate.source.unit
        quote = candidate.quote or unit.text
        also = candidate.also
        drafts.append(
            Draft(candidate.text, unit.page.id, unit.block.order, quote, score, features, also)
        )
        if len(drafts) == _DRAFTS:
            break
    return drafts
