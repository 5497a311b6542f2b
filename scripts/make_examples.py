"""Write the sample library: ``python scripts/make_examples.py [FOLDER]``, default ``examples``.

The same files come out every time; nothing is downloaded. Content and numbers are invented.
"""

from __future__ import annotations

import sys
from pathlib import Path

from example_library import form, pictures, report, slides

NOTES = """# Winter timetable: notes from the crew meeting

Old Quay, 3 December 2024. Present: Ines Falk (operations), J. Okafor (customer care),
four captains.

## Decisions

- From 6 January 2025 line A runs every 12 minutes at rush hour, before: every 15.
- The last boat of line C leaves Gull Island at 22:40.
- The night line keeps its 40-minute rhythm.
- Lost property moves to the kiosk at Northpier, open 07:00 to 19:00.

## Open

- Who tests the new gangway at the Airport Jetty? Answer by 20 December.
- Captains ask for heated shelters at Saltmarsh; cost about 18,000 euros.
"""


def main(folder: Path) -> None:
    """Write the six files into a folder, which is made when it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "annual-report.pdf": report.make(),
        "inspection-scan.pdf": pictures.scan(),
        "notes.md": NOTES.encode(),
        "refund-form.pdf": form.make(),
        "strategy-slides.pdf": slides.make(),
        "ticket-infographic.png": pictures.infographic(),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("examples"))
