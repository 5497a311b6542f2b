"""Judges for studies: one that knows the gold pages, and the same with stated error rates."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ..errors import UsageError
from ..types import Verdict

__all__ = ["GoldJudge"]

_BEST, _WORST = 5, 1


@dataclass(frozen=True, slots=True)
class GoldJudge:
    """Grades a page 5 when it holds evidence and 1 otherwise, with errors at stated rates.

    An error depends on seed, question and page alone: whoever asks, in whatever order, meets the
    same errors, so methods can be compared pair by pair.

    Attributes:
        off: Share of grades that are wrong by one or by two, half of them each, 0..1. As 5 and 1
            are the ends of the scale, the error always leads inwards.
        failed: Share of verdicts that do not come, 0..1; of the others ``off`` are wrong.
        seed: Another seed makes other errors at the same rates.
    """

    off: float = 0.0
    failed: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("off", "failed"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is a share from 0 to 1, not {getattr(self, name):g}")

    def __str__(self) -> str:
        if not (self.off or self.failed):
            return "perfect judge"
        return f"judge with {self.off:.0%} of grades off and {self.failed:.0%} failed"

    def verdict(self, question: str, page: str, *, gold: bool) -> Verdict:
        """Return the verdict on a page; its probability is ``(grade - 1) / 4``."""
        fails, errs, far = self._chances(question, page)
        if fails < self.failed:
            return Verdict(page, "failed", reason="made to fail", calls=1)
        grade = _BEST if gold else _WORST
        if errs < self.off:
            grade += (1 + (far < 0.5)) * (-1 if gold else 1)
        return Verdict(page, "judged", probability=(grade - 1) / 4, grade=grade, calls=1)

    def _chances(self, question: str, page: str) -> tuple[float, ...]:
        """Return three numbers of 0..1, uniform and independent."""
        text = f"{self.seed}\0{question}\0{page}".encode()
        digest = hashlib.blake2b(text, digest_size=24).digest()
        return tuple(
            int.from_bytes(digest[place : place + 8], "big") / 2**64 for place in (0, 8, 16)
        )
