"""Tables and charts for the born-digital sample documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pdf import BLACK, WHITE, Canvas, Colour

if TYPE_CHECKING:
    from collections.abc import Sequence

NAVY: Colour = (0.06, 0.18, 0.33)
TEAL: Colour = (0.05, 0.52, 0.56)
SAND: Colour = (0.95, 0.71, 0.32)
MIST: Colour = (0.92, 0.95, 0.97)
GREY: Colour = (0.42, 0.46, 0.52)
RULE: Colour = (0.78, 0.82, 0.86)


def table(
    page: Canvas,
    x: float,
    y: float,
    rows: Sequence[Sequence[str]],
    widths: Sequence[float],
    *,
    size: float = 10.5,
    total: bool = False,
) -> float:
    """Draw a table, first row its head; numbers stand right; return the y below it."""
    height = size * 2.3
    full = sum(widths)
    for i, row in enumerate(rows):
        last = total and i == len(rows) - 1
        if i == 0:
            page.rect(x, y, full, height, fill=NAVY)
        elif i % 2 == 0:
            page.rect(x, y, full, height, fill=MIST)
        left = x
        for j, (cell, width) in enumerate(zip(row, widths, strict=True)):
            right = j > 0 and rows[-1][j][:1] in "0123456789+-\u2013\u20ac" and rows[-1][j] != ""
            page.text(
                left + (width - 8 if right else 8),
                y + height * 0.64,
                cell,
                size=size,
                font="bold" if i == 0 or last else "regular",
                colour=WHITE if i == 0 else BLACK,
                align="right" if right else "left",
            )
            left += width
        y += height
        if last:
            page.path([(x, y - height), (x + full, y - height)], line=NAVY, thick=1)
    page.path([(x, y), (x + full, y)], line=RULE, thick=0.8)
    return y


def columns(
    page: Canvas,
    box: tuple[float, float, float, float],
    values: Sequence[tuple[str, float]],
    *,
    top: float,
    step: float,
    colour: Colour = TEAL,
) -> None:
    """Draw a column chart in (x, y, width, height) with its scale from 0 to ``top``."""
    x, y, width, height = box
    _scale(page, box, top, step)
    slot = width / len(values)
    for i, (name, value) in enumerate(values):
        tall = height * value / top
        middle = x + slot * (i + 0.5)
        page.rect(middle - slot * 0.28, y + height - tall, slot * 0.56, tall, fill=colour)
        page.text(middle, y + height - tall - 5, f"{value:,}", size=9, font="bold", align="centre")
        page.text(middle, y + height + 14, name, size=9, colour=GREY, align="centre")


def bars(
    page: Canvas,
    box: tuple[float, float, float, float],
    values: Sequence[tuple[str, float]],
    *,
    unit: str,
    top: float,
    label: float = 140,
    size: float = 10.5,
) -> None:
    """Draw lying bars in (x, y, width, height), names to the left."""
    x, y, width, height = box
    slot = height / len(values)
    for i, (name, value) in enumerate(values):
        middle = y + slot * (i + 0.5)
        long = (width - label - 40) * value / top
        page.text(x + label - 8, middle + 3.5, name, size=size, align="right")
        page.rect(x + label, middle - slot * 0.3, long, slot * 0.6, fill=TEAL if i else SAND)
        page.text(x + label + long + 6, middle + 3.5, f"{value}{unit}", size=size, font="bold")


def curve(
    page: Canvas,
    box: tuple[float, float, float, float],
    values: Sequence[tuple[str, float]],
    *,
    top: float,
    step: float,
) -> None:
    """Draw a line chart with a mark and a number at each point."""
    x, y, width, height = box
    _scale(page, box, top, step)
    slot = width / len(values)
    points = [
        (x + slot * (i + 0.5), y + height * (1 - value / top))
        for i, (_, value) in enumerate(values)
    ]
    page.path(points, line=TEAL, thick=2.2)
    for (name, value), (px, py) in zip(values, points, strict=True):
        page.rect(px - 3, py - 3, 6, 6, fill=NAVY)
        page.text(px, py - 9, f"{value:,}", size=9, font="bold", align="centre")
        page.text(px, y + height + 14, name, size=9, colour=GREY, align="centre")


def _scale(page: Canvas, box: tuple[float, float, float, float], top: float, step: float) -> None:
    x, y, width, height = box
    value = 0.0
    while value <= top:
        line = y + height * (1 - value / top)
        page.path([(x, line), (x + width, line)], line=RULE, thick=0.5)
        page.text(x - 7, line + 3, f"{value:,.0f}", size=8, colour=GREY, align="right")
        value += step
