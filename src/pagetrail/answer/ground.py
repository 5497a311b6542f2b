"""Find a quote again among a page's words, and say where it stands.

Page and quote are cut into the same tokens: runs of letters (case, quotes, ligatures, soft hyphens
and width variants folded), whole numbers (thousands separators dropped, sign kept) and the few
symbols that carry meaning. Letters are compared without regard to spaces, so hyphenated line breaks
and glued words do no harm; numbers are compared digit by digit and never in part. On words that OCR
read, shapes it confuses (l and I, rn and m) count as equal, and one long word may be a letter off.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..types import Box, Citation
from .follow import Follower

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..ports import Draft
    from ..types import Page

__all__ = ["QuoteFinder", "find_quote", "ground"]

_FOLD = str.maketrans(
    {
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff"),  # soft hyphen, zero-width marks
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("‘’‚‛′`´", "'"),
        "\u066b": ".",
        "\u066c": ",",
    }
)
_TOKEN = re.compile(
    r"(?:(?<![\w.)-])-)?\d+(?:[.,']\d+)*"  # a number with its sign
    r"|[^\W\d_]+"
    r"|[%‰°$€£¥₹+<>=≤≥±×÷✓✔✗✘☐☑☒]"
)
_THOUSANDS = re.compile(r"[,'](?=\d{3}(?!\d))")
_ELLIPSIS = re.compile(r"\s*(?:\[?\.\.\.+\]?|\[?…\]?)\s*")
_SHAPES = str.maketrans({"1": "l", "i": "l", "|": "l", "0": "o", "5": "s"})
_MISREAD = re.compile(r"(?<=[a-z])[015]{1,2}(?=[a-z])|(?<=[a-z]{3})[01]{1,2}(?![\w%.,])")
_DIVIDED = 2  # words of a quote that the page may have in two halves
_LONG = 7  # a shorter word with a changed letter is too often another word
_Span = tuple[int, int]  # first and last word
_GAP = "\x1f"  # keeps two neighbouring numbers from reading as one


@lru_cache(maxsize=1 << 16)
def _tokens(word: str) -> tuple[str, ...]:
    folded = unicodedata.normalize("NFKC", word.translate(_FOLD)).translate(_FOLD).casefold()
    return tuple(
        _THOUSANDS.sub("", token) if token[-1].isdigit() else token
        for token in _TOKEN.findall(folded)
    )


@lru_cache(maxsize=1 << 16)
def _shape(word: str) -> tuple[str, ...]:
    """Like `_tokens`, with what OCR confuses made equal; true numbers stay as they are."""
    folded = unicodedata.normalize("NFKC", word.translate(_FOLD)).translate(_FOLD).casefold()
    bare = "".join(c for c in unicodedata.normalize("NFD", folded) if not unicodedata.combining(c))
    # Between or behind letters a 0, 1 or 5 is a misread letter; elsewhere it is a number.
    bare = _MISREAD.sub(lambda m: m[0].translate(_SHAPES), bare)
    shaped = []
    for token in _TOKEN.findall(bare):
        if token[-1].isdigit():
            shaped.append(_THOUSANDS.sub("", token))
        else:
            shaped.append(token.translate(_SHAPES).replace("rn", "m").replace("vv", "w"))
    return tuple(shaped)


class _Stream(NamedTuple):
    """Tokens of a text run together, and which word each came from."""

    tokens: list[str]
    owners: list[int]
    text: str
    starts: list[int]


def _stream(words: Sequence[str], *, shapes: bool) -> _Stream:
    cut = _shape if shapes else _tokens
    tokens: list[str] = []
    owners: list[int] = []
    for index, word in enumerate(words):
        for token in cut(word):
            tokens.append(token)
            owners.append(index)
    pieces: list[str] = []
    starts: list[int] = []
    at = 0
    digit_before = False
    for token in tokens:
        if digit_before and (token[0].isdigit() or token[0] == "-"):
            pieces.append(_GAP)
            at += 1
        starts.append(at)
        pieces.append(token)
        at += len(token)
        digit_before = token[-1].isdigit()
    return _Stream(tokens, owners, "".join(pieces), starts)


class QuoteFinder:
    """Finds quotes on one page; built once per page, then well under a millisecond per quote."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._words: list[str] = []
        self._places: list[tuple[int, int]] = []
        for number, block in enumerate(page.blocks):
            words = block.text.split(" ")
            self._words += words
            self._places += [(number, i) for i in range(len(words))]
        self._exact = _stream(self._words, shapes=False)
        self._shapes: _Stream | None = None
        self._read_by_ocr = any(b.source == "ocr" for b in page.blocks)

    def find(self, quote: str, *, block: int | None = None) -> Citation:
        """Return where ``quote`` stands on the page; not verified, without boxes, when nowhere.

        A quote with an ellipsis is found when its parts stand on the page in that order.

        Args:
            quote: Words to find; case, typography and line breaks may differ from the page's.
            block: Order of the block to prefer when the quote stands on the page more than once.
        """
        spans = self._spans(quote, block)
        if spans is None:
            parts = [p for p in _ELLIPSIS.split(quote) if p.strip()]
            spans = self._in_order(parts, block) if len(parts) > 1 else None
        if spans is None:
            # Columns and cells are not always read in the order in which they are quoted.
            followed = self._follower.find(quote) if self._may_follow(quote) else None
            if followed is None:
                return Citation(self._page.id, (), quote, verified=False)
            words = " ".join(self._words[i] for i in followed)
            return Citation(self._page.id, self._boxes(followed), words, verified=True)
        found = [i for first, last in spans for i in range(first, last + 1)]
        text = " … ".join(" ".join(self._words[a : b + 1]) for a, b in spans)
        return Citation(self._page.id, self._boxes(found), text, verified=True)

    def _may_follow(self, quote: str) -> bool:
        """Say whether the page has the quote's words at all, but for two that a hyphen may divide.

        Of most false quotes one is missing, and they need not be followed.
        """
        known = set(self._exact.tokens)
        missing = [t for word in quote.split() for t in _tokens(word) if t not in known]
        return len(missing) <= _DIVIDED and not any(token[-1].isdigit() for token in missing)

    @cached_property
    def _follower(self) -> Follower:
        across, down = self._page.width, self._page.height
        boxes = [
            Box(box.x0 * across, box.y0 * down, box.x1 * across, box.y1 * down)
            for block in self._page.blocks
            for box in block.word_boxes()
        ]
        return Follower(self._words, boxes, _tokens)

    def _spans(self, quote: str, block: int | None, after: int = -1) -> list[_Span] | None:
        matches = [m for m in self._matches(quote) if m[0] > after]
        if not matches:
            return None
        inside = (
            [m for m in matches if self._order(m[0]) <= block <= self._order(m[1])]
            if block is not None
            else []
        )
        return [(inside or matches)[0]]

    def _in_order(self, parts: list[str], block: int | None) -> list[_Span] | None:
        spans: list[_Span] = []
        for part in parts:
            after = spans[-1][1] if spans else -1
            found = self._spans(part, None if spans else block, after)
            if found is None:
                return None
            spans += found
        return spans

    def _order(self, word: int) -> int:
        return self._page.blocks[self._places[word][0]].order

    def _matches(self, quote: str) -> list[_Span]:
        """Return first and last word of every place where the quote stands."""
        words = quote.split()
        matches = list(_aligned(_stream(words, shapes=False), self._exact))
        if matches or not self._read_by_ocr:
            return matches
        if self._shapes is None:
            self._shapes = _stream(self._words, shapes=True)
        wanted = _stream(words, shapes=True)
        loose = list(_aligned(wanted, self._shapes)) or list(_nearly(wanted, self._shapes))
        return [m for m in loose if self._all_ocr(*m)]

    def _all_ocr(self, first: int, last: int) -> bool:
        blocks = {self._places[i][0] for i in range(first, last + 1)}
        return all(self._page.blocks[b].source == "ocr" for b in blocks)

    def _boxes(self, words: list[int]) -> tuple[Box, ...]:
        """Return one box per line of a paragraph or cell of a table row that is touched."""
        groups: dict[tuple[int, int], list[Box]] = {}
        boxes: dict[int, list[Box]] = {}
        for word in words:
            number, index = self._places[word]
            block = self._page.blocks[number]
            line = bisect_right([b for b in block.breaks if b > 0], index)
            if number not in boxes:
                boxes[number] = block.word_boxes()
            groups.setdefault((number, line), []).append(boxes[number][index])
        return tuple(Box.around(group) for group in groups.values())


