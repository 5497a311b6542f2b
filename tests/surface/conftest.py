"""The command line run in this process: arguments in, exit code and both streams out."""

import json
import sys
from dataclasses import dataclass

import pytest

from pagetrail.cli import main


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def rows(self):
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def pagetrail(capsys, monkeypatch, tmp_path):
    """Return a function that runs ``pagetrail ARGS`` on a library in the test's own folder."""
    monkeypatch.setenv("PAGETRAIL_LIBRARY", str(tmp_path / "library"))
    monkeypatch.setenv("PAGETRAIL_DOCUMENTS__WORKERS", "1")

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["pagetrail", *map(str, args)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def folder(tmp_path):
    """A folder of small documents about ferries, one of them broken."""
    root = tmp_path / "documents"
    (root / "north").mkdir(parents=True)
    (root / "south").mkdir()
    (root / "north" / "report.md").write_text(
        "# Northern line\n\nThe northern line carried 48,200 passengers in 2024.\n\n"
        "## Fleet\n\nThe oldest vessel is the Marigold, built in 1987.\n"
    )
    (root / "south" / "report.md").write_text(
        "# Southern line\n\nThe southern line carried 91,700 passengers in 2024.\n"
    )
    (root / "broken.pdf").write_bytes(b"%PDF-1.7\nthis is no document\n")
    return root
