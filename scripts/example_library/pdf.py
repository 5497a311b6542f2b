"""A small PDF writer: base fonts, vector shapes, links, outline, page labels; no compression.

Coordinates are points from the top left corner, y down, as a reader thinks; the writer flips them.
Streams stay uncompressed so that the same input gives the same bytes with every zlib.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Colour = tuple[float, float, float]

BLACK: Colour = (0.12, 0.14, 0.18)
WHITE: Colour = (1.0, 1.0, 1.0)
FONTS = {"regular": "Helvetica", "bold": "Helvetica-Bold", "typed": "Courier"}

# Advance widths of the base fonts for codes 32 to 126, in thousandths of the size.
_REGULAR = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 "
    "556 556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 "
    "833 722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 "
    "556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 "
    "334 260 334 584"
)
_BOLD = (
    "278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 "
    "556 556 556 333 333 584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 "
    "722 778 667 778 722 667 611 722 667 944 667 667 611 333 278 333 584 556 333 556 611 556 611 "
    "556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 333 611 556 778 556 556 500 389 "
    "280 389 584"
)
_WIDTHS = {
    "regular": [int(w) for w in _REGULAR.split()],
    "bold": [int(w) for w in _BOLD.split()],
}
_OTHERS = {"–": 556, "•": 350, "€": 556, "’": 250, "×": 584, "·": 278}


def text_width(text: str, size: float, font: str = "regular") -> float:
    """Return the width of a line of text in points."""
    if font == "typed":
        return len(text) * 0.6 * size
    widths = _WIDTHS[font]
    total = sum(widths[ord(c) - 32] if " " <= c <= "~" else _OTHERS[c] for c in text)
    return total * size / 1000


def wrap(text: str, width: float, size: float, font: str = "regular") -> list[str]:
    """Break a text into lines that fit a width in points."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and text_width(longer, size, font) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line] if line else lines


@dataclass
class Canvas:
    """One page: drawing calls append to its content stream."""

    width: float
    height: float
    content: list[str] = field(default_factory=list)
    links: list[tuple[float, float, float, float, int]] = field(default_factory=list)
    image: tuple[bytes, int, int] | None = None

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 10,
        font: str = "regular",
        colour: Colour = BLACK,
        align: str = "left",
    ) -> None:
        """Write one line; y is the baseline; align left, right or centre about x."""
        shift = {"left": 0.0, "centre": 0.5, "right": 1.0}[align]
        left = x - shift * text_width(text, size, font)
        coded = text.encode("cp1252").decode("latin-1")
        for mark in "\\()":
            coded = coded.replace(mark, "\\" + mark)
        self.content.append(
            f"{_rgb(colour)} rg BT /{font} {size:g} Tf {left:.2f} {self.height - y:.2f} Td "
            f"({coded}) Tj ET"
        )

    def paragraph(
        self, x: float, y: float, text: str, width: float, *, size: float = 11, lead: float = 1.5
    ) -> float:
        """Write wrapped text from baseline y; return the baseline that follows."""
        for line in wrap(text, width, size):
            self.text(x, y, line, size=size)
            y += size * lead
        return y

    def rect(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        *,
        fill: Colour | None = None,
        line: Colour | None = None,
        thick: float = 0.8,
    ) -> None:
        """Draw a rectangle from its top left corner."""
        paint = {(True, True): "B", (True, False): "f", (False, True): "S"}[
            (fill is not None, line is not None)
        ]
        style = f"{_rgb(fill)} rg " if fill else ""
        style += f"{_rgb(line)} RG {thick:g} w " if line else ""
        self.content.append(f"{style}{x:.2f} {self.height - y - h:.2f} {w:.2f} {h:.2f} re {paint}")

    def path(
        self,
        points: list[tuple[float, float]],
        *,
        line: Colour | None = None,
        fill: Colour | None = None,
        thick: float = 1,
    ) -> None:
        """Draw a line through points, or a filled polygon."""
        steps = " ".join(
            f"{x:.2f} {self.height - y:.2f} {'l' if i else 'm'}" for i, (x, y) in enumerate(points)
        )
        if fill:
            self.content.append(f"{_rgb(fill)} rg {steps} h f")
        if line:
            self.content.append(f"{_rgb(line)} RG {thick:g} w 1 J 1 j {steps} S")

    def link(self, x: float, y: float, w: float, h: float, page: int) -> None:
        """Make an area lead to a page (0-based)."""
        self.links.append((x, self.height - y - h, x + w, self.height - y, page))


def _rgb(colour: Colour) -> str:
    return " ".join(f"{part:g}" for part in colour)


