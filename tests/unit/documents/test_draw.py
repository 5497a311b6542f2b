import pytest
from PIL import Image

from pagetrail.documents.draw import draw_boxes
from pagetrail.types import Box


def changed_area(before, after):
    return [
        (x, y)
        for x in range(before.width)
        for y in range(before.height)
        if before.getpixel((x, y)) != after.getpixel((x, y))
    ]


def test_the_box_is_drawn_where_it_lies_and_nowhere_else():
    page = Image.new("RGB", (200, 100), "white")
    drawn = draw_boxes(page, [Box(0.5, 0.2, 0.75, 0.4)])
    xs, ys = zip(*changed_area(page, drawn), strict=True)
    assert (min(xs), max(xs)) == pytest.approx((100, 150), abs=5)
    assert (min(ys), max(ys)) == pytest.approx((20, 40), abs=5)
    assert page.getpixel((120, 30)) == (255, 255, 255), "the given picture is left alone"


def test_a_sideways_page_is_turned_upright_after_drawing():
    page = Image.new("RGB", (200, 100), "white")
    drawn = draw_boxes(page, [Box(0, 0, 0.1, 0.2)], turn=90)
    assert drawn.size == (100, 200)
    # The top left corner goes to the top right when the picture turns clockwise.
    assert drawn.getpixel((95, 5)) != (255, 255, 255)
    assert drawn.getpixel((5, 5)) == (255, 255, 255)
