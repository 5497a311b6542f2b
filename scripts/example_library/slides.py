"""strategy-slides.pdf: five landscape slides."""

from __future__ import annotations

from . import facts
from .draw import GREY, MIST, NAVY, RULE, SAND, TEAL, bars
from .pdf import WHITE, Canvas, Pdf

WIDE, HIGH, LEFT = 960.0, 540.0, 70.0


def make() -> bytes:
    """Return the slide deck."""
    pdf = Pdf("Quiet Water 2028: strategy")
    for write in (_title, _today, _goals, _roadmap, _money):
        write(pdf.page(WIDE, HIGH))
    return pdf.to_bytes()


def _slide(page: Canvas, number: int, title: str) -> None:
    page.rect(0, 0, WIDE, 8, fill=TEAL)
    page.text(LEFT, 84, title, size=34, font="bold", colour=NAVY)
    page.text(LEFT, 512, "Quiet Water 2028 · Harbourline Ferries", size=12, colour=GREY)
    page.text(WIDE - LEFT, 512, str(number), size=12, colour=GREY, align="right")


def _title(page: Canvas) -> None:
    page.rect(0, 0, WIDE, HIGH, fill=NAVY)
    page.rect(LEFT, 196, 60, 6, fill=SAND)
    page.text(LEFT, 270, "Quiet Water 2028", size=60, font="bold", colour=WHITE)
    page.text(LEFT, 320, "Strategy for an all-electric harbour", size=26, colour=WHITE)
    page.text(
        LEFT,
        480,
        "Harbourline Ferries · Board meeting, 12 February 2025",
        size=16,
        colour=SAND,
    )


def _today(page: Canvas) -> None:
    _slide(page, 2, "Where we stand")
    for i, (value, name) in enumerate(
        (
            ("5.06 m", "passengers in 2024"),
            ("95.0%", "departures on time"),
            ("4 of 9", "vessels run on batteries"),
        )
    ):
        left = LEFT + i * 280
        page.rect(left, 130, 260, 130, fill=MIST)
        page.rect(left, 130, 6, 130, fill=TEAL)
        page.text(left + 28, 200, value, size=44, font="bold", colour=NAVY)
        page.text(left + 28, 234, name, size=17, colour=GREY)
    for i, line in enumerate(
        (
            "Line D to the Airport Jetty is full on weekday mornings",
            "Avocet and Bittern, both from 2009, need new engines or a buyer by 2026",
            "Gull Island has no charger, so line C still runs on hybrids",
        )
    ):
        page.rect(LEFT, 316 + i * 46, 10, 10, fill=SAND)
        page.text(LEFT + 28, 327 + i * 46, line, size=21)


def _goals(page: Canvas) -> None:
    _slide(page, 3, "Three goals for 2028")
    for i, (value, name, why) in enumerate(
        (
            ("6.5 m", "passengers", "up from 5.06 million"),
            ("97%", "departures on time", "up from 95.0%"),
            ("< 800 t", "carbon dioxide", "down from 2,440 tonnes"),
        )
    ):
        left = LEFT + i * 280
        page.rect(left, 140, 260, 290, fill=(NAVY, TEAL, NAVY)[i])
        page.text(
            left + 130, 190, f"Goal {i + 1}", size=17, font="bold", colour=SAND, align="centre"
        )
        page.text(left + 130, 284, value, size=54, font="bold", colour=WHITE, align="centre")
        page.text(left + 130, 328, name, size=21, colour=WHITE, align="centre")
        page.text(left + 130, 392, why, size=16, colour=WHITE, align="centre")


def _roadmap(page: Canvas) -> None:
    _slide(page, 4, "Roadmap")
    page.path([(LEFT, 262), (WIDE - LEFT, 262)], line=RULE, thick=6)
    for i, (year, lines) in enumerate(
        (
            ("2025", ("Charger at Northpier", "Order for three vessels")),
            ("2026", ("Charger at Gull Island", "Avocet and Bittern sold")),
            ("2027", ("Kestrel and Lapwing", "enter service")),
            ("2028", ("Merlin enters service", "Last hybrid leaves")),
        )
    ):
        middle = LEFT + 102 + i * 205
        page.rect(middle - 12, 250, 24, 24, fill=TEAL)
        page.text(middle, 222, year, size=28, font="bold", colour=NAVY, align="centre")
        page.rect(middle - 92, 304, 184, 96, fill=MIST)
        for row, line in enumerate(lines):
            page.text(middle, 346 + row * 26, line, size=16, align="centre")


def _money(page: Canvas) -> None:
    _slide(page, 5, "What it costs: €48 million")
    bars(page, (LEFT, 124, 560, 230), facts.INVESTMENT, unit=" m", top=34, label=210, size=18)
    page.text(LEFT, 396, "Million euros, 2025 to 2028. The city pays half.", size=16, colour=GREY)
    page.rect(660, 130, 230, 300, fill=MIST)
    page.text(684, 172, "Risks", size=22, font="bold", colour=NAVY)
    for i, line in enumerate(
        (
            "Shipyard delay:",
            "six months",
            "Grid link at Gull Island:",
            "permit still open",
            "Interest:",
            "above 4.5%",
        )
    ):
        page.text(684, 214 + i * 34, line, size=17, font="bold" if i in (0, 2, 4) else "regular")
