"""Recipes are values that can be kept and read back."""

from __future__ import annotations

import pytest

from pagetrail.errors import NotFoundError
from pagetrail.recipes import recipe, recipes
from pagetrail.retrieve.value import from_json, to_json


@pytest.mark.parametrize("name", recipes())
def test_recipes_can_be_kept_as_json(name):
    value = recipe(name, 7)
    assert from_json(to_json(value)) == value
    assert value.explain().endswith("keep the best 7")


def test_an_unknown_recipe_names_the_known():
    with pytest.raises(NotFoundError, match="default"):
        recipe("magic")
