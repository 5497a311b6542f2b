"""What edges reach from the first pages of a ranking, counted by hand."""

from __future__ import annotations

from typing import get_args

from pagetrail.edges import EdgeKind
from pagetrail.evaluate.reach import (
    GROUPS,
    DocumentReach,
    Reach,
    add_up,
    degrees,
    group_reach,
    reach,
)
from pagetrail.types import Edge

RANKED = list("abcdefgh")
EDGES = {
    "a": [Edge("h", "reference", 1.0, ""), Edge("b", "next", 1.0, "")],
    "h": [Edge("g", "link", 1.0, "")],
    "g": [Edge("x", "link", 1.0, "")],
    "b": [Edge("d", "similar", 0.9, ""), Edge("a", "previous", 1.0, "")],
    "z": [Edge("f", "similar", 0.9, "")],
}


def test_hop_by_hop():
    found = reach(RANKED, {"a", "h", "x", "f"}, EDGES)
    assert (found.gold, found.seeds, found.unreachable) == (4, 1, 1)
    # One hop: h and d; two: g as well; three: x as well.
    assert found.pages == [2, 3, 4]
    assert found.found == [1, 1, 2]
    # As many pages down the ranking after a, b and c: d e; d e f; d e f g.
    assert found.ranked == [0, 1, 1]
    assert found.shares(1) == (0.5, 0.25)
    assert found.rates() == (0.5, 0.0)


def test_only_some_kinds():
    found = reach(RANKED, {"h", "x"}, EDGES, ("reference",))
    assert (found.pages, found.found, found.unreachable) == ([1, 1, 1], [1, 1, 1], 1)
    nothing = reach(RANKED, {"h", "x"}, EDGES, ("twin",))
    assert (nothing.pages, nothing.unreachable) == ([0, 0, 0], 2)
    assert nothing.rates() == (0.0, 0.0)


def test_a_ring_ends():
    ring = {page: [Edge(other, "similar", 1.0, "")] for page, other in ("ab", "bc", "ca")}
    assert reach(["a"], {"c"}, ring, seeds=1).pages == [1, 2, 2]


def test_counts_add_up():
    total = Reach()
    total += reach(RANKED, {"h"}, EDGES)
    total += reach(RANKED, {"f"}, EDGES)
    assert (total.gold, total.pages, total.found, total.unreachable) == (
        2, [4, 6, 8], [1, 1, 1], 1,
    )  # fmt: skip
    assert Reach().shares(2) == (0.0, 0.0)
    hops = total.as_json()["hops"]
    assert hops[0] == {"hops": 1, "pages": 4, "found": 1, "found_by_rank": 0}


def test_degrees_are_means_over_pages():
    edges = {"a": EDGES["a"], "b": EDGES["b"], "c": []}
    assert degrees(edges) == {
        "next": 1 / 3, "previous": 1 / 3, "reference": 1 / 3, "similar": 1 / 3,
    }  # fmt: skip


def test_groups_hold_every_kind():
    assert set(GROUPS["all"]) == set(get_args(EdgeKind))
    assert set(GROUPS["all"]) - set(GROUPS["all but order"]) == set(GROUPS["order"])
    alone = {name for name, kinds in GROUPS.items() if kinds == (name,)}
    assert alone == set(GROUPS["all but order"])


def test_each_group_is_followed_by_itself():
    first = group_reach(RANKED, {"h", "g"}, EDGES)
    assert first["all"] == reach(RANKED, {"h", "g"}, EDGES)
    assert first["reference"] == reach(RANKED, {"h", "g"}, EDGES, ("reference",))
    total = add_up([first, group_reach(RANKED, {"x"}, EDGES)])
    # Links start at h, which no seed is; order joins two seeds: neither reaches a page.
    assert set(total) == {"all", "all but order", "reference", "similar"}
    assert total["all"].gold == 3
    assert total["all"].pages == [2 * n for n in first["all"].pages]
    assert add_up([]) == {}


def test_a_document_tells_its_degree_and_reach():
    found = DocumentReach(8, 2, {"next": 1 / 3}, add_up([group_reach(RANKED, {"h"}, EDGES)]))
    view = found.as_json()
    assert (view["pages"], view["questions"], view["degree"]) == (8, 2, {"next": 0.333})
    assert view["reach"]["reference"]["hops"][0]["found"] == 1
