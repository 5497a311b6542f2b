"""The command line run in this process: arguments in, exit code and both streams out.

Filling a library starts worker processes and takes seconds, so one is filled for all tests; each
test that asks for `filled` works on a copy of it.
"""

import json
import shutil
import sys
from dataclasses import dataclass

import pytest

import pagetrail as package
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


def write_documents(root):
    """Write small documents about ferries into a folder, one of them broken."""
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


@pytest.fixture
def folder(tmp_path):
    """A folder of documents that the test may change; nothing of it is added."""
    root = tmp_path / "documents"
    write_documents(root)
    return root


@pytest.fixture(scope="session")
def stock(tmp_path_factory):
    """Documents and a library that holds those of north and south; nobody changes either."""
    root = tmp_path_factory.mktemp("stock")
    write_documents(root / "documents")
    settings = package.load_settings(documents={"workers": 1})
    with package.open(root / "library", settings=settings) as library:
        library.add([root / "documents" / "north", root / "documents" / "south"])
    return root


@pytest.fixture
def filled(stock, tmp_path):
    """The stock's documents, which the test must not change, with a library that it may."""
    shutil.copytree(stock / "library", tmp_path / "library")
    return stock / "documents"
