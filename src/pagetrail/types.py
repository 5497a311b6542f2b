"""The nouns: frozen, small, the language every stage speaks.

Coordinates are everywhere fractions 0..1 of the page *as displayed* (after the file's own rotation
and crop), origin top left, x to the right, y down. Page numbers are 1-based and physical; the label
printed on a page ("iv", "A-101") is kept beside and never replaces the number.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from .edges import Edge, EdgeKind, Similarity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

__all__ = [
    "Answer",
    "Block",
    "BlockKind",
    "Box",
    "Citation",
    "Document",
    "Edge",
    "EdgeKind",
    "Grid",
    "Hit",
    "Link",
    "OutlineEntry",
    "Page",
    "Part",
    "Query",
    "Ranking",
    "Reference",
    "Scope",
    "Similarity",
    "Status",
    "Step",
    "Trace",
    "Vectors",
    "Verdict",
    "Visit",
    "Word",
    "page_id",
    "split_page_id",
]

BlockKind = Literal["heading", "paragraph", "list", "table_row", "caption", "header", "footer"]
TextSource = Literal["layer", "ocr", "none"]
Status = Literal["indexed", "partial", "failed"]
AnswerSource = Literal["evidence", "memory", "both", "none"]

_EMPTY: Mapping[str, str] = MappingProxyType({})
_GRID = 65535  # boxes are stored as 16-bit fractions: a step is 0.004 mm on an A4 page


def page_id(document: str, number: int) -> str:
    """Return the id of a page: document id, ``#p``, 1-based number padded to four digits.

    >>> page_id("3f2a", 7)
    '3f2a#p0007'
    """
    return f"{document}#p{number:04d}"


def split_page_id(page: str) -> tuple[str, int]:
    """Return document id and 1-based number of a page id.

    >>> split_page_id("3f2a#p0007")
    ('3f2a', 7)
    """
    document, _, number = page.rpartition("#p")
    return document, int(number)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page, in fractions of the displayed page; ``x0 <= x1`` and ``y0 <= y1``."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    def as_list(self) -> list[float]:
        """Return ``[x0, y0, x1, y1]`` rounded to five decimals, the form used in JSON."""
        return [round(self.x0, 5), round(self.y0, 5), round(self.x1, 5), round(self.y1, 5)]

    @staticmethod
    def around(boxes: Iterable[Box]) -> Box:
        """Return the smallest box that covers all the given ones; at least one is needed."""
        items = list(boxes)
        if not items:
            raise ValueError("Box.around needs at least one box")
        return Box(
            min(b.x0 for b in items),
            min(b.y0 for b in items),
            max(b.x1 for b in items),
            max(b.y1 for b in items),
        )


@dataclass(frozen=True, slots=True)
class Word:
    """A run of text without white space and where it stands."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, list item, table row or caption, in reading order.

    Attributes:
        text: The words joined by single spaces, in logical order; split at spaces to get them.
        kind: What the block is; a table is one ``table_row`` block per row.
        order: 0-based position in the page's reading order.
        grid: Four unsigned 16-bit little-endian numbers per word (x0, y0, x1, y1 in 1/65535).
        breaks: Indices of words that start a new line or, in a table row, a new cell; 0 is implied.
        level: Depth of a heading, 1 the highest; 0 for everything else.
        source: Where the words came from.
    """

    text: str
    kind: BlockKind
    order: int
    grid: bytes
    breaks: tuple[int, ...] = ()
    level: int = 0
    source: Literal["layer", "ocr"] = "layer"

    @classmethod
    def of(
        cls,
        words: Sequence[Word],
        *,
        kind: BlockKind = "paragraph",
        order: int = 0,
        breaks: Sequence[int] = (),
        level: int = 0,
        source: Literal["layer", "ocr"] = "layer",
    ) -> Block:
        """Build a block from words; white space inside a word and empty words raise ValueError."""
        if not words or any(not w.text or w.text.split() != [w.text] for w in words):
            raise ValueError("a block needs words, none of them empty or with white space inside")
        numbers = [
            min(_GRID, max(0, round(value * _GRID)))
            for w in words
            for value in (w.box.x0, w.box.y0, w.box.x1, w.box.y1)
        ]
        return cls(
            text=" ".join(w.text for w in words),
            kind=kind,
            order=order,
            grid=struct.pack(f"<{len(numbers)}H", *numbers),
            breaks=tuple(breaks),
            level=level,
            source=source,
        )

    @property
    def words(self) -> tuple[Word, ...]:
        """The words with their boxes, in reading order."""
        return tuple(map(Word, self.text.split(" "), self.word_boxes()))

    def word_boxes(self) -> list[Box]:
        """Return one box per word."""
        values = [v / _GRID for v in struct.unpack(f"<{len(self.grid) // 2}H", self.grid)]
        return [Box(*values[i : i + 4]) for i in range(0, len(values), 4)]

    @property
    def box(self) -> Box:
        """The smallest box around all words."""
        return Box.around(self.word_boxes())

    def lines(self) -> list[str]:
        """Return the text cut at ``breaks``: lines of a paragraph, cells of a table row."""
        words = self.text.split(" ")
        edges = [0, *[b for b in self.breaks if b > 0], len(words)]
        return [" ".join(words[a:b]) for a, b in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class Link:
    """A clickable area that leads to another page.

    Attributes:
        box: Where one clicks.
        target: 1-based physical page; 0 when only another file is named, not a page of it.
        file: Name of the other file, without its folders; empty within the same document.
    """

    box: Box
    target: int
    file: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """A numbered thing that a page holds or points at.

    ``role`` is ``target`` where the thing itself stands (a caption, a numbered heading) and
    ``mention`` where the text only points at it. ``kind`` is singular lower case (figure, table,
    section, page, appendix, chart, slide, note, equation, chapter, box, exhibit); ``key`` is
    the number or letter as printed, upper case, without trailing dot ("3", "2.1", "B", "IV").
    """

    kind: str
    key: str
    role: Literal["target", "mention"]
    block: int


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A line of a document's own table of contents; ``page`` is 0 when it leads nowhere."""

    title: str
    level: int
    page: int


