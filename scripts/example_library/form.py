"""refund-form.pdf: a form with boxes, labels and typed values."""

from __future__ import annotations

from .draw import GREY, NAVY, RULE, TEAL
from .pdf import Canvas, Colour, Pdf

LEFT, WIDE = 56.0, 483.0
INK: Colour = (0.1, 0.2, 0.6)


def make() -> bytes:
    """Return the filled form."""
    pdf = Pdf("HF-7 Refund claim")
    page = pdf.page()
    page.rect(LEFT, 50, WIDE, 58, fill=NAVY)
    page.text(LEFT + 18, 85, "Refund claim", size=22, font="bold", colour=(1, 1, 1))
    page.text(
        LEFT + WIDE - 18, 78, "Form HF-7", size=13, font="bold", colour=(1, 1, 1), align="right"
    )
    page.text(LEFT + WIDE - 18, 96, "Harbourline Ferries", size=9, colour=(1, 1, 1), align="right")
    _section(page, 140, "1. Passenger")
    _field(page, 152, 0, 0.5, "Name", "Mara Lindqvist")
    _field(page, 152, 0.5, 0.5, "Claim number", "R-2024-05518")
    _field(page, 196, 0, 0.5, "E-mail", "mara@example.org")
    _field(page, 196, 0.5, 0.5, "Telephone", "555 0142")
    _section(page, 268, "2. Journey")
    _field(page, 280, 0, 0.34, "Date", "9 August 2024")
    _field(page, 280, 0.34, 0.16, "Line", "D")
    _field(page, 280, 0.5, 0.25, "From", "Old Quay")
    _field(page, 280, 0.75, 0.25, "To", "Airport Jetty")
    _field(page, 324, 0, 0.34, "Planned arrival", "07:25")
    _field(page, 324, 0.34, 0.33, "Actual arrival", "08:12")
    _field(page, 324, 0.67, 0.33, "Delay in minutes", "47")
    _section(page, 396, "3. Ticket")
    for i, name in enumerate(("Single", "Day ticket", "30-day pass", "Child single")):
        _tick(page, LEFT + i * 121, 410, name, ticked=i == 1)
    _field(page, 438, 0, 0.34, "Number of tickets", "2")
    _field(page, 438, 0.34, 0.33, "Price of one ticket", "EUR 7.50")
    _field(page, 438, 0.67, 0.33, "Paid in all", "EUR 15.00")
    _section(page, 510, "4. Payment")
    _field(page, 522, 0, 0.67, "Refund to", "Card ending 4471")
    _field(page, 522, 0.67, 0.33, "Date of claim", "11 August 2024")
    _office(page)
    page.text(
        LEFT,
        772,
        "Delay of 30 to 59 minutes: half the fare. 60 minutes or more: the whole fare.",
        size=9,
        colour=GREY,
    )
    return pdf.to_bytes()


def _section(page: Canvas, y: float, title: str) -> None:
    page.text(LEFT, y, title, size=12, font="bold", colour=TEAL)


def _field(page: Canvas, y: float, start: float, share: float, label: str, value: str) -> None:
    """Draw a box at a share of the width with its label above the value."""
    page.rect(LEFT + start * WIDE, y, share * WIDE, 44, line=RULE, thick=1)
    page.text(LEFT + start * WIDE + 8, y + 14, label, size=8, colour=GREY)
    page.text(LEFT + start * WIDE + 8, y + 34, value, size=12, font="typed", colour=INK)


def _tick(page: Canvas, x: float, y: float, name: str, *, ticked: bool) -> None:
    page.rect(x, y, 12, 12, line=NAVY, thick=1)
    if ticked:
        page.path([(x + 2.5, y + 6), (x + 5, y + 9.5), (x + 10, y + 2)], line=INK, thick=1.8)
    page.text(x + 20, y + 10, name, size=10.5)


def _office(page: Canvas) -> None:
    page.rect(LEFT, 590, WIDE, 158, fill=(0.95, 0.96, 0.97))
    page.text(LEFT + 14, 612, "For office use", size=12, font="bold", colour=NAVY)
    for i, (name, ticked) in enumerate((("Approved", True), ("Refused", False))):
        _tick(page, LEFT + 14 + i * 110, 626, name, ticked=ticked)
    for i, (label, value) in enumerate(
        (
            ("Share of the fare", "50 %"),
            ("Refund", "EUR 7.50"),
            ("Decided on", "19 August 2024"),
            ("Decided by", "J. Okafor"),
        )
    ):
        x, y = LEFT + 14 + (i % 2) * 235, 668 + (i // 2) * 42
        page.text(x, y, label, size=8, colour=GREY)
        page.text(x, y + 18, value, size=12, font="typed", colour=INK)
