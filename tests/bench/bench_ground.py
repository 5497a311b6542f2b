"""Are true quotes found again on their pages, and false ones not?

True quotes are sentences, table rows and numbers, drawn by a seeded sampler from the development
PDFs. Those of text pages come from PDFium's own text, not from what Pagetrail read, and the words'
own boxes tell whether the citation covers them. Those of picture pages come from the OCR, written
as a model would copy them: one space between words, no hyphens at line ends, straight quotation
marks. False quotes are true ones with one digit changed, two words swapped, or looked for in
another document.
"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import os
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pypdfium2
from bench_retrieval import build

from pagetrail.answer.ground import QuoteFinder
from pagetrail.types import Box, page_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pagetrail import Library
    from pagetrail.types import Citation, Document, Page

ROOT = Path(__file__).resolve().parents[2]
COUNT = 500
SHORTEST, LONGEST = 4, 40  # words of a quote
_SENTENCE = re.compile(r"[A-Z\"“(][^.!?]*[a-z)\"”%\d][.!?](?=\s|$)", re.DOTALL)
_LISTED = re.compile(r"\s\d{1,2}\.$")  # the number of the next item of a list ends no sentence
_NUMBER = re.compile(r"\d")
_STRAIGHT = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-"})


@dataclass(frozen=True)
class Quote:
    """A quote, where it stands, and the middle points of its words where they are known."""

    kind: str
    text: str
    page: str
    middles: tuple[tuple[float, float], ...] = ()


def from_layer(document: Document, file: Path, numbers: Sequence[int]) -> Iterator[Quote]:
    """Yield the sentences and lines with numbers of text pages, by PDFium's own reading."""
    with pypdfium2.PdfDocument(file) as pdf:
        for number in numbers:
            page = pdf[number - 1]
            if page.get_rotation():
                continue  # characters are placed on the page as it is stored, not as displayed
            text = page.get_textpage()
            whole = text.get_text_range()
            sentences = (m for m in _SENTENCE.finditer(whole) if not _LISTED.search(m[0]))
            spans = [("sentence", *m.span()) for m in sentences]
            spans += [("row", *m.span()) for m in re.finditer(r"[^\r\n]+", whole) if _row(m[0])]
            for kind, first, last in spans:
                words = whole[first:last].split()
                if SHORTEST <= len(words) <= LONGEST:
                    middles = _middles(text, page, whole, first, last)
                    quote = _copied(whole[first:last])
                    yield Quote(kind, quote, page_id(document.id, number), middles)


def _row(line: str) -> bool:
    """Say whether a line looks like a row of a table: two numbers and more."""
    return len(re.findall(r"(?<!\S)[$€£(]?\d[\d.,]*[%)]?(?!\S)", line)) >= 2


def _middles(
    text: pypdfium2.PdfTextPage, page: pypdfium2.PdfPage, whole: str, first: int, last: int
) -> tuple[tuple[float, float], ...]:
    """Return the middle of each word in fractions of the displayed page."""
    left, bottom, right, top = page.get_cropbox()
    found = []
    for match in re.finditer(r"\S+", whole[first:last]):
        boxes = [text.get_charbox(first + i) for i in range(*match.span())]
        x = (min(b[0] for b in boxes) + max(b[2] for b in boxes)) / 2
        y = (min(b[1] for b in boxes) + max(b[3] for b in boxes)) / 2
        found.append(((x - left) / (right - left), (top - y) / (top - bottom)))
    return tuple(found)


