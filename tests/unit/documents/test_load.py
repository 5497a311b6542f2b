"""From paths to open documents."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from pagetrail.config import DocumentSettings
from pagetrail.documents import office
from pagetrail.documents.load import find_files, open_source
from pagetrail.errors import LimitError, NotFoundError, UnsupportedError
from pagetrail.ports import Reading
from pagetrail.types import Box, Word

SETTINGS = DocumentSettings()


class Reader:
    """Reads one fixed word and remembers the pictures it was given."""

    def __init__(self):
        self.seen = []

    def read(self, image):
        self.seen.append(image)
        return Reading(((Word("RECOGNISED", Box(0.1, 0.1, 0.5, 0.2)),),), confidence=0.9)


def test_files_come_in_order_of_names_without_hidden_ones(tmp_path):
    for name in ("b/2.pdf", "b/10.pdf", "a.txt", ".hidden/x.pdf", "b/.secret", "c/d/e.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = [str(path.relative_to(tmp_path)) for path in find_files([tmp_path])]
    assert found == ["a.txt", "b/10.pdf", "b/2.pdf", "c/d/e.png"]
    # What is named is taken, hidden or not, once per naming.
    named = [tmp_path / "b" / ".secret", str(tmp_path / "a.txt"), tmp_path / "b" / ".secret"]
    assert [p.name for p in find_files(named)] == [".secret", "a.txt", ".secret"]


def test_loops_of_links_end(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").touch()
    (tmp_path / "real" / "up").symlink_to(tmp_path)
    (tmp_path / "again").symlink_to(tmp_path / "real")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert [p.name for p in find_files([tmp_path])] == ["a.txt", "self"]


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(NotFoundError, match="nowhere: there is no such file"):
        list(find_files([tmp_path / "nowhere"]))


def test_a_text_layer_is_read_without_ocr(pdf, tmp_path):
    text = "The annual report states that the company sold many more machines than the year before"
    pdf.page(600, 400)
    for row in range(6):
        pdf.text(20, 350 - 30 * row, text, size=12)
    path = tmp_path / "a.bin"
    path.write_bytes(pdf.data())
    reader = Reader()
    with open_source(path, "a.bin", settings=SETTINGS) as source:
        page = source.page("doc", 1, reader)
        assert source.image(1, dpi=72, max_pixels=10**6).shape == (400, 600, 3)
    assert page.id == "doc#p0001"
    assert page.text_source == "layer"
    assert "company sold many more machines" in " ".join(page.text.split())
    assert reader.seen == []


def test_a_page_without_text_is_read_by_ocr_at_the_resolution_set(pdf, tmp_path):
    pdf.page(200, 100).draw("0 g 10 10 100 50 re f")
    pdf.draw("q 200 0 0 100 0 0 cm BI /W 2 /H 1 /CS /G /BPC 8 /F /AHx ID 80 90> EI Q")
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf.data())
    reader = Reader()
    with open_source(path, "a.pdf", settings=DocumentSettings(dpi=144)) as source:
        page = source.page("doc", 1, reader)
        silent = source.page("doc", 1, None)
    assert [image.shape for image in reader.seen] == [(200, 400, 3)]
    assert page.text == "RECOGNISED"
    assert page.text_source == "ocr"
    assert silent.blocks == ()
    assert "switched off" in silent.notes[-1]


def test_pictures_are_read_in_their_own_pixels_and_blank_ones_not_at_all(tmp_path):
    picture = Image.new("RGB", (120, 80), "white")
    path = tmp_path / "a.pdf"  # misnamed on purpose
    reader = Reader()
    picture.save(path, "PNG")
    with open_source(path, "a.pdf", settings=SETTINGS) as source:
        assert source.page("doc", 1, reader).blocks == ()
    assert reader.seen == []
    ImageDraw.Draw(picture).rectangle((0, 0, 50, 50), fill="black")
    picture.save(path, "PNG", dpi=(300, 300))
    with open_source(path, "a.pdf", settings=SETTINGS) as source:
        page = source.page("doc", 1, reader)
    assert np.array_equal(reader.seen[0], np.asarray(picture))
    assert page.text == "RECOGNISED"
    assert page.width == pytest.approx(120 * 72 / 300, rel=0.01)


def test_markdown_pages(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("# Results\n\nSee Table 2.\n")
    with open_source(path, "notes.md", settings=SETTINGS) as source:
        page = source.page("doc", 1, None)
        assert source.title == "Results"
        assert source.image(1, dpi=50, max_pixels=10**6).min() < 100
    assert page.blocks[0].kind == "heading"
    assert ("table", "2") in [(r.kind, r.key) for r in page.references]
    assert page.text_source == "layer"


def test_limits_and_missing_programs(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("words " * 100)
    with (
        pytest.raises(LimitError, match="max_file_bytes"),
        open_source(path, "a.txt", settings=DocumentSettings(max_file_bytes=10)),
    ):
        pass
    path.write_text("{\\rtf1 hello}")
    monkeypatch.setattr(office, "find_office", lambda: None)
    with (
        pytest.raises(UnsupportedError, match="LibreOffice"),
        open_source(path, "a.txt", settings=SETTINGS),
    ):
        pass
