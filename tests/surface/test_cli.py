"""What a person or a script sees: the exit codes, the two streams, the JSON contract."""

import json

import pytest


def test_add_prints_a_line_per_document_and_says_what_failed(pagetrail, folder):
    result = pagetrail("add", folder, "--json")
    assert result.code == 3
    rows = {row["document"]: row for row in result.rows}
    assert set(rows) == {str(p) for p in folder.rglob("*.*")}
    for row in result.rows:
        assert list(row) == [
            "document", "status", "reason", "pages", "pages_failed", "seconds",
        ]  # fmt: skip
    broken = rows[str(folder / "broken.pdf")]
    assert broken["status"] == "failed"
    assert broken["reason"]
    assert "\n" not in broken["reason"]
    good = rows[str(folder / "north" / "report.md")]
    assert (good["status"], good["reason"], good["pages"], good["pages_failed"]) == (
        "indexed", "", 1, 0,
    )  # fmt: skip


def test_adding_again_changes_nothing(pagetrail, filled):
    before = pagetrail("list", "--json").rows
    again = pagetrail("add", filled / "north", filled / "south")
    assert again.code == 0
    assert again.err.count("unchanged") == 2
    assert pagetrail("list", "--json").rows == before


def test_only_broken_files_is_a_failure(pagetrail, folder):
    assert pagetrail("add", folder / "broken.pdf").code == 1


