"""Pages to the pieces an answer can stand in: sentences and table rows, weighed for a question."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .terms import Rarity, stems

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..types import Block, Box, Page, Ranking
    from .question import Question

__all__ = ["Unit", "Weighed", "units_of", "weigh"]

_ABBREVIATION = re.compile(
    r"(?:^|[(\[])(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|al|approx|mr|mrs|ms|dr|prof|st|no|nos|fig|figs|sec|inc|"
    r"ltd|co|corp|dept|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|u\.s|v)\.$",
    re.IGNORECASE,
)
_END = re.compile(r"[.?!][\"'”’)\]]*$")
_BULLET = re.compile(r"^[•●▪■◦‣∙·○➢➤►✓*]$|^[-–—]$")
_FIGURES = re.compile(r"^[\s($€£¥₹~<>±+−–-]*\d[\d,.]*\s*[%)]*$")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_HEADER_STEMS = 40
_RANGE = re.compile(
    r"(\d[\d,.]{0,15})\s?[%°]?\s?(?:to|and|[-–—])\s?(\d[\d,.]{0,15})(?:\s?%|\s+([^\W\d_]+))?"
)
_SUMS = frozenset(stems("total totals sum overall altogether all"))
_HEADING_WORDS = 14
_SIGHT = 2000
_UNIT_WORDS = 120  # a longer sentence is text without full stops


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, a line of its own or a table row.

    Attributes:
        page: The page it stands on.
        place: Position of its page among the pages read, 0 the best.
        block: The block it is part of.
        first: Index of its first word in the block.
        words: Its words as on the page.
        stems: What it says, for comparing.
        heading: Stems of the heading it stands under, and of the caption or table title above.
        position: Running number among the page's units, in reading order.
    """

    page: Page
    place: int
    block: Block
    first: int
    words: tuple[str, ...]
    stems: frozenset[str]
    heading: frozenset[str]
    position: int

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def sight(self) -> str:
        """The text as far as answers are looked for in it; what a page holds has no bounds."""
        return self.text[:_SIGHT]

    @property
    def is_row(self) -> bool:
        return self.block.kind == "table_row"

    def cells(self) -> list[tuple[str, Box]]:
        """Return the cells of a row with their boxes; a sentence is one cell."""
        from ..types import Box

        boxes = self.block.word_boxes()
        edges = [0, *[b for b in self.block.breaks if b > 0], len(boxes)]
        words = self.block.text.split(" ")
        return [
            (" ".join(words[a:b]), Box.around(boxes[a:b]))
            for a, b in itertools.pairwise(edges)
            if b > a
        ]


def units_of(pages: Sequence[Page]) -> list[Unit]:
    """Cut pages into units, in reading order; running headers and footers come last in weight."""
    units: list[Unit] = []
    for place, page in enumerate(pages):
        heading: frozenset[str] = frozenset()
        columns: frozenset[str] = frozenset()
        position = 0
        below = _captions_below(page)
        for block in page.blocks:
            words = tuple(block.text.split(" "))
            row = block.kind == "table_row"
            spans = [(0, len(words))] if row else _sentences(words, block.breaks)
            columns = _columns(block, columns) if row else frozenset()
            for first, last in spans:
                piece = words[first:last]
                # A cell is a text of its own: a letter alone in it is a name.
                texts = block.lines() if row else [" ".join(piece)]
                held = frozenset(s for text in texts for s in stems(text))
                above = heading | columns | below.get(block.order, frozenset())
                units.append(Unit(page, place, block, first, piece, held, above, position))
                position += 1
            if _leads(block, words):
                heading = frozenset(stems(block.text))
    return units


def _captions_below(page: Page) -> dict[int, frozenset[str]]:
    """Return what the caption right under a table says, by the orders of the table's rows."""
    found: dict[int, frozenset[str]] = {}
    run: list[int] = []
    for block in page.blocks:
        if block.kind == "table_row":
            run.append(block.order)
            continue
        if block.kind == "caption" and run:
            found.update(dict.fromkeys(run, frozenset(stems(block.text))))
        run = []
    return found


