"""A hundred kills during `add`: what does the library lose? (It should lose nothing.)"""

# ruff: noqa: T201  (a bench talks to the terminal)
from __future__ import annotations

import argparse
import tempfile
from dataclasses import asdict
from pathlib import Path

from crash import kill_repeatedly, write_documents


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--documents", type=int, default=30)
    parser.add_argument("--longest", type=float, default=12.0, help="seconds a run may live")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        documents = Path(root) / "documents"
        write_documents(documents, options.documents)
        losses = kill_repeatedly(
            Path(root) / "library", documents, kills=options.kills, seed=7, longest=options.longest
        )
    print("  ".join(f"{name}: {value}" for name, value in asdict(losses).items()))
    print("nothing was lost" if losses.none else "SOMETHING WAS LOST")


if __name__ == "__main__":
    main()
