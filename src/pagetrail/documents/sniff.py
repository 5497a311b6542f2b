"""What a file is, told by its content; the suffix is never trusted."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..errors import DamagedError, DocumentError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FileKind", "sniff"]

Family = Literal["pdf", "image", "office", "text"]

_SAMPLE = 1 << 16
_PDF_REACH = 1 << 20
_PDF_HEADER = re.compile(rb"%PDF-\d\.\d")

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG2000"),
    (b"\xff\x4f\xff\x51", "JPEG2000"),
)
_REFUSED = (
    (b"\x1f\x8b", "a gzip archive; unpack it and add its files"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it and add its files"),
    (b"Rar!\x1a\x07", "a RAR archive; unpack it and add its files"),
    (b"AT&TFORM", "a DjVu file; save it as PDF"),
    (b"%!PS", "a PostScript file; save it as PDF"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
)
_OFFICE_PARTS = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"))
_ODF = {"text": "odt", "presentation": "odp", "spreadsheet": "ods", "graphics": "odg"}
_OLE_STREAMS = (("WordDocument", "doc"), ("PowerPoint Document", "ppt"), ("Workbook", "xls"))
_HTML_START = re.compile(rb"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileKind:
    """Family of formats, and the format: a Pillow name, a suffix without dot, or an encoding."""

    family: Family
    format: str


def sniff(path: Path, source: str) -> FileKind:
    """Return what a file is.

    Args:
        path: Where the bytes are.
        source: The path as the user gave it, for messages.

    Raises:
        UnsupportedError: It is nothing that Pagetrail reads.
        DamagedError: It is empty.
        DocumentError: It cannot be opened.
    """
    try:
        if not path.is_file():
            raise UnsupportedError(source, "not a regular file")
        with path.open("rb") as stream:
            head = stream.read(_PDF_REACH)
    except OSError as error:
        raise DocumentError(source, f"cannot be opened: {error.strerror or error}") from error
    if not head:
        raise DamagedError(source, "the file is empty")
    kind = _pdf(head) or _image(head) or _packed(path, source, head)
    for start, words in _REFUSED if kind is None else ():
        # Some of these are letters with which a text may begin too.
        if head.startswith(start) and (start != b"MZ" or b"\0" in head):
            raise UnsupportedError(source, f"this is {words}")
    kind = kind or _text(head)
    if kind is not None:
        return kind
    raise UnsupportedError(source, "not a kind of file that can be read")


def _pdf(head: bytes) -> FileKind | None:
    """A header anywhere near the start counts, but not where a text only speaks of PDF."""
    if head.startswith(b"%PDF-"):
        return FileKind("pdf", "pdf")
    found = _PDF_HEADER.search(head)
    if found and (b" obj" in head[found.start() :] or b"startxref" in head[found.start() :]):
        return FileKind("pdf", "pdf")
    return None


def _image(head: bytes) -> FileKind | None:
    for start, name in _IMAGES:
        if head.startswith(start) and not (name == "BMP" and not _is_bitmap(head)):
            return FileKind("image", name)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return FileKind("image", "WEBP")
    if head[4:8] == b"ftyp" and head[8:12] in (b"avif", b"avis"):
        return FileKind("image", "AVIF")
    if re.match(rb"P[1-6][\s#]", head) and b"\n" in head[:200] and re.search(rb"\d", head[2:200]):
        return FileKind("image", "PPM")
    return None


def _is_bitmap(head: bytes) -> bool:
    """Two letters prove little: the size of the header that follows is checked too."""
    return int.from_bytes(head[14:18], "little") in (12, 16, 40, 52, 56, 64, 108, 124)


def _packed(path: Path, source: str, head: bytes) -> FileKind | None:
    """Office files: ZIP and OLE containers, RTF, flat OpenDocument, HTML."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip(path, source)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _ole(source, head)
    if head.startswith(b"{\\rtf"):
        return FileKind("office", "rtf")
    start = head[:_SAMPLE].removeprefix(b"\xef\xbb\xbf").lstrip()
    while start.startswith(b"<!--") and b"-->" in start:
        start = start.partition(b"-->")[2].lstrip()
    if _HTML_START.match(start):
        return FileKind("office", "html")
    if b"<office:document" in start[:2000]:
        return FileKind("office", "fodt")
    return None


def _zip(path: Path, source: str) -> FileKind:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()[:100_000]
            mime = archive.read("mimetype")[:200] if "mimetype" in names[:5] else b""
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        raise DamagedError(source, "a damaged ZIP or office file; save it again") from error
    for part, suffix in _OFFICE_PARTS:
        if any(name.startswith(part) for name in names):
            return FileKind("office", suffix)
    text = mime.decode("ascii", "replace")
    for word, suffix in _ODF.items():
        if text.startswith(f"application/vnd.oasis.opendocument.{word}"):
            return FileKind("office", suffix)
    if "epub" in text:
        raise UnsupportedError(source, "this is an EPUB book; save it as PDF")
    raise UnsupportedError(source, "this is a ZIP archive; unpack it and add its files")


def _ole(source: str, head: bytes) -> FileKind:
    if "EncryptedPackage".encode("utf-16-le") in head:
        raise UnsupportedError(source, "an encrypted office file; save it without a password")
    for stream, suffix in _OLE_STREAMS:
        if stream.encode("utf-16-le") in head:
            return FileKind("office", suffix)
    return FileKind("office", "doc")


def _text(head: bytes) -> FileKind | None:
    """Any sane encoding: marked by its first bytes, UTF-8, UTF-16 by its zeros, or Windows."""
    sample = head[:_SAMPLE]
    for mark, name in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe\0\0", "utf-32"),
        (b"\0\0\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if sample.startswith(mark):
            return FileKind("text", name)
    if b"\0" in sample:
        for name, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[0::2])):
            if (
                len(zeros) >= 8
                and zeros.count(0) > 0.4 * len(zeros)
                and sample.count(0) <= 0.6 * len(sample)
            ):
                return FileKind("text", name)
        return None
    odd = sum(sample.count(byte) for byte in range(32) if byte not in (8, 9, 10, 12, 13, 27))
    if odd > 0.01 * len(sample):
        return None
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        # The sample's last character may be cut; anything earlier means another encoding.
        if error.start < len(sample) - 4:
            high = sum(byte > 0x7F for byte in sample)
            return FileKind("text", "cp1252") if high < 0.4 * len(sample) else None
    return FileKind("text", "utf-8")
