"""The second look of a segment of few vectors per page: its codes by column, for questions of one
vector.

Scored row by row, one question costs nearly as much as thirty, because the codes are packed for the
product first. By column they are read once, as fast as memory gives them. So a codes file holds two
more arrays after the codes: ``columns``, int8, the codes less 128 in blocks of `BLOCK` rows, each
transposed (``[d, rows of the block]``, one after the other), and `MARGIN` records, one per row.

The question then has 7 bits only, so this is an estimate. Whoever scores again, in full, all pages
that may be among the best (`Columns.slack`) has the exact result.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol

import numpy as np

from ..errors import CorruptError
from . import graphs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .maxsim import Question

__all__ = ["BLOCK", "MARGIN", "Columns", "append_columns", "read_columns", "worth"]

BLOCK = 32_768
"""Rows per block: wide enough to read fast, narrow enough for the sums to stay in the cache."""

MARGIN = np.dtype([("sum", "<i4"), ("norm", "<f4")])
"""What is known of a row: the sum of its codes less 128, and their Euclidean length."""

_SHIFT = 64  # added to the question's numbers, which the fast way takes without sign
_LEAST = 1024
_FEW = 16


class Sink(Protocol):
    """Where bytes go."""

    def write(self, data: bytes) -> int: ...


@dataclass(frozen=True, slots=True)
class Columns:
    """A segment's codes by column.

    Attributes:
        data: int8 ``[rows * d]``, memory-mapped.
        shifts: int32 ``[rows]``, what the products gain when 64 is added to the question's numbers.
        longest: The length of the longest of the vectors; 1 but for what rounding added.
    """

    data: np.ndarray
    shifts: np.ndarray
    longest: float

    def estimate(self, question: Question, block: int) -> np.ndarray:
        """Return the estimated products of a block's codes with the first column, int32."""
        width = question.columns.shape[0]
        first, last = block * BLOCK, min((block + 1) * BLOCK, len(self.shifts))
        codes = self.data[first * width : last * width].reshape(width, last - first)
        query = (question.columns[:, 0].astype(np.int16) + _SHIFT).astype(np.uint8)
        products: np.ndarray = graphs.scan(query[None], codes)[0]
        products -= self.shifts[first:last]
        return products

    def slack(self, question: Question) -> float:
        """Return how far an estimated cosine may be from the exact one.

        What was rounded off the question is a vector r of numbers that lie evenly within half a
        step and know nothing of the pages. Its product with a page's vector is never more than the
        length of r (Cauchy-Schwarz), and it is more than eight standard deviations, a step divided
        by the root of 12 each, with a chance below 3e-14 (an even distribution is sub-Gaussian with
        its own variance [1]). The smaller of the two counts.

        [1] J. Arbel, O. Marchal, H. D. Nguyen: On strict sub-Gaussianity, 2020, section 3.
        """
        step = float(question.steps[0])
        rounded = question.columns[:, 0].astype(np.float64) * step
        lost = min(float(np.linalg.norm(question.vectors[0] - rounded)), 8 * step / 12**0.5)
        return lost * self.longest * 1.0001 + 1e-5


def worth(rows: int, pages: int) -> bool:
    """Return whether a segment gets columns: it is large and has few vectors per page."""
    return rows >= _LEAST and rows < _FEW * pages


def append_columns(path: Path, offset: int, shape: tuple[int, ...], sink: Sink) -> None:
    """Write columns and margins of codes that are in a file already.

    Args:
        path: The file.
        offset: Where its codes begin, bytes.
        shape: Theirs: rows, dimension.
        sink: Takes what is to stand after them.
    """
    codes = np.memmap(path, np.uint8, "r", offset, shape)
    margins = np.zeros(len(codes), MARGIN)
    header = {"descr": "|i1", "fortran_order": False, "shape": (codes.size,)}
    np.lib.format.write_array_header_1_0(sink, header)
    for at in range(0, len(codes), BLOCK):
        signed = (codes[at : at + BLOCK] ^ 0x80).view(np.int8)
        sink.write(np.ascontiguousarray(signed.T).tobytes())
        part = margins[at : at + BLOCK]
        part["sum"] = signed.sum(axis=1, dtype=np.int32)
        part["norm"] = np.sqrt(np.einsum("rd,rd->r", signed, signed, dtype=np.float32))
    header = {
        "descr": np.lib.format.dtype_to_descr(MARGIN),
        "fortran_order": False,
        "shape": (len(codes),),
    }
    np.lib.format.write_array_header_1_0(sink, header)
    sink.write(margins.tobytes())


def read_columns(path: Path, shape: tuple[int, ...], scales: np.ndarray) -> Columns | None:
    """Map what stands after the codes in a file, or return None when nothing does.

    Args:
        path: The file.
        shape: Rows and dimension of its codes.
        scales: float32 ``[rows]``.

    Raises:
        FileNotFoundError: The file is gone.
        CorruptError: Something else stands there, or it was cut off.
    """
    rows, width = shape
    with path.open("rb") as file:
        try:
            arrays = list(_arrays(path, file))
        except (OSError, ValueError) as error:
            raise CorruptError(f"{path} is damaged ({error}); run doctor --repair") from error
    if len(arrays) == 1:
        return None
    if [a.shape for a in arrays] != [shape, (rows * width,), (rows,)]:
        raise CorruptError(f"{path} does not match the catalogue; run doctor --repair")
    longest = float((arrays[2]["norm"] * scales).max(initial=0.0))
    return Columns(arrays[1].view(np.ndarray), arrays[2]["sum"] * _SHIFT, longest)


def _arrays(path: Path, file: BinaryIO) -> Iterator[np.ndarray]:
    """Map the arrays of a file one after the other."""
    size = os.fstat(file.fileno()).st_size
    while file.tell() < size:
        np.lib.format.read_magic(file)
        shape, _, kind = np.lib.format.read_array_header_1_0(file)
        offset = file.tell()
        yield np.memmap(path, kind, "r", offset, shape)
        file.seek(offset + int(np.prod(shape)) * kind.itemsize)
