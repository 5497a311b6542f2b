"""The Python interface: strings are names, misuse is a UsageError, the documented example runs."""

import re
from pathlib import Path

import pytest

import pagetrail
from pagetrail.errors import NotFoundError, UsageError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def library(filled, tmp_path):
    with pagetrail.open(tmp_path / "library") as library:
        yield library


def test_the_documented_example_runs_as_written(filled, tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "python.md").read_text()
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    (tmp_path / "reports").symlink_to(filled / "north")
    (tmp_path / "library").rename(tmp_path / "my-library")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/python.md", "exec"), {})
    assert "reports/report.md indexed" in capsys.readouterr().out


def test_one_string_is_one_name_and_not_its_letters(library, filled):
    north = str(filled / "north" / "report.md")
    assert library.tag(north, add="ferry").tags == {"ferry"}
    library.add(north, tags="line", passwords="secret")
    assert library.document(north).tags == {"ferry", "line"}
    assert [d.source for d in library.documents(tags="line")] == [north]
    assert library.search("passengers", tags="line").hits
    assert library.search("passengers", documents=north).hits
    assert library.tag(north, remove="ferry").tags == {"line"}


def test_misuse_is_told_before_any_work(library, filled):
    page = library.search("Marigold").hits[0].page
    for call in (
        lambda: library.search("Marigold", limit=0),
        lambda: library.page_image(page, dpi=0),
        lambda: library.page_image(page, dpi=10_000),
        lambda: library.add(filled, tags=["ok", " "]),
    ):
        with pytest.raises(UsageError):
            call()
    for unknown in ("nonsense", page + "9", "0" * 16 + "#p0001"):
        with pytest.raises(NotFoundError):
            library.page_image(unknown)


def test_a_closed_library_says_that_it_is_closed(library):
    library.search("Marigold")
    library.close()
    library.close()
    for call in (lambda: library.search("x"), library.documents, library.doctor):
        with pytest.raises(UsageError, match="closed"):
            call()


def test_reading_an_unfinished_run_of_add_goes_on(library, tmp_path, filled):
    run = library.add_iter([filled / "north", filled / "south"])
    assert next(run).unchanged
    assert library.search("Marigold").hits
    run.close()
    assert library.add(filled / "south")[0].unchanged
