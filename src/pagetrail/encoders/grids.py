"""Which vector stands for which part of a page, and fewer vectors per page.

Token order is that of the models' own code: PaliGemma (ColPali) gives a square of patches row by
row; Qwen2-VL and Qwen2.5-VL (ColQwen2) a grid in the page's shape, row by row, after merging 2 x 2;
Idefics3 (ColSmol, ColModernVBert) one square per tile, tile after tile row by row, and last a small
view of the whole page.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..types import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["merged_grid", "pool_patches", "pooled_grid", "square_grid", "tiled_grid"]


def square_grid(patches: int) -> Grid | None:
    """Return the grid of a square of patches; None when their number is no square."""
    side = math.isqrt(patches)
    if not side or side * side != patches:
        return None
    return Grid(side, side, np.arange(patches, dtype=np.int32))


def merged_grid(shape: Sequence[int], merge: int, patches: int) -> Grid | None:
    """Return the grid of a picture in its own shape.

    Args:
        shape: Frames, rows and columns of patches before merging (``image_grid_thw``).
        merge: Patches merged into one along each side.
        patches: Vectors there are; None is returned when the shape does not account for them.
    """
    frames, rows, columns = int(shape[0]), int(shape[1]) // merge, int(shape[2]) // merge
    if frames != 1 or not patches or rows * columns != patches:
        return None
    return Grid(rows, columns, np.arange(patches, dtype=np.int32))


def tiled_grid(tile_rows: int, tile_columns: int, patches: int) -> Grid | None:
    """Return the grid of a picture cut into tiles, each a square of patches.

    The small view of the whole page comes after the tiles. Its vectors stand for no cell, unless
    there are no tiles (0 x 0): then they are all there is.
    """
    tiles = tile_rows * tile_columns
    if not tiles:
        return square_grid(patches)
    inner = square_grid(patches // (tiles + 1))
    if inner is None or patches % (tiles + 1):
        return None
    side = inner.rows
    # [tile row, tile column, row, column] to [row of the page, column of the page]
    places = np.arange(tiles * side * side, dtype=np.int32)
    cells = places.reshape(tile_rows, tile_columns, side, side).transpose(0, 2, 1, 3).ravel()
    return Grid(tile_rows * side, tile_columns * side, np.ascontiguousarray(cells))


def pool_patches(vectors: np.ndarray, factor: int) -> tuple[np.ndarray, np.ndarray]:
    """Merge a page's vectors into about one in ``factor``, those alike together.

    Ward's hierarchical clustering on cosine distances, cut at ``n // factor`` clusters; a cluster
    becomes the mean of its vectors at unit length. This is sentence-transformers'
    ``HierarchicalTokenPooling`` without protected tokens, which is what colpali-engine means by
    token pooling; it is done here because which patch went where is needed for the grid.

    Args:
        vectors: float32 ``[n, d]``, unit length.
        factor: At least 1; 1 changes nothing.

    Returns:
        Pooled vectors ``[p, d]``, and int32 ``[n]``: for each vector its place among the pooled.
    """
    count = len(vectors)
    clusters = max(count // factor, 1)
    if clusters >= count:
        return vectors, np.arange(count, dtype=np.int32)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distances = np.clip(1.0 - vectors @ vectors.T, 0.0, 2.0)
    tree = linkage(squareform(distances, checks=False), method="ward")
    _, owners = np.unique(fcluster(tree, clusters, criterion="maxclust"), return_inverse=True)
    pooled = np.zeros((int(owners.max()) + 1, vectors.shape[1]), np.float64)
    np.add.at(pooled, owners, vectors)
    lengths = np.linalg.norm(pooled, axis=1, keepdims=True)
    # Opposite vectors may cancel out; any of them then stands for the cluster.
    firsts = vectors[np.unique(owners, return_index=True)[1]]
    pooled = np.where(lengths > 1e-6, pooled / np.maximum(lengths, 1e-6), firsts)
    return pooled.astype(np.float32), owners.astype(np.int32)


def pooled_grid(grid: Grid, owners: np.ndarray) -> Grid:
    """Return a grid whose patches point at pooled vectors; ``owners`` as from `pool_patches`."""
    cells = np.where(grid.cells >= 0, owners[grid.cells], np.int32(-1)).astype(np.int32)
    return Grid(grid.rows, grid.columns, cells)
