"""Patches lie where the models' own code puts them; pooled vectors stand for all they came from."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pagetrail.encoders.grids import (
    merged_grid,
    pool_patches,
    pooled_grid,
    square_grid,
    tiled_grid,
)


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_a_square_of_patches():
    grid = square_grid(1024)
    assert (grid.rows, grid.columns) == (32, 32)
    assert grid.cells.tolist() == list(range(1024))
    assert [square_grid(n) for n in (0, 2, 1023)] == [None, None, None]


def test_a_grid_in_the_shape_of_the_page():
    grid = merged_grid([1, 6, 10], 2, 15)
    assert (grid.rows, grid.columns) == (3, 5)
    assert grid.cells.tolist() == list(range(15))
    assert merged_grid([1, 6, 10], 2, 14) is None
    assert merged_grid([2, 6, 10], 2, 30) is None
    assert merged_grid([1, 0, 0], 2, 0) is None


def test_tiles_are_put_together_and_the_view_of_the_whole_left_out():
    # One row of two tiles of 2 x 2, then the whole page: 0..3, 4..7, 8..11
    grid = tiled_grid(1, 2, 12)
    assert (grid.rows, grid.columns) == (2, 4)
    assert grid.cells.reshape(2, 4).tolist() == [[0, 1, 4, 5], [2, 3, 6, 7]]
    alone = tiled_grid(0, 0, 4)
    assert (alone.rows, alone.columns, alone.cells.tolist()) == (2, 2, [0, 1, 2, 3])
    assert tiled_grid(1, 2, 13) is None
    assert tiled_grid(1, 2, 9) is None  # 3 patches a tile are no square


@given(
    rows=st.integers(1, 5),
    columns=st.integers(1, 5),
    side=st.integers(1, 4),
)
def test_every_patch_of_a_tile_has_one_cell(rows, columns, side):
    tiles = rows * columns
    grid = tiled_grid(rows, columns, (tiles + 1) * side * side)
    assert sorted(grid.cells.tolist()) == list(range(tiles * side * side))
    for place, vector in enumerate(grid.cells.tolist()):
        row, column = divmod(place, grid.columns)
        tile, inner = divmod(vector, side * side)
        assert divmod(tile, columns) == (row // side, column // side)
        assert divmod(inner, side) == (row % side, column % side)


@pytest.mark.parametrize("factor", [1, 2, 3, 7, 100])
def test_pooling_is_that_of_sentence_transformers(factor):
    from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling

    vectors = unit(np.random.default_rng(factor).normal(size=(60, 16)))
    theirs = HierarchicalTokenPooling(factor, num_protected_tokens=0).pool_one(
        torch.from_numpy(vectors)
    )
    pooled, owners = pool_patches(vectors, factor)
    assert np.allclose(pooled, theirs.numpy(), atol=1e-5)
    assert pooled.dtype == np.float32
    assert owners.dtype == np.int32
    assert len(owners) == 60


@settings(deadline=None, max_examples=40)
@given(count=st.integers(1, 40), factor=st.integers(1, 50), same=st.booleans())
def test_pooled_vectors_are_means_of_what_they_stand_for(count, factor, same):
    noise = np.random.default_rng(count * 100 + factor)
    vectors = unit(np.ones((count, 8)) if same else noise.normal(size=(count, 8)))
    pooled, owners = pool_patches(vectors, factor)
    assert 1 <= len(pooled) <= max(count // factor, 1)
    assert sorted(set(owners.tolist())) == list(range(len(pooled)))
    for place, row in enumerate(pooled):
        mean = vectors[owners == place].mean(axis=0)
        assert np.allclose(row, mean / np.linalg.norm(mean), atol=1e-4)


def test_opposite_vectors_do_not_cancel_out():
    vectors = np.array([[1, 0], [-1, 0]], np.float32)
    pooled, owners = pool_patches(vectors, 2)
    assert pooled.tolist() == [[1, 0]]
    assert owners.tolist() == [0, 0]


def test_a_grid_follows_its_vectors_into_the_pool():
    grid = tiled_grid(1, 2, 12)
    owners = np.arange(12, dtype=np.int32) // 4
    assert pooled_grid(grid, owners).cells.reshape(2, 4).tolist() == [[0, 0, 1, 1], [0, 0, 1, 1]]
    holes = square_grid(4)
    holes.cells[1] = -1
    assert pooled_grid(holes, owners).cells.tolist() == [0, -1, 0, 0]
