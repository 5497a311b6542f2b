"""Words to blocks on pages set by hand: 600 x 800 points, 10 point type."""

from __future__ import annotations

import pytest

from pagetrail.documents.quality import LayerVerdict
from pagetrail.documents.raw import TURN_SHIFT, RawWord
from pagetrail.documents.structure import build_page
from pagetrail.ports import Reading
from pagetrail.types import Box, Page, Word

WIDTH, HEIGHT = 600.0, 800.0
TRUSTED = LayerVerdict(trusted=True, needs_ocr=False)
PROSE = "the harbour authority measures how long each ferry waits before it may leave the"


def line(text: str, x: float, y: float, *, size: float = 10.0, gap: float = 2.5) -> list[RawWord]:
    """Set a line of text at a baseline box; half an em per character."""
    words = []
    for token in text.split(" "):
        end = x + 0.5 * size * len(token)
        words.append(RawWord(token, x / WIDTH, y / HEIGHT, end / WIDTH, (y + size) / HEIGHT, size))
        x = end + gap * size / 10
    return words


def build(lines: list[list[RawWord]], *, ocr: Reading | None = None, trusted: bool = True) -> Page:
    verdict = TRUSTED if trusted else LayerVerdict(False, True, "its letters do not form words")
    return build_page(
        document="d",
        number=1,
        label=None,
        width=WIDTH,
        height=HEIGHT,
        lines=lines,
        ocr=ocr,
        verdict=verdict,
    )


def texts(page: Page) -> list[str]:
    return [block.text for block in page.blocks]


def test_a_page_without_words_has_no_blocks() -> None:
    page = build([])
    assert page.blocks == ()
    assert page.text_source == "none"


def test_words_keep_their_boxes() -> None:
    words = line("Hello brave world", 100, 300)
    (block,) = build([words]).blocks
    for word, raw in zip(block.words, words, strict=True):
        assert word.text == raw.text
        assert word.box.as_list() == pytest.approx([raw.x0, raw.y0, raw.x1, raw.y1], abs=2e-5)


def test_two_columns_are_read_one_after_the_other() -> None:
    left = [line(f"left{i} and more of these words here so", 60, 100 + 14 * i) for i in range(20)]
    right = [line(f"right{i} and more of these words here", 320, 100 + 14 * i) for i in range(20)]
    mixed = [words for pair in zip(left, right, strict=True) for words in pair]
    text = build(mixed).text
    assert text.index("left19") < text.index("right0 ")


def test_a_heading_across_two_columns_parts_them_into_bands() -> None:
    def columns(name: str, top: float) -> list[list[RawWord]]:
        return [
            line(f"{name}{side}{i} with some more of these words", x, top + 14 * i)
            for side, x in (("L", 60), ("R", 320))
            for i in range(10)
        ]

    middle = line("A title that spans the page from one side to the other", 60, 300, size=18)
    text = build([*columns("low", 340), middle, *columns("top", 100)]).text
    order = [text.index(t) for t in ("topL0", "topL9", "topR0", "A title", "lowL0", "lowR0")]
    assert order == sorted(order)


def test_table_rows_keep_their_cells_together() -> None:
    rows = [
        ("Revenue", "1,204", "1,310"),
        ("Costs", "840", "905"),
        ("Profit", "364", "405"),
    ]
    lines = [line("The figures of the last two years were as follows in this table", 60, 80)]
    for i, (label, one, two) in enumerate(rows):
        y = 130 + 16 * i
        lines += [line(label, 60, y), line(one, 300, y), line(two, 420, y)]
    blocks = [b for b in build(lines).blocks if b.kind == "table_row"]
    assert [b.lines() for b in blocks] == [list(row) for row in rows]


def test_a_table_on_single_layer_lines_is_cut_at_its_gaps() -> None:
    lines = []
    for i, (label, number) in enumerate([("Bus", "12"), ("Tram", "7"), ("Ferry", "31")]):
        y = 130 + 16 * i
        lines.append(line(label, 60, y) + line(number, 300, y))
    blocks = build(lines).blocks
    assert [b.lines() for b in blocks] == [["Bus", "12"], ["Tram", "7"], ["Ferry", "31"]]


def test_a_wrapped_label_joins_the_row_with_its_numbers() -> None:
    lines = [
        line("Total revenue", 60, 100) + line("900", 400, 100),
        line("Net cash provided by (used in)", 60, 116),
        line("operating activities", 70, 128) + line("1,234", 400, 128),
        line("Interest paid", 60, 144) + line("12", 400, 144),
    ]
    cells = [b.lines() for b in build(lines).blocks]
    assert ["Net cash provided by (used in) operating activities", "1,234"] in cells


def test_headings_have_levels_by_size_and_number() -> None:
    lines = [line("Annual report", 60, 60, size=24), line("2.1 Fleet", 60, 110, size=14)]
    lines += [line(PROSE, 60, 150 + 14 * i) for i in range(12)]
    blocks = build(lines).blocks
    assert [(b.kind, b.level) for b in blocks[:3]] == [
        ("heading", 1),
        ("heading", 2),
        ("paragraph", 0),
    ]


