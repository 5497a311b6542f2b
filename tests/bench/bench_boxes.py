"""Boxes on scans: does the box of a word cover the word's ink, however the page lies?

Draws text at known places, skews and turns the picture as a scanner would, reads it by OCR, and
counts the words whose box covers at least 95 % of their ink.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pagetrail.documents.ocr import RapidReader

CASES = ((0, 0), (0, 90), (0, 180), (0, 270), (2, 0), (-2, 90), (3, 180), (2, 270), (1, 90))
SIZE = (1240, 1000)
LINES = """The inspection found that total costs rose by 12.5% to $4,310 million
in 2021, while repairs took slightly less time (see Table 3 on page 17).
Harbours in Norway & Sweden reported 1,204 visits; delays were below 0.8%.
Section 4.2 explains how the authority measures the waiting times.
Every ferry departs at 06:45, 09:30 and 17:15 except on public holidays.
Passengers under 16 travel free when an adult ticket holder is with them."""


def draw() -> tuple[Image.Image, list[tuple[str, Image.Image]]]:
    """Return the upright picture and, per word, a mask of its ink."""
    font = ImageFont.load_default(26)
    picture = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(picture)
    words = []
    for row, line in enumerate(LINES.splitlines()):
        x, y = 90.0, 100 + 120 * row
        for word in line.split():
            mask = Image.new("L", SIZE, 0)
            ImageDraw.Draw(mask).text((int(x), y), word, fill=255, font=font)
            pen.text((int(x), y), word, fill="black", font=font)
            words.append((word, mask))
            x += font.getlength(word + " ")
    return picture, words


def lay(picture: Image.Image, skew: float, turn: int, fill: str | int) -> Image.Image:
    """Return a picture as it comes off the scanner: skewed, then turned clockwise."""
    skewed = picture.rotate(-skew, expand=True, resample=Image.Resampling.BICUBIC, fillcolor=fill)
    return skewed.rotate(-turn, expand=True)


def covered(reader: RapidReader, skew: float, turn: int) -> tuple[int, int, int]:
    """Return words drawn, words read rightly, and those whose box covers their ink."""
    upright, words = draw()
    picture = np.asarray(lay(upright, skew, turn, "white"))
    height, width = picture.shape[:2]
    read = [word for line in reader.read(picture).lines for word in line]
    found = good = 0
    for text, mask in words:
        ys, xs = np.nonzero(np.asarray(lay(mask, skew, turn, 0)) > 127)
        cx, cy = xs.mean() / width, ys.mean() / height
        for word in read:
            box = word.box
            if word.text == text and box.x0 <= cx <= box.x1 and box.y0 <= cy <= box.y1:
                inside = (xs >= box.x0 * width) & (xs <= box.x1 * width)
                inside &= (ys >= box.y0 * height) & (ys <= box.y1 * height)
                found += 1
                good += bool(inside.mean() >= 0.95)
                break
    return len(words), found, good


def main() -> None:
    """Measure."""
    reader = RapidReader()
    totals = np.zeros(3, int)
    for skew, turn in CASES:
        counts = covered(reader, skew, turn)
        totals += counts
        print(
            f"skew {skew:3}, turned {turn:3}: {counts[1]} of {counts[0]} read, {counts[2]} covered"
        )
    print(f"all: {totals[1]} of {totals[0]} read, boxes cover {totals[2] / totals[1]:.3f} of them")


if __name__ == "__main__":
    main()
