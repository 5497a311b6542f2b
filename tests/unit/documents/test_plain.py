"""Text and Markdown: the picture shows each word in the box that is told."""

from __future__ import annotations

import time

import pytest

from pagetrail.documents.pieces import columns
from pagetrail.documents.plain import PlainFile
from pagetrail.errors import PageError

MARKDOWN = """# The title

Some *running* text with a [link](http://example.org/x) and `code`, long enough that it has to be
wrapped around the end of its row, which makes at least two rows of it.

## Second heading

- first
- second, with ![a picture](http://example.org/p.png)
  1. inner

| Name | Value |
| --- | --- |
| Alpha | 12.5 % |
| A name that is so long that it needs more than a single row in its cell | 7 |

```
def f(x):
    return x
```
"""


def text_file(tmp_path, text, name="a.txt", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return PlainFile(path, name, encoding)


def test_markdown_becomes_blocks_of_kinds(tmp_path):
    file = text_file(tmp_path, MARKDOWN, "a.md")
    assert file.page_count == 1
    blocks = file.blocks(1)
    assert [(b.kind, b.level) for b in blocks] == [
        ("heading", 1),
        ("paragraph", 0),
        ("heading", 2),
        ("list", 0),
        ("list", 0),
        ("list", 0),
        *[("table_row", 0)] * 3,
        ("paragraph", 0),
    ]
    texts = [b.text for b in blocks]
    assert texts[0] == "The title"
    assert "a link and code, long" in texts[1]
    assert texts[4] == "• second, with a picture"
    assert texts[5] == "1. inner"
    assert blocks[7].lines() == ["Alpha", "12.5 %"]
    assert blocks[8].lines()[1] == "7"
    assert blocks[9].lines() == ["def f(x):", "return x"]
    assert [(e.title, e.level, e.page) for e in file.outline] == [
        ("The title", 1, 1),
        ("Second heading", 2, 1),
    ]
    assert file.title == "The title"
    assert [b.order for b in blocks] == list(range(len(blocks)))


@pytest.mark.parametrize("dpi", [60, 100, 150])
def test_words_are_drawn_inside_their_boxes(tmp_path, dpi):
    text = MARKDOWN + "\nnaïve résumé Ångström наука ÄÖÜ gjpqy|() 漢字テスト العربية end\n"
    file = text_file(tmp_path, text, "a.md")
    image = file.image(1, dpi=dpi, max_pixels=10**8)
    marks = image.min(axis=2) < 160
    height, width = marks.shape
    left = marks.copy()
    for block in file.blocks(1):
        for word in block.words:
            rows = slice(int(word.box.y0 * height) - 1, int(word.box.y1 * height) + 2)
            across = slice(int(word.box.x0 * width) - 1, int(word.box.x1 * width) + 2)
            assert marks[rows, across].any(), word
            left[rows, across] = False
    assert not left.any()


def test_plain_text_keeps_lines_columns_and_paragraphs(tmp_path):
    file = text_file(tmp_path, "one\ttwo\nthree   four\n\nfive\n")
    first, second = file.blocks(1)
    assert first.lines() == ["one two", "three four"]
    assert first.words[1].box.x0 == pytest.approx(first.words[3].box.x0, abs=0.001)
    assert second.text == "five"
    assert file.outline == ()


def test_marks_in_text_without_headings_are_left_alone(tmp_path):
    file = text_file(tmp_path, "# a comment in a script\nx = 1  # *not* bold\n")
    assert file.blocks(1)[0].text == "# a comment in a script x = 1 # *not* bold"


def test_long_text_runs_over_pages_without_loss(tmp_path):
    words = [f"w{n}" for n in range(9000)]
    file = text_file(tmp_path, " ".join(words))
    assert file.page_count > 5
    found = [
        w for n in range(1, file.page_count + 1) for b in file.blocks(n) for w in b.text.split()
    ]
    assert found == words
    boxes = [w.box for b in file.blocks(2) for w in b.words]
    assert max(box.y1 for box in boxes) < 1
    with pytest.raises(PageError):
        file.blocks(file.page_count + 1)


def test_a_form_feed_is_a_new_page(tmp_path):
    file = text_file(tmp_path, "one\n\ftwo\n\f\nthree")
    assert [file.blocks(n)[0].text for n in (1, 2, 3)] == ["one", "two", "three"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    assert (
        text_file(tmp_path, "naïve résumé", encoding=encoding).blocks(1)[0].text == "naïve résumé"
    )


def test_odd_characters_and_words_without_spaces(tmp_path):
    file = text_file(tmp_path, "a\x00b\x1bc\u200bd " + "x" * 300 + " " + "漢" * 200)
    words = [w for b in file.blocks(1) for w in b.words]
    assert words[0].text == "abcd"
    assert "".join(w.text for w in words) == "abcd" + "x" * 300 + "漢" * 200
    assert all(w.box.x1 <= 1 for w in words)


def test_columns_of_wide_and_combining_characters():
    assert columns("abc") == 3
    assert columns("漢字") == 4
    assert columns("e\u0301") == 1


def test_an_empty_text_is_one_empty_page(tmp_path):
    file = text_file(tmp_path, " \n\n")
    assert file.page_count == 1
    assert file.blocks(1) == ()
    assert file.image(1, dpi=50, max_pixels=10**6).min() == 255


def test_huge_text_is_cut_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("pagetrail.documents.plain._MAX_BYTES", 1_000_000)
    started = time.process_time()
    file = text_file(tmp_path, "lorem ipsum dolor sit amet " * 60_000)
    assert "only the first 1 MB" in file.caveat
    assert time.process_time() - started < 5
