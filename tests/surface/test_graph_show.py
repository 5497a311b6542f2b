"""``graph show``: text, JSON, files, and what it refuses."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import pagetrail as package

REPORT = Path(__file__).resolve().parents[2] / "examples" / "annual-report.pdf"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A library with the report and a copy of it; nobody changes it."""
    root = tmp_path_factory.mktemp("shelf")
    for name in ("report.pdf", "again.pdf"):
        shutil.copy(REPORT, root / name)
    settings = package.load_settings(documents={"workers": 1, "ocr": False})
    with package.open(root / "library", settings=settings) as library:
        library.add([root / "report.pdf", root / "again.pdf"])
    return root


@pytest.fixture
def library(shelf, tmp_path):
    """The test's own copy, where the command looks for it."""
    shutil.copytree(shelf / "library", tmp_path / "library")
    return tmp_path / "library"


def test_json_is_the_contract(pagetrail, library, shelf):
    result = pagetrail("graph", "show", "report.pdf", "--json")
    assert (result.code, result.err) == (0, "")
    (view,) = result.rows
    assert list(view) == ["document", "id", "joined", "pages", "edges", "elsewhere", "summary"]
    assert view["document"] == str(shelf / "report.pdf")
    assert view["joined"] is True
    assert [page["page"] for page in view["pages"]] == list(range(1, 9))
    assert list(view["pages"][0]) == ["page", "label", "title"]
    assert list(view["edges"][0]) == ["from", "to", "kind", "weight", "why"]
    assert list(view["elsewhere"][0]) == ["from", "document", "page", "kind", "weight", "why"]
    numbers = view["summary"]
    assert list(numbers) == ["pages", "edges", "elsewhere", "mean_degree", "alone", "components"]
    assert numbers["pages"] == 8
    assert sum(numbers["edges"].values()) == len(view["edges"])
    assert numbers["edges"]["next"] == 7
    assert {"link", "reference", "similar"} <= numbers["edges"].keys()
    twins = [(e["from"], e["page"]) for e in view["elsewhere"] if e["kind"] == "twin"]
    assert (2, 2) in twins
    assert {edge["document"] for edge in view["elsewhere"]} == {str(shelf / "again.pdf")}


def test_text_tells_numbers_and_edges_in_words(pagetrail, library, shelf):
    result = pagetrail("graph", "show", "report.pdf")
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == str(shelf / "report.pdf")
    assert "next 7, " in result.out
    assert "  p. 1  the next page -> p. 2" in lines
    assert any("see Table" in line and " -> p. " in line for line in lines)


def test_one_page_and_some_kinds(pagetrail, library):
    full = pagetrail("graph", "show", "report.pdf", "--json").rows[0]
    args = ("graph", "show", "report.pdf", "--page", 2, "--kind", "link", "--kind", "reference")
    view = pagetrail(*args, "--json").rows[0]
    assert view["edges"] == [
        edge
        for edge in full["edges"]
        if edge["kind"] in ("link", "reference") and 2 in (edge["from"], edge["to"])
    ]
    assert view["elsewhere"] == []
    text = pagetrail(*args).out
    assert text.startswith("page 2")
    assert text.count("\n") == 1 + len(view["edges"])


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("nothing.pdf",), "no document 'nothing.pdf'"),
        (("report.pdf", "--kind", "cousin"), "no kind of edge 'cousin'; there are next, section"),
        (("report.pdf", "--page", "9"), "9 is not one of the 8 pages"),
        (("report.pdf", "--page", "0"), "0 is not one of the 8 pages"),
        (("report.pdf", "--format", "png"), "no format 'png'; there are text, json"),
        (("report.pdf", "--format", "text", "--json"), "--json and --format text"),
        (("report.pdf", "-o", "graph.png"), "graph.png: give --format, or a suffix"),
        (("report.pdf", "-o", "no/such/folder/graph.json"), "cannot be written: No such file"),
    ],
)
def test_a_wrong_call_is_one_clear_line(pagetrail, library, args, said):
    result = pagetrail("graph", "show", *args)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert result.err.count("\n") == 1


def test_files_have_what_would_be_printed(pagetrail, library, tmp_path):
    files = {"g.json": "json", "g.TXT": "text", "g.graphml": "graphml", "g.svg": "svg", "g": "svg"}
    for name, form in files.items():
        printed = pagetrail("graph", "show", "report.pdf", "--format", form).out
        extra = () if "." in name else ("--format", form)
        result = pagetrail("graph", "show", "report.pdf", "-o", tmp_path / name, *extra)
        assert (result.code, result.out) == (0, "")
        assert result.err == f"wrote {tmp_path / name}\n"
        assert (tmp_path / name).read_text() == printed


def test_pictures_and_graphml_go_to_stdout_whole(pagetrail, library):
    for form, tag in (("svg", "svg"), ("graphml", "graphml")):
        result = pagetrail("graph", "show", "report.pdf", "--format", form, "--kind", "reference")
        assert (result.code, result.err) == (0, "")
        root = ET.fromstring(result.out)
        assert root.tag.endswith("}" + tag)
        assert "see Table" in result.out
        assert "the next page" not in result.out


def test_names_that_are_no_text_are_printed(pagetrail, tmp_path):
    odd = tmp_path / "bad\x1b[31m\nname\udce9.md"
    odd.write_text("# Ferries\n\nThe \x1b[31m Marigold sails.\n")
    assert pagetrail("add", odd).code == 0
    (view,) = pagetrail("graph", "show", odd, "--json").rows
    assert view["document"] == str(odd)
    text = pagetrail("graph", "show", odd).out
    assert text.splitlines()[0] == str(tmp_path) + "/bad\\x1b[31m\\nname\\xe9.md"
    assert "\x1b" not in text
    for form in ("svg", "graphml"):
        drawn = pagetrail("graph", "show", odd, "--format", form).out
        assert "\x1b" not in drawn
        ET.fromstring(drawn)


def test_what_waits_for_its_edges_gets_them(pagetrail, library, monkeypatch):
    before = pagetrail("graph", "show", "report.pdf", "--json").rows
    raw = sqlite3.connect(library / "catalogue.db")
    raw.execute("DELETE FROM edges")
    raw.execute("UPDATE graphs SET version = 0")
    raw.commit()
    raw.close()
    with monkeypatch.context() as patch:
        patch.setattr("pagetrail.searching._FEW", 0)  # as if very many documents waited
        result = pagetrail("graph", "show", "report.pdf", "--json")
        assert result.code == 0
        assert "only reading order is known" in result.err
        assert result.rows[0]["joined"] is False
        assert result.rows[0]["summary"]["edges"] == {"next": 7}
    assert pagetrail("graph", "show", "report.pdf", "--json").rows == before


def test_a_document_without_pages_has_no_graph(pagetrail, tmp_path):
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nthis is no document\n")
    pagetrail("add", broken)
    result = pagetrail("graph", "show", broken)
    assert result.code == 2
    assert f"{broken} has no pages: " in result.err


def test_python_has_the_same_graph(pagetrail, library):
    with package.open(library) as opened:
        graph = opened.graph("report.pdf")
        assert opened.view(graph) == pagetrail("graph", "show", "report.pdf", "--json").rows[0]


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['pagetrail', 'graph', 'show', '--help']\n"
        "from pagetrail.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert not {'numpy', 'onnxruntime', 'tantivy', 'PIL'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--format" in done.stdout
