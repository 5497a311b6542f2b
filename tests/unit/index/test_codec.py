from __future__ import annotations

import contextlib
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagetrail.errors import CorruptError, VersionError
from pagetrail.index.codec import _KINDS, decode_page, encode_page
from pagetrail.types import Block, BlockKind, Box, Link, Page, Reference, Word

fraction = st.integers(0, 65535).map(lambda n: n / 65535)
# Damaged files contain lone surrogates and control characters; all of them must survive.
token = st.text(st.characters(), min_size=1, max_size=8).filter(lambda t: t.split() == [t])


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    x0, x1 = sorted((draw(fraction), draw(fraction)))
    y0, y1 = sorted((draw(fraction), draw(fraction)))
    return Box(x0, y0, x1, y1)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    words = draw(st.lists(st.builds(Word, token, boxes()), min_size=1, max_size=6))
    return Block.of(
        words,
        kind=draw(st.sampled_from(get_args(BlockKind))),
        order=draw(st.integers(0, 500)),
        breaks=draw(st.lists(st.integers(1, 5), max_size=3)),
        level=draw(st.integers(0, 6)),
        source=draw(st.sampled_from(["layer", "ocr"])),
    )


@st.composite
def pages(draw: st.DrawFn) -> Page:
    return Page(
        "doc",
        draw(st.integers(1, 9999)),
        draw(st.floats(1, 5000)),
        draw(st.floats(1, 5000)),
        label=draw(st.none() | st.text(max_size=5)),
        turn=draw(st.sampled_from([0, 90, 180, 270])),
        text_source=draw(st.sampled_from(["layer", "ocr", "none"])),
        blocks=tuple(draw(st.lists(blocks(), max_size=4))),
        alternate=tuple(draw(st.lists(blocks(), max_size=2))),
        links=tuple(
            draw(
                st.lists(
                    st.builds(Link, boxes(), st.integers(0, 99), st.text(max_size=3)), max_size=2
                )
            )
        ),
        references=tuple(
            draw(
                st.lists(
                    st.builds(
                        Reference,
                        st.just("figure"),
                        st.text(max_size=3),
                        st.sampled_from(["target", "mention"]),
                        st.integers(0, 9),
                    ),
                    max_size=2,
                )
            )
        ),
        notes=tuple(draw(st.lists(st.text(max_size=9), max_size=2))),
    )


@settings(max_examples=60, deadline=None)
@given(pages())
def test_a_page_comes_back_equal(page: Page) -> None:
    assert decode_page("doc", encode_page(page)) == page


def test_every_kind_of_block_has_a_code() -> None:
    assert set(_KINDS) == set(get_args(BlockKind))


def test_flipped_and_missing_bytes_are_errors() -> None:
    words = [Word(f"word{i}", Box(0, 0, 1, 1)) for i in range(50)]
    page = Page("doc", 1, 10, 10, blocks=(Block.of(words),))
    data = encode_page(page)
    for at in range(1, len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        with contextlib.suppress(CorruptError):
            # The bits that fill up the last byte of the stream mean nothing.
            assert decode_page("doc", bytes(damaged)) == page
    for end in (0, 1, len(data) // 2, len(data) - 1):
        with pytest.raises(CorruptError, match="doctor"):
            decode_page("doc", data[:end])


def test_a_newer_encoding_is_refused_by_name() -> None:
    with pytest.raises(VersionError, match="newer version"):
        decode_page("doc", b"\xff" + encode_page(Page("doc", 1, 10, 10))[1:])
