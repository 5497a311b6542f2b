"""Odd names, odd questions, damaged libraries: one clear line each, and nothing else is lost."""

import json
import os
import shutil
import sys

import pytest

ODD = os.fsencode("odd \x1b[31mred\nline\ttab ") + b"\xe9.md"


@pytest.fixture
def odd(stock, pagetrail, tmp_path):
    """A library that holds a file whose name has controls, a line break and a stray byte."""
    path = os.fsencode(tmp_path) + b"/" + ODD
    shutil.copy(stock / "documents" / "north" / "report.md", path)
    shutil.copytree(stock / "library", tmp_path / "library")
    name = os.fsdecode(path)
    result = pagetrail("add", name, "--json")
    assert result.code == 0, result.err
    assert [row["document"] for row in result.rows] == [name]
    return name


def test_any_file_name_survives_json_and_is_shown_in_one_line(pagetrail, odd):
    assert odd in {row["document"] for row in pagetrail("list", "--json").rows}
    (hits,) = pagetrail("search", "Marigold", "--document", odd, "--json").rows
    assert hits["hits"][0]["document"] == odd
    listed = pagetrail("list").out
    assert listed.count("\n") == 3
    assert "\\x1b[31mred\\nline\\ttab \\xe9.md" in listed
    ask = ("ask", "Which vessel is the oldest?", "--document", odd)
    for args in (("search", "Marigold"), ask, ("show", odd)):
        shown = pagetrail(*args).out
        assert "\x1b" not in shown
        assert "\\nline\\ttab" in shown


def test_a_locale_that_lacks_a_character_stops_nothing(pagetrail, odd, monkeypatch):
    def latin(*args):
        monkeypatch.setattr(sys.stdout, "_encoding", "latin-1", raising=False)
        sys.stdout.reconfigure(encoding="latin-1", errors="strict")
        return pagetrail(*args)

    result = latin("search", "€ Marigold", "--json")
    assert result.code == 0
    assert result.rows[0]["query"] == "€ Marigold"
    assert latin("list").code == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u00a0b\u3000c", "a\u00a0b\u3000c"),  # spaces
        ("می\u200cخواهم", "می\u200cخواهم"),  # Persian needs the joiner
        ("a\u202eb", "a\\u202eb"),  # would turn the rest of the line round
        ("a\x9b31mb\r", "a\\x9b31mb\\x0d"),
        ("\udce9", "\\xe9"),
        ("北線 Ω", "北線 Ω"),
    ],
)
def test_what_a_terminal_would_obey_is_made_visible(text, shown):
    from pagetrail.cli.output import clean

    assert clean(text) == shown


def test_a_library_inside_the_folder_is_not_added_to_itself(pagetrail, tmp_path, stock):
    shutil.copytree(stock / "documents" / "south", tmp_path / "south")
    for _ in range(2):
        result = pagetrail("add", tmp_path, "--json")
        assert result.code == 0
        assert [row["document"] for row in result.rows] == [str(tmp_path / "south" / "report.md")]


@pytest.mark.parametrize("args", [("add", ""), ("add", "x.md", "--tag", " "), ("remove", "")])
def test_empty_names_mean_nothing(pagetrail, filled, args):
    assert pagetrail(*args).code == 2


def test_removing_twice_in_one_call_removes_once(pagetrail, filled):
    path = filled / "north" / "report.md"
    assert len(pagetrail("remove", path, path, "--json").rows) == 1


def test_an_unreadable_file_stops_no_other(pagetrail, filled, monkeypatch):
    # Root may read everything, so the system's refusal is played.
    from pagetrail import ingest

    def refuse(path):
        if "north" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    real = ingest.file_stamp
    monkeypatch.setattr(ingest, "file_stamp", refuse)
    result = pagetrail("add", filled / "north", filled / "south", "--json")
    assert result.code == 3
    assert [row["reason"] for row in result.rows] == ["Permission denied", ""]