def _aligned(wanted: _Stream, page: _Stream) -> Iterator[_Span]:
    """Yield the word spans where the wanted text starts and ends at token borders."""
    if not wanted.text:
        return
    at = page.text.find(wanted.text)
    while at >= 0:
        first = bisect_left(page.starts, at)
        end = at + len(wanted.text)
        last = bisect_right(page.starts, end - 1) - 1
        starts_well = first < len(page.starts) and page.starts[first] == at
        if starts_well and page.starts[last] + len(page.tokens[last]) == end:
            yield page.owners[first], page.owners[last]
        at = page.text.find(wanted.text, at + 1)


def _nearly(wanted: _Stream, page: _Stream) -> Iterator[_Span]:
    """Yield spans equal token by token, but for one letter in at most one long word in eight."""
    length = len(wanted.tokens)
    allowed = length // 8 + 1
    if length < 3:
        return
    for start in range(len(page.tokens) - length + 1):
        misses = 0
        for ours, theirs in zip(wanted.tokens, page.tokens[start : start + length], strict=True):
            if ours == theirs:
                continue
            misses += 1
            if misses > allowed or not _one_letter_off(ours, theirs):
                break
        else:
            yield page.owners[start], page.owners[start + length - 1]


def _one_letter_off(a: str, b: str) -> bool:
    """Whether two long words differ by one letter that is neither among the first nor last two."""
    if min(len(a), len(b)) < _LONG or not (a.isalpha() and b.isalpha()):
        return False
    if abs(len(a) - len(b)) > 1 or a[:2] != b[:2] or a[-2:] != b[-2:]:
        return False
    same = (x == y for x, y in zip(a, b, strict=False))
    head = next((i for i, equal in enumerate(same) if not equal), min(len(a), len(b)))
    return a[head + 1 :] == b[head + 1 :] or a[head + 1 :] == b[head:] or a[head:] == b[head + 1 :]


def find_quote(quote: str, page: Page, *, block: int | None = None) -> Citation:
    """Return where ``quote`` stands on ``page``: boxes per line or cell, the page's own words.

    ``verified`` is True only when every word was found, in order, and every number to the digit.
    Nothing is raised for what cannot be found: it comes back unverified and without boxes.
    """
    if block is not None:
        # Most quotes stand in the block they were read in: one block is indexed faster than a page.
        own = tuple(b for b in page.blocks if b.order == block)
        found = QuoteFinder(replace(page, blocks=own)).find(quote)
        if found.verified:
            return found
    return QuoteFinder(page).find(quote, block=block)


def ground(draft: Draft, pages: Sequence[Page]) -> tuple[Citation, ...]:
    """Return one citation for each place the draft names; pages it names but were not given fail.

    The draft's own quote comes first, then those in ``also``.
    """
    by_id = {page.id: page for page in pages}
    places = [(draft.page, draft.block, draft.quote), *draft.also]
    return tuple(
        find_quote(quote, by_id[page], block=block)
        if page in by_id
        else Citation(page, (), quote, verified=False)
        for page, block, quote in places
    )
