"""annual-report.pdf: eight born-digital pages with contents, tables, charts, cross references."""

from __future__ import annotations

from . import facts
from .draw import GREY, MIST, NAVY, RULE, SAND, TEAL, bars, columns, curve, table
from .pdf import WHITE, Canvas, Pdf

LEFT, WIDE, RIGHT = 64.0, 467.0, 531.0
CHAPTERS = (
    ("1", "The year in brief", 2),
    ("2", "Passengers", 3),
    ("3", "Punctuality", 4),
    ("4", "Fleet", 5),
    ("5", "Energy and emissions", 6),
    ("6", "Finances", 7),
)


def make() -> bytes:
    """Return the report."""
    pdf = Pdf("Harbourline Ferries: Annual report 2024")
    pdf.labels = "0 << /S /r >> 2 << /S /D >>"
    pdf.outline = [("Contents", 1, 1), *((f"{n} {title}", 1, page) for n, title, page in CHAPTERS)]
    pdf.outline.insert(4, ("3.1 The passenger promise", 2, 4))
    _cover(pdf.page())
    _contents(pdf.page())
    for write in (_brief, _passengers, _punctuality, _fleet, _emissions, _finances):
        write(pdf.page())
    return pdf.to_bytes()


def _cover(page: Canvas) -> None:
    page.rect(0, 0, 595, 842, fill=NAVY)
    page.rect(0, 560, 595, 282, fill=TEAL)
    for row in range(3):
        wave = [(x * 5.95, 560 + row * 34 + 9 * _ripple(x + row * 9)) for x in range(101)]
        page.path(wave, line=(0.35, 0.72, 0.75), thick=2)
    hull = [(330.0, 520.0), (505.0, 520.0), (480.0, 556.0), (352.0, 556.0)]
    page.path(hull, fill=WHITE)
    page.rect(366, 490, 104, 30, fill=SAND)
    page.rect(390, 466, 50, 24, fill=WHITE)
    for i in range(5):
        page.rect(374 + i * 19, 498, 11, 10, fill=NAVY)
    page.text(LEFT, 150, "HARBOURLINE FERRIES", size=15, font="bold", colour=SAND)
    page.text(LEFT, 212, "Annual report", size=46, font="bold", colour=WHITE)
    page.text(LEFT, 264, "2024", size=46, font="bold", colour=WHITE)
    page.text(LEFT, 306, "Five lines, nine vessels, 5.06 million passengers", size=15, colour=WHITE)
    page.text(LEFT, 790, "For the year to 31 December 2024", size=11, colour=WHITE)


def _ripple(x: int) -> float:
    """Return a wave of period 20 made of two parabolas; no library's sine is needed."""
    t = (x % 20) / 10
    return 4 * t * (1 - t) if t < 1 else -4 * (t - 1) * (2 - t)


def _contents(page: Canvas) -> None:
    page.text(LEFT, 110, "Contents", size=26, font="bold", colour=NAVY)
    y = 165.0
    for number, title, target in CHAPTERS:
        page.text(LEFT, y, number, size=12, font="bold", colour=TEAL)
        page.text(LEFT + 26, y, title, size=12)
        page.text(RIGHT, y, str(target - 1), size=12, align="right")
        page.path([(LEFT, y + 9), (RIGHT, y + 9)], line=RULE, thick=0.5)
        page.link(LEFT, y - 14, WIDE, 24, target)
        y += 32
    page.text(LEFT, y + 26, "Tables and figures", size=14, font="bold", colour=NAVY)
    for kind, title, target in (
        ("Figure 1", "Passengers by quarter", 2),
        ("Table 1", "Passengers by line", 3),
        ("Figure 2", "Reasons for late departures", 4),
        ("Table 2", "Vessels in service", 5),
        ("Figure 3", "Carbon dioxide from the fleet", 6),
        ("Table 3", "Income and costs", 7),
    ):
        page.text(LEFT, y + 54, kind, size=10.5, font="bold", colour=TEAL)
        page.text(LEFT + 66, y + 54, title, size=10.5)
        page.text(RIGHT, y + 54, str(target - 1), size=10.5, align="right")
        page.link(LEFT, y + 42, WIDE, 18, target)
        y += 22
    _foot(page, "ii")


def _foot(page: Canvas, label: str) -> None:
    page.path([(LEFT, 790), (RIGHT, 790)], line=RULE, thick=0.6)
    page.text(LEFT, 806, "Harbourline Ferries · Annual report 2024", size=8.5, colour=GREY)
    page.text(RIGHT, 806, label, size=8.5, colour=GREY, align="right")


