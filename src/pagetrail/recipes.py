"""Recipes: whole systems, each a few lines of the pipeline algebra.

The weights of `default` are round values set by hand near those that a grid search preferred on the
development questions (five folds by document); they are not the optimum of any one fold, and the
grid was looked at before they were set, so figures on those questions are somewhat flattering.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import NotFoundError
from .retrieve.boost import Boost
from .retrieve.fuse import fuse
from .retrieve.pipeline import Pipeline, Search

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["bm25", "default", "dense", "recipe", "recipes"]


def default(keep: int = 50) -> Pipeline:
    """What is used with no model but the built-in one.

    Words (whole pages, best passage, pairs of neighbouring words, headings) and meaning, made
    comparable and added; then the documents that the question names and the places it points at.
    """
    found = fuse(
        Search("pages", trim=True),
        Search("blocks", trim=True),
        Search("phrases", trim=True),
        Search("headings", trim=True),
        Search("dense", trim=True),
        weights=(1, 0.5, 0.3, 0.2, 0.5),
    )
    named = Search("names", depth=5000)
    return found >> Boost(named, 4) >> Boost(Search("pointer"), 8) % keep


def bm25(keep: int = 50) -> Pipeline:
    """Words over whole pages alone: the baseline."""
    return Search("pages") % keep


def dense(keep: int = 50) -> Pipeline:
    """Meaning alone: the best passage of a page by the built-in text encoder."""
    return Search("dense") % keep


_RECIPES: dict[str, Callable[[int], Pipeline]] = {
    "bm25": bm25,
    "default": default,
    "dense": dense,
}


def recipes() -> tuple[str, ...]:
    """Return the names of all recipes."""
    return tuple(_RECIPES)


def recipe(name: str, keep: int = 50) -> Pipeline:
    """Return a recipe by name, keeping the best ``keep`` pages.

    Raises:
        NotFoundError: There is no such recipe.
    """
    if name not in _RECIPES:
        raise NotFoundError(f"no recipe {name!r}; there are {', '.join(_RECIPES)}")
    return _RECIPES[name](keep)
