"""What a file is, by its content alone."""

from __future__ import annotations

import os
import zipfile

import pytest

from pagetrail.documents.sniff import sniff
from pagetrail.errors import DamagedError, DocumentError, UnsupportedError

WAYS = [
    (b"%PDF-1.4\n1 0 obj", "pdf", "pdf"),
    (b"\0\1\2garbage" * 200 + b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\nstartxref", "pdf", "pdf"),
    (b"\xff\xd8\xff\xe0\0\x10JFIF", "image", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "image", "PNG"),
    (b"RIFF\0\0\0\0WEBPVP8 ", "image", "WEBP"),
    (b"\0\0\0\x1cftypavif", "image", "AVIF"),
    (b"II*\0\x08\0\0\0", "image", "TIFF"),
    (b"BM" + b"\0" * 12 + b"\x28\0\0\0", "image", "BMP"),
    (b"P5\n# a comment\n4 4\n255\n", "image", "PPM"),
    (b"BMW makes cars.\nThey have wheels.", "text", "utf-8"),
    (b"PDF files begin with %PDF-1.4, as everyone knows.", "text", "utf-8"),
    (b"{\\rtf1\\ansi hello}", "office", "rtf"),
    (b"\xef\xbb\xbf\n <!-- a -->\n<!-- b --> <!DOCTYPE html><html>", "office", "html"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "PowerPoint Document".encode("utf-16-le"),
        "office",
        "ppt",
    ),
    ("naïve résumé".encode(), "text", "utf-8"),
    ("naïve résumé".encode("latin-1"), "text", "cp1252"),
    ("\ufeffnaïve".encode(), "text", "utf-8-sig"),
    ("\ufeffnaïve".encode("utf-16-le"), "text", "utf-16"),
    ("plain words without a mark".encode("utf-16-be"), "text", "utf-16-be"),
    (("é" * 40_000).encode()[:-1], "text", "utf-8"),
]


@pytest.mark.parametrize(("data", "family", "name"), WAYS, ids=lambda v: str(v)[:24])
def test_content_tells_the_kind(tmp_path, data, family, name):
    path = tmp_path / "misnamed.exe"
    path.write_bytes(data)
    kind = sniff(path, "misnamed.exe")
    assert (kind.family, kind.format) == (family, name)


@pytest.mark.parametrize(
    ("member", "content", "name"),
    [
        ("word/document.xml", "", "docx"),
        ("ppt/presentation.xml", "", "pptx"),
        ("xl/workbook.xml", "", "xlsx"),
        ("mimetype", "application/vnd.oasis.opendocument.text", "odt"),
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet", "ods"),
    ],
)
def test_office_archives_are_told_by_their_parts(tmp_path, member, content, name):
    path = tmp_path / "file.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
    assert sniff(path, "x").format == name


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x1f\x8b\x08\0\0\0", "gzip"),
        (b"SQLite format 3\0\0\0", "SQLite"),
        (b"\x7fELF\x02\x01\x01\0\0", "a program"),
        (os.urandom(64) + b"\0\1\2\3" * 50, "not a kind of file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
    ],
)
def test_what_is_not_read_is_named(tmp_path, data, words):
    path = tmp_path / "report.pdf"
    path.write_bytes(data)
    with pytest.raises(UnsupportedError, match=rf"^shown\.pdf: .*{words}"):
        sniff(path, "shown.pdf")


def test_plain_archives_and_damaged_ones(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "hello")
    with pytest.raises(UnsupportedError, match="unpack it"):
        sniff(path, "a.zip")
    path.write_bytes(b"PK\x03\x04" + b"\0" * 40)
    with pytest.raises(DamagedError, match="damaged"):
        sniff(path, "a.zip")


def test_empty_absent_and_odd_files(tmp_path):
    empty = tmp_path / "empty.pdf"
    empty.touch()
    with pytest.raises(DamagedError, match="the file is empty"):
        sniff(empty, "empty.pdf")
    with pytest.raises(DocumentError):
        sniff(tmp_path / "absent", "absent")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnsupportedError, match="not a regular file"):
        sniff(tmp_path / "pipe", "pipe")
