"""Curves as tables and as a picture."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from .curves import DEPTHS
from .reach import GROUPS, HOPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .curves import Point
    from .reach import DocumentReach, Reach

__all__ = ["aligned", "curve_picture", "curve_table", "document_table", "markdown", "reach_table"]

_WIDTH, _HEIGHT = 560, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 40, 60
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#5d8aa8")
# Dark first: a program that takes every rule for one that holds lets the last one win.
_STYLE = (
    "@media(prefers-color-scheme:dark){svg .ground{fill:#16181c}svg .words{fill:#e6e8eb}"
    "svg .grid{stroke:#3d444d}}.ground{fill:#fff}.words{fill:#1f2328}.grid{stroke:#d0d7de}"
)
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
_HOPS = [head for hops in HOPS for head in (f"{hops} hop{'s' * (hops > 1)}", "by rank")]
_MARKS = re.compile(r"[\\`*_\[\]<>|&]")  # characters that mean something in Markdown


def curve_table(points: Sequence[Point], depth: int = 3) -> list[list[str]]:
    """Return rows of text, the first one the header: budget, method, pages judged, recalls, gain,
    and the recall of the pages judged alone with its gain.

    Args:
        points: From `curves.curve_points`.
        depth: Of the recall whose gain is told.
    """
    place = DEPTHS.index(depth)
    named = [f"recall@{k}" for k in DEPTHS]
    rows = [
        ["budget", "method", "judged", *named, f"gain @{depth}", f"judged only @{depth}", "gain"]
    ]
    for point in points:
        gain, more = (str(g[place]) if g else "" for g in (point.gain, point.seen_gain))
        budget = "own" if point.budget is None else f"{point.budget:.0%}"
        recall = (f"{value:.3f}" for value in point.recall)
        seen = f"{point.seen[place]:.3f}"
        rows.append([budget, point.method, f"{point.judged:.1%}", *recall, gain, seen, more])
    return rows


def reach_table(reaches: Mapping[str, Reach]) -> list[list[str]]:
    """Return rows of text, the first one the header: per kind of edge what it reaches.

    The share of gold pages within one, two and three hops of the first three pages stands before
    that within as many next pages of the ranking; the rates are missed gold pages reached per page
    looked at, one hop away.
    """
    rows = [["edges", *_HOPS, "unreachable", "per page", "by rank"]]
    for kind, found in reaches.items():
        rows.append([kind, *_shares(found), *(f"{rate:.4f}" for rate in found.rates())])
    return rows


def document_table(documents: Mapping[str, DocumentReach]) -> list[list[str]]:
    """Return rows of text, the first one the header: per document and kind of edge the edges per
    page, and shares as in `reach_table`."""
    rows = [["document", "edges", "pages", "questions", "degree", *_HOPS, "unreachable"]]
    for name, document in documents.items():
        shown = " ".join(name.split())
        for group, found in document.reaches.items():
            degree = sum(document.degree.get(kind, 0.0) for kind in GROUPS[group])
            counts = [str(document.pages), str(document.questions), f"{degree:.2f}"]
            rows.append([shown, group, *counts, *_shares(found)])
    return rows


def _shares(found: Reach) -> list[str]:
    shares = [f"{share:.3f}" for hops in HOPS for share in found.shares(hops)]
    return [*shares, f"{found.unreachable / max(1, found.gold):.3f}"]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines of columns for a terminal; all but the first two to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the first one its header."""
    lines = ["| " + " | ".join(_MARKS.sub(r"\\\g<0>", c) for c in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def curve_picture(points: Sequence[Point], title: str, depth: int = 3) -> str:
    """Return recall against pages judged as an SVG picture that needs nothing else.

    Methods with several budgets are lines, those with one of their own are dots.

    Args:
        points: From `curves.curve_points`.
        title: Stands above.
        depth: Of the recall that is drawn.
    """
    place = DEPTHS.index(depth)
    lines: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        lines.setdefault(point.method, []).append((point.judged, point.recall[place]))
    low, high, step = _range([y for found in lines.values() for _, y in found])

    def at(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + x * (_WIDTH - _LEFT - _RIGHT)
        down = _TOP + (high - y) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)
        return round(across, 1), round(down, 1)

    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>"
        '<rect class="ground" width="100%" height="100%"/>'
        f'<text class="words" x="{_LEFT}" y="22" font-size="14">{escape(title)}</text>'
    )
    parts = [head]
    for tick in range(round((high - low) / step) + 1):
        x, y = at(0, low + tick * step)
        parts.append(f'<path class="grid" d="M{x} {y}H{_WIDTH - _RIGHT}"/>')
        parts.append(_words(x - 8, y + 4, f"{low + tick * step:.2f}", "end"))
    for share in (0, 0.25, 0.5, 0.75, 1):
        x, y = at(share, low)
        parts.append(_words(x, y + 18, f"{share:.0%}", "middle"))
    x, y = at(0.5, low)
    parts.append(_words(x, y + 36, f"pages judged; recall@{depth}", "middle"))
    for index, (method, found) in enumerate(lines.items()):
        spots = [at(*spot) for spot in sorted(found)]
        parts += _line(method, spots, index, _HEIGHT - _BOTTOM - 18 * (len(lines) - index))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _line(method: str, spots: list[tuple[float, float]], index: int, legend: int) -> list[str]:
    colour = _COLOURS[index % len(_COLOURS)]
    path = "L".join(f"{x} {y}" for x, y in spots)
    mark = _WIDTH - _RIGHT - 130
    return [
        f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
        *(f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>' for x, y in spots),
        f'<circle cx="{mark}" cy="{legend}" r="4" fill="{colour}"/>',
        _words(mark + 10, legend + 4, method),
    ]


def _words(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text class="words" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _range(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the ends of an axis and the step between its marks, six steps at most."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    step = next((s for s in _STEPS if (high - low) / s <= 5), 0.2)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return first * step, max(last, first + 1) * step, step
