"""How a contract check says which rule is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["rules"]


def rules(who: str) -> Callable[[bool, str], None]:
    """Return a function of (kept, rule) that raises AssertionError "``who`` ``rule``"."""

    def require(kept: bool, rule: str) -> None:  # noqa: FBT001 (read as an assertion)
        if not kept:
            raise AssertionError(f"{who} {rule}")

    return require
