"""Pictures for tests, made without an imaging library."""

from __future__ import annotations

import struct
import zlib

__all__ = ["plain_png"]


def plain_png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    """Return the same bytes always: a PNG picture of one colour (red, green, blue 0..255)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes(colour) * width) * height
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows, 9)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
