"""The numbers that the sample documents share, so that they agree with each other."""

from __future__ import annotations

YEAR = 2024

# (line, name, thousand passengers in 2023, in 2024, per cent of departures on time in 2024)
LINES = (
    ("A", "Old Quay – Northpier", 2140, 2310, 96.1),
    ("B", "Old Quay – Saltmarsh", 1265, 1342, 94.8),
    ("C", "Northpier – Gull Island", 688, 751, 91.2),
    ("D", "Old Quay – Airport Jetty", 412, 538, 95.5),
    ("E", "Night line, all piers", 95, 119, 97.9),
)
QUARTERS = (("Q1", 980), ("Q2", 1340), ("Q3", 1620), ("Q4", 1120))
DELAYS = (
    ("Fog and strong wind", 38),
    ("Technical faults", 24),
    ("Boarding and luggage", 21),
    ("Harbour traffic", 11),
    ("Other", 6),
)
# (name, in service since, seats, drive, home pier)
FLEET = (
    ("Avocet", 2009, 180, "diesel", "Saltmarsh"),
    ("Bittern", 2009, 180, "diesel", "Saltmarsh"),
    ("Curlew", 2014, 220, "hybrid", "Northpier"),
    ("Dunlin", 2014, 220, "hybrid", "Northpier"),
    ("Egret", 2019, 250, "hybrid", "Old Quay"),
    ("Fulmar", 2021, 250, "battery", "Old Quay"),
    ("Gannet", 2022, 250, "battery", "Old Quay"),
    ("Heron", 2024, 300, "battery", "Old Quay"),
    ("Ibis", 2024, 300, "battery", "Northpier"),
)
EMISSIONS = ((2020, 4180), (2021, 3900), (2022, 3520), (2023, 3050), (2024, 2440))  # tonnes
# (item, 2023, 2024) in million euros
INCOME = (
    ("Fares", 12.5, 14.2),
    ("City contract", 9.4, 9.6),
    ("Freight and parcels", 1.6, 1.7),
    ("Advertising and rents", 0.9, 0.9),
)
COSTS = (
    ("Crew", 10.6, 11.1),
    ("Energy and fuel", 5.2, 4.6),
    ("Maintenance", 3.9, 4.3),
    ("Terminals", 2.7, 2.9),
    ("Administration", 1.8, 1.9),
)
FARES = (
    ("Single", "EUR 3.20", 41),
    ("30-day pass", "EUR 62.00", 34),
    ("Day ticket", "EUR 7.50", 17),
    ("Child single", "EUR 1.60", 8),
)
INVESTMENT = (
    ("New battery vessels", 31),
    ("Shore charging", 11),
    ("Terminals", 4),
    ("Digital services", 2),
)  # million euros, 2025 to 2028


def total(rows: tuple[tuple[str, float, float], ...]) -> tuple[float, float]:
    """Return the sums of a money table for 2023 and 2024, in million euros."""
    return round(sum(row[1] for row in rows), 1), round(sum(row[2] for row in rows), 1)


def passengers() -> tuple[int, int]:
    """Return all passengers of 2023 and of 2024, in thousands."""
    return sum(row[2] for row in LINES), sum(row[3] for row in LINES)
