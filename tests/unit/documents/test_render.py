"""PDFs: words where their ink is, whatever the rotation and crop; outline, links, passwords."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from pagetrail.documents.pixels import MAX_SIDE, pixel_size
from pagetrail.documents.raw import HYPHEN, INVISIBLE, UNMAPPED
from pagetrail.documents.render import PdfFile
from pagetrail.errors import DamagedError, PageError, PasswordError

WORDS = {"Alpha": (60, 330), "gypsy": (170, 330), "QUARTZ": (60, 200), "jig,": (150, 110)}


def write(tmp_path, data, name="a.pdf"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def words(raw):
    return {word.text: word for line in raw.lines for word in line}


def ink(image):
    return image.min(axis=2) < 160


def area(word, image, margin=1):
    height, width = image.shape[:2]
    rows = slice(max(0, int(word.y0 * height) - margin), int(word.y1 * height) + 1 + margin)
    columns = slice(max(0, int(word.x0 * width) - margin), int(word.x1 * width) + 1 + margin)
    return rows, columns


def check_cover(raw, image):
    """Every word's box holds ink, and no ink stands outside the boxes."""
    marks = ink(image)
    outside = marks.copy()
    for word in words(raw).values():
        where = area(word, image)
        assert marks[where].any(), word
        outside[where] = False
    assert marks.any()
    assert not outside.any()


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, (40, 90, 260, 360), (-50, 180, 900, 380)])
def test_boxes_cover_words_on_rotated_and_cropped_pages(pdf, tmp_path, rotation, crop):
    more = f"/Rotate {rotation}"
    if crop:
        more += " /CropBox [{} {} {} {}]".format(*crop)
    pdf.page(300, 400, more)
    for text, (x, y) in WORDS.items():
        pdf.text(x, y, text)
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        raw = file.read(1)
        image = file.image(1, dpi=144, max_pixels=10**7)
    left, bottom, right, top = crop or (0, 0, 300, 400)
    width, height = min(right, 300) - max(left, 0), min(top, 400) - max(bottom, 0)
    if rotation in (90, 270):
        width, height = height, width
    assert (raw.width, raw.height, raw.rotation) == (width, height, rotation)
    assert image.shape == (round(height * 2), round(width * 2), 3)
    shown = {t for t, (x, y) in WORDS.items() if bottom <= y < top}
    assert set(words(raw)) == shown
    assert all(word.turn == rotation for word in words(raw).values())
    check_cover(raw, image)


@pytest.mark.parametrize(
    ("matrix", "turn"),
    [
        ("0 1 -1 0 100 100", 270),
        ("0 -1 1 0 100 300", 90),
        ("-1 0 0 -1 200 200", 180),
        ("0.94 0.34 -0.34 0.94 80 150", 0),
    ],
)
def test_boxes_cover_text_that_is_turned_on_the_page(pdf, tmp_path, matrix, turn):
    pdf.page().text(0, 0, "Sideways", matrix=matrix)
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        raw, image = file.read(1), file.image(1, dpi=144, max_pixels=10**7)
    assert words(raw)["Sideways"].turn == turn
    check_cover(raw, image)


def test_size_is_that_displayed(pdf, tmp_path):
    pdf.page().text(0, 0, "Scaled", size=2, matrix="9 0 0 9 50 200")
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        assert words(file.read(1))["Scaled"].size == pytest.approx(18)


def test_invisible_words_are_marked(pdf, tmp_path):
    pdf.page().text(50, 300, "Seen").text(50, 200, "Hidden", mode=3)
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        raw = file.read(1)
    assert not words(raw)["Seen"].flags & INVISIBLE
    assert words(raw)["Hidden"].flags & INVISIBLE
    assert raw.invisible_share == pytest.approx(0.6)


def test_a_word_broken_at_a_line_end_is_two_words_with_boxes_of_their_own(pdf, tmp_path):
    pdf.page().text(50, 300, "Some infor-").text(50, 275, "mation here")
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        raw, image = file.read(1), file.image(1, dpi=144, max_pixels=10**7)
    assert [[w.text for w in line] for line in raw.lines] == [
        ["Some", "infor-"],
        ["mation", "here"],
    ]
    assert words(raw)["infor-"].flags & HYPHEN
    assert words(raw)["infor-"].y1 < words(raw)["mation"].y1 - 0.04
    check_cover(raw, image)


def test_pictures_are_measured_where_text_is_short(pdf, tmp_path):
    draw = "q 150 0 0 400 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 /F /AHx ID 80> EI Q"  # left half
    pdf.page().draw(draw).page().text(9, 9, "x")
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        assert file.read(1).image_cover == pytest.approx(0.5, abs=0.02)
        assert file.read(1).has_paths
        assert file.read(2).image_cover == 0
        assert not file.read(2).has_paths


