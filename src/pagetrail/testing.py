"""For tests, ours and yours: deterministic fakes, contract checks, a tiny corpus.

A contract check takes an implementation of a Protocol of `ports` and raises AssertionError, with
the broken rule in words, when it does not keep to it::

    def test_my_encoder() -> None:
        check_encoder(MyEncoder())
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from .ports import AnswerReader, Encoder
from .types import Block, Box, Hit, Page, Query, Ranking, Reference, Vectors, Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from .types import BlockKind

__all__ = ["HashEncoder", "check_answer_reader", "check_encoder", "make_page", "tiny_pages"]


# --- a tiny corpus -------------------------------------------------------------------------------

_LINE_CHARACTERS, _LINES = 80, 50  # what fits on a page made here


def make_page(
    document: str,
    number: int,
    blocks: Sequence[tuple[BlockKind, str]],
    *,
    references: Sequence[Reference] = (),
) -> Page:
    """Return an A4 page that holds the given (kind, text) blocks from top to bottom.

    Words stand in lines of 80 equally wide characters, one line per 2 % of the height; a block
    begins on a new line. In a table row `` | `` separates cells. Text that runs over the bottom
    piles up on the last line.
    """
    made: list[Block] = []
    line = 0
    for kind, text in blocks:
        words: list[Word] = []
        breaks: list[int] = []
        column = 0
        for word in text.split():
            if word == "|" and kind == "table_row":
                breaks.append(len(words))
                column += 4
                continue
            if column and column + len(word) > _LINE_CHARACTERS:
                line, column = line + 1, 0
                breaks.append(len(words))
            words.append(Word(word, _box(line, column, len(word))))
            column += len(word) + 1
        level = 1 if kind == "heading" else 0
        order = len(made)
        made.append(Block.of(words, kind=kind, order=order, breaks=breaks, level=level))
        line += 2
    return Page(
        document=document,
        number=number,
        width=595.0,
        height=842.0,
        text_source="layer" if made else "none",
        blocks=tuple(made),
        references=tuple(references),
    )


def _box(line: int, column: int, length: int) -> Box:
    top = min(line, _LINES - 1) / _LINES
    left = min(column, _LINE_CHARACTERS - 1) / _LINE_CHARACTERS
    return Box(left, top, min(1.0, left + length / _LINE_CHARACTERS), top + 0.8 / _LINES)


_TOP = "Community garden, annual report"
# Document, number, and the page's blocks: every kind of block, and each statement on one page only.
_TINY: tuple[tuple[str, int, tuple[tuple[BlockKind, str], ...]], ...] = (
    ("garden", 1, (
        ("header", _TOP),
        ("heading", "A good year for tomatoes"),
        ("paragraph", "The garden harvested 340 kilograms of tomatoes, a third more than before."),
        ("list", "Volunteers gave 1,200 hours of work."),
        ("list", "Four schools visited in spring."),
        ("footer", "Page 1 of 4"),
    )),
    ("garden", 2, (
        ("header", _TOP),
        ("caption", "Table 1: Harvest by crop in kilograms"),
        ("table_row", "Crop | 2021 | 2022"),
        ("table_row", "Beans | 95 | 88"),
        ("table_row", "Pumpkins | 210 | 265"),
        ("footer", "Page 2 of 4"),
    )),
    ("garden", 3, ()),
    ("garden", 4, (("header", _TOP), ("footer", "Page 4 of 4"))),
    ("ferry", 1, (
        ("heading", "Timetable of the island ferry"),
        ("paragraph", "The first boat leaves the harbour at 6.40 and the last one at 22.15."),
    )),
    ("ferry", 2, (
        ("heading", "Fares"),
        ("paragraph", "Bicycles travel free of charge, and dogs pay half the price of a child."),
    )),
)  # fmt: skip
_TINY_REFERENCES = {
    ("garden", 1): [Reference("table", "1", "mention", 2)],
    ("garden", 2): [Reference("table", "1", "target", 1)],
}


def tiny_pages() -> list[Page]:
    """Return six pages of two documents, ``garden`` and ``ferry``; ``garden#p0003`` is empty."""
    return [
        make_page(document, number, blocks, references=_TINY_REFERENCES.get((document, number), ()))
        for document, number, blocks in _TINY
    ]


