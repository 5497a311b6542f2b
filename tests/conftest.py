"""For all tests: no model hub, and tiny models that are made once a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # read once, when the hub's library is first imported


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that makes the model of a name of `tiny.MAKERS`, once, and its folder.

    Tests must not write there; `shutil.copytree` it first.
    """
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        import tiny

        if name not in made:
            made[name] = tiny.make(name, tmp_path_factory.mktemp("models") / name)
        return made[name]

    return folder
