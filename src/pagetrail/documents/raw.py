"""Raw words: what a page's text layer holds, before it is judged, ordered and grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..types import Link

__all__ = ["HYPHEN", "INVISIBLE", "TURN_SHIFT", "UNMAPPED", "RawPage", "RawWord"]

INVISIBLE = 1  # drawn in text render mode 3: there to be found, not to be seen
UNMAPPED = 2  # the font does not say which characters its glyphs stand for
HYPHEN = 4  # the word runs on in the next line; its text ends with "-"
TURN_SHIFT = 4  # two bits: clockwise quarter turns of the text, as displayed


class RawWord(NamedTuple):
    """A run of text without white space and its box in fractions of the displayed page.

    A tuple rather than a dataclass: hundreds are made per page, and they are made three times
    faster this way.

    Attributes:
        size: Font size in points as displayed; 0 when unknown.
        flags: ``INVISIBLE``, ``UNMAPPED``, ``HYPHEN`` and, in two bits above, the turn.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float = 0.0
    flags: int = 0

    @property
    def turn(self) -> int:
        """Clockwise degrees by which the text is turned on the displayed page: 0, 90, 180, 270."""
        return (self.flags >> TURN_SHIFT & 3) * 90


@dataclass(frozen=True, slots=True)
class RawPage:
    """What a page's text layer and objects say.

    Attributes:
        number: 1-based physical number.
        width: Displayed width in points, after rotation and crop.
        height: Displayed height in points.
        rotation: The file's own rotation, clockwise degrees, already applied to all boxes.
        label: The printed page label, None when the file has none.
        lines: Words line by line in the order in which the layer gives them (not reading order).
        image_cover: Share of the page covered by pictures, 0..1; None when it was not measured,
            which is so where there is plenty of visible text.
        invisible_share: Share of the characters drawn invisibly, 0..1.
        unmapped_share: Share of the characters whose font has no mapping to text, 0..1.
        has_paths: The page draws something else than text; True when it was not looked at.
    """

    number: int
    width: float
    height: float
    rotation: int = 0
    label: str | None = None
    lines: tuple[tuple[RawWord, ...], ...] = ()
    links: tuple[Link, ...] = ()
    image_cover: float | None = None
    invisible_share: float = 0.0
    unmapped_share: float = 0.0
    has_paths: bool = True

    @property
    def text(self) -> str:
        """The lines as text, words parted by single spaces."""
        return "\n".join(" ".join(word.text for word in line) for line in self.lines)
