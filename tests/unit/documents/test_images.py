"""Picture files: right way up, readable, and bounded."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageDraw

from pagetrail.documents.images import ImageFile
from pagetrail.errors import DamagedError, LimitError, PageError


def opened(tmp_path, picture, name="a.png", **options):
    path = tmp_path / name
    picture.save(path, **options)
    return ImageFile(path, name)


def first(file, **options):
    with file:
        return file.image(1, **options)


@pytest.mark.parametrize(
    "name", ["a.png", "a.jpg", "a.webp", "a.gif", "a.bmp", "a.tiff", "a.avif", "a.jp2", "a.ppm"]
)
def test_formats(tmp_path, name):
    picture = Image.new("RGB", (40, 30), "white")
    ImageDraw.Draw(picture).rectangle((0, 0, 19, 29), fill="black")
    pixels = first(opened(tmp_path, picture, name))
    assert pixels.shape == (30, 40, 3)
    assert pixels.dtype == np.uint8
    assert pixels[:, 2:16].max() < 60
    assert pixels[:, 24:].min() > 200


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned_as_the_camera_says(tmp_path, orientation):
    upright = Image.new("RGB", (60, 40), "white")
    ImageDraw.Draw(upright).rectangle((0, 0, 19, 9), fill="black")  # a mark at the top left
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = upright.transpose(undo[orientation]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    with opened(tmp_path, stored, exif=exif) as file:
        assert file.size(1) == (45.0, 30.0)
        assert np.array_equal(file.image(1), np.asarray(upright))


@pytest.mark.parametrize("top", [255, 4095, 65535])
def test_deep_greys_are_scaled_not_clipped(tmp_path, top):
    ramp = np.linspace(0, top, 256).astype(np.uint16).reshape(16, 16)
    pixels = first(opened(tmp_path, Image.fromarray(ramp)))[..., 0].ravel()
    assert np.abs(pixels.astype(int) - np.arange(256)).max() <= 1


def test_floating_point_pictures(tmp_path):
    ramp = np.linspace(-3.0, 5.0, 100, dtype=np.float32).reshape(10, 10)
    pixels = first(opened(tmp_path, Image.fromarray(ramp), "a.tiff"))
    assert pixels.min() == 0
    assert pixels.max() == 255


@pytest.mark.parametrize("mode", ["CMYK", "LAB", "1", "L", "P"])
def test_modes_keep_dark_dark_and_light_light(tmp_path, mode):
    picture = Image.new("RGB", (20, 10), "white")
    ImageDraw.Draw(picture).rectangle((0, 0, 9, 9), fill="black")
    if mode == "LAB":
        picture = Image.merge("LAB", (picture.convert("L"), *[Image.new("L", (20, 10), 128)] * 2))
    else:
        picture = picture.convert(mode)
    pixels = first(opened(tmp_path, picture, "a.tiff"))
    assert pixels[:, :9].max() < 40
    assert pixels[:, 11:].min() > 215


def written(colour, ground):
    picture = Image.new("RGBA", (120, 40), ground)
    ImageDraw.Draw(picture).text((5, 5), "words", fill=colour, font_size=24)
    return picture


@pytest.mark.parametrize(
    ("colour", "ground", "readable"),
    [
        ((0, 0, 0, 255), (0, 0, 0, 0), True),
        ((255, 255, 255, 255), (255, 255, 255, 0), True),
        ((255, 255, 255, 255), (0, 0, 0, 0), True),
        ((0, 0, 0, 0), (255, 255, 255, 0), True),  # transparent all over, but holding words
        ((0, 0, 0, 0), (0, 0, 0, 0), False),  # nothing at all
    ],
)
def test_transparent_pictures_are_readable(tmp_path, colour, ground, readable):
    pixels = first(opened(tmp_path, written(colour, ground)))
    assert (int(pixels.max()) - int(pixels.min()) > 150) == readable
    if not readable:
        assert pixels.min() == 255


def test_palette_with_transparency(tmp_path):
    picture = written((0, 0, 0, 255), (0, 0, 0, 0)).convert("P")
    pixels = first(opened(tmp_path, picture, transparency=picture.getpixel((0, 0))))
    assert pixels[0, 0].tolist() == [255, 255, 255]


@pytest.mark.parametrize("name", ["a.tiff", "a.gif", "a.webp", "a.png"])
def test_frames_are_pages(tmp_path, name):
    frames = [Image.new("RGB", (30, 20), colour) for colour in ("red", "lime", "blue")]
    with opened(tmp_path, frames[0], name, save_all=True, append_images=frames[1:]) as file:
        assert file.page_count == 3
        for number in (3, 1, 2):
            assert file.image(number)[5, 5].argmax() == number - 1
        with pytest.raises(PageError, match="page 4: the file has 3 pages"):
            file.image(4)


def test_size_in_points_and_pixels(tmp_path):
    picture = Image.new("RGB", (300, 150), "white")
    with opened(tmp_path, picture, dpi=(150, 150)) as file:
        assert file.size(1) == pytest.approx((144, 72), rel=0.01)
        assert file.image(1, dpi=75).shape == (75, 150, 3)
        assert file.image(1, dpi=600).shape == (150, 300, 3)  # never enlarged
        small = file.image(1, max_pixels=2000)
        assert small.shape[0] * small.shape[1] <= 2000
    with opened(tmp_path, picture, "b.png") as file:
        assert file.size(1) == (225, 112.5)  # 96 dots per inch when the file does not say


def test_a_cut_off_picture_is_read_as_far_as_it_goes(tmp_path):
    whole = tmp_path / "whole.jpg"
    noise = np.random.default_rng(1).integers(0, 255, (200, 200, 3), dtype=np.uint8)
    Image.fromarray(noise).save(whole)
    cut = tmp_path / "cut.jpg"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 3])
    with ImageFile(cut, "cut.jpg") as file:
        pixels = file.image(1)
        assert pixels[:40].std() > 30
        assert "cut off" in file.notes[0]
    with ImageFile(whole, "whole.jpg") as file:
        file.image(1)
        assert file.notes == ()


def declared(width, height, colour_type):
    """Return a PNG that only claims to be so large, as bombs do."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0" * 1000)),
        (b"IEND", b""),
    ]
    out = b"\x89PNG\r\n\x1a\n"
    for name, data in chunks:
        out += struct.pack(">I", len(data)) + name + data
        out += struct.pack(">I", zlib.crc32(name + data))
    return out


def test_damaged_and_oversized_pictures(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"junk" * 20)
    with pytest.raises(DamagedError, match=r"^a\.png: "):
        ImageFile(path, "a.png")
    path.write_bytes(declared(30_000, 30_000, 0))
    with pytest.raises(LimitError, match="too large to decode"):
        ImageFile(path, "a.png")
    path.write_bytes(declared(13_000, 13_000, 2))
    with ImageFile(path, "a.png") as file, pytest.raises(LimitError, match="13000 x 13000"):
        file.image(1)


def test_a_large_photo_is_decoded_small(tmp_path):
    with opened(tmp_path, Image.new("RGB", (4000, 3000), "white"), "a.jpg") as file:
        pixels = file.image(1, max_pixels=200_000)
    assert pixels.shape[0] * pixels.shape[1] <= 200_000
