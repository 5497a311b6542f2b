"""Sections from the file's outline, the printed contents, or numbered headings."""

from hypothesis import given
from hypothesis import strategies as st

from pagetrail.graph.digest import Digest, Entry, Heading
from pagetrail.graph.outline import outline_ways, sections
from pagetrail.types import OutlineEntry


def plain(count):
    return [Digest(n) for n in range(1, count + 1)]


OUTLINE = (
    OutlineEntry("One", 1, 1),
    OutlineEntry("One and a half", 2, 3),
    OutlineEntry("Two", 1, 5),
)


def test_sections_end_where_the_next_of_their_level_begins():
    assert [(s.title, s.first, s.last, s.parent) for s in sections(OUTLINE, plain(8))] == [
        ("One", 1, 5, -1),
        ("One and a half", 3, 5, 0),
        ("Two", 5, 8, -1),
    ]


def test_pages_of_the_innermost_section_and_the_one_around_it():
    ways = outline_ways(OUTLINE, plain(8))
    within = {(w.source, w.target) for w in ways if w.kind == "section"}
    assert within == {(1, 2), (3, 4), (5, 6), (5, 7), (6, 7), (6, 8), (7, 8), (5, 8)}
    above = [(w.source, w.target, w.why) for w in ways if w.kind == "parent"]
    assert above == [(3, 1, '"One and a half" in "One"')]


def test_a_long_section_grows_with_its_pages():
    outline = (*OUTLINE[:1], OutlineEntry("Long", 1, 2), OutlineEntry("End", 1, 400))
    ways = outline_ways(outline, plain(400))
    assert len(ways) < 4 * 400 + 10
    first = {w.source for w in ways if w.target == 2}
    assert first >= set(range(6, 400))
    weights = {w.source: w.weight for w in ways if w.target == 2}
    assert weights[10] > weights[300] > 0


def test_entries_that_lead_nowhere_do_not_count():
    assert outline_ways([OutlineEntry("One", 1, 0)] * 5, plain(5)) == []


def test_printed_contents_where_the_file_has_no_outline():
    printed = [
        Digest(1, contents=True, entries=tuple(map(Entry, ["1 A", "1.1 B", "2 C"], [1, 2, 5])))
    ]
    printed += [Digest(n, printed=(n - 2,)) for n in range(2, 12)]
    found = [(s.title, s.level, s.first) for s in sections((), printed)]
    assert found == [("1 A", 1, 3), ("1.1 B", 2, 4), ("2 C", 1, 7)]


def test_contents_out_of_order_are_not_trusted():
    entries = tuple(map(Entry, "ABCDE", [9, 2, 8, 1, 7]))
    assert sections((), [Digest(1, contents=True, entries=entries), *plain(9)[1:]]) == []


def headed(*numbers):
    return [
        Digest(n, headings=(Heading(f"{number} T", 1, number),) if number else ())
        for n, number in enumerate(numbers, 1)
    ]


def test_numbered_headings_that_follow_each_other():
    found = sections((), headed("", "1", "7", "1.1", "1.2", "2", "4", "3", ""))
    assert [s.title for s in found] == ["1 T", "1.1 T", "1.2 T", "2 T", "3 T"]
    assert [s.level for s in found] == [1, 2, 2, 1, 1]


def test_a_few_numbered_lines_are_no_outline():
    assert sections((), headed("1", "2", "3", *[""] * 30)) == []
    assert sections((), headed("4", "2", "9")) == []


ENTRIES = st.builds(OutlineEntry, st.text(max_size=3), st.integers(1, 5), st.integers(0, 15))


@given(st.lists(ENTRIES, max_size=30))
def test_any_outline_gives_edges_between_known_pages(outline):
    ways = outline_ways(outline, plain(10))
    assert all(1 <= w.source <= 10 and 1 <= w.target <= 10 for w in ways)
    assert all(w.source != w.target and 0 < w.weight <= 1 for w in ways)
    assert len({w[:3] for w in ways}) == len(ways)