def _chapter(page: Canvas, at: int) -> float:
    number, title, _ = CHAPTERS[at]
    page.rect(LEFT, 62, 34, 4, fill=SAND)
    page.text(LEFT, 100, f"{number}  {title}", size=22, font="bold", colour=NAVY)
    _foot(page, str(at + 1))
    return 134


def _caption(page: Canvas, y: float, kind: str, text: str) -> None:
    page.text(LEFT, y, kind, size=9.5, font="bold", colour=TEAL)
    page.text(LEFT + 52, y, text, size=9.5, colour=GREY)


def _brief(page: Canvas) -> None:
    y = _chapter(page, 0)
    before, now = facts.passengers()
    y = page.paragraph(
        LEFT,
        y,
        f"In 2024 Harbourline carried {now / 1000:.2f} million passengers, "
        f"{(now - before) / before:.0%} more than the {before / 1000:.2f} million of 2023. Two "
        "new battery vessels, Heron and Ibis, entered service in May and let us retire the last "
        "diesel departures from Old Quay. The year closed with a surplus of €1.6 million, which "
        "goes into shore charging at Gull Island.",
        WIDE,
    )
    numbers = (
        ("5.06 m", "passengers"),
        ("95.0%", "departures on time"),
        ("2,440 t", "carbon dioxide"),
        ("€26.4 m", "income"),
    )
    for i, (value, name) in enumerate(numbers):
        left = LEFT + i * 119
        page.rect(left, y + 6, 110, 74, fill=MIST)
        page.rect(left, y + 6, 3, 74, fill=TEAL)
        page.text(left + 14, y + 48, value, size=20, font="bold", colour=NAVY)
        page.text(left + 14, y + 64, name, size=9, colour=GREY)
    y += 112
    y = page.paragraph(
        LEFT,
        y,
        "Summer remains the busiest season: the third quarter brought almost a third of the "
        "year's journeys (Figure 1). The airport line grew fastest of all; section 2 gives the "
        "numbers line by line.",
        WIDE,
    )
    columns(page, (LEFT + 34, y + 28, WIDE - 44, 290), facts.QUARTERS, top=2000, step=500)
    _caption(page, y + 360, "Figure 1", "Passengers by quarter in 2024, in thousands")


def _passengers(page: Canvas) -> None:
    y = _chapter(page, 1)
    y = page.paragraph(
        LEFT,
        y,
        "All five lines grew. Line D to the Airport Jetty gained most, up 31%, after the "
        "timetable was matched to the first and last flights. Line A remains the backbone of the "
        "network with 2.31 million passengers. Table 1 compares the two years.",
        WIDE,
    )
    rows = [["Line", "Route", "2023", "2024", "Change", "On time"]]
    for line, name, before, now, on_time in facts.LINES:
        change = f"+{(now - before) / before:.1%}"
        rows.append([line, name, f"{before:,}", f"{now:,}", change, f"{on_time}%"])
    before, now = facts.passengers()
    rows.append(["All", "", f"{before:,}", f"{now:,}", f"+{(now - before) / before:.1%}", "95.0%"])
    _caption(page, y + 20, "Table 1", "Passengers by line, in thousands, and departures on time")
    y = table(page, LEFT, y + 32, rows, (42, 165, 65, 65, 65, 65), total=True)
    page.text(LEFT, y + 48, "Who travels", size=13, font="bold", colour=NAVY)
    y = page.paragraph(
        LEFT,
        y + 72,
        "A survey of 3,800 passengers in October shows that 58% travel to work or to school, 27% "
        "for leisure, 9% to the airport and 6% for other reasons. Nine in ten reach the pier on "
        "foot, by bicycle or by tram.",
        WIDE,
    )
    bars(
        page,
        (LEFT, y + 12, WIDE, 160),
        (("Work or school", 58), ("Leisure", 27), ("Airport", 9), ("Other", 6)),
        unit="%",
        top=60,
    )


def _punctuality(page: Canvas) -> None:
    y = _chapter(page, 2)
    y = page.paragraph(
        LEFT,
        y,
        "A departure counts as on time when it leaves within three minutes of the timetable. In "
        "2024 that was so for 95.0% of departures, after 93.6% in 2023. Line C to Gull Island, "
        "which crosses open water, was the least punctual at 91.2%; the night line was the best "
        "at 97.9% (see Table 1). Figure 2 shows why boats left late.",
        WIDE,
    )
    bars(page, (LEFT, y + 8, WIDE, 190), facts.DELAYS, unit="%", top=40)
    _caption(page, y + 222, "Figure 2", "Reasons for late departures in 2024, share of all delays")
    y += 270
    page.text(LEFT, y, "3.1  The passenger promise", size=14, font="bold", colour=NAVY)
    y = page.paragraph(
        LEFT,
        y + 22,
        "Whoever arrives late gets money back. The refund is paid to the card used for the "
        "purchase within 14 days of the claim.",
        WIDE,
    )
    rows = [
        ["Delay on arrival", "Refund of the fare"],
        ["30 to 59 minutes", "50%"],
        ["60 minutes or more", "100%"],
        ["Cancelled, no later boat that day", "100% and taxi up to €40"],
    ]
    y = table(page, LEFT, y + 4, rows, (230, 237))
    page.paragraph(
        LEFT,
        y + 26,
        "In 2024 we paid 6,120 claims, €21,900 in all. Claims are made with form HF-7.",
        WIDE,
    )


