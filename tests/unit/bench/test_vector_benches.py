"""The helpers that the vector benches share, at a size that takes no time."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_FOLDER = Path(__file__).resolve().parents[2] / "bench"


def _load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, _FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def shelves() -> Any:
    return _load("shelves")


@pytest.fixture(scope="module")
def maxsim(shelves: Any) -> Any:
    assert shelves
    return _load("bench_maxsim")


def test_a_shelf_is_filled_and_searched(shelves: Any, tmp_path: Path) -> None:
    from pagetrail.index.publish import Registration, VectorWriter

    catalogue = shelves.open_shelf(tmp_path / "library")
    keys = shelves.add_pages(catalogue, 150)
    assert (keys[0], keys[-1]) == (1 << 20 | 1, 2 << 20 | 50)
    writer = VectorWriter(
        catalogue, name="e", revision="1", dimension=8, registration=Registration("e")
    )
    data = shelves.unit(np.random.default_rng(0), 150, 2, 8)
    shelves.fill(writer, iter([data[:100], data[100:]]))
    assert writer.missing() == []
    assert writer.search(data[123], limit=1).keys.tolist() == [keys[123]]
    assert len(shelves.add_pages(catalogue, 3)) == len(writer.missing()) == 3
    catalogue.close()


def test_numpy_and_int8_agree_on_the_made_up_pages(maxsim: Any) -> None:
    pages = maxsim.pages_of(60, 32, 48)
    assert np.linalg.norm(pages, axis=2) == pytest.approx(1, abs=1e-5)
    scan = maxsim.scanner(pages)
    for query in maxsim.questions_of(pages, 6, 3):
        exact = maxsim.blocked(pages, query)
        assert np.abs(scan(query) - exact).max() < 0.01
        assert maxsim.agreement(exact, exact) == (1.0, 1.0)
        overlap, first = maxsim.agreement(-exact, exact)
        assert (overlap, first) == (0.0, 0.0)


def test_clocks_and_memory_are_read(shelves: Any) -> None:
    assert shelves.cpu(lambda: sum(range(1000)), rounds=2) >= 0
    assert shelves.resident() > 1_000_000
    assert "(" in shelves.cpu_flags()
