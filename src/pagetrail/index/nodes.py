"""A page of the graph as bytes: small, versioned and checked.

Layout, little-endian: one byte each for the version, the length of the sketch and the number of
marks; unsigned 32-bit CRC of all that follows; the sketch; the marks as signed 64-bit hashes, those
of names first, then the bands; last a zlib stream of JSON (UTF-8): ``[targets, kinds, weights,
reasons, names, files]``, of which the first four have one item per edge and weights are 0..65535.
What finds near-duplicates is read without the rest.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

from ..edges import PageNode
from ..errors import CorruptError, VersionError
from .codec import decode_text, encode_text

if TYPE_CHECKING:
    from ..edges import EdgeKind

__all__ = ["KINDS", "decode_marks", "decode_node", "encode_node"]

KINDS: tuple[EdgeKind, ...] = (
    "next", "previous", "section", "parent", "child", "link", "linked", "reference", "referred",
    "continues", "continued", "shared", "similar", "twin",
)  # fmt: skip
"""Kinds of edges in the order in which they are given out; a stored code is a place in here."""

_VERSION = 1
_HEAD = struct.Struct("<BBBI")
_STEPS = 65535
_CODES = {kind: code for code, kind in enumerate(KINDS)}


def encode_node(node: PageNode) -> bytes:
    """Return a page's edges and marks as bytes."""
    head = [
        [target for target, _, _, _ in node.ways],
        [_CODES[kind] for _, kind, _, _ in node.ways],
        [max(1, round(min(1.0, weight) * _STEPS)) for _, _, weight, _ in node.ways],
        [why for _, _, _, why in node.ways],
        [text for _, text in node.names],
        node.files,
    ]
    text = encode_text(json.dumps(head, ensure_ascii=False, separators=(",", ":")))
    marks = [*(mark for mark, _ in node.names), *node.bands]
    rest = node.sketch + struct.pack(f"<{len(marks)}q", *marks) + zlib.compress(text, 6)
    return _HEAD.pack(_VERSION, len(node.sketch), len(marks), zlib.crc32(rest)) + rest


def decode_marks(data: bytes) -> tuple[bytes, tuple[int, ...]]:
    """Return the sketch and the marks of a page, those of names first.

    Raises:
        CorruptError: The bytes are damaged.
        VersionError: They were written by a newer version.
    """
    try:
        version, sketch, count, check = _HEAD.unpack_from(data)
        if version > _VERSION:
            raise VersionError("a page's edges were stored by a newer version of Pagetrail")
        at = _HEAD.size
        marks = struct.unpack_from(f"<{count}q", data, at + sketch)
        if version != _VERSION or zlib.crc32(memoryview(data)[at:]) != check:
            raise CorruptError("a page's stored edges are damaged; run doctor --repair")
    except struct.error as error:
        raise CorruptError("a page's stored edges are damaged; run doctor --repair") from error
    return data[at : at + sketch], marks


def decode_node(number: int, data: bytes) -> PageNode:
    """Return the page that `encode_node` was given, weights rounded to 16 bit; errors likewise."""
    sketch, marks = decode_marks(data)
    try:
        stream = memoryview(data)[_HEAD.size + len(sketch) + 8 * len(marks) :]
        targets, kinds, weights, whys, names, files = _loaded(stream)
        ways = tuple(
            (target, KINDS[kind], weight / _STEPS, why)
            for target, kind, weight, why in zip(targets, kinds, weights, whys, strict=True)
        )
    except (zlib.error, ValueError, TypeError, IndexError) as error:
        raise CorruptError("a page's stored edges are damaged; run doctor --repair") from error
    return PageNode(
        number=number,
        ways=ways,
        names=tuple(zip(marks, names, strict=False)),
        sketch=sketch,
        bands=marks[len(names) :],
        files=tuple((file, page, why) for file, page, why in files),
    )


def _loaded(stream: memoryview) -> Any:
    return json.loads(decode_text(zlib.decompress(stream)))
