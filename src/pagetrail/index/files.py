"""Immutable vector files: written beside, synced, renamed; read by memory mapping.

A segment is two ``.npy`` files: ``<name>.codes.npy``, uint8 ``[rows, dimension]``, and
``<name>.rows.npy``, one record per row saying which page and block it stands for and its scale.
Rows of one page follow each other.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from ..errors import CorruptError, LibraryError
from .columns import append_columns
from .folder import fsync_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = [
    "FLOATS",
    "ROW",
    "SUFFIXES",
    "Segment",
    "read_array",
    "read_segment",
    "remove_segment",
    "sha256_of",
    "write_array",
]

ROW = np.dtype([("page", "<i8"), ("block", "<i4"), ("scale", "<f4")])
"""What is known of a row: page key, order of the block where its text starts, scale."""

SUFFIXES = (".codes.npy", ".rows.npy")

FLOATS = ".float.npy"
"""Ends the name of a third file that a segment may have: the vectors as they were, in float16."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A published segment: its number, the stem of its files, its rows and how many are dead."""

    id: int
    name: str
    rows: int
    dead: int


def read_segment(folder: Path, segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    """Return a segment's codes (uint8 ``[rows, d]``) and its records (`ROW`), both mapped.

    Raises:
        FileNotFoundError: A file is gone.
        CorruptError: A file is damaged or not the one that was published.
    """
    codes = read_array(folder / (segment.name + SUFFIXES[0]), np.dtype(np.uint8), segment.rows)
    rows = read_array(folder / (segment.name + SUFFIXES[1]), ROW, segment.rows)
    return codes, rows


def write_array(
    path: Path,
    shape: tuple[int, ...],
    kind: np.dtype,
    parts: Iterable[np.ndarray],
    *,
    columns: bool = False,
) -> str:
    """Write an array given in parts along its first axis; durable on return.

    Args:
        path: The file.
        shape: Of the whole array.
        kind: Type of its numbers.
        parts: The array.
        columns: Let the same by column follow, for codes; see `columns`.

    Returns:
        SHA-256 of the file, hexadecimal.

    Raises:
        LibraryError: The disk is full or the folder cannot be written.
    """
    temporary = path.with_name(path.name + ".tmp")
    header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    try:
        with temporary.open("wb") as file:
            hashing = _Hashing(file)
            np.lib.format.write_array_header_1_0(hashing, header)
            offset = file.tell()
            for part in parts:
                hashing.write(np.ascontiguousarray(part, kind).tobytes())
            file.flush()
            if columns:
                append_columns(temporary, offset, shape, hashing)
                file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
        fsync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise LibraryError(f"cannot write {path}: {error.strerror or error}") from error
    return hashing.digest()


def read_array(path: Path, kind: np.dtype, rows: int) -> np.ndarray:
    """Map an array into memory, read-only.

    Raises:
        FileNotFoundError: It is gone: another process compacted, or a file was lost.
        CorruptError: It is not the array that the catalogue speaks of.
    """
    try:
        array: np.ndarray = np.load(path, mmap_mode="r" if rows else None, allow_pickle=False)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, EOFError) as error:
        raise CorruptError(f"{path} is damaged ({error}); run doctor --repair") from error
    if array.dtype != kind or len(array) != rows:
        raise CorruptError(f"{path} does not match the catalogue; run doctor --repair")
    return array


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_segment(folder: Path, name: str) -> None:
    """Delete a segment's files; a reader that has them mapped keeps its view."""
    for suffix in (*SUFFIXES, FLOATS):
        with contextlib.suppress(OSError):
            (folder / (name + suffix)).unlink()


class _Hashing:
    """A file that hashes what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return self._file.write(data)

    def digest(self) -> str:
        return self._hash.hexdigest()
