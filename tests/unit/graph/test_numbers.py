"""Printed page numbers."""

from hypothesis import given
from hypothesis import strategies as st

from pagetrail.graph.digest import Digest
from pagetrail.graph.numbers import Numbers


def pages(*printed, labels=None):
    return [
        Digest(n, printed=tuple(p), label=(labels or {}).get(n)) for n, p in enumerate(printed, 1)
    ]


def test_a_shift_that_goes_on_is_the_printed_number():
    numbers = Numbers(pages((), (2020,), (1,), (2, 2020), (), (4,), (5,)))
    assert numbers.source == "printed"
    assert [numbers.page(str(n))[0] for n in (1, 2, 3, 4, 5, 6)] == [3, 4, 5, 6, 7, 0]
    assert numbers.page("2020")[0] == 0
    assert numbers.printed(5) == 3


def test_chapter_numbers_that_happen_to_follow_are_not_page_numbers():
    body = [(n,) for n in range(1, 21)]
    body[9], body[10] = (3,), (4,)  # "3" and "4": a chapter opens on either page
    assert Numbers(pages(*body)).page("11")[0] == 11


def test_labels_of_the_file_where_nothing_is_printed():
    numbers = Numbers(pages((), (), (), labels={1: "i", 2: "ii", 3: "1"}))
    assert [numbers.page(key)[0] for key in ("I", "ii", "1", "3")] == [1, 2, 3, 0]
    assert numbers.source == "labels"


def test_two_numbered_sides_on_each_page():
    numbers = Numbers(pages((), (2, 3), (4,), (6, 7), (9,), (10, 11)))
    assert [numbers.page(str(n))[0] for n in (2, 3, 5, 8, 11)] == [2, 2, 3, 5, 6]


def test_nothing_is_printed():
    numbers = Numbers(pages((), (), ()))
    assert numbers.source == "physical"
    assert numbers.page("3")[0] == 3
    assert numbers.printed(2) == 2


@given(st.integers(0, 20), st.lists(st.booleans(), min_size=8, max_size=30), st.integers(0, 99))
def test_any_shift_is_found_through_noise(front, shown, noise):
    body = [(n, noise) if show else (noise,) for n, show in enumerate(shown, 1)]
    body[:4] = [(n, noise) for n in range(1, 5)]
    numbers = Numbers(pages(*[()] * front, *body))
    assert all(numbers.page(str(n))[0] == n + front for n in range(1, 5))
