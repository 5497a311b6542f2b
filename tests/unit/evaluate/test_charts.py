"""Curves as tables and as a picture."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from pagetrail.evaluate.bootstrap import Interval
from pagetrail.evaluate.charts import (
    _range,
    aligned,
    curve_picture,
    curve_table,
    document_table,
    markdown,
    reach_table,
)
from pagetrail.evaluate.curves import Point
from pagetrail.evaluate.reach import DocumentReach, Reach

ZERO = (0.0, 0.0, 0.0)
GAIN = (Interval(0.0, 0.0, 0.0), Interval(0.04, 0.01, 0.07), Interval(0.0, 0.0, 0.0))
POINTS = [
    Point("down", 0.1, 0.112, (0.6, 0.8, 0.9), ZERO),
    Point("walk", 0.1, 0.1, (0.7, 0.84, 0.9), (0.5, 0.75, 0.75), GAIN, GAIN),
    Point("walk", 1.0, 1.0, (0.7, 0.97, 0.99), ZERO),
    Point("<beam> & co", None, 0.6, (0.7, 0.91, 0.92), ZERO),
]
SVG = "{http://www.w3.org/2000/svg}"


def test_a_table_tells_budget_recall_and_gain():
    rows = curve_table(POINTS)
    assert rows[0][:3] == ["budget", "method", "judged"]
    assert rows[1][:6] == ["10%", "down", "11.2%", "0.600", "0.800", "0.900"]
    assert rows[2][6:] == ["+0.040 (+0.010..+0.070)", "0.750", "+0.040 (+0.010..+0.070)"]
    assert rows[4][0] == "own"
    assert {len(row) for row in rows} == {len(rows[0])}


def test_columns_stand_below_each_other():
    lines = aligned([["a", "b", "c"], ["long", "x", "1.5"], ["y", "z", "10.25"]]).splitlines()
    assert lines == ["a     b      c", "long  x    1.5", "y     z  10.25"]


def test_marks_are_escaped_in_markdown():
    assert markdown([["a", "b"], ["x|y", "1"]]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 |"
    (_, _, row) = markdown([["a"], ["<b>[x](y)_z_&\\"]]).splitlines()
    assert row == r"| \<b\>\[x\](y)\_z\_\&\\ |"


def test_reach_as_a_table():
    found = Reach(10, 4, 2, [5, 8, 8], [2, 3, 3], [1, 2, 4])
    rows = reach_table({"link": found})
    assert rows[1] == [
        "link", "0.600", "0.500", "0.700", "0.600", "0.700", "0.800", "0.200", "0.4000", "0.2000",
    ]  # fmt: skip


def test_a_document_has_a_row_for_each_kind():
    link, order = Reach(4, 1, 1, [2, 3, 3], [1, 2, 2], [0, 1, 1]), Reach(4, 1, 0)
    degree = {"next": 0.9, "previous": 0.9, "link": 0.25}
    documents = {
        "a\nb.pdf": DocumentReach(10, 4, degree, {"link": link, "order": order}),
        "c.pdf": DocumentReach(30, 1, {}, {}),
    }
    rows = document_table(documents)
    assert rows[0] == [
        "document", "edges", "pages", "questions", "degree", "1 hop", "by rank", "2 hops",
        "by rank", "3 hops", "by rank", "unreachable",
    ]  # fmt: skip
    assert rows[1] == [
        "a b.pdf", "link", "10", "4", "0.25", "0.500", "0.250", "0.750", "0.500", "0.750", "0.500",
        "0.250",
    ]  # fmt: skip
    assert rows[2][1:5] == ["order", "10", "4", "1.80"]
    assert len(rows) == 3


def test_a_picture_is_one_and_needs_nothing_else():
    root = ET.fromstring(curve_picture(POINTS, "a <judge> & more"))
    assert root.find(f"{SVG}title").text == "a <judge> & more"
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"down", "walk", "<beam> & co", "0.80", "1.00", "50%"} <= set(words)
    lines = [p.get("d") for p in root.iter(f"{SVG}path") if p.get("stroke")]
    assert [line.count("L") for line in lines] == [0, 1, 0]
    assert not any("href" in key for element in root.iter() for key in element.attrib)
    for circle in root.iter(f"{SVG}circle"):
        assert 0 <= float(circle.get("cx")) <= 560
        assert 40 <= float(circle.get("cy")) <= 300


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.805, 0.97], (0.8, 1.0, 0.05)),
        ([0.0, 1.0], (0.0, 1.0, 0.2)),
        ([0.5, 0.5], (0.5, 0.51, 0.01)),
        ([0.61, 0.64], (0.61, 0.64, 0.01)),
    ],
)
def test_an_axis_holds_every_value(values, expected):
    assert _range(values) == pytest.approx(expected)
