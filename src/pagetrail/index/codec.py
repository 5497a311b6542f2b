"""A page's content as bytes: small, versioned, checked, and readable without our classes.

Layout, little-endian: one byte for the version, then a zlib stream of

* unsigned 32-bit length of the JSON part,
* JSON (UTF-8): ``[number, label, width, height, turn, text_source, blocks, alternate, links,
  references, notes]``; a block is ``[text, kind, breaks, level, source, order, grid length]``;
  a link is ``[x0, y0, x1, y1, page]``, and the name of the other file where it leads to one,
* the word grids of all blocks, one after the other, in the same order.

The zlib checksum makes a flipped bit an error instead of a wrong text.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..errors import CorruptError, VersionError
from ..types import Block, Box, Grid, Link, Page, Reference

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "decode_grid",
    "decode_page",
    "decode_text",
    "encode_grid",
    "encode_page",
    "encode_text",
]

_VERSION = 1
_LENGTH = struct.Struct("<I")
_SIDES = struct.Struct("<HH")
_KINDS = ("heading", "paragraph", "list", "table_row", "caption", "header", "footer")
_KIND_CODE = {kind: code for code, kind in enumerate(_KINDS)}


def encode_text(text: str) -> bytes:
    """Return any string as bytes; lone surrogates, which hostile files contain, survive."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(data: bytes) -> str:
    """Return the string that `encode_text` was given."""
    return data.decode("utf-8", "surrogatepass")


def encode_grid(grid: Grid) -> bytes:
    """Return a grid as bytes: version, two 16-bit sides, then zlib of 32-bit steps from cell to
    cell, which are mostly 1.

    Raises:
        ValueError: The cells do not fill the grid, or a side is above 65,535.
    """
    cells = np.asarray(grid.cells, np.int64).ravel()
    if len(cells) != grid.rows * grid.columns or max(grid.rows, grid.columns) > 0xFFFF:
        raise ValueError(f"{len(cells)} cells do not fill {grid.rows} x {grid.columns}")
    steps = np.diff(cells, prepend=0).astype("<i4")
    return bytes([_VERSION]) + _SIDES.pack(grid.rows, grid.columns) + zlib.compress(steps.tobytes())


def decode_grid(data: bytes) -> Grid:
    """Return the grid that `encode_grid` was given.

    Raises:
        CorruptError: The bytes are damaged.
    """
    try:
        rows, columns = _SIDES.unpack_from(data, 1)
        steps = np.frombuffer(zlib.decompress(data[1 + _SIDES.size :]), "<i4")
    except (zlib.error, struct.error, ValueError) as error:
        raise CorruptError("a stored grid of patches is damaged; run doctor") from error
    if data[0] != _VERSION or len(steps) != rows * columns:
        raise CorruptError("a stored grid of patches is damaged; run doctor")
    return Grid(rows, columns, np.cumsum(steps, dtype=np.int32))


def encode_page(page: Page) -> bytes:
    """Return a page's content, without the id of its document."""
    head = [
        page.number,
        page.label,
        page.width,
        page.height,
        page.turn,
        page.text_source,
        [_block_row(block) for block in page.blocks],
        [_block_row(block) for block in page.alternate],
        [_link_row(link) for link in page.links],
        [[r.kind, r.key, r.role, r.block] for r in page.references],
        list(page.notes),
    ]
    text = encode_text(json.dumps(head, ensure_ascii=False, separators=(",", ":")))
    grids = [block.grid for block in (*page.blocks, *page.alternate)]
    # Level 1 halves the size for a quarter of a millisecond; higher levels gain little here.
    return bytes([_VERSION]) + zlib.compress(b"".join((_LENGTH.pack(len(text)), text, *grids)), 1)


def decode_page(document: str, data: bytes) -> Page:
    """Return the page that `encode_page` was given.

    Raises:
        CorruptError: The bytes are damaged.
        VersionError: They were written by a newer version.
    """
    if data[:1] != bytes([_VERSION]):
        if data and data[0] > _VERSION:
            raise VersionError(f"a page of {document} was stored by a newer version of Pagetrail")
        raise CorruptError(f"a stored page of {document} is damaged; run doctor")
    try:
        return _decode(document, zlib.decompress(memoryview(data)[1:]))
    except (zlib.error, struct.error, ValueError, TypeError, IndexError) as error:
        raise CorruptError(f"a stored page of {document} is damaged; run doctor") from error


def _decode(document: str, data: bytes) -> Page:
    (length,) = _LENGTH.unpack_from(data)
    at = _LENGTH.size + length
    head = cast("list[Any]", json.loads(decode_text(data[_LENGTH.size : at])))
    number, label, width, height, turn, text_source, blocks, alternate, links, refs, notes = head
    shown, at = _blocks(blocks, data, at)
    hidden, at = _blocks(alternate, data, at)
    return Page(
        document=document,
        number=number,
        width=width,
        height=height,
        label=label,
        turn=turn,
        text_source=text_source,
        blocks=shown,
        alternate=hidden,
        links=tuple(Link(Box(*link[:4]), *link[4:6]) for link in links),
        references=tuple(Reference(*row) for row in refs),
        notes=tuple(notes),
    )


def _block_row(block: Block) -> list[object]:
    return [
        block.text,
        _KIND_CODE[block.kind],
        list(block.breaks),
        block.level,
        int(block.source == "ocr"),
        block.order,
        len(block.grid),
    ]


def _link_row(link: Link) -> list[object]:
    return [*_corners(link.box), link.target, *([link.file] if link.file else [])]


def _blocks(rows: Sequence[Any], data: bytes, at: int) -> tuple[tuple[Block, ...], int]:
    blocks = []
    for text, kind, breaks, level, ocr, order, size in rows:
        grid = data[at : at + size]
        at += size
        source = "ocr" if ocr else "layer"
        blocks.append(
            Block(text, _KINDS[kind], order, grid, tuple(breaks), level, source)  # type: ignore[arg-type]
        )
    return tuple(blocks), at


def _corners(box: Box) -> tuple[float, float, float, float]:
    return box.x0, box.y0, box.x1, box.y1
