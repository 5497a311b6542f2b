"""Small PDFs written by hand, so that every number in them is known."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest


@dataclass
class PdfWriter:
    """Objects in, a PDF with a right cross-reference table out.

    ``text(x, y, words, ...)`` draws on the current page; ``page(...)`` begins one.
    """

    pages: list[dict[str, str]] = field(default_factory=list)
    catalog: str = ""
    info: str = ""
    extra: list[str] = field(default_factory=list)

    def page(self, width: float = 300, height: float = 400, more: str = "") -> PdfWriter:
        box = f"/MediaBox [0 0 {width} {height}] {more}"
        self.pages.append({"attributes": box, "content": ""})
        return self

    def text(
        self, x: float, y: float, words: str, *, size: float = 20, matrix: str = "", mode: int = 0
    ) -> PdfWriter:
        place = matrix or f"1 0 0 1 {x} {y}"
        draw = f"BT {mode} Tr /F1 {size} Tf {place} Tm ({words}) Tj ET\n"
        self.pages[-1]["content"] += draw
        return self

    def draw(self, operators: str) -> PdfWriter:
        self.pages[-1]["content"] += operators + "\n"
        return self

    @property
    def first_extra(self) -> int:
        """Object number of the first of ``extra``."""
        return 4 + 2 * len(self.pages)

    def reference(self, number: int) -> str:
        """Return the reference to a page by its 1-based number."""
        return f"{4 + 2 * (number - 1)} 0 R"

    def data(self) -> bytes:
        kids = " ".join(self.reference(n) for n in range(1, len(self.pages) + 1))
        bodies = [
            f"<< /Type /Catalog /Pages 2 0 R {self.catalog} >>",
            f"<< /Type /Pages /Kids [{kids}] /Count {len(self.pages)} >>",
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        ]
        for place, page in enumerate(self.pages):
            bodies.append(
                f"<< /Type /Page /Parent 2 0 R {page['attributes']} "
                f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * place} 0 R >>"
            )
            content = page["content"]
            bodies.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
        bodies += self.extra
        out, offsets = b"%PDF-1.7\n", []
        for number, body in enumerate(bodies, 1):
            offsets.append(len(out))
            out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
        start = len(out)
        table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
        size = len(bodies) + 1
        tail = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n"
        tail += f"<< /Size {size} /Root 1 0 R {self.info} >>\nstartxref\n{start}\n%%EOF\n"
        return out + tail.encode("latin-1")


@pytest.fixture
def pdf() -> PdfWriter:
    """An empty PDF to fill."""
    return PdfWriter()