def test_outline_ends_though_its_entries_lead_in_a_circle(pdf, tmp_path):
    pdf.page().page()
    one = pdf.first_extra
    second = f"/Dest [{pdf.reference(2)} /Fit]"
    first = f"/A << /S /GoTo /D [{pdf.reference(1)} /Fit] >>"
    pdf.catalog = f"/Outlines {one} 0 R"
    pdf.extra = [
        f"<< /First {one + 1} 0 R /Last {one + 2} 0 R >>",
        f"<< /Title (One) /Parent {one} 0 R /Next {one + 2} 0 R /First {one + 3} 0 R {second} >>",
        f"<< /Title (Two) /Parent {one} 0 R /Next {one + 1} 0 R >>",
        f"<< /Title (Under  \\(one\\)) /Parent {one + 1} 0 R /First {one + 1} 0 R {first} >>",
    ]
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        found = [(e.title, e.level, e.page) for e in file.outline]
    assert found == [("One", 1, 2), ("Under (one)", 2, 1), ("Two", 1, 0)]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_links_stand_where_they_are_displayed(pdf, tmp_path, rotation):
    pdf.page(300, 400, f"/Rotate {rotation} /CropBox [0 100 300 400] /Annots [8 0 R 9 0 R]").page()
    pdf.extra = [
        f"<< /Subtype /Link /Rect [60 330 120 350] /Dest [{pdf.reference(2)} /Fit] >>",
        "<< /Subtype /Link /Rect [0 100 9 109] /A << /S /URI /URI (http://example.org) >> >>",
    ]
    assert pdf.first_extra == 8
    pdf.pages[0]["content"] = "0 g 60 330 60 20 re f"
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        raw, image = file.read(1), file.image(1, dpi=144, max_pixels=10**7)
    (link,) = raw.links
    assert link.target == 2
    marks = ink(image)
    rows, columns = area(link.box, image)
    assert marks[rows, columns].mean() > 0.9
    marks[rows, columns] = False
    assert not marks.any()


def test_links_to_other_files_keep_the_name_and_a_page_given_by_number(pdf, tmp_path):
    pdf.page(300, 400, "/Annots [6 0 R 7 0 R 8 0 R 9 0 R 10 0 R]")
    rect = "/Subtype /Link /Rect [0 0 9 9]"
    pdf.catalog = f"/Dests << /here [{pdf.reference(1)} /Fit] >>"
    actions = [
        "/S /GoToR /F (../sub/other.pdf) /D [4 /Fit]",
        "/S /GoToR /F (other.pdf) /D (here)",
        "/S /Launch /F (table.xlsx)",
        "/S /URI /URI (other%20one.pdf#page=3)",
        "/S /URI /URI (http://example.org/a.pdf#page=3)",
    ]
    pdf.extra = [f"<< {rect} /A << {action} >> >>" for action in actions]
    assert pdf.first_extra == 6
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        found = [(link.target, link.file) for link in file.read(1).links]
    assert found == [(5, "other.pdf"), (0, "other.pdf"), (0, "table.xlsx"), (3, "other one.pdf")]


def test_labels_title_and_metadata(pdf, tmp_path):
    pdf.page().page().page()
    pdf.catalog = "/PageLabels << /Nums [0 << /S /r >> 2 << /S /D /P (A-) /St 101 >>] >>"
    pdf.info = f"/Info {pdf.first_extra} 0 R"
    pdf.extra = ["<< /Title (Annual \\t report) /Author (Someone) /CreationDate (D:2020) >>"]
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        assert [file.label(n) for n in (1, 2, 3)] == ["i", "ii", "A-101"]
        assert file.title == "Annual report"
        assert file.metadata == {"author": "Someone", "creation_date": "D:2020"}


def test_a_label_that_is_the_number_is_no_label(pdf, tmp_path):
    pdf.page()
    pdf.catalog = "/PageLabels << /Nums [0 << /S /D >>] >>"
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        assert file.label(1) is None
        assert file.read(1).label is None


def test_annotations_and_filled_forms_are_drawn(pdf, tmp_path):
    pdf.page(more="/Annots [6 0 R]")
    where = "/Rect [50 200 200 230] /F 4 /AP << /N 7 0 R >>"
    drawn = "0 g 0 0 150 30 re f"
    pdf.catalog = "/AcroForm << /Fields [6 0 R] >>"
    pdf.extra = [
        f"<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Filled) {where} >>",
        f"<< /Subtype /Form /BBox [0 0 150 30] /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
    ]
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        assert ink(file.image(1, dpi=72, max_pixels=10**6))[175:195, 60:190].all()


