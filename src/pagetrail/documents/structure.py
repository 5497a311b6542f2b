"""A page put together: words of the text layer and of OCR to blocks in reading order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING

from ..types import Block, Page
from .bidi import fold
from .blocks import Draft, body_blocks, rank_headings, running
from .columns import regions
from .lines import Rect, Segment, body_size, cut_line
from .raw import TURN_SHIFT, RawWord
from .references import find_references

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..ports import Reading
    from ..types import Link
    from .quality import LayerVerdict

__all__ = ["build_page"]

_OCR_EM = 0.72  # font size as a share of the height of a box that OCR found
_LAYER_EM = 0.8
_RIM = 0.25  # of the height of an OCR line: what lies empty before and behind its ink
_COVERED = 0.3  # an OCR word with so much of it under layer words is known already


_TURN = 3 << TURN_SHIFT
_Lines = list[Sequence[RawWord]]


def build_page(
    *,
    document: str,
    number: int,
    label: str | None,
    width: float,
    height: float,
    lines: Sequence[Sequence[RawWord]],
    ocr: Reading | None,
    verdict: LayerVerdict,
    links: Sequence[Link] = (),
) -> Page:
    """Return a page from its text layer and, where it was asked for, its OCR reading.

    Args:
        document: Id of the document.
        number: 1-based physical number.
        label: Printed page label, if it differs.
        width: Displayed width, points.
        height: Displayed height, points.
        lines: The text layer's words, line by line, in the order of the layer.
        ocr: What OCR read on a picture of the displayed page; None when it did not run.
        verdict: Whether the layer is trusted. If it is, OCR only adds what the layer does not hold;
            if not, OCR gives the blocks and the layer is kept as the alternate reading.
        links: Links to other pages.
    """
    layer = _layer_lines(lines)
    seen = _ocr_lines(ocr) if ocr is not None else []
    blocks, alternate = _readings(layer, seen, verdict, width, height)
    ignored = bool(layer) and not verdict.trusted
    notes = (f"The text layer is not used: {verdict.reason}.",) if ignored else ()
    from_ocr = sum(len(b.text) if b.source == "ocr" else -len(b.text) for b in blocks)
    return Page(
        document=document,
        number=number,
        width=width,
        height=height,
        label=label,
        turn=ocr.turn if ocr is not None and not (verdict.trusted and layer) else 0,
        text_source="none" if not blocks else "ocr" if from_ocr > 0 else "layer",
        blocks=blocks,
        alternate=alternate,
        links=tuple(links),
        references=find_references(blocks),
        notes=notes,
    )


def _readings(
    layer: _Lines, seen: _Lines, verdict: LayerVerdict, width: float, height: float
) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Return the blocks to use and, where a layer is not trusted, its blocks as the alternate."""
    if verdict.trusted:
        added = _uncovered(seen, layer) if layer else seen
        return _blocks(layer, added, width, height), ()
    return _blocks([], seen, width, height), _blocks(layer, [], width, height)


def _layer_lines(lines: Iterable[Sequence[RawWord]]) -> _Lines:
    result: _Lines = []
    for line in lines:
        if "".join([w.text for w in line]).isascii():
            folded = line
        else:
            folded = [w._replace(text=text) for w in line if (text := fold(w.text))]
        if folded:
            result.append(folded)
    return result


def _ocr_lines(reading: Reading) -> _Lines:
    flags = (360 - reading.turn) % 360 // 90 << TURN_SHIFT
    lines = [
        [
            RawWord(text, w.box.x0, w.box.y0, w.box.x1, w.box.y1, 0.0, flags)
            for w in line
            if (text := fold(w.text))
        ]
        for line in reading.lines
    ]
    return [line for line in lines if line]


def _uncovered(seen: _Lines, layer: _Lines) -> _Lines:
    """Return the OCR words that stand where the layer has none."""
    import numpy as np

    known = np.array([e[1:5] for line in layer for e in line], dtype=np.float32)
    result: _Lines = []
    for line in seen:
        boxes = np.array([e[1:5] for e in line], dtype=np.float32)
        low = np.maximum(boxes[:, None, :2], known[None, :, :2])
        high = np.minimum(boxes[:, None, 2:], known[None, :, 2:])
        shared = np.clip(high - low, 0, None).prod(axis=2).sum(axis=1)
        area = np.maximum((boxes[:, 2:] - boxes[:, :2]).prod(axis=1), 1e-9)
        fresh = (shared / area < _COVERED).tolist()
        # A line that is half known was read by the layer; the rest would be its torn pieces.
        if sum(fresh) > len(line) / 2:
            result.append([e for e, new in zip(line, fresh, strict=True) if new])
    return result


