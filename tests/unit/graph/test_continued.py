"""Tables, lists and sentences over the page's end."""

import pytest

from pagetrail.graph.continued import continued_ways
from pagetrail.graph.digest import Digest, digest
from pagetrail.testing.corpus import make_page


def goes_on(last, first, between=1):
    """What is said of two pages that end and begin so, and how surely."""
    pages = [digest(make_page("d", 1, last)), digest(make_page("d", 1 + between, first))]
    return [(w.source, w.target, w.why, w.weight) for w in continued_ways(pages)]


HEAD = ("table_row", "Year | Fare | Trips")
ROW = ("table_row", "2020 | 2.50 | 1200")
WIDE = ("table_row", "A much longer first cell than before | 3")
TEXT = ("paragraph", "It rained all day.")


def test_same_heads():
    ((source, target, why, weight),) = goes_on([TEXT, HEAD, ROW], [HEAD, ROW, TEXT])
    assert (source, target, why) == (1, 2, "the table goes on")
    assert weight == 0.9


def test_same_columns():
    assert goes_on([TEXT, HEAD, ROW, ROW], [ROW, TEXT])[0][3] == 0.8
    assert goes_on([TEXT, HEAD, ROW], [WIDE, TEXT]) == []


def test_text_after_a_table_ends_it():
    assert goes_on([HEAD, ROW, TEXT], [ROW, TEXT]) == []
    assert goes_on([HEAD, ROW], [TEXT, ROW]) == []


@pytest.mark.parametrize("mark", ["(continued)", "(cont.)", "(cont'd)"])
def test_a_caption_that_says_so(mark):
    found = goes_on([HEAD, ROW], [("caption", f"Table 3 {mark}"), WIDE])
    assert found[0][2:] == ("the table goes on", 0.95)


def test_lists():
    one, two, four = (("list", f"{n}. Water the trees") for n in (1, 2, 4))
    assert goes_on([one], [two])[0][2:] == ("the list goes on", 0.8)
    assert goes_on([one], [four]) == []
    assert goes_on([("list", "• trees")], [("list", "• bushes")])[0][3] == 0.5


@pytest.mark.parametrize(
    ("tail", "start", "found"),
    [
        ("the rain fell on the", "garden and the trees", True),
        ("the rain fell on the gar-", "den and the trees", True),
        ("the rain fell on the garden.", "and the trees", False),
        ("the rain fell on the", "Garden and the trees", False),
        ("Rain (mm)", "garden and the trees", False),
    ],
)
def test_sentences(tail, start, found):
    assert bool(goes_on([("paragraph", tail)], [("paragraph", start)])) == found


def test_only_the_very_next_page_and_no_contents():
    assert goes_on([HEAD, ROW], [HEAD, ROW], between=2) == []
    pages = [Digest(1, contents=True), digest(make_page("d", 2, [("caption", "T (continued)")]))]
    assert continued_ways(pages) == []