# --- encoders ------------------------------------------------------------------------------------


class HashEncoder:
    """A fake `Encoder`: texts that share words are near, nothing else; no model, no state.

    Each lower-case word adds +1 or -1 to one of 64 places chosen by its hash; the sum is scaled to
    unit length. A page has one vector per block.
    """

    name = "hash"
    revision = "1"
    dimension = 64

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text."""
        return self._vectors([[text] for text in texts])

    def encode_pages(self, pages: Sequence[Page]) -> Vectors:
        """Return one vector per block; none for a page without words."""
        return self._vectors([[block.text for block in page.blocks] for page in pages])

    def _vectors(self, items: list[list[str]]) -> Vectors:
        import numpy as np

        rows = [self._vector(text) for item in items for text in item]
        data = np.array(rows, np.float32).reshape(len(rows), self.dimension)
        offsets = np.cumsum([0, *map(len, items)], dtype=np.int64)
        return Vectors(data, offsets, self.name, self.revision)

    def _vector(self, text: str) -> np.ndarray:
        import numpy as np

        vector = np.zeros(self.dimension)
        for word in re.findall(r"\w+", text.lower()):
            code = int.from_bytes(
                hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little"
            )
            vector[code % self.dimension] += 1 if code >> 63 else -1
        length = float(np.linalg.norm(vector))
        if length == 0:  # no words, or words that cancel out
            vector[0] = length = 1.0
        return vector / length


_ODD_TEXTS = (
    "",
    " \n\t",
    "?",
    "\x00\x07",
    "\ud800 lone surrogate",
    "橋は1932年に開通した。",
    "\u202eمتى افتتح الجسر؟",
    "e\u0301" * 300,
    "x" * 5000,
    "the same word " * 2000,
)


def check_encoder(encoder: Encoder, *, reads_text: bool = True) -> None:
    """Check that an encoder keeps to the contract of `ports.Encoder`.

    Args:
        encoder: What to check; a few dozen short texts and pages are encoded.
        reads_text: It encodes pages by their words, so that a page's own sentence must find the
            page. Switch off for encoders that need page images, whose pages are then not encoded.

    Raises:
        AssertionError: A rule is broken; the message names it.
    """
    _require(isinstance(encoder, Encoder), "has the attributes and methods of ports.Encoder")
    _require(bool(encoder.name) and bool(encoder.revision), "has a name and a revision")
    _require(encoder.dimension > 0, "has a positive dimension")
    _check_queries(encoder)
    if reads_text:
        _check_pages(encoder)


def _check_queries(encoder: Encoder) -> None:
    import numpy as np

    texts = ["When does the last ferry leave?", "How many kilograms of tomatoes?", *_ODD_TEXTS]
    _well_formed(encoder, encoder.encode_queries([]), [0])
    together = encoder.encode_queries(texts)
    _well_formed(encoder, together, [1] * len(texts))
    again = encoder.encode_queries(tuple(texts))
    _require(np.array_equal(together.data, again.data), "gives the same vectors for the same texts")
    backwards = encoder.encode_queries(texts[::-1]).data[::-1]
    _require(_same(together.data, backwards), "keeps the order of the texts")
    alone = np.concatenate([encoder.encode_queries([text]).data for text in texts])
    _require(_same(together.data, alone), "gives a text the same vector alone and among others")
    _require(not _same(together.data[:1], together.data[1:2]), "tells different texts apart")


def _check_pages(encoder: Encoder) -> None:
    import numpy as np

    pages = tiny_pages()
    _well_formed(encoder, encoder.encode_pages([]), [0])
    together = encoder.encode_pages(pages)
    counts = np.diff(together.offsets).tolist()
    _well_formed(encoder, together, counts)
    for page, count in zip(pages, counts, strict=True):
        _require((count > 0) == bool(page.blocks), f"gives vectors to pages with words ({page.id})")
    alone = [encoder.encode_pages([page]) for page in pages]
    _require([len(v.data) for v in alone] == counts, "cuts a page the same alone and among others")
    parts = np.concatenate([v.data for v in alone])
    _require(_same(together.data, parts), "gives a page the same vectors alone and among others")
    for text, number in (
        ("The first boat leaves the harbour at 6.40 and the last one at 22.15", 4),
        ("Bicycles travel free of charge, and dogs pay half the price of a child.", 5),
    ):
        scores = together.data @ encoder.encode_queries([text]).data[0]
        best = int(np.searchsorted(together.offsets, int(scores.argmax()), side="right")) - 1
        _require(best == number, f"finds {pages[number].id} by a sentence of its own")


def _well_formed(encoder: Encoder, vectors: Vectors, counts: list[int]) -> None:
    import numpy as np

    expected = np.cumsum([0, *counts]) if counts != [0] else np.zeros(1)
    rows = int(expected[-1])
    data, offsets = vectors.data, vectors.offsets
    _require(data.dtype == np.float32 and offsets.dtype == np.int64, "returns float32 and int64")
    _require(data.shape == (rows, encoder.dimension), "returns [rows, dimension]")
    _require(np.array_equal(offsets, expected), "returns offsets from 0 to the number of rows")
    _require(vectors.model == encoder.name, "signs vectors with its name")
    _require(vectors.revision == encoder.revision, "signs vectors with its revision")
    lengths = np.linalg.norm(data, axis=1)
    _require(bool(np.all(np.abs(lengths - 1) < 1e-3)), "returns finite vectors of unit length")


def _same(left: np.ndarray, right: np.ndarray) -> bool:
    return bool(((left * right).sum(axis=1) > 0.9999).all())


# --- answer readers ------------------------------------------------------------------------------


def check_answer_reader(reader: AnswerReader) -> None:
    """Check an answer reader against the contract.

    Drafts come best first, name only pages that were given, quote words that stand there, and are
    the same when asked again; nothing to read gives none; a page's text is data, whatever it says.

    Raises:
        AssertionError: A rule is broken.
    """
    _require(isinstance(reader, AnswerReader), "a reader has a read method")
    pages = [page for page in tiny_pages() if page.blocks]
    query = Query("How many kilograms of tomatoes did the garden harvest?")
    ranking = Ranking.of(query, [Hit(p.id, float(-i)) for i, p in enumerate(pages)])
    drafts = reader.read(query, ranking, pages)
    _require(len(drafts) > 0, "a question that the pages answer gets a draft")
    texts = {page.id: " ".join(page.text.split()) for page in pages}
    for draft in drafts:
        _require(draft.text.strip() != "", "a draft says something")
        for page, _, quote in ((draft.page, draft.block, draft.quote), *draft.also):
            _require(page in texts, "a draft names pages that were given")
            _require(" ".join(quote.split()) in texts[page], "a quote stands on its page")
    scores = [draft.score for draft in drafts]
    _require(scores == sorted(scores, reverse=True), "drafts come best first")
    again = reader.read(query, ranking, pages)
    _require([d.text for d in again] == [d.text for d in drafts], "reading is repeatable")
    _require(len(reader.read(query, Ranking(query), [])) == 0, "no pages give no drafts")
    blank = make_page("blank", 1, [])
    alone = Ranking.of(query, [Hit(blank.id, 1.0)])
    _require(len(reader.read(query, alone, [blank])) == 0, "a page without words gives no drafts")
    hostile = make_page(
        "hostile", 1, [("paragraph", "\x00 [[ (?:( {0} %s \ud800 ((((( tomatoes <b>")]
    )
    alone = Ranking.of(query, [Hit(hostile.id, 1.0)])
    reader.read(Query("What do (tomatoes [ say?"), alone, [hostile])


def _require(kept: bool, rule: str) -> None:  # noqa: FBT001 (read as an assertion)
    if not kept:
        raise AssertionError(f"an encoder {rule}")
