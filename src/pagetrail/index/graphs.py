"""The few ONNX graphs that scoring needs, written as protobuf bytes [1], and their sessions.

Written by hand, since the package that builds such files is large and these have up to three nodes.

[1] https://github.com/onnx/onnx/blob/main/onnx/onnx.proto: ModelProto, GraphProto, NodeProto
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["best", "product", "scan"]

_UINT8, _INT8, _INT32, _INT64 = 2, 3, 6, 7
_ZERO = 128  # of the stored codes, which are uint8


def product(codes: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return ``(codes - 128) @ columns``, int32: uint8 ``[n, d]`` times int8 ``[d, c]``."""
    return np.asarray(_session(_product_graph)({"codes": codes, "columns": columns}))


def best(codes: np.ndarray, columns: np.ndarray, pages: int) -> np.ndarray:
    """Return the same product's largest value per page, int32 ``[pages, c]``.

    Args:
        codes: uint8 ``[pages * rows, d]``: every page has the same number of rows.
        columns: int8 ``[d, c]``.
        pages: Their number.
    """
    shape = np.array([pages, len(codes) // pages, columns.shape[1]], np.int64)
    return np.asarray(_session(_best_graph)({"codes": codes, "columns": columns, "shape": shape}))


def scan(query: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return ``query @ columns``, int32 ``[1, n]``: uint8 ``[1, d]`` times int8 ``[d, n]``.

    One row without zero points takes a way of its own in ONNX Runtime, which reads ``columns`` just
    once and as fast as memory gives them; anything else packs them first.
    """
    return np.asarray(_session(_scan_graph)({"query": query, "columns": columns}))


@cache
def _session(graph: Callable[[], bytes]) -> Callable[[dict[str, np.ndarray]], Any]:
    """Return a graph ready to run; it uses one thread, and several threads may use it at once."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph(), options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)[0]


def _product_graph() -> bytes:
    return _model(
        [_node("MatMulInteger", ["codes", "columns", "zero"], "product")],
        {"codes": (_UINT8, 2), "columns": (_INT8, 2)},
        ("product", 2),
    )


def _best_graph() -> bytes:
    axis = _attribute("axes", _field(8, 1) + _field(20, 7))
    flat = _attribute("keepdims", _field(3, 0) + _field(20, 2))
    return _model(
        [
            _node("MatMulInteger", ["codes", "columns", "zero"], "product"),
            _node("Reshape", ["product", "shape"], "paged"),
            _node("ReduceMax", ["paged"], "best", axis + flat),
        ],
        {"codes": (_UINT8, 2), "columns": (_INT8, 2), "shape": (_INT64, 1)},
        ("best", 2),
    )


def _scan_graph() -> bytes:
    return _model(
        [_node("MatMulInteger", ["query", "columns"], "product")],
        {"query": (_UINT8, 2), "columns": (_INT8, 2)},
        ("product", 2),
    )


def _model(
    nodes: list[bytes], inputs: dict[str, tuple[int, int]], output: tuple[str, int]
) -> bytes:
    zero = _field(2, _UINT8) + _field(8, b"zero") + _field(9, bytes([_ZERO]))
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, b"scores") + _field(5, zero)
    graph += b"".join(_field(11, _value(name, *kind)) for name, kind in inputs.items())
    graph += _field(12, _value(output[0], _INT32, output[1]))
    opset = _field(1, b"") + _field(2, 13)
    return _field(1, 8) + _field(7, graph) + _field(8, opset)


def _node(operator: str, inputs: list[str], output: str, attributes: bytes = b"") -> bytes:
    names = b"".join(_field(1, name.encode()) for name in inputs)
    return names + _field(2, output.encode()) + _field(4, operator.encode()) + attributes


def _attribute(name: str, value: bytes) -> bytes:
    return _field(5, _field(1, name.encode()) + value)


def _value(name: str, element: int, rank: int) -> bytes:
    """Return a ValueInfoProto of a tensor with free sides, each with its own name."""
    sides = b"".join(_field(1, _field(2, f"{name}_{side}".encode())) for side in range(rank))
    tensor = _field(1, element) + _field(2, sides)
    return _field(1, name.encode()) + _field(2, _field(1, tensor))


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
