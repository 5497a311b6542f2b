"""Follow a quote across a page by where its words stand, whatever order they were read in.

Columns, cells that run over several lines and rows of a wide table are not always read in the order
in which a person reads them, and then the words of a true quote do not stand next to each other in
the text. On the page they do: each word is followed by the one to its right, or, at the end of a
line, by the first word of a line below. Words are compared as `ground` compares them, so that no
digit and no word may differ.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..types import Box

__all__ = ["Follower"]

_FEWEST = 3  # tokens of a quote; shorter ones are found by chance
_HYPHENS = ("-", "\u2010", "\u00ad")
_GUTTER = 1.2  # heights of a line; a wider gap may be the end of a cell or a column
_BELOW = 2.6  # heights of a line from its middle to that of the next one, at most
_OVERLAP = 0.3  # heights of a line by which two words on it may overlap
_INDENT = 4.0  # heights of a line by which the next one may start further right


class _Place(NamedTuple):
    """A token of a word: the word, and which of its tokens."""

    word: int
    token: int


class _Step(NamedTuple):
    """How a token was reached: from where, and by way of which first half of a divided word."""

    before: _Place | None
    half: int | None = None


class Follower:
    """Follows quotes over the words of one page.

    Args:
        words: The words of the page, in the order read.
        boxes: One per word, in one unit across and down, such as points.
        cut: A word to its comparable tokens, such as ``("12.5", "%")``.
    """

    def __init__(
        self, words: Sequence[str], boxes: Sequence[Box], cut: Callable[[str], Sequence[str]]
    ) -> None:
        self._cut = cut
        self._tokens = [tuple(cut(word)) for word in words]
        self._divided = [word.endswith(_HYPHENS) and len(word) > 1 for word in words]
        self._layout = _Layout(boxes)

    def find(self, quote: str) -> list[int] | None:
        """Return the words of the page that make up a quote, in its order; None if there are none.

        Of several ways the one that starts first is returned.
        """
        wanted = [token for word in quote.split() for token in self._cut(word)]
        if len(wanted) < _FEWEST:
            return None
        first = range(len(self._tokens))
        steps = [dict(self._matching(None, first, wanted[0]))]
        for token in wanted[1:]:
            reached: dict[_Place, _Step] = {}
            for place in steps[-1]:
                for found, step in self._following(place, token):
                    reached.setdefault(found, step)
            if not reached:
                return None
            steps.append(reached)
        # A quote ends where a word ends, or "12" would stand in "12%" written as one word.
        ends = (p for p in steps[-1] if p.token == len(self._tokens[p.word]) - 1)
        end = next(ends, None)
        return None if end is None else _back(end, steps)

    def _following(self, place: _Place, token: str) -> Iterator[tuple[_Place, _Step]]:
        """Yield where the next token stands after a place."""
        tokens = self._tokens[place.word]
        if place.token + 1 < len(tokens):
            if tokens[place.token + 1] == token:
                yield _Place(place.word, place.token + 1), _Step(place)
            return
        yield from self._matching(place, self._after(place.word), token)

    def _matching(
        self, place: _Place | None, words: Iterable[int], token: str
    ) -> Iterator[tuple[_Place, _Step]]:
        """Yield those of some words that open with a token, or whose two halves make it up."""
        for word in words:
            tokens = self._tokens[word]
            if not tokens:
                continue
            if tokens[0] == token:
                yield _Place(word, 0), _Step(place)
            elif self._divided[word] and len(tokens) == 1 and token.startswith(tokens[0]):
                for rest in self._after(word):
                    if self._tokens[rest] and tokens[0] + self._tokens[rest][0] == token:
                        yield _Place(rest, 0), _Step(place, word)

    def _after(self, word: int) -> list[int]:
        """Return the words that may follow; those with nothing to compare, such as dashes, are
        passed over."""
        found: dict[int, None] = {}
        seen, waiting = {word}, list(self._layout.after(word))
        while waiting:
            following = waiting.pop(0)
            if following in seen:
                continue
            seen.add(following)
            if self._tokens[following]:
                found[following] = None
            else:
                waiting += self._layout.after(following)
        return list(found)


def _back(end: _Place, steps: Sequence[dict[_Place, _Step]]) -> list[int]:
    """Return the words of the way that leads to a place, in order."""
    path: list[int] = []
    place: _Place | None = end
    for reached in reversed(steps):
        if place is None:
            break
        step = reached[place]
        for word in (place.word, step.half):
            if word is not None and path[-1:] != [word]:
                path.append(word)
        place = step.before
    return path[::-1]


class _Layout:
    """Which words follow each other on a page; found out word by word, as they are asked for."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        self._boxes = boxes
        self._order = sorted(range(len(boxes)), key=lambda word: _middle(boxes[word]))
        self._middles = [_middle(boxes[word]) for word in self._order]
        self._known: dict[int, list[int]] = {}

    def after(self, word: int) -> list[int]:
        """Return the words that may follow: to the right, below at a line's end, the next read."""
        if word not in self._known:
            box = self._boxes[word]
            beside = self._beside(word, right=True)
            found = [] if beside is None else [beside]
            if beside is None or _gap(box, self._boxes[beside]) >= _GUTTER * box.height:
                found += self._below(word)
            if word + 1 < len(self._boxes):
                found.append(word + 1)
            self._known[word] = list(dict.fromkeys(found))
        return self._known[word]

    def _beside(self, word: int, *, right: bool) -> int | None:
        """Return the nearest word to the right, or to the left, on the same line."""
        box = self._boxes[word]
        found = []
        for other in self._between(_middle(box) - box.height / 2, _middle(box) + box.height / 2):
            near = self._boxes[other]
            gap = _gap(box, near) if right else _gap(near, box)
            ahead = near.x0 > box.x0 if right else near.x0 < box.x0
            if ahead and gap > -_OVERLAP * box.height:
                found.append((gap, other))
        return min(found)[1] if found else None

    def _below(self, word: int) -> list[int]:
        """Return the first words of the line below that a line ending with this word goes on with.

        Both lines stand above each other somewhere: they belong to one column, cell or caption.
        """
        box = self._boxes[word]
        left = self._boxes[self._end(word, right=False)].x0
        near, far = 0.4 * box.height, _BELOW * box.height
        found = [
            other
            for other in self._between(_middle(box) + near, _middle(box) + far)
            if self._boxes[other].x0 < box.x1 + _INDENT * box.height
            and self._opens(other)
            and self._boxes[self._end(other, right=True)].x1 > left
        ]
        line = _middle(self._boxes[found[0]]) + box.height / 2 if found else 0.0
        return [other for other in found if _middle(self._boxes[other]) <= line]

    def _end(self, word: int, *, right: bool) -> int:
        """Return the word at either end of the line, cell or column that a word stands in."""
        while True:
            beside = self._beside(word, right=right)
            if beside is None:
                return word
            first, second = (word, beside) if right else (beside, word)
            if _gap(self._boxes[first], self._boxes[second]) >= _GUTTER * self._boxes[word].height:
                return word
            word = beside

    def _opens(self, word: int) -> bool:
        """Say whether a line, a cell or a column begins with a word."""
        return self._end(word, right=False) == word

    def _between(self, top: float, bottom: float) -> list[int]:
        """Return the words whose middles lie between two heights, from the top down."""
        first, last = bisect_left(self._middles, top), bisect_right(self._middles, bottom)
        return self._order[first:last]


def _middle(box: Box) -> float:
    return (box.y0 + box.y1) / 2


def _gap(box: Box, other: Box) -> float:
    return other.x0 - box.x1
