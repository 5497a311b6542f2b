"""Page numbers as printed and as counted, told apart."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .digest import Digest

__all__ = ["Numbers"]

_NEAR = 3  # pages within which another must carry the fitting number
_LEAST = 3  # pages with fitting numbers that make a document, or a part of it, numbered
_SURE = {"printed": 0.95, "labels": 0.9, "physical": 0.6}


class Numbers:
    """The printed numbers of a document's pages.

    A number at the rim of a page is its printed number when a page close by carries the number that
    then follows; dates, prices and chapters do not go on like that. Pages without such a number
    take the shift of the nearest one that has it. Where each page shows two numbered sides, both
    numbers are its own.

    Args:
        digests: One per page that was read, by number.

    Attributes:
        source: Where the numbers come from: ``printed``, ``labels`` of the file, or ``physical``
            when there are none but the pages' places.
    """

    def __init__(self, digests: Sequence[Digest]) -> None:
        self._shift = _shifts(digests)
        self._known = sorted(self._shift)
        labels = {d.label.upper(): d.number for d in reversed(digests) if d.label}
        left, sides = _spread(digests)
        self.source = "physical"
        if sides >= _LEAST and sides > len(self._shift):
            self.source = "printed"
            self._page = {str(2 * d.number + left + s): d.number for d in digests for s in (0, 1)}
        elif len(self._shift) >= _LEAST:
            self.source = "printed"
            self._page = labels | _by_shift(digests, self._shift)
        elif labels:
            self.source = "labels"
            own = {str(d.number): d.number for d in reversed(digests) if not d.label}
            self._page = own | labels
        else:
            self._page = {str(d.number): d.number for d in digests}

    def page(self, key: str) -> tuple[int, float]:
        """Return the physical number of the page called ``key`` and how sure that is; 0: none."""
        return self._page.get(key.upper(), 0), _SURE[self.source]

    def printed(self, number: int) -> int:
        """Return the number printed on a page, as far as it is known, else the physical one."""
        if not self._shift:
            return number
        at = bisect_left(self._known, number)
        near = self._known[max(0, at - 1) : at + 1]
        return number - self._shift[min(near, key=lambda n: abs(n - number))]


def _shifts(digests: Sequence[Digest]) -> dict[int, int]:
    """Return, for pages whose printed number is borne out, physical minus printed number."""
    carried = {d.number: {d.number - n for n in d.printed} for d in digests}
    votes = Counter(s for shifts in carried.values() for s in shifts)
    result: dict[int, int] = {}
    for number, shifts in carried.items():
        near = [carried.get(number + d, set()) for d in range(-_NEAR, _NEAR + 1) if d]
        borne = [s for s in shifts if votes[s] >= _LEAST and any(s in other for other in near)]
        if borne:
            result[number] = max(borne, key=lambda s: (votes[s], -abs(s)))
    return result


def _spread(digests: Sequence[Digest]) -> tuple[int, int]:
    """Return left printed number minus twice the physical one, and how many pages bear it out."""
    votes: Counter[int] = Counter()
    for page in digests:
        votes.update({n - 2 * page.number - side for n in page.printed for side in (0, 1)})
    if not votes:
        return 0, 0
    # An odd number does not stand on the left; both sides vote, so the even one has at least
    # as many unless the document is not a spread at all.
    return max(votes.items(), key=lambda item: (item[1], item[0] % 2 == 0))


def _by_shift(digests: Sequence[Digest], shifts: dict[int, int]) -> dict[str, int]:
    """Return printed number to page; of two pages with the same number, the commoner shift."""
    votes = Counter(shifts.values())
    result: dict[str, int] = {}
    rank: dict[str, tuple[bool, int]] = {}
    known = sorted(shifts)
    at = 0
    for page in digests:
        while at + 1 < len(known) and abs(known[at + 1] - page.number) <= abs(
            known[at] - page.number
        ):
            at += 1
        shift = shifts[known[at]]
        key = str(page.number - shift)
        worth = (page.number in shifts, votes[shift])
        if key not in result or worth > rank[key]:
            result[key], rank[key] = page.number, worth
    return result
