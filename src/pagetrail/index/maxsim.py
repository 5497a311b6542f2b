"""Exact scoring of int8 vectors: one integer matrix product, the same on every machine.

A stored vector is ``scale * (code - 128)`` with codes in 1..255. A question's vector is split into
two int8 columns, a coarse one and what that leaves over, so the question loses nothing that
matters; the product runs in steps of sixteen columns, so the second one costs nothing. Both stay
within +-63: processors without 8-bit dot products add pairs of products in 16 bits, and
``2 * 255 * 63`` still fits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

__all__ = ["Scorer", "best_rows", "quantise", "scorer"]

_ZERO = 128
_LIMIT = 63
_CHUNK = 32_768  # rows per product: the int32 results stay in the cache
_PARALLEL = 16_000_000  # numbers in the codes from which on several threads are used

Scorer = Callable[[np.ndarray, np.ndarray], np.ndarray]


def quantise(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return codes (uint8, ``[n, d]``) and scales (float32, ``[n]``) of float vectors ``[n, d]``.

    The error of each number is at most half a scale; a zero vector gets scale 0.
    """
    vectors = np.asarray(vectors, np.float32)
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    scales = (largest / 127).astype(np.float32)
    steps = np.where(scales > 0, scales, 1).astype(np.float32)[:, None]
    return (np.rint(vectors / steps) + _ZERO).astype(np.uint8), scales


def scorer(query: np.ndarray, *, integer_product: bool = True) -> Scorer:
    """Return a function that scores rows of vectors against a query.

    Args:
        query: float32 ``[d]``, of unit length for cosines.
        integer_product: Use ONNX Runtime; otherwise numpy, slower with identical results.

    Returns:
        A function of codes (uint8 ``[n, d]``, may be memory-mapped) and scales (float32 ``[n]``)
        that returns the dot products, float32 ``[n]``, cut to -1..1.
    """
    columns, steps = _split(query)

    def score(codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
        product = _numpy_product
        if integer_product:
            # Waking a second thread takes longer than a small product.
            product = _onnx_product(_threads() if codes.size > _PARALLEL else 1)
        scores = np.empty(len(codes), np.float32)
        for at in range(0, len(codes), _CHUNK):
            part = product(codes[at : at + _CHUNK], columns)
            scores[at : at + _CHUNK] = part.astype(np.float32) @ steps
        scores *= scales
        return np.clip(scores, -1.0, 1.0, out=scores)

    return score


def best_rows(scores: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each page's best score and the first row that has it.

    Args:
        scores: float32 ``[rows]``.
        starts: int64 ``[pages]``, first row of each page, rising; every page has a row.

    >>> best, row = best_rows(np.array([.1, .5, .2, .7]), np.array([0, 2]))
    >>> best.tolist(), row.tolist()
    ([0.5, 0.7], [1, 3])
    """
    if not len(starts):
        return scores[:0], starts[:0]
    best = np.maximum.reduceat(scores, starts)
    counts = np.diff(starts, append=len(scores))
    hits = np.flatnonzero(scores == np.repeat(best, counts))
    return best, hits[np.searchsorted(hits, starts)]


def _split(query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int8 ``[d, 2]`` and float32 ``[2]`` whose product is the query, to 14 bits."""
    query = np.asarray(query, np.float32)
    step = float(np.abs(query).max(initial=0.0)) / _LIMIT or 1.0
    coarse = np.rint(query / step)
    rest = np.rint((query / step - coarse) * (2 * _LIMIT))
    columns = np.stack([coarse, rest], axis=1).astype(np.int8)
    return columns, np.array([step, step / (2 * _LIMIT)], np.float32)


def _numpy_product(codes: np.ndarray, columns: np.ndarray) -> np.ndarray:
    # All sums stay below 2 ** 24, so float32 holds them exactly and the result is the integer one.
    centred = codes.astype(np.float32) - _ZERO
    return np.rint(centred @ columns.astype(np.float32)).astype(np.int32)


def _threads() -> int:
    return min(4, len(os.sched_getaffinity(0)))


@cache
def _onnx_product(threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Waiting threads that spin would cost more than the product itself.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(_model(), options, providers=["CPUExecutionProvider"])

    def product(codes: np.ndarray, columns: np.ndarray) -> np.ndarray:
        (result,) = session.run(None, {"codes": codes, "columns": columns})
        return np.asarray(result)

    return product


def _model() -> bytes:
    """Return an ONNX model of one MatMulInteger with zero point 128, as protobuf bytes [1].

    Written by hand, since the package that builds such files is large and this is one node.

    [1] https://github.com/onnx/onnx/blob/main/onnx/onnx.proto: ModelProto, GraphProto, NodeProto
    """
    uint8, int8, int32 = 2, 3, 6
    inputs = (b"codes", b"columns", b"zero")
    node = b"".join(_field(1, name) for name in inputs) + _field(2, b"product")
    node += _field(4, b"MatMulInteger")
    zero = _field(2, uint8) + _field(8, b"zero") + _field(9, bytes([_ZERO]))
    graph = _field(1, node) + _field(2, b"scores") + _field(5, zero)
    graph += _field(11, _value(b"codes", uint8)) + _field(11, _value(b"columns", int8))
    graph += _field(12, _value(b"product", int32))
    opset = _field(1, b"") + _field(2, 13)
    return _field(1, 8) + _field(7, graph) + _field(8, opset)


def _value(name: bytes, element: int) -> bytes:
    """Return a ValueInfoProto of a matrix with free sides, each with its own name."""
    sides = b"".join(_field(1, _field(2, name + side)) for side in (b"_0", b"_1"))
    tensor = _field(1, element) + _field(2, sides)
    return _field(1, name) + _field(2, _field(1, tensor))


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
