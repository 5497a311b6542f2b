"""Plain text and Markdown to pieces: paragraphs, headings, list items, table rows on a grid.

A piece knows its rows and columns but no page; `plain` puts pieces on pages and draws them.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..types import BlockKind

__all__ = ["COLUMNS", "Piece", "Run", "columns", "from_markdown", "from_text"]

COLUMNS = 82  # of body text on a page; a heading's are larger and fewer
_SCALES = (1.8, 1.5, 1.25, 1.1, 1.0, 1.0)
_TAB = 8
_GUTTER = 2
_WORD = re.compile(r"\S+")
# What cannot be shown or stored; white space stays.
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\ufeff\uffff\ud800-\udfff]")
_HEADING_RULE = re.compile(r"^\s{0,3}#{1,6}\s+\S", re.MULTILINE)


class Run(NamedTuple):
    """Text that stands in one row from one column on; ``starts`` a new line or table cell."""

    row: int
    column: int
    text: str
    starts: bool

    def words(self) -> Iterator[tuple[str, int, int]]:
        """Yield each word with its first column and its width in columns."""
        plain = self.text.isascii()
        for match in _WORD.finditer(self.text):
            word = match[0]
            at = match.start() if plain else columns(self.text[: match.start()])
            yield word, self.column + at, len(word) if plain else max(1, columns(word))


@dataclass(frozen=True, slots=True)
class Piece:
    """A block before it is placed: its runs, how many rows it takes, how large its grid is."""

    kind: BlockKind
    runs: tuple[Run, ...]
    rows: int
    level: int = 0
    scale: float = 1.0
    new_page: bool = False

    @property
    def text(self) -> str:
        return " ".join(" ".join(run.text.split()) for run in self.runs)


def columns(text: str) -> int:
    """Return how many columns a text takes: East Asian characters two, combining marks none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def from_text(text: str) -> Iterator[Piece]:
    """Cut plain text at empty lines; its own line ends and spacing are kept."""
    for sheet, part in enumerate(_UNSEEN.sub("", text).split("\f")):
        lines: list[str] = []
        fresh = sheet > 0
        for line in [*part.splitlines(), ""]:
            if line.strip():
                lines.append(line.expandtabs(_TAB).rstrip())
            elif lines:
                yield _preformatted(lines, new_page=fresh)
                lines, fresh = [], False


def from_markdown(text: str) -> Iterator[Piece]:
    """Read CommonMark with tables; pictures and links leave their words, nothing is fetched."""
    from markdown_it import MarkdownIt

    # Raw HTML and front matter are shown as the text they are.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(_UNSEEN.sub("", text))
    depth, marker, row = 0, "", list[str]()
    for place, token in enumerate(tokens):
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open"):
            depth += 1
        elif kind in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif kind == "list_item_open":
            marker = f"{token.info}{token.markup} " if token.info else "• "
        elif kind in ("fence", "code_block"):
            if lines := [line.expandtabs(_TAB).rstrip() for line in token.content.splitlines()]:
                yield _preformatted(lines)
        elif kind == "inline":
            words = _inline(token)
            holder = tokens[place - 1]
            if holder.type in ("th_open", "td_open"):
                row.append(words)
            elif holder.type == "heading_open":
                level = int(holder.tag[1])
                scale = _SCALES[level - 1]
                yield _flowing(words, kind="heading", level=level, scale=scale)
            else:
                block: BlockKind = "list" if depth else "paragraph"
                yield _flowing(marker + words, kind=block, indent=2 * max(0, depth - 1))
                marker = ""
        elif kind == "tr_close":
            yield _row(row)
            row = []


def looks_like_markdown(text: str) -> bool:
    """Tell whether a text uses Markdown's headings, where its name does not say."""
    return len(_HEADING_RULE.findall(text[:20_000])) >= 2


def _inline(token: Any) -> str:
    """Return the words of an inline token; a hard break stays a line end."""
    parts: list[str] = []
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type == "softbreak":
            parts.append(" ")
        elif child.type == "hardbreak":
            parts.append("\n")
        elif child.type == "image":
            parts.append(_inline(child))
    return "".join(parts)


def _flowing(
    text: str, *, kind: BlockKind, level: int = 0, scale: float = 1.0, indent: int = 0
) -> Piece:
    """Wrap running text."""
    room = max(10, int(COLUMNS / scale) - indent)
    rows = [row for line in text.split("\n") for row in _wrapped(" ".join(line.split()), room)]
    runs = tuple(Run(place, indent, row, starts=True) for place, row in enumerate(rows) if row)
    return Piece(kind, runs, max(1, len(rows)), level, scale)


def _preformatted(lines: Iterable[str], *, new_page: bool = False) -> Piece:
    """Keep each line's own spacing; only lines that are too long are wrapped."""
    rows = [row for line in lines for row in _wrapped(line, COLUMNS)]
    runs = tuple(Run(place, 0, row, starts=True) for place, row in enumerate(rows) if row.strip())
    return Piece("paragraph", runs, len(rows), new_page=new_page)


def _row(cells: list[str]) -> Piece:
    """Lay the cells of a table row side by side, in equal columns so that rows align."""
    count = max(1, len(cells))
    room = max(6, COLUMNS // count - _GUTTER)
    runs: list[Run] = []
    deepest = 1
    for place, cell in enumerate(cells):
        rows = list(_wrapped(" ".join(cell.split()), room))
        deepest = max(deepest, len(rows))
        at = place * (room + _GUTTER)
        runs.extend(Run(r, at, text, starts=r == 0) for r, text in enumerate(rows) if text)
    return Piece("table_row", tuple(runs), deepest)


def _wrapped(line: str, room: int) -> Iterator[str]:
    """Cut a line at spaces into rows of at most ``room`` columns; longer words are cut too."""
    while columns(line) > room:
        cut = room if line.isascii() else _reach(line, room)
        space = line.rfind(" ", 1, cut + 1)
        if space > 0 and line[:space].strip():
            cut = space
        yield line[:cut].rstrip()
        line = line[cut:].lstrip()
    yield line


def _reach(line: str, room: int) -> int:
    """Return how many characters fit into ``room`` columns; at least one."""
    taken = 0
    for place, character in enumerate(line):
        taken += columns(character)
        if taken > room:
            return max(1, place)
    return len(line)