def test_paragraphs_part_at_gaps_and_stay_short() -> None:
    lines = [line(PROSE, 60, 60 + 14 * i) for i in range(3)]
    lines += [line(PROSE, 60, 140 + 14 * i) for i in range(40)]
    blocks = build(lines).blocks
    assert len(blocks[0].text.split()) == 3 * len(PROSE.split())
    assert max(len(b.text.split()) for b in blocks) <= 250


def test_paragraph_breaks_are_line_starts() -> None:
    (block,) = build([line("one two three", 60, 100), line("four five six", 60, 114)]).blocks
    assert block.lines() == ["one two three", "four five six"]


def test_list_items_are_blocks_of_their_own() -> None:
    lines = [
        line("• first thing to bring", 60, 100),
        line("• second thing to bring", 60, 114),
        line("which is long", 70, 128),
    ]
    blocks = build(lines).blocks
    assert [b.kind for b in blocks] == ["list", "list"]
    assert blocks[1].text == "• second thing to bring which is long"


@pytest.mark.parametrize(
    ("text", "is_caption"),
    [
        ("Figure 3: Waiting times", True),
        ("Table 2. Revenue by region", True),
        ("Chart 1", True),
        ("Exhibit A-2: Lease", True),
        ("Table 2 shows that revenue grew", False),
        ("figures 3 and 4 are larger", False),
    ],
)
def test_captions(text: str, is_caption: bool) -> None:
    (block,) = build([line(text, 60, 300)]).blocks
    assert (block.kind == "caption") is is_caption


def test_running_header_and_footer_are_told_apart() -> None:
    lines = [line("Ferry Lines plc", 60, 20), line("17", 300, 775)]
    lines += [line(PROSE, 60, 100 + 14 * i) for i in range(20)]
    blocks = build(lines).blocks
    assert blocks[0].kind == "header"
    assert (blocks[-1].kind, blocks[-1].text) == ("footer", "17")


def test_a_large_title_at_the_top_is_no_running_header() -> None:
    lines = [line("Where we stand", 60, 20, size=28)]
    lines += [line(PROSE, 60, 120 + 14 * i) for i in range(10)]
    assert build(lines).blocks[0].kind == "heading"


def test_turned_text_is_read_along_its_own_lines() -> None:
    def turned(text: str, y: float, x: float) -> list[RawWord]:
        """Text that runs down the page: turned clockwise by 90 degrees."""
        words = []
        for token in text.split(" "):
            end = y + 5 * len(token)
            words.append(
                RawWord(
                    token,
                    x / WIDTH,
                    y / HEIGHT,
                    (x + 10) / WIDTH,
                    end / HEIGHT,
                    10.0,
                    1 << TURN_SHIFT,
                )
            )
            y = end + 2.5
        return words

    # The first line of a page turned clockwise stands at the right.
    page = build([turned("second line of text", 100, 400), turned("first line of text", 100, 414)])
    assert page.text == "first line of text second line of text"
    assert page.turn == 0


def test_right_to_left_columns_start_at_the_right() -> None:
    word = "\u0645\u0631\u062d\u0628\u0627"
    lines = []
    for i in range(12):
        for name, right in ((f"\u0623{i:02d}", 280), (f"\u0628{i:02d}", 560)):
            x, words = right, []
            for token in (name + "\u0633\u0634", *[word] * 7):
                start = x - 5 * len(token)
                y = 100 + 14 * i
                words.append(
                    RawWord(token, start / WIDTH, y / HEIGHT, x / WIDTH, (y + 10) / HEIGHT, 10.0)
                )
                x = start - 2.5
            lines.append(words)
    text = build(lines).text
    assert text.index("\u062811") < text.index("\u062300")


def test_ocr_replaces_a_layer_that_is_not_trusted() -> None:
    reading = Reading(((Word("Hello", Box(0.1, 0.1, 0.2, 0.12)),),), turn=180, confidence=0.9)
    page = build([line("qz xkq", 60, 100)], ocr=reading, trusted=False)
    assert texts(page) == ["Hello"]
    assert page.text_source == "ocr"
    assert page.turn == 180
    assert [b.text for b in page.alternate] == ["qz xkq"]
    assert "its letters do not form words" in page.notes[0]


def test_ocr_adds_only_what_the_layer_does_not_hold() -> None:
    layer = line("Known words", 60, 100)
    again = tuple(Word(w.text, Box(w.x0, w.y0, w.x1, w.y1)) for w in layer)
    fresh = (Word("Picture", Box(0.1, 0.5, 0.3, 0.52)), Word("text", Box(0.31, 0.5, 0.4, 0.52)))
    page = build([layer], ocr=Reading((again, fresh), confidence=0.9))
    assert [(b.text, b.source) for b in page.blocks] == [
        ("Known words", "layer"),
        ("Picture text", "ocr"),
    ]


def test_skewed_lines_of_a_scan_are_read_in_order() -> None:
    rows = []
    for i in range(6):
        words = []
        for j in range(8):
            x, y = 0.1 + 0.1 * j, 0.2 + 0.02 * i + 0.05 * 0.1 * j
            words.append(Word(f"w{i}{j}", Box(x, y, x + 0.08, y + 0.014)))
        rows.append(tuple(words))
    page = build([], ocr=Reading(tuple(reversed(rows)), confidence=0.9), trusted=False)
    assert page.text.split() == [f"w{i}{j}" for i in range(6) for j in range(8)]