def test_nothing_to_add_is_a_usage_error(pagetrail, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert pagetrail("add", empty).code == 2
    missing = pagetrail("add", tmp_path / "missing.pdf")
    assert missing.code in (1, 2)
    assert "missing.pdf" in missing.err


def test_a_link_to_nothing_is_told_and_stops_nothing(pagetrail, folder):
    (folder / "north" / "gone.pdf").symlink_to(folder / "nowhere.pdf")
    (folder / "north" / "loop.pdf").symlink_to(folder / "north" / "loop.pdf")
    result = pagetrail("add", folder / "north", "--json")
    assert result.code == 3
    status = {row["document"]: row["status"] for row in result.rows}
    assert status == {
        str(folder / "north" / "gone.pdf"): "failed",
        str(folder / "north" / "loop.pdf"): "failed",
        str(folder / "north" / "report.md"): "indexed",
    }


def test_a_picture_that_cannot_be_written_is_one_clear_line(pagetrail, filled, tmp_path):
    target = tmp_path / "no" / "such" / "folder" / "page.png"
    result = pagetrail("show", filled / "north" / "report.md", 1, "--image", target)
    assert result.code == 2
    assert str(target) in result.err


def test_search_json_is_the_contract(pagetrail, filled):
    result = pagetrail("search", "How many passengers did the northern line carry?", "--json")
    assert result.code == 0
    (view,) = result.rows
    assert list(view) == ["query", "hits"]
    first = view["hits"][0]
    assert list(first) == ["document", "page", "label", "score", "parts", "via"]
    assert (first["document"], first["page"], first["label"]) == (
        str(filled / "north" / "report.md"), 1, None,
    )  # fmt: skip
    assert all(set(part) == {"raw", "normalised"} for part in first["parts"].values())


def test_ask_json_is_the_contract_and_the_quote_is_on_the_page(pagetrail, filled):
    result = pagetrail("ask", "How many passengers did the northern line carry in 2024?", "--json")
    assert result.code == 0
    (view,) = result.rows
    assert list(view) == [
        "question", "answer", "abstained", "reason", "confidence", "source", "citations",
        "pages_considered", "cost",
    ]  # fmt: skip
    assert [type(view[key]) for key in ("answer", "abstained", "reason", "confidence")] == [
        str, bool, str, float,
    ]  # fmt: skip
    assert view["source"] == "evidence"
    assert list(view["cost"]) == ["calls", "tokens", "seconds", "cache_hits"]
    assert not view["abstained"]
    assert "48,200" in view["answer"]
    (citation, *_) = view["citations"]
    assert list(citation) == ["document", "page", "label", "boxes", "quote", "verified"]
    assert citation["verified"] is True
    assert citation["document"] == str(filled / "north" / "report.md")
    assert "48,200" in citation["quote"]
    for x0, y0, x1, y1 in citation["boxes"]:
        assert 0 <= x0 < x1 <= 1
        assert 0 <= y0 < y1 <= 1


def test_an_unanswerable_question_abstains_with_the_nearest_pages(pagetrail, filled):
    (view,) = pagetrail("ask", "What is the boiling point of tungsten hexafluoride?", "--json").rows
    assert view["abstained"]
    assert view["answer"] == ""
    assert view["source"] == "none"
    assert view["citations"] == []
    assert view["reason"]


def test_many_questions_in_order_and_a_bad_line_stops_nothing(pagetrail, filled, tmp_path):
    file = tmp_path / "questions.jsonl"
    south = str(filled / "south" / "report.md")
    lines = [
        json.dumps({"id": "a", "question": "How many passengers?", "document": south}),
        "{not json",
        json.dumps({"id": "c", "question": "Which vessel is the oldest?"}),
        json.dumps({"id": "d", "question": "anything", "document": "no-such-file.pdf"}),
    ]
    file.write_text("\n".join(lines))
    result = pagetrail("search", "--questions", file, "--json")
    assert result.code == 3
    assert [row["id"] for row in result.rows] == ["a", None, "c", "d"]
    assert {hit["document"] for hit in result.rows[0]["hits"]} == {south}
    assert "line 2" in result.rows[1]["error"]
    assert "no-such-file.pdf" in result.rows[3]["error"]


def test_scope_by_document_and_by_tag(pagetrail, filled):
    assert pagetrail("tag", filled / "north" / "report.md", "--add", "n").code == 0
    again = pagetrail("add", filled / "south", "--tag", "s")
    assert "unchanged" in again.err
    by_tag = pagetrail("search", "passengers", "--tag", "s", "--json").rows[0]["hits"]
    assert {hit["document"] for hit in by_tag} == {str(filled / "south" / "report.md")}
    ambiguous = pagetrail("search", "passengers", "--document", "report.md", "--json")
    assert ambiguous.code == 2
    assert "north" in ambiguous.err
    assert "south" in ambiguous.err
    unknown = pagetrail("search", "passengers", "--tag", "nowhere")
    assert unknown.code == 2


def test_a_removed_document_is_gone_from_every_answer(pagetrail, filled):
    assert pagetrail("remove", filled / "north" / "report.md").code == 0
    hits = pagetrail("search", "northern line passengers Marigold", "--json").rows[0]["hits"]
    assert {hit["document"] for hit in hits} <= {str(filled / "south" / "report.md")}
    assert pagetrail("remove", filled / "north" / "report.md").code == 2


def test_a_replaced_file_never_shows_its_old_text(pagetrail, folder):
    path = folder / "north" / "report.md"
    assert pagetrail("add", folder / "north", folder / "south").code == 0
    path.write_text("# Northern line\n\nService was suspended after the storm of 2025.\n")
    assert pagetrail("add", path).code == 0
    assert "48,200" not in json.dumps(pagetrail("ask", "northern passengers", "--json").rows)
    assert "48,200" not in pagetrail("show", path, 1).out
    assert "storm" in pagetrail("show", path, 1).out
    assert len(pagetrail("list", "--json").rows) == 2


def test_show_and_pictures(pagetrail, filled, tmp_path):
    from PIL import Image

    path = filled / "north" / "report.md"
    assert pagetrail("show", path, "--json").rows[0]["pages"] == 1
    picture, evidence = tmp_path / "page.png", tmp_path / "evidence.png"
    page = pagetrail("show", path, 1, "--json", "--image", picture).rows[0]
    assert "Marigold" in " ".join(block["text"] for block in page["blocks"])
    pagetrail("ask", "What is the oldest vessel?", "--evidence-image", evidence)
    with Image.open(picture) as plain, Image.open(evidence) as drawn:
        assert plain.size == drawn.size
        assert plain.tobytes() != drawn.tobytes()
    assert pagetrail("show", path, 99).code == 2
    assert pagetrail("show", "nothing.pdf").code == 2


def test_doctor_finds_a_sound_library_sound(pagetrail, filled):
    result = pagetrail("doctor", "--json")
    assert result.code == 0
    assert [row for row in result.rows if row["severity"] == "error"] == []


@pytest.mark.parametrize(
    "args",
    [("search", "x"), ("ask", "x"), ("list",), ("doctor",), ("show", "x"), ("remove", "x")],
)
def test_no_library_is_one_clear_line(pagetrail, args):
    result = pagetrail(*args)
    assert result.code == 2
    assert len(result.err.strip().splitlines()) == 1
    assert "library" in result.err


@pytest.mark.parametrize("args", [("ask",), ("ask", ""), ("ask", "   "), ("search",)])
def test_an_empty_question_is_a_usage_error(pagetrail, filled, args):
    assert pagetrail(*args).code == 2


def test_bad_settings_name_the_setting(pagetrail, monkeypatch, filled):
    monkeypatch.setenv("PAGETRAIL_DOCUMENTS__DPI", "5000")
    result = pagetrail("config", "show")
    assert result.code == 2
    assert "documents.dpi" in result.err