def test_odd_lines_of_a_question_file_are_told_one_by_one(pagetrail, filled, tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_bytes(
        b'\xef\xbb\xbf{"id": "bom", "question": "Which vessel is the oldest?"}\r\n\n'
        b'{"id": 1, "question": "Marigold", "document": ["x"]}\n'
        b'{"id": 2, "question": " "}\n'
        b'{"id": 3}\n'
        b"[1]\n"
        b"\xff\xfe\n"
        b'{"id": 4, "question": "Marigold \\ud800 \\u0000"}\n'
        b'{"id": 5, "question": "Marigold", "document": ""}\n'
        b'{"question": "Marigold", "document": null, "answer": "not ours"}\n'
    )
    result = pagetrail("search", "--questions", file)
    assert result.code == 3
    assert [row["id"] for row in result.rows] == ["bom", 1, 2, 3, None, None, 4, 5, "10"]
    good = [row["id"] for row in result.rows if "hits" in row]
    assert good == ["bom", 4, "10"]
    assert all(set(row) == {"id", "error"} for row in result.rows if row["id"] not in good)
    assert all(set(row) == {"id", "query", "hits"} for row in result.rows if row["id"] in good)


def test_a_question_file_without_questions_says_so(pagetrail, filled, tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text("\n\n")
    result = pagetrail("ask", "--questions", file)
    assert (result.code, result.out) == (0, "")
    assert "no question" in result.err
    assert pagetrail("ask", "--questions", tmp_path).code == 2
    assert pagetrail("ask", "x", "--questions", file).code == 2


def test_a_question_is_taken_in_any_script_and_to_a_limit(pagetrail, filled):
    for text in ("كم عدد الركاب؟", "北线运送了多少名乘客", "\udcff Marigold", 'AND OR ("x:* '):
        assert pagetrail("ask", text, "--json").code == 0
    assert pagetrail("search", "why " * 2_500).code == 0
    refused = pagetrail("search", "why " * 2_501)
    assert refused.code == 2
    assert "10,000" in refused.err


def test_an_answer_stays_when_its_picture_cannot_be_drawn(pagetrail, filled, tmp_path, stock):
    path = shutil.copy(stock / "documents" / "south" / "report.md", tmp_path / "fare.md")
    path.write_text("# Fares\n\nThe fare to Holm is 14 crowns.\n")
    assert pagetrail("add", path).code == 0
    path.unlink()
    result = pagetrail(
        "ask", "What is the fare to Holm?", "--evidence-image", tmp_path / "e.png", "--json"
    )
    assert result.code == 3
    assert "14 crowns" in result.rows[0]["answer"]
    assert "no longer at" in result.err
    assert pagetrail("show", path, 1).code == 0
    assert pagetrail("show", path, 1, "--image", tmp_path / "e.png").code == 2


def test_a_failed_document_says_why_it_has_no_pages(pagetrail, folder):
    pagetrail("add", folder / "broken.pdf")
    assert "broken.pdf" in pagetrail("list").out
    result = pagetrail("show", folder / "broken.pdf", 1)
    assert result.code == 2
    assert "damaged" in result.err


def test_a_password_is_taken_whole_from_the_environment(pagetrail, folder, monkeypatch):
    from pagetrail.library import Library

    given = []
    monkeypatch.setattr(
        Library, "add_iter", lambda _, paths, **rest: given.append(rest["passwords"]) or iter(())
    )
    monkeypatch.setenv("PAGETRAIL_PASSWORD", "open sesame")
    pagetrail("add", folder)
    pagetrail("add", folder, "--password", "a b", "--password", "c")
    assert given == [["open sesame"], ["a b", "c"]]


DAMAGE = {
    "short vectors": lambda root: [os.truncate(p, 100) for p in root.glob("segments/*.codes.npy")],
    "no vectors": lambda root: shutil.rmtree(root / "segments"),
    "junk words": lambda root: [p.write_text("junk") for p in root.glob("lexical/*/meta.json")],
    "no words": lambda root: shutil.rmtree(root / "lexical"),
    "no pictures": lambda root: shutil.rmtree(root / "pages"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_doctor_mends_what_can_be_made_again(pagetrail, filled, tmp_path, kind):
    DAMAGE[kind](tmp_path / "library")
    found = pagetrail("doctor", "--json")
    assert found.code == any(row["severity"] == "error" for row in found.rows)
    assert pagetrail("doctor", "--repair").code == 0
    assert pagetrail("add", filled / "north", filled / "south").code == 0
    again = pagetrail("doctor", "--json")
    assert (again.code, again.rows) == (0, [])
    hits = pagetrail("search", "oldest vessel Marigold", "--json").rows[0]["hits"]
    assert hits[0]["document"] == str(filled / "north" / "report.md")
    assert {"pages", "dense"} <= set(hits[0]["parts"])


@pytest.mark.parametrize("content", [b"", b"junk" * 1000])
def test_a_lost_catalogue_is_never_taken_for_an_empty_library(pagetrail, filled, tmp_path, content):
    (tmp_path / "library" / "catalogue.db").write_bytes(content)
    for args in (("list",), ("search", "x"), ("doctor", "--repair"), ("add", filled / "north")):
        result = pagetrail(*args)
        assert (result.code, result.out) == (1, "")
        assert "backup" in result.err


def test_a_newer_library_is_refused_and_left_alone(pagetrail, filled, tmp_path):
    manifest = tmp_path / "library" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 99}))
    before = manifest.read_bytes()
    for args in (("list",), ("doctor", "--repair"), ("add", filled / "north")):
        result = pagetrail(*args)
        assert result.code == 1
        assert "newer" in result.err
    assert manifest.read_bytes() == before


@pytest.mark.parametrize("place", ["documents", "a file", "x" * 300])
def test_a_place_that_cannot_be_a_library_is_one_line(pagetrail, folder, tmp_path, place):
    (tmp_path / "a file").write_text("text")
    result = pagetrail("add", folder / "north", "--library", tmp_path / place)
    assert result.code == 1
    assert len(result.err.splitlines()) == 1


def test_two_writers_get_a_clear_message_and_readers_none(pagetrail, filled, tmp_path):
    import pagetrail as package

    with package.open(tmp_path / "library") as library, library._writing():
        refused = pagetrail("remove", filled / "north" / "report.md")
        assert refused.code == 1
        assert "writing" in refused.err
        assert pagetrail("search", "Marigold").code == 0
        assert pagetrail("list").code == 0


def test_ctrl_c_says_what_was_kept(pagetrail, filled, monkeypatch):
    from pagetrail.library import Library

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Library, "add_iter", stop)
    result = pagetrail("add", filled / "north")
    assert result.code == 130
    assert "kept" in result.err


@pytest.mark.parametrize("name", ["PAGETRAIL_DOCUMENT__DPI", "PAGETRAIL_DOCUMENTS__DIP"])
def test_unknown_settings_in_the_environment_are_refused(pagetrail, monkeypatch, name):
    monkeypatch.setenv(name, "200")
    result = pagetrail("config", "show")
    assert result.code == 2
    assert "dip" in result.err or name in result.err


def test_settings_shown_can_be_kept_as_a_file(pagetrail, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pagetrail.toml").write_text(pagetrail("config", "show").out)
    assert pagetrail("config", "show").code == 0