def from_ocr(page: Page) -> Iterator[Quote]:
    """Yield the sentences and rows that OCR read on a page."""
    for block in page.blocks:
        if block.source != "ocr" or not SHORTEST <= len(block.text.split()) <= LONGEST:
            continue
        kind = "ocr row" if block.kind == "table_row" else "ocr block"
        middles = tuple(((b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2) for b in block.word_boxes())
        yield Quote(kind, _copied(block.text), page.id, middles)


def _copied(text: str) -> str:
    """Return text as a model copies it: lines joined, typography made plain."""
    joined = re.sub(r"(?<=[a-z])(?:-|\ufffe|\u00ad)\s*\r?\n(?=[a-z])", "", text)
    return " ".join(joined.translate(_STRAIGHT).replace("\ufffe", "").split())


def falsified(quote: Quote, chance: random.Random) -> tuple[str, str] | None:
    """Return how a quote was made false and the text; None where it cannot be."""
    digits = [m.start() for m in _NUMBER.finditer(quote.text)]
    if digits and chance.random() < 0.6:
        place = chance.choice(digits)
        other = chance.choice([d for d in "123456789" if d != quote.text[place]])
        return "one digit changed", quote.text[:place] + other + quote.text[place + 1 :]
    words = quote.text.split()
    places = [i for i in range(len(words) - 1) if _plain(words[i]) != _plain(words[i + 1])]
    places = [i for i in places if _plain(words[i]) and _plain(words[i + 1])]
    if not places:
        return None
    place = chance.choice(places)
    words[place], words[place + 1] = words[place + 1], words[place]
    return "two words swapped", " ".join(words)


def _plain(word: str) -> str:
    return re.sub(r"[\W_]", "", word.casefold())


def covers(found: Citation, middles: Sequence[tuple[float, float]]) -> float:
    """Return the share of words whose middle lies in a box of the citation."""
    inside = [any(_inside(box, x, y) for box in found.boxes) for x, y in middles]
    return sum(inside) / len(inside) if inside else 1.0


def _inside(box: Box, x: float, y: float) -> bool:
    slack = 0.003  # a box ends at the letters' edge, which a reader of the file may see elsewhere
    return box.x0 - slack <= x <= box.x1 + slack and box.y0 - slack <= y <= box.y1 + slack


def sample(library: Library, folder: Path, chance: random.Random) -> list[Quote]:
    """Return true quotes, as many of each kind as there are, up to an equal share."""
    kinds: dict[str, list[Quote]] = {}
    for document in library.documents():
        pages = list(library._catalogue.iterate(document.id))
        read = [p.number for p in pages if p.text_source == "layer" and not p.turn]
        chosen = chance.sample(read, min(6, len(read)))
        found = list(from_layer(document, folder / document.name, sorted(chosen)))
        scanned = [p for p in pages if p.text_source == "ocr"]
        for page in chance.sample(scanned, min(10, len(scanned))):
            found += from_ocr(page)
        for quote in chance.sample(found, min(60, len(found))):
            kinds.setdefault(quote.kind, []).append(quote)
    share = COUNT // len(kinds)
    return [
        q
        for _, found in sorted(kinds.items())
        for q in chance.sample(found, min(share, len(found)))
    ]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, default=ROOT / ".bench" / "mmlongbench-dev")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print where it fails")
    options = parser.parse_args()
    data = Path(os.environ.get("PAGETRAIL_DATA", "")) / "mmlongbench-dev"
    if "PAGETRAIL_DATA" not in os.environ or not data.is_dir():
        print("PAGETRAIL_DATA names no folder with mmlongbench-dev; nothing was measured")
        return
    chance = random.Random(options.seed)
    with build(options.library, data / "docs") as library:
        quotes = sample(library, data / "docs", chance)
        pages = {p.id: p for p in library._catalogue.pages(sorted({q.page for q in quotes}))}
        finders = {page: QuoteFinder(pages[page]) for page in pages}
        report_true(quotes, finders, show=options.show)
        report_false(quotes, finders, chance, show=options.show)


def report_true(quotes: Sequence[Quote], finders: dict[str, QuoteFinder], *, show: bool) -> None:
    """Print how many true quotes were found, and how many of their words the boxes cover."""
    rows: dict[str, list[tuple[bool, float]]] = {}
    for quote in quotes:
        found = finders[quote.page].find(quote.text)
        covered = covers(found, quote.middles) if found.verified else 0.0
        rows.setdefault(quote.kind, []).append((found.verified, covered))
        if show and (not found.verified or covered < 0.95):
            print(f"  {quote.kind} {quote.page} covers {covered:.2f}: {quote.text[:300]!r}")
    rows["all"] = [row for found in rows.values() for row in found]
    print(f"{'true quotes':<24}{'count':>8}{'found':>8}{'words covered':>15}")
    for kind, found in rows.items():
        hits = [covered for good, covered in found if good]
        share, mean = len(hits) / len(found), sum(hits) / max(1, len(hits))
        print(f"{kind:<24}{len(found):>8}{share:>8.3f}{mean:>15.3f}")


def report_false(
    quotes: Sequence[Quote],
    finders: dict[str, QuoteFinder],
    chance: random.Random,
    *,
    show: bool,
) -> None:
    """Print how many false quotes were taken for true ones."""
    tried: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    pages = sorted(finders)
    for quote in quotes:
        changed = falsified(quote, chance) if chance.random() < 0.7 else None
        page = quote.page
        if changed is None:
            others = [p for p in pages if p.split("#")[0] != quote.page.split("#")[0]]
            page = chance.choice(others)
            changed = ("another document", quote.text)
        kind, text = changed
        tried[kind] += 1
        if finders[page].find(text).verified:
            taken[kind] += 1
            if show:
                print(f"  {kind} {page}: {text[:200]!r}")
    print(f"\n{'false quotes':<24}{'count':>8}{'verified':>10}")
    for kind in (*sorted(tried), "all"):
        count = sum(tried.values()) if kind == "all" else tried[kind]
        wrong = sum(taken.values()) if kind == "all" else taken[kind]
        print(f"{kind:<24}{count:>8}{wrong / max(1, count):>10.3f}")


if __name__ == "__main__":
    main()
