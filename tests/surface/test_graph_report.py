"""``graph report``: what edges reach and what judged pages buy, on labelled questions."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import pagetrail as package
from pagetrail.errors import EndpointError
from pagetrail.testing.chat import ScriptedChat

REPORT = Path(__file__).resolve().parents[2] / "examples" / "annual-report.pdf"
ASKED = [
    ("Why did boats leave late?", [5]),
    ("Which vessels run on batteries, and what did they use?", [6, 7]),
    ("How many passengers travelled on each line?", [4]),
    ("What did crew and energy cost?", [8]),
]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A library with the report; nobody changes it."""
    root = tmp_path_factory.mktemp("shelf")
    shutil.copy(REPORT, root / "report.pdf")
    settings = package.load_settings(documents={"workers": 1, "ocr": False})
    with package.open(root / "library", settings=settings) as library:
        library.add([root / "report.pdf"])
    return root


@pytest.fixture
def library(shelf, tmp_path):
    """The test's own copy, where the command looks for it."""
    shutil.copytree(shelf / "library", tmp_path / "library")
    return tmp_path / "library"


def row(question, pages, **more):
    return {"question": question, "doc": "report.pdf", "evidence_pages": pages, **more}


def write(folder, *rows):
    folder.mkdir(exist_ok=True)
    lines = [line if isinstance(line, str) else json.dumps(line) for line in rows]
    (folder / "questions.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture
def asked(tmp_path):
    """A folder with questions about the report."""
    return write(tmp_path / "asked", *(row(*one) for one in ASKED))


def test_json_is_the_contract(pagetrail, library, asked):
    result = pagetrail("graph", "report", asked, "--least-pages", 2, "--json")
    assert (result.code, result.err) == (0, "")
    (view,) = result.rows
    assert list(view) == [
        "recipe", "questions", "skipped", "asked", "unjudged", "calls", "curves", "reach",
        "documents",
    ]  # fmt: skip
    assert (view["recipe"], view["questions"], view["skipped"]) == ("default", 4, [])
    assert (view["asked"], view["calls"]) == (0, 0)
    perfect, noisy = view["curves"]
    assert (perfect, noisy) == (
        "perfect judge", "judge with 15% of grades off and 5% failed",
    )  # fmt: skip
    points = {(p["method"], p["budget"]): p for p in view["curves"][perfect]}
    assert {method for method, _ in points} == {
        "down", "weigh", "walk", "beam (paper)", "beam (code)",
    }  # fmt: skip
    # Eight pages: a twentieth of them is one page, a quarter two.
    assert [points["walk", share]["judged"] for share in (0.05, 0.25, 1.0)] == [0.125, 0.25, 1.0]
    every = points["walk", 1.0]
    assert (every["recall@3"], every["recall@5"]) == (1.0, 1.0)
    assert every["gain"]["recall@3"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert points["down", 0.1]["gain"] == {}
    assert view["reach"]["all"]["gold"] == 5
    document = view["documents"]["report.pdf"]
    assert list(document) == ["pages", "questions", "degree", "reach"]
    assert (document["pages"], document["questions"]) == (8, 4)
    assert document["degree"]["next"] == 0.875
    assert document["reach"] == view["reach"]


def test_tables_for_a_person(pagetrail, library, asked):
    result = pagetrail("graph", "report", asked, "--least-pages", 2)
    assert result.code == 0
    assert result.out.startswith("4 questions on 1 document, ranking: default\n")
    assert "Recall against pages judged, perfect judge:" in result.out
    lines = [line.split() for line in result.out.splitlines()]
    assert ["100%", "walk", "100.0%"] in [line[:3] for line in lines]
    assert any(line[:1] == ["report.pdf"] for line in lines)


def test_a_folder_gets_tables_and_pictures(pagetrail, library, asked, tmp_path):
    target = tmp_path / "new" / "report"
    result = pagetrail("graph", "report", asked, "--least-pages", 2, "--json", "-o", target)
    assert result.code == 0
    assert result.err == (f"wrote report.json, report.md, curves-1.svg, curves-2.svg to {target}\n")
    assert json.loads((target / "report.json").read_text()) == result.rows[0]
    text = (target / "report.md").read_text()
    assert "![perfect judge](curves-1.svg)" in text
    assert "| report.pdf | all but order | 8 | 4 |" in text
    for name in ("curves-1.svg", "curves-2.svg"):
        assert ET.parse(target / name).getroot().tag.endswith("svg")


def test_wrong_lines_are_told_by_number_and_the_others_count(pagetrail, library, tmp_path):
    data = write(
        tmp_path / "mixed",
        row(*ASKED[0]),
        "{",
        row("Where?", [9]),
        row("Where?", [0]),
        {**row("Where?", [1]), "doc": "other\x1b[31m.pdf"},
        row("Never told?", [], answerable=False),
        row("?" * 10_001, [1]),
    )
    result = pagetrail("graph", "report", data, "--least-pages", 2, "--json")
    assert result.code == 3
    (view,) = result.rows
    assert view["questions"] == 1
    assert [(one["line"], one["wrong"]) for one in view["skipped"]] == [
        (2, True), (3, True), (4, True), (5, True), (6, False), (7, True),
    ]  # fmt: skip
    told = result.err.splitlines()
    assert told[0] == f"{data}, line 2: it is not JSON in UTF-8"
    assert told[1] == f"{data}, line 3: report.pdf has no page 9"
    assert told[2] == f"{data}, line 4: report.pdf has no page 0"
    assert told[3] == f"{data}, line 5: 'other\\x1b[31m.pdf' is not in the library"
    assert told[4].startswith(f"{data}, line 7: ")
    assert told[5] == "left out without evidence to find, or on a document of fewer pages: 1"
    assert len(told) == 6


def test_a_real_judge_is_asked_within_its_limit(pagetrail, library, tmp_path):
    asked = write(tmp_path / "few", row(*ASKED[0]), row(*ASKED[1]))
    run = ("graph", "report", asked, "--least-pages", 2, "--judge", "text", "--json")
    view = pagetrail(*run, "--budget", 2).rows[0]
    points = view["curves"]["judge text, at most 2 pages a question"]
    assert {p["method"] for p in points} == {"down", "weigh", "walk"}
    assert max(p["judged"] for p in points) == 0.25
    # Each of two ways chooses two pages of two questions; no page is judged twice.
    assert 4 <= view["asked"] <= 8
    assert view["calls"] == 0
    view = pagetrail(*run, "--budget", 0).rows[0]
    assert view["asked"] == 16
    assert {p["method"] for p in view["curves"]["judge text"]} >= {"walk", "beam (code)"}


def test_calls_and_failures_of_a_model_are_told(pagetrail, library, tmp_path, monkeypatch):
    asked = write(tmp_path / "few", row(*ASKED[0]))
    says = ["yes", EndpointError("the server is gone"), "no", "no"]
    chat = ScriptedChat(says, concurrency=1)
    with package.open(library, judge=chat) as opened:
        study = opened.study(asked, least=2, judge="yes_no?text", most=4)
    assert study.asked == len(chat.calls) >= 4
    assert study.calls == len(chat.calls)
    assert study.unjudged == 1
    monkeypatch.setattr(package.Library, "study", lambda *_, **__: study)
    result = pagetrail("graph", "report", asked, "--least-pages", 2)
    assert result.code == 3
    assert result.err == f"pages of {study.asked} on which no verdict came: 1\n"
    assert f"{study.asked} pages, with {study.calls} calls to models; 1 without" in result.out


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("nowhere",), 2, "nowhere holds no questions.jsonl"),
        (("{asked}",), 2, "line 1: report.pdf has 8 pages, fewer than 20"),
        (("{asked}", "--judge", "grade"), 2, "no chat model judges pages"),
        (("{asked}", "--judge", "oracle"), 2, "no judge 'oracle'"),
        (("{asked}", "--recipe", "nothing"), 2, "nothing"),
        (("{asked}", "--least-pages", "2", "--channel", "colpali"), 2, "no channel 'colpali'"),
    ],
)
def test_a_wrong_call_is_one_clear_line(pagetrail, library, asked, args, code, said):
    result = pagetrail("graph", "report", *(one.format(asked=asked) for one in args))
    assert (result.code, result.out) == (code, "")
    assert said in result.err
    assert result.err.count("\n") == 1


def test_two_documents_of_one_name_are_not_guessed_at(pagetrail, library, asked, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "report.pdf").write_bytes(REPORT.read_bytes() + b"\n")
    assert pagetrail("add", tmp_path / "more").code == 0
    result = pagetrail("graph", "report", asked, "--least-pages", 2)
    assert result.code == 2
    assert "line 1: 'report.pdf' names 2 documents of the library" in result.err


def test_python_has_the_same_study(pagetrail, library, asked):
    with package.open(library) as opened:
        study = opened.study(asked, least=2)
    assert study.as_json() == pagetrail(
        "graph", "report", asked, "--least-pages", 2, "--json"
    ).rows[0]  # fmt: skip
    with package.open(library) as opened, pytest.raises(package.errors.UsageError, match="share"):
        opened.study(asked, least=2, off=1.5)


def test_help_loads_nothing_heavy():
    code = (
        "import sys; sys.argv = ['pagetrail', 'graph', 'report', '--help']\n"
        "from pagetrail.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert not {'numpy', 'onnxruntime', 'tantivy', 'PIL'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--least-pages" in done.stdout
