"""What a walk knows of the pages around it, in columns: from this it chooses what to judge next.

A page's chances are told from where the search ranked it and the pages beside it, from what kind of
page it is for this kind of question, and from the edges that join it to pages already judged to
hold evidence. The columns do not depend on what the channels of the search were.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ..types import split_page_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..types import Edge, Hit, Page

__all__ = ["FEATURES", "Frontier"]

_GROUP: Mapping[str, str] = {
    "next": "order",
    "previous": "order",
    "section": "section",
    "parent": "section",
    "child": "section",
    "link": "link",
    "linked": "link",
    "reference": "reference",
    "referred": "reference",
    "continues": "continues",
    "continued": "continues",
    "shared": "shared",
    "similar": "similar",
    "twin": "similar",
}
_GROUPS = tuple(dict.fromkeys(_GROUP.values()))  # kinds of edges that are weighed alike
_RANKED = ("rank", "score", "first", "beside_rank", "beside_score", "best_part", "parts_first")
_LOOKS = ("words", "digits", "front", "captions", "sight_words", "table_rows", "several_digits")
_FOUND = ("found_rank", "found_score", "near", "several_near", "several_order", "order_rank")
FEATURES: tuple[str, ...] = (*_RANKED, *_LOOKS, *_FOUND, *(f"to_{group}" for group in _GROUPS))
"""Names of the columns of `Frontier.features`, in order."""

_SIGHT = re.compile(
    r"\b(figures?|charts?|graphs?|plots?|diagrams?|images?|pictures?|photos?|maps?|logos?|icons?|"
    r"colou?rs?|illustrat\w+|screenshots?|drawings?|drawn)\b",
    re.IGNORECASE,
)
_TABLE = re.compile(r"\b(tables?|rows?|columns?)\b", re.IGNORECASE)
_SEVERAL = re.compile(
    r"\b(how many|list|all|which pages?|what are|each|both|compare\w*|differen\w+|total|sum|"
    r"average|respectively|more|among)\b",
    re.IGNORECASE,
)
_FIGURE_CAPTION = re.compile(r"fig|chart|exhibit|graph|diagram", re.IGNORECASE)
_NEAR = 3  # pages apart that still count as near
_LOOKED = 6  # numbers kept of a page's looks
_GOOD = 0.5  # from this probability on a judged page counts as found


class Frontier:
    """The pages of a walk: first those that the search found, then those that edges lead to.

    Args:
        question: Its words tell what kind of page may answer it.
        hits: What the search found, best first.
    """

    def __init__(self, question: str, hits: Sequence[Hit]) -> None:
        self.ids: list[str] = []
        self._place: dict[str, int] = {}
        self._where: list[tuple[str, int]] = []
        self._sight, self._table, self._several = (
            float(bool(asked.search(question))) for asked in (_SIGHT, _TABLE, _SEVERAL)
        )
        self._looks: dict[int, np.ndarray] = {}
        self._good: dict[int, float] = {}
        self._to = np.zeros((len(_GROUPS), 0))
        self._ranked = np.zeros((0, len(_RANKED)))
        self.add(hit.page for hit in hits)
        self._ranked = self._rank(hits)

    def __len__(self) -> int:
        return len(self.ids)

    def row(self, page: str) -> int:
        """Return the row of a page that is known."""
        return self._place[page]

    def place(self, row: int, *, beside: int) -> str:
        """Return a page in words, as seen from another one."""
        document, number = self._where[row]
        same = document == self._where[beside][0]
        return f"page {number}" if same else f"page {number} of another document"

    def add(self, ids: Iterable[str]) -> list[str]:
        """Take in pages, and return those that were not known yet."""
        new = [page for page in dict.fromkeys(ids) if page not in self._place]
        for page in new:
            self._place[page] = len(self.ids)
            self.ids.append(page)
            self._where.append(split_page_id(page))
        self._to = np.concatenate([self._to, np.zeros((len(_GROUPS), len(new)))], axis=1)
        return new

    def describe(self, pages: Iterable[Page]) -> None:
        """Take in what pages look like; a page that is never described counts as average."""
        for page in pages:
            self._looks[self._place[page.id]] = looks(page)

    def judged(self, page: str, probability: float, edges: Iterable[Edge]) -> list[str]:
        """Take in a verdict and where its page leads; return the pages that come into sight."""
        edges = list(edges)
        new = self.add(edge.page for edge in edges)
        self._good[self._place[page]] = probability
        for edge in edges:
            group, row = _GROUPS.index(_GROUP[edge.kind]), self._place[edge.page]
            self._to[group, row] = max(self._to[group, row], edge.weight * probability)
        return new

    def features(self) -> np.ndarray:
        """Return float ``[pages, features]``, columns as in `FEATURES`."""
        behind = len(self) - len(self._ranked)
        unranked = self._ranked[-1] if len(self._ranked) else np.zeros(len(_RANKED))
        ranked = np.concatenate([self._ranked, np.tile(unranked, (behind, 1))])
        return np.column_stack([ranked, self._looked(), self._found(ranked), self._to.T])

    # --- columns -----------------------------------------------------------------------------

    def _rank(self, hits: Sequence[Hit]) -> np.ndarray:
        """Return the columns `_RANKED` of the pages found: float ``[hits, 7]``."""
        count = len(hits)
        rank = np.arange(count, dtype=float)
        values = np.array([hit.score for hit in hits], float)
        spread = values.std() if count else 0.0
        score = (values - values.max(initial=-np.inf)) / (spread or 1.0)
        beside_rank = np.full(count, float(count))
        beside_score = np.full(count, score.min(initial=0.0))
        places = {where: row for row, where in enumerate(self._where)}
        for row, (document, number) in enumerate(self._where):
            for other in (places.get((document, number + step)) for step in (-1, 1)):
                if other is not None:
                    beside_rank[row] = min(beside_rank[row], rank[other])
                    beside_score[row] = max(beside_score[row], score[other])
        best, firsts = _parts(hits)
        logs = (np.log1p(rank), score, rank == 0, np.log1p(beside_rank), beside_score)
        return np.column_stack([*logs, np.log1p(best), firsts])

    def _looked(self) -> np.ndarray:
        mean = np.mean(list(self._looks.values()), axis=0) if self._looks else np.zeros(_LOOKED)
        table = np.zeros((len(self), _LOOKED))
        for row, own in self._looks.items():
            table[row] = own - mean
        words, digits, front, figures, tables, rows = table.T
        return np.column_stack(
            [
                words,
                digits,
                front,
                self._sight * figures + self._table * tables,
                self._sight * words,
                self._table * rows,
                self._several * digits,
            ]
        )

    def _found(self, ranked: np.ndarray) -> np.ndarray:
        """Return the columns that say something only once a page with evidence was found."""
        best = max(self._good.values(), default=0.0)
        near = self._near()
        order = self._to[_GROUPS.index("order")]
        rank, score = ranked[:, 0], ranked[:, 1]
        return np.column_stack(
            [
                best * rank,
                best * score,
                near,
                self._several * near,
                self._several * order,
                order * rank,
            ]
        )

    def _near(self) -> np.ndarray:
        """Return 1.0 for pages that stand near one that was found, but not beside it, else 0.0."""
        found = [row for row, probability in self._good.items() if probability >= _GOOD]
        near = np.zeros(len(self))
        if not found:
            return near
        codes: dict[str, int] = {}
        document = np.array([codes.setdefault(name, len(codes)) for name, _ in self._where])
        number = np.array([number for _, number in self._where])
        for row in found:
            gap = np.abs(number - number[row])
            near[(document == document[row]) & (gap > 1) & (gap <= _NEAR)] = 1.0
        return near


def looks(page: Page) -> np.ndarray:
    """Return what a page looks like, float ``[6]``: words, digits, whether it is one of the first
    two, captions of figures, captions of tables, rows of tables."""
    text = page.text
    captions = [block.text for block in page.blocks if block.kind == "caption"]
    rows = sum(block.kind == "table_row" for block in page.blocks)
    return np.array(
        [
            np.log1p(text.count(" ")),
            sum(map(str.isdigit, text)) / max(1, len(text)),
            page.number <= 2,
            min(2, sum(bool(_FIGURE_CAPTION.match(c)) for c in captions)),
            min(2, sum(c[:3].casefold() == "tab" for c in captions)),
            np.log1p(rows),
        ],
        float,
    )


def _parts(hits: Sequence[Hit]) -> tuple[np.ndarray, np.ndarray]:
    """Return per hit the best rank that any channel gave it, and how many had it in their first 3.

    Pages with equal scores in a channel share the middle of their ranks, so a channel that has no
    opinion has none here.
    """
    best = np.full(len(hits), float(len(hits)))
    firsts = np.zeros(len(hits))
    for name in sorted({name for hit in hits for name in hit.parts}):
        rows = [row for row, hit in enumerate(hits) if name in hit.parts]
        raw = np.array([hits[row].parts[name].raw for row in rows], float)
        ordered = np.sort(raw)
        above = len(raw) - np.searchsorted(ordered, raw, side="right")
        equal = np.searchsorted(ordered, raw, side="right") - np.searchsorted(ordered, raw)
        middle = above + (equal - 1) / 2
        best[rows] = np.minimum(best[rows], middle)
        firsts[rows] += middle < 3
    return best, firsts
