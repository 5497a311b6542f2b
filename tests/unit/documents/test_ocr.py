"""Reading pictures drawn here: known words at known places."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from pagetrail.documents.ocr import RapidReader
from pagetrail.documents.recognise import Line, split_words
from pagetrail.ports import Reading, TextReader

LINES = [
    "Revenue grew 12.5% to $4,310",
    "Norway & Sweden (see page 17)",
    "info@example.org +47 555 0199",
]
SIZE = (600, 330)


@pytest.fixture(scope="module")
def reader() -> RapidReader:
    return RapidReader()


def drawn() -> tuple[Image.Image, list[tuple[str, tuple[int, int, int, int]]]]:
    picture = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(28)
    words = []
    for row, text in enumerate(LINES):
        x, y = 60, 50 + 85 * row
        for token in text.split():
            draw.text((x, y), token, fill="black", font=font)
            words.append((token, tuple(map(int, draw.textbbox((x, y), token, font=font)))))
            x += int(draw.textlength(token + " ", font=font))
    return picture, words


def turned(picture: Image.Image, skew: float, turn: int) -> Image.Image:
    """Turn a picture clockwise."""
    fill = "white" if picture.mode == "RGB" else 0
    skewed = picture.rotate(-skew, expand=True, resample=Image.Resampling.BICUBIC, fillcolor=fill)
    return skewed.rotate(-turn, expand=True)


def ink(picture: Image.Image, box: tuple[int, int, int, int]) -> Image.Image:
    """Return a mask of the dark pixels inside a box."""
    mask = Image.new("L", picture.size, 0)
    mask.paste(picture.convert("L").crop(box).point(lambda v: 255 if v < 128 else 0), box[:2])
    return mask


def read_words(reading: Reading) -> list[str]:
    return [word.text for line in reading.lines for word in line]


def test_it_is_a_text_reader(reader: RapidReader) -> None:
    assert isinstance(reader, TextReader)


@pytest.mark.parametrize(("skew", "turn"), [(0, 90), (2, 180), (-2, 270), (3, 90)])
def test_words_and_boxes_on_turned_and_skewed_pictures(
    reader: RapidReader, skew: float, turn: int
) -> None:
    picture, words = drawn()
    image = np.asarray(turned(picture, skew, turn))
    reading = reader.read(image)
    assert reading.turn == (360 - turn) % 360
    assert reading.confidence > 0.9
    assert sorted(read_words(reading)) == sorted(token for token, _ in words)
    height, width = image.shape[:2]
    covered = 0
    for token, box in words:
        rows, columns = np.nonzero(np.asarray(turned(ink(picture, box), skew, turn)) > 127)
        boxes = [w.box for line in reading.lines for w in line if w.text == token]
        covered += any(
            (
                (columns >= b.x0 * width - 1)
                & (columns <= b.x1 * width + 1)
                & (rows >= b.y0 * height - 1)
                & (rows <= b.y1 * height + 1)
            ).mean()
            > 0.98
            for b in boxes
        )
    assert covered >= 0.95 * len(words)


@pytest.mark.parametrize(
    "shape", [(1, 1, 3), (1, 5000, 3), (9, 9, 3), (40, 3000, 3), (3000, 40, 3)]
)
def test_odd_sizes_are_read_as_empty(reader: RapidReader, shape: tuple[int, int]) -> None:
    assert reader.read(np.full((*shape, 3), 255, dtype=np.uint8)).lines == ()


def test_a_large_picture_is_reduced(reader: RapidReader) -> None:
    picture, _ = drawn()
    image = np.asarray(picture.resize((SIZE[0] * 6, SIZE[1] * 6)))
    assert "Revenue" in read_words(reader.read(image))


def test_a_long_strip_is_read_in_tiles_and_each_line_once(reader: RapidReader) -> None:
    picture = Image.new("RGB", (320, 2400), "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(24)
    for place in range(12):
        draw.text((30, 40 + 195 * place), f"Stop {place + 100}", fill="black", font=font)
    reading = reader.read(np.asarray(picture))
    numbers = [w for w in read_words(reading) if w.isdigit()]
    assert sorted(numbers) == [str(place + 100) for place in range(12)]
    assert reading.turn == 0


def test_split_words_at_spaces() -> None:
    line = Line("ab cd", (0.1, 0.2, 0.5, 0.8, 0.9), 1.0, 0.1)
    assert [(w, a, b) for w, a, b in split_words(line)] == [("ab", 0.0, 0.5), ("cd", 0.5, 1.0)]


def test_split_words_finds_lost_spaces_but_leaves_dense_words() -> None:
    even = tuple(0.05 * i for i in range(10))
    assert [w for w, _, _ in split_words(Line("abcdefghij", even, 1.0, 0.1))] == ["abcdefghij"]
    torn = (*even[:5], *(c + 0.3 for c in even[5:]))
    assert [w for w, _, _ in split_words(Line("abcdefghij", torn, 1.0, 0.1))] == ["abcde", "fghij"]
    assert [w for w, _, _ in split_words(Line("港湾局は各フェリー", torn[:9], 1.0, 0.1))] == [
        "港湾局は各フェリー"
    ]


def test_split_words_of_nothing() -> None:
    assert list(split_words(Line("", (), 0.0))) == []
    assert list(split_words(Line("  ", (0.2, 0.8), 0.9, 0.1))) == []


def test_word_edges_move_to_the_white_space_nearby() -> None:
    line = Line("ab cd", (0.1, 0.2, 0.45, 0.8, 0.9), 1.0, 0.2, gaps=((0.0, 0.05), (0.5, 0.6)))
    assert [b for _, _, b in split_words(line)] == [pytest.approx(0.55), 1.0]
