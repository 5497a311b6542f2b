"""LibreOffice from outside: found or not, slow, silent; and HTML that fetches nothing."""

from __future__ import annotations

import os
import time

import pytest

from pagetrail.documents import office
from pagetrail.errors import DamagedError, LimitError, UnsupportedError


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Install a script as LibreOffice."""

    def install(body):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        script = folder / "soffice"
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    return install


@pytest.fixture
def given(tmp_path):
    path = tmp_path / "letter.bin"
    path.write_bytes(b"content")
    return path


def convert(path, tmp_path, seconds=20.0, suffix="docx"):
    folder = tmp_path / "scratch"
    folder.mkdir(exist_ok=True)
    return office.convert(path, "letter.docx", suffix, folder=folder, seconds=seconds)


MAKES_PDF = """
for last; do :; done
out=$(echo "$*" | sed 's/.*--outdir \\([^ ]*\\).*/\\1/')
echo "$* $HOME $http_proxy" > "$out/../call"
cp "$last" "$out/input.pdf"
"""


def test_the_result_is_kept_and_made_once(program, given, tmp_path):
    program(MAKES_PDF)
    made = convert(given, tmp_path)
    assert made.read_bytes() == b"content"
    call = (tmp_path / "scratch" / "call").read_text()
    assert f"-env:UserInstallation=file://{tmp_path}/scratch/profile" in call
    assert "input.docx" in call
    assert call.split()[-1] == "http://127.0.0.1:9"
    program("exit 1")
    assert convert(given, tmp_path) == made


def test_a_hanging_conversion_ends_with_all_its_processes(program, given, tmp_path):
    program(f"sleep 300 & echo $! > {tmp_path}/child; sleep 300")
    started = time.monotonic()
    with pytest.raises(LimitError, match=r"^letter\.docx: LibreOffice did not finish within 0.5 s"):
        convert(given, tmp_path, seconds=0.5)
    assert time.monotonic() - started < 10
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and alive(child):
        time.sleep(0.05)
    assert not alive(child)


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("body", ["exit 0", "exit 77", "kill -SEGV $$"])
def test_no_result_is_a_damaged_file(program, given, tmp_path, body):
    program(body)
    with pytest.raises(DamagedError, match="could not convert"):
        convert(given, tmp_path)


def test_absence_names_the_program_and_how_to_get_it(given, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(office, "_PLACES", ())
    with pytest.raises(UnsupportedError, match=r"PPTX files .* LibreOffice, .* apt install"):
        convert(given, tmp_path, suffix="pptx")


def test_html_is_handed_over_without_anything_to_fetch(program, tmp_path):
    program(MAKES_PDF)
    page = tmp_path / "page"
    page.write_text('<html><body><p>Grüße<img src="http://x.example/a.png"></p></body></html>')
    made = convert(page, tmp_path, suffix="html").read_text()
    assert "Grüße" in made
    assert "x.example" not in made


HOSTILE = """<!DOCTYPE html><html><head><base href="http://evil.example/">
<link rel=stylesheet href="http://evil.example/a.css"><style>@import url(http://evil.example/b)</style>
<meta http-equiv="refresh" content="0;url=http://evil.example/c">
<script src="//evil.example/d.js">document.write("x")</script></head>
<body background="http://evil.example/e" style="background:url('http://evil.example/f')">
<h1 onclick="fetch('http://evil.example/g')">A &lt;heading&gt;</h1>
<p>Text with <a href="http://evil.example/h">a link</a> &amp; more.
<img src="http://evil.example/i.png" srcset="http://evil.example/j 2x" alt="a chart">
<img src="file:///etc/passwd"><img src="data:image/png;base64,AAAA">
<img src="data:image/svg+xml,<svg><image href='http://evil.example/k'/></svg>">
<svg><image href="http://evil.example/l"/><text>drawn</text></svg>
<iframe src="http://evil.example/m">inside</iframe><object data="http://evil.example/n"></object>
<video poster="http://evil.example/o"><source src="http://evil.example/p"></video>
<input type=image src="http://evil.example/q"><embed src="http://evil.example/r">
<table background="http://evil.example/s">
<tr><td colspan="2">Cell</td></tr></table></body></html>"""


def test_a_page_keeps_its_words_and_loses_its_links():
    clean = office.without_resources(HOSTILE)
    assert "evil" not in clean
    assert "passwd" not in clean
    for words in ("<h1>A &lt;heading&gt;</h1>", "a link &amp; more", "a chart", '<td colspan="2">'):
        assert words.replace("a link ", "") in clean or words in clean
    assert 'src="data:image/png;base64,AAAA"' in clean
    assert "inside" not in clean


def test_unbalanced_tags_lose_nothing_that_follows():
    clean = office.without_resources("<p>one</script></svg><b>two</p><script>x</script>three")
    for word in ("one", "two", "three"):
        assert word in clean
    assert "x" not in clean.replace("doctype", "").replace("charset", "")


@pytest.mark.slow
@pytest.mark.skipif(office.find_office() is None, reason="LibreOffice is not installed")
def test_the_real_program_converts(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<html><body><h1>Heading</h1><p>Words of the page.</p></body></html>")
    made = convert(page, tmp_path, seconds=120.0, suffix="html")
    assert made.read_bytes().startswith(b"%PDF-")
    assert os.listdir(tmp_path / "scratch" / "out") == []
