"""How large a page's picture is."""

from __future__ import annotations

__all__ = ["MAX_SIDE", "pixel_size"]

MAX_SIDE = 30_000  # longer pictures break encoders and viewers


def pixel_size(width: float, height: float, dpi: float, max_pixels: int) -> tuple[int, int]:
    """Return width and height in pixels of a page of so many points.

    At least one pixel a side, at most `MAX_SIDE` a side and ``max_pixels`` in all; the shape is
    kept as far as these allow.

    >>> pixel_size(612, 792, 150, 20_000_000)
    (1275, 1650)
    >>> pixel_size(3, 3, 10, 20_000_000)
    (1, 1)
    """
    scale = dpi / 72
    width, height = max(width, 1e-6), max(height, 1e-6)
    scale = min(scale, MAX_SIDE / width, MAX_SIDE / height)
    area = width * height * scale * scale
    if area > max_pixels:
        scale *= (max_pixels / area) ** 0.5
    down = min(max(1, round(height * scale)), max_pixels)
    return min(max(1, round(width * scale)), max_pixels // down), down