@pytest.mark.parametrize("rotation", [0, 90])
def test_values_of_form_fields_are_words(pdf, tmp_path, rotation):
    pdf.page(300, 400, f"/Rotate {rotation} /Annots [6 0 R 7 0 R]").text(50, 300, "Name:")
    fonts = "/DA (/F1 12 Tf) /DR << /Font << /F1 3 0 R >> >>"
    pdf.catalog = f"/AcroForm << /Fields [6 0 R 7 0 R] {fonts} >>"
    field = "/Type /Annot /Subtype /Widget /FT /Tx /DA (/F1 12 Tf 0 g)"
    pdf.extra = [
        f"<< {field} /T (a) /V (Ada Lovelace) /Rect [120 295 280 315] /F 4 >>",
        f"<< {field} /T (b) /V (secret) /Rect [50 100 200 120] /F 2 >>",  # hidden
    ]
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        raw = file.read(1)
        image = file.image(1, dpi=144, max_pixels=10**7)
    assert [[w.text for w in line] for line in raw.lines] == [["Name:"], ["Ada", "Lovelace"]]
    if rotation == 0:
        assert all(ink(image)[area(w, image)].any() for w in words(raw).values())
    ada = words(raw)["Ada"]
    left, top = (120 / 300, 85 / 400) if rotation == 0 else (295 / 400, 120 / 300)
    assert (ada.x0, ada.y0) == pytest.approx((left, top), abs=1e-5)


def test_garbage_before_the_header_is_passed_over(pdf, tmp_path):
    pdf.page().text(50, 300, "Found")
    for length in (700, 5000):
        path = write(tmp_path, b"\0rubbish\n" * (length // 9) + pdf.data())
        with PdfFile(path, "a.pdf") as file:
            assert "Found" in words(file.read(1))


def test_what_cannot_be_read_says_why(pdf, tmp_path):
    with pytest.raises(DamagedError, match=r"^a\.pdf: not a readable PDF"):
        PdfFile(write(tmp_path, b"%PDF-1.4\nnothing\n%%EOF"), "a.pdf")
    pdf.page()
    with (
        PdfFile(write(tmp_path, pdf.data()), "b.pdf") as file,
        pytest.raises(PageError, match=r"^b\.pdf, page 2: the file has 1 pages"),
    ):
        file.read(2)


def test_picture_sizes_are_bounded_at_both_ends():
    assert pixel_size(612, 792, 150, 10**8) == (1275, 1650)
    assert pixel_size(3, 3, 10, 10**8) == (1, 1)
    for size in ((595, 2**31), (2**31, 1), (14400, 14400), (0, 0), (300, 14000)):
        width, height = pixel_size(*size, 600, 1_000_000)
        assert width >= 1
        assert height >= 1
        assert width * height <= 1_000_000
        assert max(width, height) <= MAX_SIDE


def test_a_giant_page_is_drawn_within_the_cap(pdf, tmp_path):
    pdf.page(14000, 300).text(50, 50, "wide").page(3, 3)
    with PdfFile(write(tmp_path, pdf.data()), "a.pdf") as file:
        image = file.image(1, dpi=300, max_pixels=200_000)
        assert image.shape[0] * image.shape[1] <= 200_000
        assert file.image(2, dpi=20, max_pixels=200_000).shape == (1, 1, 3)


@pytest.fixture
def stress():
    folder = Path(os.environ.get("PAGETRAIL_DATA", "")) / "stress"
    if not os.environ.get("PAGETRAIL_DATA") or not folder.is_dir():
        pytest.skip("PAGETRAIL_DATA names no folder with stress files")
    return folder


@pytest.mark.data
def test_passwords_of_all_ages_open_their_files(stress):
    with (stress / "manifest.jsonl").open() as lines:
        locked = [row for row in map(json.loads, lines) if row.get("password")]
    assert len(locked) >= 7
    for row in locked:
        with pytest.raises(PasswordError, match="give the password"):
            PdfFile(stress / row["file"], row["file"])
        with pytest.raises(PasswordError, match="none of the given passwords"):
            PdfFile(stress / row["file"], row["file"], ["wrong"])
        with PdfFile(stress / row["file"], row["file"], ["wrong", row["password"]]) as file:
            assert file.page_count == row["pages_with_password"]


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    [
        "pdfjs__rotation.pdf",
        "pdfjs__hello_world_rotated.pdf",
        "qpdf__inherited-rotate.pdf",
        "pdfium__rotated_text_90.pdf",
        "pdfminersix__issue-449-vertical.pdf",
        "pdfjs__simpletype3font.pdf",
        "pdfium__text_render_mode.pdf",
        "sample-files__multicolumn.pdf",
    ],
)
def test_ink_of_real_pages_lies_in_word_boxes(stress, name):
    with PdfFile(stress / name, name) as file:
        for number in range(1, min(file.page_count, 2) + 1):
            raw, image = file.read(number), file.image(number, dpi=100, max_pixels=10**7)
            marks = ink(image)
            outside = marks.copy()
            covered = 0
            found = [word for line in raw.lines for word in line]
            for word in found:
                covered += bool(marks[area(word, image)].any())
                outside[area(word, image)] = False
            assert covered >= 0.95 * len(found)
            if marks.any():
                assert outside.sum() <= 0.05 * marks.sum()


@pytest.mark.data
def test_fonts_without_mapping_are_told(stress):
    with PdfFile(stress / "ocrmypdf__type3_font_nomapping.pdf", "x") as file:
        raw = file.read(1)
    flags = [word.flags for line in raw.lines for word in line]
    assert not flags or all(flag & UNMAPPED for flag in flags)
    assert np.isfinite(raw.unmapped_share)
