"""Boxes on a page's picture, so that a person sees where an answer stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

    from ..types import Box

__all__ = ["draw_boxes"]

_FILL = (255, 196, 0, 70)
_EDGE = (214, 69, 0, 255)


def draw_boxes(picture: Image, boxes: Sequence[Box], *, turn: int = 0) -> Image:
    """Return a copy of a page's picture with boxes over it, turned so that it reads upright.

    Args:
        picture: The displayed page, RGB.
        boxes: In fractions of the displayed page.
        turn: Clockwise degrees that make the text upright: 0, 90, 180 or 270.
    """
    from PIL import Image as Pictures
    from PIL import ImageDraw

    base = picture.convert("RGBA")
    layer = Pictures.new("RGBA", base.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(layer)
    width, height = base.size
    edge = max(2, round(max(width, height) / 600))
    margin = 2 * edge
    for box in boxes:
        # The frame stands outside the words: a line through a letter makes it unreadable.
        corners = (
            max(0, box.x0 * width - margin),
            max(0, box.y0 * height - margin),
            min(width - 1, box.x1 * width + margin),
            min(height - 1, box.y1 * height + margin),
        )
        pen.rectangle(corners, fill=_FILL, outline=_EDGE, width=edge)
    drawn = Pictures.alpha_composite(base, layer).convert("RGB")
    return drawn.rotate(-turn, expand=True) if turn else drawn
