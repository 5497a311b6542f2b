"""Fixtures made of `shelf.py`, which lies beside this file and is no package's member."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("index_shelf", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["index_shelf"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


tools = _load(Path(__file__).with_name("shelf.py"))


@pytest.fixture
def shelf(tmp_path: Path) -> Any:
    shelf = tools.Shelf(tmp_path / "library", tmp_path / "files")
    yield shelf
    shelf.close()


@pytest.fixture
def make_page() -> Any:
    return tools.page


@pytest.fixture
def unit_vector() -> Any:
    return tools.unit