@dataclass(frozen=True, slots=True)
class Page:
    """One page with everything that was read on it.

    Attributes:
        document: Id of its document.
        number: 1-based physical number.
        label: The number printed by the file's page labels when it differs from ``number``.
        width: Displayed width in points (1/72 inch), after rotation and crop.
        height: Displayed height in points.
        turn: Clockwise degrees (0, 90, 180, 270) to turn the displayed page so that its text is
            upright; not 0 only for scans that lie sideways or upside down. Boxes are *not* turned.
        text_source: Where most of ``blocks`` came from.
        blocks: The words to search and to cite, in reading order.
        alternate: The other reading when both a text layer and an OCR result exist and only one is
            trusted (a garbage layer under a good scan); kept, never searched.
        notes: What a person should know about the reading of this page, one sentence each.
    """

    document: str
    number: int
    width: float
    height: float
    label: str | None = None
    turn: int = 0
    text_source: TextSource = "none"
    blocks: tuple[Block, ...] = ()
    alternate: tuple[Block, ...] = ()
    links: tuple[Link, ...] = ()
    references: tuple[Reference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return page_id(self.document, self.number)

    @property
    def text(self) -> str:
        """The blocks' texts, one per line, in reading order."""
        return "\n".join(b.text for b in self.blocks)


@dataclass(frozen=True, slots=True)
class Document:
    """One file in a library.

    Attributes:
        id: Short id, derived from the content; stable while the bytes are the same.
        source: The path as it was added.
        content_hash: SHA-256 of the bytes, hexadecimal.
        page_count: Pages in the file, read or not; 0 when it could not be opened.
        status: ``indexed``; ``partial`` when some pages failed; ``failed`` when none could be read.
        reason: Why it is not ``indexed``, one line; empty otherwise.
        pages_failed: Numbers of the pages that could not be read.
    """

    id: str
    source: str
    content_hash: str
    page_count: int
    status: Status
    reason: str = ""
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    outline: tuple[OutlineEntry, ...] = ()
    tags: frozenset[str] = frozenset()
    pages_failed: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The file name without its folders."""
        return self.source.replace("\\", "/").rstrip("/").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a question looks. Both empty: the whole library. Both given: documents with such a tag.

    Attributes:
        documents: Document ids; empty means all.
        tags: A document counts when it has at least one of these; empty means all.
    """

    documents: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Query:
    """A question, optionally with a picture (encoded image bytes), and where to look."""

    text: str
    scope: Scope = field(default_factory=Scope)
    image: bytes | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """Which vector stands for which part of a picture, so that a score can be drawn on it.

    The picture is cut into ``rows`` x ``columns`` equal patches, row by row from the top left.

    Attributes:
        cells: int32 ``[rows * columns]``, per patch the place of its vector among the page's own
            vectors (0-based), -1 where none stands for it. Pooled vectors stand for many patches.
    """

    rows: int
    columns: int
    cells: np.ndarray


@dataclass(frozen=True, slots=True)
class Vectors:
    """Embeddings of a batch of items.

    Attributes:
        data: float32, ``[rows, dimension]``.
        offsets: int64, ``[items + 1]``; item i owns rows ``offsets[i]:offsets[i + 1]``. For one
            vector per item it is ``0, 1, 2, ...``; for many per item the steps differ (ragged).
        model: Name of the encoder.
        revision: Checksum or commit of its weights.
        grids: One per item for encoders that look at patches, otherwise empty.
    """

    data: np.ndarray
    offsets: np.ndarray
    model: str
    revision: str
    grids: tuple[Grid, ...] = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class Part:
    """What one channel gave a hit: its own score, and the same made comparable across channels."""

    raw: float
    normalised: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A page in a ranking.

    Attributes:
        page: Page id.
        score: Higher is better; comparable within one ranking only.
        parts: Per channel, its raw and normalised score.
        via: How the page was reached, in words ("lexical", "pointer: figure 3", ...).
        block: Order of the block that matched best, when a channel knows it.
        verdicts: What judges said of the page, by the judge's name.
    """

    page: str
    score: float
    parts: Mapping[str, Part] = field(default_factory=dict)
    via: str = ""
    block: int | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """A query's hits, best first; equal scores stand in order of page id."""

    query: Query
    hits: tuple[Hit, ...] = ()

    @classmethod
    def of(cls, query: Query, hits: Iterable[Hit]) -> Ranking:
        """Build a ranking from hits in any order."""
        return cls(query, tuple(sorted(hits, key=lambda h: (-h.score, h.page))))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's word on one page for one query; only ``judged`` verdicts carry a number.

    Attributes:
        outcome: ``judged``; ``unparsed`` when the reply made no sense; ``failed`` when none came.
        probability: That the page holds evidence, 0..1, calibrated where the library has a
            calibration for the judge; None unless judged.
        grade: Relevance on the judge's own scale, such as 1..5; None unless judged.
        log_odds: Of yes against no, natural logarithm, before calibration; None when the judge
            gave only a word or a grade.
        reason: Why there is no number, one line; empty when judged.
        calls: Model calls made for it; 0 when the reply was kept from before.
        tokens: Tokens of those calls, prompt and reply.
        cached: The reply was kept from before.
    """

    page: str
    outcome: Literal["judged", "unparsed", "failed"]
    probability: float | None = None
    grade: float | None = None
    log_odds: float | None = None
    reason: str = ""
    calls: int = 0
    tokens: int = 0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """One page that a walk looked at, in the order of the walk.

    Attributes:
        page: Page id.
        edge: How it was reached; ``seed`` when the search had found it.
        origin: Id of the page it was reached from; empty for a seed.
        why: The edge in a few words; empty for a seed.
        hop: Edges from the nearest seed; 0 for a seed.
        semantic: What the search thought of it, 0..1; None when the search had not found it.
        score: What the walk made of it; comparable within one walk.
        verdict: What the judge said; None when it was not asked.
    """

    page: str
    edge: EdgeKind | Literal["seed"]
    origin: str = ""
    why: str = ""
    hop: int = 0
    semantic: float | None = None
    score: float = 0.0
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """The place that an answer rests on.

    Attributes:
        page: Page id.
        boxes: One per line or cell of the quote, in the displayed page's fractions.
        quote: Words as they stand on the page.
        verified: The quote was found again among the page's words before it was shown.
    """

    page: str
    boxes: tuple[Box, ...]
    quote: str
    verified: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One stage of a run: what it took in, what it spent.

    Attributes:
        calls: Calls to chat models; searches and encoders here are not among them.
        visits: For a stage that walks from page to page, its trail.
    """

    stage: str
    fingerprint: str = ""
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cache_hits: int = 0
    detail: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    visits: tuple[Visit, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The ordered steps behind a ranking or an answer."""

    steps: tuple[Step, ...] = ()

    def then(self, step: Step) -> Trace:
        """Return this trace with one more step."""
        return Trace((*self.steps, step))

    @property
    def cost(self) -> dict[str, float | int]:
        """Sums over the steps: calls, tokens, seconds, cache hits."""
        return {
            "calls": sum(s.calls for s in self.steps),
            "tokens": sum(s.tokens for s in self.steps),
            "seconds": round(sum(s.seconds for s in self.steps), 6),
            "cache_hits": sum(s.cache_hits for s in self.steps),
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said to a question, and what it rests on.

    Attributes:
        text: The answer; empty when abstained.
        citations: In order of importance; each has been checked against its page.
        source: What the answer rests on; ``none`` when abstained.
        confidence: Calibrated probability that the answer is right, 0..1.
        abstained: The documents do not seem to hold the answer.
        reason: Why it abstained, or what a person should know about the answer; one line.
        pages_considered: Ids of the pages read, best first; when abstained, the nearest pages.
        drafts: The answers from memory and from evidence where both exist and differ.
    """

    question: str
    text: str
    citations: tuple[Citation, ...] = ()
    source: AnswerSource = "none"
    confidence: float = 0.0
    abstained: bool = False
    reason: str = ""
    pages_considered: tuple[str, ...] = ()
    drafts: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    trace: Trace = field(default_factory=Trace)