def _leads(block: Block, words: Sequence[str]) -> bool:
    if block.kind in ("heading", "caption"):
        return True
    short = block.kind == "paragraph" and len(words) <= _HEADING_WORDS
    return short and not words[-1].endswith((".", ";", ","))


def _columns(block: Block, known: frozenset[str]) -> frozenset[str]:
    """Return what the header rows of a table say, this row included if it is one."""
    figures = [line for line in block.lines() if _FIGURES.match(line)]
    if figures and any(not _YEAR.search(f) for f in figures):
        return known
    return frozenset([*known, *stems(block.text)][:_HEADER_STEMS])


def _sentences(words: Sequence[str], breaks: Sequence[int]) -> list[tuple[int, int]]:
    """Cut at sentence ends and before bullets; overlong stretches at the nearest line start."""
    edges = [0]
    for i in range(1, len(words)):
        before, word = words[i - 1], words[i]
        ends = _END.search(before) and not _ABBREVIATION.search(before)
        opens = not word[0].islower()
        if (ends and opens) or _BULLET.match(word):
            edges.append(i)
    edges.append(len(words))
    spans: list[tuple[int, int]] = []
    for a, b in itertools.pairwise(edges):
        start = a
        while b - start > _UNIT_WORDS:
            at = bisect_left(breaks, start + _UNIT_WORDS // 2)
            cut = breaks[at] if at < len(breaks) and start < breaks[at] < b else start + _UNIT_WORDS
            spans.append((start, cut))
            start = cut
        if b > start:
            spans.append((start, b))
    return spans


@dataclass(frozen=True, slots=True)
class Weighed:
    """A unit with how well it fits a question.

    Attributes:
        unit: The unit.
        score: Weighted sum of what follows; higher is better.
        own: Share of the question's weight that the unit's own words cover, 0..1.
        covered: The same, with heading, neighbours and page counted in part, 0..1.
        prior: How the page was ranked, 0..1, 1 the best.
        similarity: Cosine of unit and question by an encoder; 0 when there is none.
        order: Share of the question's neighbouring word pairs that the unit keeps, 0..1.
        tight: Share of a row's label, or of a short line, that the question itself says, 0..1.
        run: Longest run of the question's words that the unit keeps in order, as a share, 0..1.
        extra: Stems around the unit with the part they count for.
    """

    unit: Unit
    score: float
    own: float
    covered: float
    prior: float
    similarity: float = 0.0
    order: float = 0.0
    tight: float = 0.0
    run: float = 0.0
    extra: Mapping[str, float] = field(default_factory=dict)


def weigh(
    question: Question,
    units: Sequence[Unit],
    ranking: Ranking,
    *,
    similarity: Callable[[str, Sequence[str]], Sequence[float]] | None = None,
    keep: int = 16,
) -> tuple[list[Weighed], Rarity]:
    """Return the ``keep`` best units for a question, best first, and the rarity of words in all.

    Args:
        question: What is asked.
        units: Of the pages read.
        ranking: Of the pages.
        similarity: Question and texts to one cosine per text; asked for the kept units only.
        keep: Most units to return.
    """
    rarity = Rarity([u.stems for u in units])
    ranked = _priors(ranking)
    priors = {u.place: ranked.get(u.page.id, 0.0) for u in units if u.position == 0}
    on_page: dict[int, set[str]] = {}
    for u in units:
        on_page.setdefault(u.place, set()).update(u.stems)
    pairs = list(zip(question.terms, question.terms[1:], strict=False))
    measured = _measures(question)
    weighed = []
    for i, u in enumerate(units):
        if not u.stems:
            continue
        extra = _around(units, i, on_page[u.place])
        held = u.stems | _in_range(measured, u) if measured else u.stems
        own = rarity.share(question.terms, held, {})
        covered = rarity.share(question.terms, held, extra)
        order = _kept_pairs(pairs, u)
        prior = priors[u.place]
        minor = 0.35 if u.block.kind in ("header", "footer") else 0.0
        brief = 0.1 if len(u.words) < 4 and not u.is_row else 0.0
        tight = _tightness(u, question, rarity)
        score = own + 0.6 * covered + 0.25 * prior + 0.3 * order + 0.3 * tight - minor - brief
        weighed.append(Weighed(u, score, own, covered, prior, 0.0, order, tight, 0.0, extra))
    weighed.sort(key=lambda w: (-w.score, w.unit.place, w.unit.position))
    weighed = [replace(w, run=_longest_run(question, w.unit)) for w in weighed[:keep]]
    if similarity is not None and weighed:
        cosines = similarity(question.text, [w.unit.text for w in weighed])
        weighed = [
            replace(w, score=w.score + 0.8 * c, similarity=c)
            for w, c in zip(weighed, map(float, cosines), strict=True)
        ]
        weighed.sort(key=lambda w: (-w.score, w.unit.place, w.unit.position))
    return weighed, rarity


def _tightness(unit: Unit, question: Question, rarity: Rarity) -> float:
    label: frozenset[str] | list[str] = unit.stems
    if unit.is_row:
        label = [s for line in unit.block.lines()[:1] for s in stems(line)]
    elif len(unit.words) > _HEADING_WORDS:
        return 0.0
    said = rarity.share(set(label) - _SUMS or label, question.terms, {})
    # One common word in common is no match.
    return said * min(1.0, sum(rarity(s) for s in set(label) & set(question.terms)) / 6.0)


def _around(units: Sequence[Unit], index: int, page: set[str]) -> dict[str, float]:
    """Return stems near a unit with the part they count for: heading, neighbours, page."""
    unit = units[index]
    extra = dict.fromkeys(page, 0.2)
    for other in (index - 1, index + 1):
        if 0 <= other < len(units) and units[other].page is unit.page:
            extra.update(dict.fromkeys(units[other].stems, 0.45))
    extra.update(dict.fromkeys(unit.heading, 0.6))
    return extra


def _measures(question: Question) -> list[tuple[float, str, str]]:
    """Return the question's numbers with the stem of the unit word after each, years left out."""
    found = []
    for match in re.finditer(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)\s?(%|[^\W\d_]+)?", question.text):
        shown, word = match[1].replace(",", ""), match[2] or ""
        if word and not _YEAR.fullmatch(shown):
            found.append((float(shown), shown, "".join(stems(word)) or word))
    return found


def _in_range(measured: Sequence[tuple[float, str, str]], unit: Unit) -> frozenset[str]:
    """Return the question's numbers that lie in a range of the same measure in a unit."""
    held: set[str] = set()
    for match in _RANGE.finditer(unit.sight):
        low, high = (m.rstrip(".,").replace(",", "") for m in (match[1], match[2]))
        if not (low.replace(".", "", 1).isdigit() and high.replace(".", "", 1).isdigit()):
            continue
        word = "".join(stems(match[3])) if match[3] else "%"
        held.update(
            s for n, s, measure in measured if measure == word and float(low) <= n <= float(high)
        )
    return frozenset(held)


def _longest_run(question: Question, unit: Unit) -> float:
    """Return the longest run of neighbouring terms of the question in a unit, as a share."""
    sequence = stems(unit.text[:_SIGHT])
    best = 0
    before: dict[int, int] = {}
    for s in sequence:
        now = {}
        for i, term in enumerate(question.terms):
            if term == s:
                now[i] = before.get(i - 1, 0) + 1
                best = max(best, now[i])
        before = now
    return best / max(1, len(question.terms))


def _kept_pairs(pairs: Sequence[tuple[str, str]], unit: Unit) -> float:
    if not pairs:
        return 0.0
    sequence = stems(unit.text)
    held = set(itertools.pairwise(sequence))
    return sum(p in held for p in pairs) / len(pairs)


def _priors(ranking: Ranking) -> dict[str, float]:
    """Return 1 for the first hit, falling with the score and with the rank."""
    if not ranking.hits:
        return {}
    top, low = ranking.hits[0].score, ranking.hits[-1].score
    width = top - low
    return {
        h.page: 0.5 / (1 + i) + 0.5 * ((h.score - low) / width if width > 0 else 1.0)
        for i, h in enumerate(ranking.hits)
    }
