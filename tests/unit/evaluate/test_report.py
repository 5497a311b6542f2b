"""What a study hands on: JSON, tables, pictures."""

from __future__ import annotations

import json

from pagetrail.evaluate.curves import Point
from pagetrail.evaluate.labelled import Skipped
from pagetrail.evaluate.reach import DocumentReach, Reach
from pagetrail.evaluate.report import Study

LINK = Reach(4, 1, 1, [2, 3, 3], [1, 2, 2], [0, 1, 1])


def study(**more):
    point = Point("walk", 0.1, 0.1, (0.5, 0.75, 1.0), (0.5, 0.5, 0.5))
    document = DocumentReach(10, 4, {"link": 0.5}, {"all but order": LINK, "link": LINK})
    return Study(
        "default",
        4,
        [Skipped(3, "it has no question")],
        {"perfect judge": [point], "judge text": [point]},
        {"link": LINK},
        {"a|b.pdf": document},
        **more,
    )


def test_json_holds_all_of_it():
    view = json.loads(json.dumps(study(asked=12, calls=7).as_json()))
    assert view["skipped"] == [{"line": 3, "reason": "it has no question", "wrong": True}]
    assert (view["asked"], view["calls"], view["questions"]) == (12, 7, 4)
    assert [p["recall@3"] for p in view["curves"]["judge text"]] == [0.75]
    assert view["reach"]["link"]["unreachable"] == 1
    assert view["documents"]["a|b.pdf"]["degree"] == {"link": 0.5}


def test_text_has_a_line_for_a_document_and_markdown_one_for_each_kind():
    text = study().as_text()
    assert text.startswith("4 questions on 1 document, ranking: default\n")
    assert [line.split()[1] for line in text.splitlines() if line.startswith("a|b.pdf")] == ["all"]
    rows = [line for line in study().as_markdown().splitlines() if line.startswith("| a\\|b.pdf")]
    assert [row.split(" | ")[1] for row in rows] == ["all but order", "link"]


def test_what_a_real_judge_cost_is_told():
    assert "Judged by the library: 1 page, with 7 calls to models." in study(
        asked=1, calls=7
    ).as_text()  # fmt: skip
    assert "with 7 calls to models; 3 without a verdict." in study(
        asked=9, calls=7, unjudged=3
    ).as_text()  # fmt: skip
    assert "Judged by the library" not in study().as_text()


def test_a_picture_for_each_judge():
    pictures = study().pictures()
    assert list(pictures) == ["curves-1.svg", "curves-2.svg"]
    assert ">judge text<" in pictures["curves-2.svg"]
    text = study().as_markdown()
    assert all(f"]({name})" in text for name in pictures)
