"""The page graph of a document as a picture: pages in a column, edges as arcs on both sides.

To the right are the edges with a direction, those that the document itself makes: links,
references, continuations, sections around sections. To the left are those between pages that have
something in common. Reading order is the line down the column. A column stays readable however
many pages there are: it gets longer, and every page keeps its title.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from .shown import SHOWN, UNDIRECTED, plain, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..edges import EdgeKind
    from .shown import DocumentGraph, OuterEdge, ShownPage

__all__ = ["svg"]

# All lengths are in pixels.
_STEP = 22  # from page to page
_RADIUS = 9  # of a page
_APART = 3  # edges leave a page so far above its middle, and come in as far below
_LEFT, _RIGHT = 250, 270  # room for arcs
_EDGE = 16  # of the picture
_COLUMN = _EDGE + _LEFT + _RADIUS  # middle of the circles
_TITLES = 350  # width of a page's title
_STOP = _COLUMN + 2 * _RADIUS + _TITLES  # where arcs to the right begin
_WIDTH = _STOP + _RIGHT + _EDGE
_LINE = 18  # of the legend
_HEAD = 62  # above the legend
_SHORTEST = 15  # reach of an arc to the next page
_SLOT = 2  # by which arcs of different kinds between the same pages lie apart
_FEW = 12  # steps that an arc of full reach spans at least

_NAMES: dict[EdgeKind, str] = {
    "next": "reading order",
    "section": "same section",
    "parent": "section around",
    "link": "link",
    "reference": "reference",
    "continues": "goes on",
    "shared": "shared name",
    "similar": "similar",
    "twin": "nearly the same",
}
# Ground, ground of every other page, text, and text that matters less: light, then dark.
_GROUND = (("#fff", "#f3f5f7", "#1f2328", "#656d76"), ("#14171b", "#1d2126", "#e6edf3", "#9aa4af"))
# On a light ground and on a dark one, told apart by most people who confuse colours.
_COLOURS: dict[EdgeKind, tuple[str, str]] = {
    "next": ("#8c959f", "#6e7681"),
    "section": ("#a06bb0", "#c79bd6"),
    "parent": ("#6f42a8", "#b392f0"),
    "link": ("#0b67b2", "#58a6ff"),
    "reference": ("#c94f00", "#ff9440"),
    "continues": ("#7a5c00", "#d6b13c"),
    "shared": ("#00805a", "#3ddc97"),
    "similar": ("#4b8fb3", "#8cc8e6"),
    "twin": ("#c2266b", "#ff7bac"),
}
# The first lie lowest: kinds with many edges below those with few that say more.
_DRAWN: tuple[EdgeKind, ...] = (
    "next", "similar", "section", "shared", "twin", "link", "parent", "continues", "reference",
)  # fmt: skip

# The tip has a colour of its own for programs that bring no rules into a marker.
_TIP = (
    '<marker id="pagetrail-tip" viewBox="0 0 6 6" refX="6" refY="3" markerUnits="userSpaceOnUse" '
    'markerWidth="7" markerHeight="7" orient="auto"><path class="stop" fill="#7d8590" '
    'd="M0 0L6 3L0 6z"/></marker>'
)


def svg(graph: DocumentGraph) -> str:
    """Return an SVG picture that needs nothing else: no script, no font, nothing to be fetched.

    Pointing at an edge lifts it out and tells it in words. Edges to other documents are counted
    beside their page. The text grows with the number of pages and edges, and no faster.
    """
    kinds = [kind for kind in SHOWN if kind in graph.summary.kinds]
    sides = [[k for k in kinds if (k in UNDIRECTED) == left] for left in (True, False)]
    top = _HEAD + _LINE * max(map(len, sides)) + _STEP
    height = top + _STEP * len(graph.pages) + _EDGE
    size = f'width="{_WIDTH}" height="{height}"'
    titles = f'<rect x="{_COLUMN}" width="{_TITLES - 10}" height="{height}"/>'
    parts = (
        f"<title>Page graph of {escape(plain(graph.name))}</title>",
        f"<style>{_style(kinds)}</style>",
        f'<defs><clipPath id="pagetrail-titles">{titles}</clipPath>{_TIP}</defs>',
        f'<rect class="ground" {size}/>',
        *_head(graph),
        *_legend(graph, sides[0], _EDGE),
        *_legend(graph, sides[1], _STOP),
        *_bands(len(graph.pages), top),
        *_edges(graph, top),
        *_pages(graph, top),
    )
    root = f'<svg xmlns="http://www.w3.org/2000/svg" class="pagetrail" {size}'
    view = f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12"'
    return "\n".join((f"{root} {view}>", *parts, "</svg>\n"))


def _head(graph: DocumentGraph) -> Iterator[str]:
    numbers = graph.summary
    base = graph.name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    count = len(graph.edges)
    told = [
        f"{numbers.pages} page{'' if numbers.pages == 1 else 's'}",
        f"{count} edge{'' if count == 1 else 's'}",
        *([f"{numbers.outer} to other documents"] if numbers.outer else []),
    ]
    yield f'<text x="{_EDGE}" y="28" font-size="17">{escape(plain(base))}</text>'
    yield f'<text class="dim" x="{_EDGE}" y="48">{", ".join(told)}</text>'


def _legend(graph: DocumentGraph, kinds: Sequence[EdgeKind], x: int) -> Iterator[str]:
    for place, kind in enumerate(kinds):
        y = _HEAD + _LINE * (place + 1)
        yield (
            f'<path class="{kind}" d="M{x} {y - 4}h28" stroke-width="2.5"/>'
            f'<text x="{x + 36}" y="{y}">{_NAMES[kind]} '
            f'<tspan class="dim" dx="4">{graph.summary.kinds[kind]}</tspan></text>'
        )


def _bands(count: int, top: int) -> Iterator[str]:
    """Yield a ground behind every other title, by which the eye finds its way to the right."""
    width = _STOP - _COLUMN
    for row in range(0, count, 2):
        y = top + _STEP * row - _STEP // 2
        yield f'<rect class="band" x="{_COLUMN}" y="{y}" width="{width}" height="{_STEP}"/>'


def _edges(graph: DocumentGraph, top: int) -> Iterator[str]:
    rows = {page.number: row for row, page in enumerate(graph.pages)}
    longest = max(_FEW, len(rows) - 1)
    ways: dict[EdgeKind, list[str]] = {kind: [] for kind in _DRAWN}
    for edge in graph.edges:
        path = _path(edge.kind, rows[edge.source], rows[edge.target], top, longest)
        arrow = "↔" if edge.kind in UNDIRECTED else "→"
        told = f"p. {edge.source} {arrow} p. {edge.target}: {words(edge)}"
        ways[edge.kind].append(
            f'<path d="{path}" stroke-width="{0.6 + 1.2 * edge.weight:.2f}">'
            f"<title>{escape(plain(told))}</title></path>"
        )
    for kind, drawn in ways.items():
        if drawn:
            tipped = kind != "next" and kind not in UNDIRECTED
            tip = ' marker-end="url(#pagetrail-tip)"' if tipped else ""
            yield "\n".join((f'<g class="edge {kind}"{tip}>', *drawn, "</g>"))


def _path(kind: EdgeKind, source: int, target: int, top: int, longest: int) -> str:
    """Return the way from row to row: a line down the column, or half an ellipse beside it."""
    start, end = top + _STEP * source, top + _STEP * target
    if kind == "next":
        return f"M{_COLUMN} {start}V{end}"
    left = kind in UNDIRECTED
    room = (_LEFT if left else _RIGHT) - _SHORTEST - _SLOT * len(SHOWN)
    # By the square root, so that edges between near pages, which are most, are told apart.
    share = math.sqrt((abs(target - source) - 1) / longest)
    reach = round(_SHORTEST + room * share) + _SLOT * SHOWN.index(kind)
    if left:
        sweep, x = 0, _COLUMN - _RADIUS  # always downwards
    else:
        sweep, x = int(end > start), _STOP
        start, end = start - _APART, end + _APART
    return f"M{x} {start}A{reach} {abs(end - start) / 2:g} 0 0 {sweep} {x} {end}"


def _pages(graph: DocumentGraph, top: int) -> Iterator[str]:
    outer: dict[int, list[OuterEdge]] = {}
    for edge in graph.outer:
        outer.setdefault(edge.source, []).append(edge)
    for row, page in enumerate(graph.pages):
        yield _page(page, outer.get(page.number, []), top + _STEP * row)


def _page(page: ShownPage, outer: Sequence[OuterEdge], y: int) -> str:
    """Return a page's circle and title, and how many edges leave its document."""
    title = escape(plain(page.title))
    shown = f"<tspan>{title}</tspan>"
    if page.label:
        label = escape(plain(page.label))
        shown = f'<tspan class="dim">({label}) </tspan><tspan dx="3">{title}</tspan>'
    size = 9 if page.number < 1000 else 7
    left = _COLUMN + 2 * _RADIUS
    parts = [
        f'<circle class="page" cx="{_COLUMN}" cy="{y}" r="{_RADIUS}"/>',
        f'<text x="{_COLUMN}" y="{y + 3}" font-size="{size}" text-anchor="middle">',
        f'{page.number}</text><circle class="stop" cx="{_STOP}" cy="{y}" r="2"/>',
        f'<g clip-path="url(#pagetrail-titles)"><text x="{left}" y="{y + 4}">{shown}</text>',
        f"<title>p. {page.number}: {title}</title></g>",
    ]
    if outer:
        told = "\n".join(plain(f"{e.name}, p. {e.page}: {words(e)}") for e in outer)
        parts.append(
            f'<text class="dim" x="{_STOP - 8}" y="{y + 4}" font-size="10" text-anchor="end">'
            f"+{len(outer)}<title>{escape(told)}</title></text>"
        )
    return "".join(parts)


def _style(kinds: Sequence[EdgeKind]) -> str:
    """Return the rules, which hold for this picture alone where a page has others beside it.

    Those for a dark ground come first and outweigh the others: a program that heeds no conditions
    goes by the order, and shows the light ones.
    """
    sets = []
    for scope, dark in (("svg.pagetrail", True), (".pagetrail", False)):
        ground, band, text, dim = _GROUND[dark]
        rules = [
            f".ground{{fill:{ground}}}",
            f".band{{fill:{band}}}",
            f"text{{fill:{text}}}",
            f".dim{{fill:{dim}}}",
            f".page{{fill:{ground};stroke:{dim}}}",
            f".stop{{fill:{dim}}}",
        ]
        rules += [f".{kind}{{stroke:{_COLOURS[kind][dark]}}}" for kind in kinds]
        sets.append("".join(f"{scope} {rule}" for rule in rules))
    edges = (
        ".edge{fill:none}",
        ".edge path{opacity:.6}",
        ".edge path:hover{opacity:1;stroke-width:4}",
    )
    always = "".join(f".pagetrail {rule}" for rule in edges)
    return f"@media (prefers-color-scheme:dark){{{sets[0]}}}{sets[1]}{always}"