@dataclass
class Pdf:
    """A document: pages, an outline of (title, level, 0-based page), label ranges, title."""

    title: str
    pages: list[Canvas] = field(default_factory=list)
    outline: list[tuple[str, int, int]] = field(default_factory=list)
    labels: str = ""
    _objects: list[bytes] = field(default_factory=list)

    def page(self, width: float = 595, height: float = 842) -> Canvas:
        """Add a page and return its canvas."""
        self.pages.append(Canvas(width, height))
        return self.pages[-1]

    def _add(self, body: str | bytes) -> int:
        self._objects.append(body.encode("latin-1") if isinstance(body, str) else body)
        return len(self._objects)

    def _stream(self, entries: str, data: bytes) -> int:
        head = f"<< {entries}/Length {len(data)} >>\nstream\n".encode("latin-1")
        return self._add(head + data + b"\nendstream")

    def _page_object(self, canvas: Canvas, tree: int, fonts: str, first: int) -> str:
        """Write a page's parts; ``first`` is the object number of page 0, three objects apart."""
        content = "\n".join(canvas.content).encode("latin-1")
        images = ""
        if canvas.image:
            data, w, h = canvas.image
            kind = "/Type /XObject /Subtype /Image /ColorSpace /DeviceGray /BitsPerComponent 8"
            number = self._stream(f"{kind} /Width {w} /Height {h} /Filter /DCTDecode ", data)
            images = f"/XObject << /Scan {number} 0 R >> "
            content += f"\nq {canvas.width:g} 0 0 {canvas.height:g} 0 0 cm /Scan Do Q".encode()
        stream = self._stream("", content)
        links = "".join(
            f"<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [{a:.1f} {b:.1f} {c:.1f} "
            f"{d:.1f}] /Dest [{first + to} 0 R /Fit] >> "
            for a, b, c, d, to in canvas.links
        )
        return (
            f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {canvas.width:g} "
            f"{canvas.height:g}] /Resources << /Font << {fonts}>> {images}>> /Contents {stream} 0 "
            f"R /Annots [ {links}] >>"
        )

    def _outline_objects(self, first: int) -> int:
        """Write the outline as a tree of two levels; return its root's number."""
        root = self._add("")
        numbers = [self._add("") for _ in self.outline]
        parents: list[int] = []
        for i, (_, level, _) in enumerate(self.outline):
            above = [j for j in range(i) if self.outline[j][1] < level]
            parents.append(numbers[above[-1]] if above else root)
        for i, (title, _, page) in enumerate(self.outline):
            same = [n for n, p in zip(numbers, parents, strict=True) if p == parents[i]]
            at = same.index(numbers[i])
            near = f"/Prev {same[at - 1]} 0 R " if at else ""
            near += f"/Next {same[at + 1]} 0 R " if at + 1 < len(same) else ""
            near += _children(numbers[i], numbers, parents)
            self._objects[numbers[i] - 1] = (
                f"<< /Title ({title}) /Parent {parents[i]} 0 R {near}/Dest [{first + page} 0 R "
                "/Fit] >>"
            ).encode("latin-1")
        kids = _children(root, numbers, parents)
        self._objects[root - 1] = f"<< /Type /Outlines {kids}>>".encode("latin-1")
        return root

    def to_bytes(self) -> bytes:
        """Return the file."""
        self._objects.clear()
        catalogue, tree = self._add(""), self._add("")
        first = len(self._objects) + 1
        numbers = [self._add("") for _ in self.pages]
        font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
        fonts = "".join(
            f"/{key} {self._add(font.format(name))} 0 R " for key, name in FONTS.items()
        )
        for number, canvas in zip(numbers, self.pages, strict=True):
            self._objects[number - 1] = self._page_object(canvas, tree, fonts, first).encode()
        kids = " ".join(f"{n} 0 R" for n in numbers)
        self._objects[tree - 1] = (
            f"<< /Type /Pages /Kids [ {kids} ] /Count {len(numbers)} >>".encode()
        )
        extra = f"/Outlines {self._outline_objects(first)} 0 R " if self.outline else ""
        extra += f"/PageLabels << /Nums [ {self.labels} ] >> " if self.labels else ""
        self._objects[catalogue - 1] = f"<< /Type /Catalog /Pages {tree} 0 R {extra}>>".encode()
        info = self._add(f"<< /Title ({self.title}) /Author (Harbourline Ferries) >>")
        return _assemble(self._objects, catalogue, info)


def _children(node: int, numbers: list[int], parents: list[int]) -> str:
    own = [n for n, p in zip(numbers, parents, strict=True) if p == node]
    return f"/First {own[0]} 0 R /Last {own[-1]} 0 R /Count {len(own)} " if own else ""


def _assemble(objects: list[bytes], root: int, info: int) -> bytes:
    """Join objects with the cross-reference table."""
    out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root %d 0 R /Info %d 0 R >>\n" % (len(objects) + 1, root, info)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)
