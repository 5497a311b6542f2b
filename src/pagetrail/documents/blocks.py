"""Lines of a region to blocks: headings, paragraphs, lists, captions, table rows."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from .lines import BULLET, MARKER, rows
from .tables import group, table_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import BlockKind
    from .lines import Segment
    from .tables import Row

__all__ = ["CAPTION", "Draft", "body_blocks", "rank_headings", "running"]

_MOST_WORDS = 240
_HEADING_WORDS = 24
_MARGIN = 0.085  # running headers and footers stand in this share of the page's height
_NUMBER_MARGIN = 0.12
CAPTION = re.compile(
    r"(?:fig(?:ure)?s?\.?|tables?|charts?|exhibits?|graphs?|box|maps?|diagrams?|schemes?|listings?"
    r"|algorithms?|plates?|photos?|images?|illustrations?|abbildung|abb\.|tabelle|tableau|tabla"
    r"|figura)\s*(?:[A-Z]{1,3}[.\-–]?)?(?:\d+(?:[.\-–]\d+)*|[IVX]+)[a-z]?(?:\s*[.:|)\]–—-]|\s*$"
    r"|\s+(?-i:[A-Z]))",
    re.IGNORECASE,
)
_CAPTION_START = re.compile(r"[A-Z]")
_NUMBERED = re.compile(
    r"(?:(?:(?:chapter|section|part|item|appendix|annex|article)\s+)?"
    r"(?:(\d{1,2}(?:\.\d{1,3}){0,4})|[A-Z]|[IVX]{1,5})[.)]?(?:\.\d{1,3})*)\s+(?=\S*[A-Za-z])",
    re.IGNORECASE,
)
_PAGE_NUMBER = re.compile(
    r"[-–—|\s]*(?:page|p\.|seite|slide|pag\.?)?\s*(?:\d{1,4}|[ivxlc]{1,7}|[A-Z]{1,2}-\d{1,3})"
    r"(?:\s*(?:of|/|von|de)\s*\d{1,4})?[-–—|\s]*$",
    re.IGNORECASE,
)
_SENTENCE_INSIDE = re.compile(r"\w{3,}[.!?;]\s+[A-Z]")
_SENTENCE_END = re.compile(r"[.!?:;。][)\]\"'”’»]*$")


class Draft(NamedTuple):
    """A block before its words are packed: word indices, where lines or cells start."""

    kind: BlockKind
    words: list[int]
    breaks: list[int]
    text: str
    size: float
    ocr: bool


class _Line(NamedTuple):
    """A line of running text inside a region."""

    segment: Segment
    left: float
    right: float


def running(
    segments: Sequence[Segment], height: float, body: float
) -> tuple[list[Segment], list[Segment], list[Segment]]:
    """Part running headers, page body and running footers by where they stand.

    Args:
        segments: Of one page, in any order.
        height: Of the page, points.
        body: Usual font size, points.
    """
    table = rows(segments)
    if len(table) < 4:
        return [], [s for row in table for s in row], []
    head = _edge(table, body, lambda row: max(s.y1 for s in row) / height, step=1)
    foot = _edge(table, body, lambda row: 1 - min(s.y0 for s in row) / height, step=-1)
    last = len(table) - foot
    return (
        [s for row in table[:head] for s in row],
        [s for row in table[head:last] for s in row],
        [s for row in table[last:] for s in row],
    )


def _edge(table, body, reach, *, step: int) -> int:  # type: ignore[no-untyped-def]
    """Return how many rows at one end of the page are running text, at most two."""
    order = table[::step]
    count = 0
    for index in range(2):
        row, after = order[index], order[index + 1]
        text = " ".join(s.text for s in row)
        words = sum(len(s.words) for s in row)
        number = _PAGE_NUMBER.match(text) is not None
        upper, lower = (row, after) if step == 1 else (after, row)
        gap = min(s.y0 for s in lower) - max(s.y1 for s in upper)
        # A short last page ends early, but its number still stands alone below everything.
        alone = number and step == -1 and index == 0 and gap > 1.5 * row[0].height
        far = reach(row)
        if words > 20 or (far > (_NUMBER_MARGIN if number else _MARGIN) and not alone):
            break
        if not number and max(s.size for s in row) > 1.15 * body:
            break
        if gap > (0.5 if number else 1.0) * row[0].height:
            count = index + 1
    return count


def body_blocks(segments: Sequence[Segment], body: float, *, rtl: bool, ocr: bool) -> list[Draft]:
    """Return the blocks of one region in reading order.

    Args:
        segments: Of one region, in any order.
        body: Usual font size of the page, points.
        rtl: Rows are read from right to left.
        ocr: Sizes were measured on a picture and are rough.
    """
    drafts: list[Draft] = []
    for is_table, part in group(rows(segments, rtl=rtl)):
        if is_table:
            drafts += [_table_row(cells) for cells in table_rows(part)]
        else:
            drafts += _paragraphs(part, body, ocr=ocr)
    return drafts


def _table_row(cells: list[list[Segment]]) -> Draft:
    words: list[int] = []
    breaks: list[int] = []
    texts: list[str] = []
    for cell in cells:
        if words:
            breaks.append(len(words))
        for piece in cell:
            words += piece.words
            texts.append(piece.text)
    first = cells[0][0]
    return Draft("table_row", words, breaks, " ".join(texts), first.size, first.ocr)


def _paragraphs(table: Sequence[Row], body: float, *, ocr: bool) -> list[Draft]:
    """Group single lines; a row with several cells outside any table is one line."""
    lines = [cell for row in table for cell in row]
    if not lines:
        return []
    left = min(s.x0 for s in lines)
    right = max(s.x1 for s in lines)
    pitch = _pitch(lines)
    drafts: list[Draft] = []
    current: list[Segment] = []
    count = 0
    for line in lines:
        full = count + len(line.words) > _MOST_WORDS
        if current and (
            full or _starts(current, line, pitch=pitch, left=left, right=right, ocr=ocr)
        ):
            drafts.append(_text_block(current, body, ocr=ocr))
            current, count = [], 0
        current.append(line)
        count += len(line.words)
    drafts.append(_text_block(current, body, ocr=ocr))
    return drafts


def _pitch(lines: Sequence[Segment]) -> float:
    """Return the usual distance from line to line in units of the line height."""
    steps = []
    for above, below in pairwise(lines):
        step = (below.middle - above.middle) / max(above.height, 1e-9)
        if 0.6 < step < 2.2:
            steps.append(step)
    if len(steps) < 3:
        return 1.25
    steps.sort()
    return steps[len(steps) // 3]


def _starts(
    current: list[Segment], line: Segment, *, pitch: float, left: float, right: float, ocr: bool
) -> bool:
    """Return whether a line starts a new block."""
    last = current[-1]
    slack = 0.3 if ocr else 0.08
    if last.ocr != line.ocr or abs(line.size - last.size) > slack * max(line.size, last.size):
        # A few larger or raised characters inside a paragraph change nothing.
        return True
    height = max(last.height, 1e-9)
    step = (line.middle - last.middle) / height
    if step > pitch + 0.45 or step < -0.5:
        return True
    first_word = line.text.partition(" ")[0]
    listed = BULLET.match(first_word) or (MARKER.match(first_word) and len(line.words) > 1)
    if listed and (line.x0 < last.x0 + 0.5 * last.size or _ends(last, right)):
        return True
    if CAPTION.match(line.text) and _CAPTION_START.match(line.text) and _ends(last, right):
        return True
    indent = line.x0 - last.x0
    if line.rtl:
        indent = last.x1 - line.x1
    em = line.size or height
    if 0.8 * em < indent < 5 * em and _ends(last, right) and not _is_list(current):
        return True
    if step > pitch + 0.2 and _ends(last, right):
        return True
    # Short last line, then a line that starts with a capital at the margin.
    return (
        last.x1 < right - 0.25 * (right - left)
        and _SENTENCE_END.search(last.text) is not None
        and len(current) > 1
        and line.text[:1].isupper()
        and not _is_list(current)
    )


def _ends(line: Segment, right: float) -> bool:
    """Return whether a line looks like the last of its paragraph."""
    return line.x1 < right - 3 * line.size or _SENTENCE_END.search(line.text) is not None


def _is_list(lines: Sequence[Segment]) -> bool:
    word = lines[0].text.partition(" ")[0]
    return BULLET.match(word) is not None or MARKER.match(word) is not None


def _text_block(lines: list[Segment], body: float, *, ocr: bool) -> Draft:
    words: list[int] = []
    breaks: list[int] = []
    for line in lines:
        if words:
            breaks.append(len(words))
        words += line.words
    text = " ".join([line.text for line in lines])
    size = max(lines, key=lambda s: s.chars).size
    kind = _kind(lines, text, len(words), size, body, ocr=ocr)
    return Draft(kind, words, breaks, text, size, lines[0].ocr)


def _kind(
    lines: Sequence[Segment], text: str, count: int, size: float, body: float, *, ocr: bool
) -> BlockKind:
    if CAPTION.match(text) and _CAPTION_START.match(text):
        return "caption"
    if count <= _HEADING_WORDS and len(lines) <= 4 and _heads(lines, text, size, body, ocr=ocr):
        return "heading"
    return "list" if count > 1 and _is_list(lines) else "paragraph"


def _heads(lines: Sequence[Segment], text: str, size: float, body: float, *, ocr: bool) -> bool:
    """Return whether a short text stands as a heading: larger, numbered, or all in capitals."""
    letters = sum(map(str.isalpha, text))
    if letters < max(2, len(text) // 4):
        return False
    if size > (1.35 if ocr else 1.12) * body:
        return True
    if len(lines) > 2 or text.count(" ") > 14 or text[-1] in ".,;:" or size < 0.97 * body:
        return False
    numbered = _NUMBERED.match(text)
    if numbered and _title_like(text[numbered.end() :]):
        return True
    return len(lines) == 1 and letters >= 4 and text.isupper()


def _title_like(text: str) -> bool:
    """Return whether a text is set like a title: starts with a capital, has no sentence in it."""
    return len(text) > 2 and text[0].isupper() and _SENTENCE_INSIDE.search(text) is None


def rank_headings(drafts: Sequence[Draft]) -> list[int]:
    """Return the level of each block: 1 for the largest headings, 0 for what is no heading.

    A numbered heading's level is at least the depth of its number, so "2.1" never stands above "2".
    """
    sizes: list[float] = []
    for size in sorted({d.size for d in drafts if d.kind == "heading"}, reverse=True):
        if not sizes or size < 0.93 * sizes[-1]:
            sizes.append(size)
    levels = []
    for draft in drafts:
        if draft.kind != "heading":
            levels.append(0)
            continue
        level = next(i for i, size in enumerate(sizes, 1) if draft.size >= 0.93 * size)
        numbered = _NUMBERED.match(draft.text)
        if numbered and numbered[1]:
            level = max(level, numbered[1].count(".") + 1)
        levels.append(min(level, 6))
    return levels