def _fleet(page: Canvas) -> None:
    y = _chapter(page, 3)
    seats = sum(v[2] for v in facts.FLEET)
    y = page.paragraph(
        LEFT,
        y,
        f"Nine vessels with {seats:,} seats serve the lines (Table 2). Four run on batteries "
        "alone, three are diesel-electric hybrids and two, Avocet and Bittern, are diesel boats "
        "that will be sold in 2026. Heron and Ibis, the largest, seat 300 each.",
        WIDE,
    )
    rows = [["Vessel", "Since", "Drive", "Home pier", "Seats"]]
    rows += [[name, str(since), drive, home, str(n)] for name, since, n, drive, home in facts.FLEET]
    rows.append(["All nine", "", "", "", f"{seats:,}"])
    _caption(page, y + 20, "Table 2", "Vessels in service on 31 December 2024")
    y = table(page, LEFT, y + 32, rows, (110, 80, 100, 107, 70), total=True)
    page.text(LEFT, y + 48, "Safety", size=13, font="bold", colour=NAVY)
    page.paragraph(
        LEFT,
        y + 72,
        "Every hull is inspected once a year at the Saltmarsh yard. All nine vessels passed in "
        "2024; Curlew passed with two conditions, both closed by the end of March. There were no "
        "injuries to passengers that needed hospital care.",
        WIDE,
    )


def _emissions(page: Canvas) -> None:
    y = _chapter(page, 4)
    y = page.paragraph(
        LEFT,
        y,
        "The fleet emitted 2,440 tonnes of carbon dioxide, 20% less than in 2023 and 42% less "
        "than in 2020 (Figure 3). The battery vessels used 7.9 gigawatt hours of electricity, "
        "all from the city's wind farm. Diesel use fell from 1.14 to 0.91 million litres.",
        WIDE,
    )
    points = [(str(year), tonnes) for year, tonnes in facts.EMISSIONS]
    curve(page, (LEFT + 34, y + 24, WIDE - 44, 280), points, top=5000, step=1000)
    _caption(page, y + 346, "Figure 3", "Carbon dioxide from the fleet, in tonnes a year")
    page.text(LEFT, y + 400, "What comes next", size=13, font="bold", colour=NAVY)
    page.paragraph(
        LEFT,
        y + 424,
        "The target for 2028 is less than 800 tonnes. It depends on three more battery vessels "
        "and on fast chargers at Northpier and Gull Island; section 6 says how they are paid for.",
        WIDE,
    )


def _finances(page: Canvas) -> None:
    y = _chapter(page, 5)
    y = page.paragraph(
        LEFT,
        y,
        "Income rose to €26.4 million and costs to €24.8 million, which leaves a surplus of €1.6 "
        "million after €0.2 million in 2023 (Table 3). Fares brought €14.2 million, or €2.81 a "
        "passenger. Energy was the only cost to fall, by 12%, because electricity replaced "
        "diesel.",
        WIDE,
    )
    rows = [["Million euros", "2023", "2024"]]
    for items, name in ((facts.INCOME, "Income"), (facts.COSTS, "Costs")):
        rows += [[item, f"{a:.1f}", f"{b:.1f}"] for item, a, b in items]
        rows.append([f"{name}, total", *(f"{value:.1f}" for value in facts.total(items))])
    pairs = zip(facts.total(facts.INCOME), facts.total(facts.COSTS), strict=True)
    rows.append(["Surplus", *(f"{a - b:.1f}" for a, b in pairs)])
    _caption(page, y + 20, "Table 3", "Income and costs in 2023 and 2024")
    y = table(page, LEFT, y + 32, rows, (267, 100, 100), total=True)
    page.text(LEFT, y + 48, "Investment", size=13, font="bold", colour=NAVY)
    page.paragraph(
        LEFT,
        y + 72,
        "From 2025 to 2028 we plan to invest €48 million: €31 million in vessels, €11 million in "
        "shore charging, €4 million in terminals and €2 million in digital services. The city "
        "pays half; the rest comes from a loan over 20 years and from our own surplus.",
        WIDE,
    )
