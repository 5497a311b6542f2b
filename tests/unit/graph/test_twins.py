"""Near-duplicates: what the sketch estimates, what the bands catch, and what stays bounded."""

from __future__ import annotations

import random

import pytest

from pagetrail.edges import agreement
from pagetrail.graph.twins import LEAST, TwinBook, bands_of, sketch_of
from pagetrail.types import Block, Page

WORDS = [f"w{n}" for n in range(4000)]


def page(number: int, words: list[str], head: str = "") -> Page:
    blocks = [Block(head, "header", 0, b"")] if head else []
    return Page(
        "d", number, 600, 800, blocks=(*blocks, Block(" ".join(words), "paragraph", 1, b""))
    )


def jaccard(left: list[str], right: list[str]) -> float:
    a, b = ({tuple(w[i : i + 3]) for i in range(len(w) - 2)} for w in (left, right))
    return len(a & b) / len(a | b)


def changed(words: list[str], share: float, source: random.Random) -> list[str]:
    return [source.choice(WORDS) if source.random() < share else word for word in words]


def test_the_sketch_estimates_the_share_of_common_shingles() -> None:
    source = random.Random(1)
    off = []
    for share in (0.0, 0.02, 0.05, 0.1, 0.2, 1.0) * 8:
        left = source.sample(WORDS, 300)
        right = changed(left, share, source)
        found = agreement(sketch_of(page(1, left)), sketch_of(page(2, right)))
        off.append(found - jaccard(left, right))
        assert abs(off[-1]) < 4 * 0.063
    assert abs(sum(off) / len(off)) < 0.02  # no more than chance to either side


def test_bands_catch_what_they_are_said_to() -> None:
    source = random.Random(2)
    for share, least, most in ((0.02, 0.95, 1.0), (0.25, 0.0, 0.2)):
        caught = 0
        for _ in range(60):
            left = source.sample(WORDS, 300)
            pair = [sketch_of(page(1, left)), sketch_of(page(2, changed(left, share, source)))]
            caught += bool(set(bands_of(pair[0])) & set(bands_of(pair[1])))
        assert least <= caught / 60 <= most


def test_case_and_running_heads_make_no_difference_and_few_words_no_sketch() -> None:
    words = WORDS[:40]
    upper = [word.upper() for word in words]
    assert sketch_of(page(1, words)) == sketch_of(page(2, upper, head="Page 2 of 9"))
    assert sketch_of(page(1, words[:29])) == b""
    assert bands_of(b"") == ()
    assert agreement(b"", b"") == 0.0
    assert len(sketch_of(page(1, words))) == 128


def test_twins_are_joined_and_others_not() -> None:
    source = random.Random(3)
    left, other = source.sample(WORDS, 300), source.sample(WORDS, 300)
    book = TwinBook()
    for number, words in ((1, left), (4, other), (7, [*left[:290], *other[:10]]), (8, ["few"])):
        book.add(page(number, words))
    (way,) = book.ways()
    assert (way.source, way.target, way.kind) == (1, 7, "twin")
    assert LEAST <= way.weight <= 1
    assert book.sketch(8) == b""


def test_a_form_of_a_thousand_pages_has_few_edges() -> None:
    book = TwinBook()
    words = WORDS[:60]
    for number in range(1, 1001):
        book.add(page(number, words))
    ways = book.ways()
    degree = [0] * 1001
    for way in ways:
        degree[way.source] += 1
        degree[way.target] += 1
        assert way.target - way.source <= 3
    assert min(degree[1:]) >= 1
    assert max(degree) <= 4


@pytest.mark.parametrize("words", [["\ud800"] * 50, ["x" * 100_000] * 40, ["same"] * 200_000])
def test_hostile_words(words: list[str]) -> None:
    assert len(sketch_of(page(1, words))) == 128