def _blocks(layer: _Lines, seen: _Lines, width: float, height: float) -> tuple[Block, ...]:
    """Order and group the words of one page; empty without words."""
    entries: list[RawWord] = []
    groups: dict[int, list[Segment]] = {}
    chars: dict[int, int] = {}
    for lines, is_ocr in ((layer, False), (seen, True)):
        slope = _slope(lines, width, height)
        for line in lines:
            # Words of one line that are turned differently are lines of their own.
            turns = {w.flags & _TURN for w in line}
            for turn in turns:
                part = line if len(turns) == 1 else [w for w in line if w.flags & _TURN == turn]
                rects = _upright(part, len(entries), width, height, ocr=is_ocr)
                if is_ocr:
                    rects = _trimmed(_level(rects, slope) if slope else rects)
                elif slope:
                    rects = _level(rects, slope)
                entries += part
                segments = cut_line(rects, ocr=is_ocr)
                groups.setdefault(turn, []).extend(segments)
                chars[turn] = chars.get(turn, 0) + sum([s.chars for s in segments])
    if not entries:
        return ()
    drafts: list[Draft] = []
    footers: list[Draft] = []
    for turn in sorted(groups, key=lambda t: -chars[t]):
        tall = width if turn & (1 << TURN_SHIFT) else height
        body, below = _group_blocks(groups[turn], tall, edges=not drafts)
        drafts += body
        footers += below
    return _pack(drafts + footers, entries)


def _upright(
    line: Sequence[RawWord], first: int, width: float, height: float, *, ocr: bool
) -> list[Rect]:
    """Return words as rectangles in points, the page turned so that they stand upright."""
    scale = _OCR_EM if ocr else _LAYER_EM
    turn = line[0].turn
    result = []
    for word, (text, x0, y0, x1, y1, size, _) in enumerate(line, first):
        a0, a1, b0, b1 = x0 * width, x1 * width, y0 * height, y1 * height
        if turn == 270:
            a0, a1, b0, b1 = height - b1, height - b0, a0, a1
        elif turn == 180:
            a0, a1, b0, b1 = width - a1, width - a0, height - b1, height - b0
        elif turn == 90:
            a0, a1, b0, b1 = b0, b1, width - a1, width - a0
        result.append(Rect(word, text, a0, b0, a1, b1, size or (b1 - b0) * scale))
    return result


def _slope(lines: _Lines, width: float, height: float) -> float:
    """Return by how much lines fall per point to the right: the skew of a scan."""
    slopes = []
    for line in lines:
        if len(line) < 3:
            continue
        if line[0].y0 == line[-1].y0 and line[0].turn in (0, 180):
            slopes.append(0.0)
            continue
        rects = _upright([line[0], line[-1]], 0, width, height, ocr=True)
        run = rects[1].x0 - rects[0].x0
        if run > 5 * rects[0].size:
            fall = (rects[1].y0 + rects[1].y1 - rects[0].y0 - rects[0].y1) / 2
            slopes.append(fall / run)
    slope = median(slopes) if len(slopes) >= 3 else 0.0
    return slope if 0.003 < abs(slope) < 0.2 else 0.0


def _trimmed(rects: list[Rect]) -> list[Rect]:
    """Take off the rim that a detector leaves around a line; columns would nearly touch."""
    rim = _RIM * (rects[0].y1 - rects[0].y0)
    first = rects[0]
    rects[0] = first._replace(x0=min(first.x0 + rim, (first.x0 + first.x1) / 2))
    last = rects[-1]
    rects[-1] = last._replace(x1=max(last.x1 - rim, (last.x0 + last.x1) / 2))
    return rects


def _level(rects: list[Rect], slope: float) -> list[Rect]:
    return [
        r._replace(y0=r.y0 - slope * (r.x0 + r.x1) / 2, y1=r.y1 - slope * (r.x0 + r.x1) / 2)
        for r in rects
    ]


def _group_blocks(
    segments: list[Segment], height: float, *, edges: bool
) -> tuple[list[Draft], list[Draft]]:
    """Return the blocks of the text that stands one way: header and body, then footer."""
    body = body_size(segments)
    ocr = all(s.ocr for s in segments)
    rtl = sum(s.chars for s in segments if s.rtl) > sum(s.chars for s in segments) / 2
    above, middle, below = running(segments, height, body) if edges else ([], segments, [])
    drafts = [d._replace(kind="header") for d in body_blocks(above, body, rtl=rtl, ocr=ocr)]
    for region in regions(middle, rtl=rtl):
        drafts += body_blocks(region, body, rtl=rtl, ocr=ocr)
    footers = [d._replace(kind="footer") for d in body_blocks(below, body, rtl=rtl, ocr=ocr)]
    return drafts, footers


def _pack(drafts: Sequence[Draft], entries: Sequence[RawWord]) -> tuple[Block, ...]:
    """Turn drafts into blocks; the boxes of the whole page are rounded in one go."""
    import numpy as np

    flat = chain.from_iterable([w[1:5] for w in entries])
    boxes = np.fromiter(flat, np.float64, 4 * len(entries)).reshape(-1, 4)
    grid = np.clip(np.rint(boxes * 65535), 0, 65535).astype("<u2")
    return tuple(
        Block(
            text=draft.text,
            kind=draft.kind,
            order=order,
            grid=grid[draft.words].tobytes(),
            breaks=tuple(draft.breaks),
            level=level,
            source="ocr" if draft.ocr else "layer",
        )
        for order, (draft, level) in enumerate(zip(drafts, rank_headings(drafts), strict=True))
    )
