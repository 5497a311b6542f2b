"""Page numbers as printed and as counted, told apart."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .digest import Digest

__all__ = ["Numbers"]

_NEAR = 3  # pages within which another must carry the fitting number
_LEAST = 3  # pages with fitting numbers that make a document numbered


class Numbers:
    """The printed numbers of a document's pages.

    A number at the rim of a page is its printed number when a page close by carries the number that
    then follows; dates, prices and footnotes do not go on like that. Pages without such a number
    take the shift of the nearest one that has it.

    Args:
        digests: One per page that was read, by number.
    """

    def __init__(self, digests: Sequence[Digest]) -> None:
        self._shift = self._shifts(digests)
        self._page: dict[str, int] = {}
        numbered = len(self._shift) >= _LEAST
        labels = {d.label.upper(): d.number for d in reversed(digests) if d.label}
        self.source = "printed" if numbered else "labels" if labels else "physical"
        if labels and not numbered:
            self._page = {
                str(d.number): d.number for d in reversed(digests) if not d.label
            } | labels
        elif numbered:
            self._page = labels | self._by_shift(digests)
        else:
            self._page = {str(d.number): d.number for d in digests}

    def page(self, key: str) -> tuple[int, float]:
        """Return the physical number of the page called ``key`` and how sure that is; 0: none."""
        page = self._page.get(key.upper(), 0)
        return page, {"printed": 0.95, "labels": 0.9, "physical": 0.6}[self.source]

    def printed(self, number: int) -> int:
        """Return the number printed on a page, as far as it is known, else the physical one."""
        return number - self._near(number) if self._shift else number

    @staticmethod
    def _shifts(digests: Sequence[Digest]) -> dict[int, int]:
        """Return, for pages whose printed number is borne out, physical minus printed number."""
        carried = {d.number: {d.number - n for n in d.printed} for d in digests}
        votes = Counter(s for shifts in carried.values() for s in shifts)
        result: dict[int, int] = {}
        for number, shifts in carried.items():
            near = [carried.get(number + d, set()) for d in range(-_NEAR, _NEAR + 1) if d]
            borne = [s for s in shifts if any(s in other for other in near)]
            if borne:
                result[number] = max(borne, key=lambda s: (votes[s], -abs(s)))
        return result

    def _near(self, number: int) -> int:
        nearest = min(self._shift, key=lambda n: abs(n - number))
        return self._shift[nearest]

    def _by_shift(self, digests: Sequence[Digest]) -> dict[str, int]:
        """Return printed number to page; of two pages with the same number, the commoner shift."""
        votes = Counter(self._shift.values())
        result: dict[str, int] = {}
        rank: dict[str, tuple[bool, int]] = {}
        known = sorted(self._shift)
        at = 0
        for page in digests:
            while at + 1 < len(known) and abs(known[at + 1] - page.number) <= abs(
                known[at] - page.number
            ):
                at += 1
            shift = self._shift[known[at]]
            key = str(page.number - shift)
            worth = (page.number in self._shift, votes[shift])
            if key not in result or worth > rank[key]:
                result[key], rank[key] = page.number, worth
        return result
