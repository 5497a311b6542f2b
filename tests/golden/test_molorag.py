"""MoLoRAG in a real library: known vectors, scripted grades, and what each version makes of them.

Eight pictures of one grey each, whose vectors lie on a circle. Page 1 is what the question asks
for; 2 and 3 lie near it, 4 near 3, 5 near 4; 6 to 8 lie apart. The evidence is on page 5, which
only a walk of three hops reaches. (That every number follows the source is tested against a second
implementation in ``tests/unit/retrieve/test_molorag.py``.)
"""

from __future__ import annotations

import math
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

import pagetrail
from pagetrail.config import DocumentSettings, load_settings
from pagetrail.errors import EndpointError
from pagetrail.judge.calibrate import Calibration
from pagetrail.testing import ScriptedCall, ScriptedChat
from pagetrail.types import Vectors, split_page_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Degrees from the question. A cosine of .8 is an angle of 36.9 degrees, one of .4 of 66.4.
ANGLES = {1: 10, 2: 40, 3: -20, 4: -50, 5: -80, 6: 170, 7: 172, 8: 174}


class Circle:
    """An encoder that knows the angle of every grey."""

    name, revision, dimension, pixels = "colpali", "1", 2, 1024

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self._vectors([0.0] * len(texts))

    def encode_images(self, images: Sequence[np.ndarray]) -> Vectors:
        # Pictures that are drawn to probe the model have a grey of their own.
        return self._vectors([ANGLES.get(round(int(i[0, 0, 0]) / 20), 0) for i in images])

    def _vectors(self, angles: Sequence[float]) -> Vectors:
        turned = [math.radians(angle) for angle in angles]
        data = np.array([[math.cos(t), math.sin(t)] for t in turned], np.float32).reshape(-1, 2)
        return Vectors(data, np.arange(len(data) + 1), self.name, self.revision)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("molorag")
    frames = [Image.new("RGB", (32, 32), (20 * n,) * 3) for n in ANGLES]
    frames[0].save(folder / "pool.tiff", save_all=True, append_images=frames[1:])
    settings = load_settings(documents=DocumentSettings(ocr=False, workers=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pagetrail.encoding.load_encoder", lambda *_: Circle())
        with pagetrail.open(folder / "library", settings=settings) as library:
            assert [d.pages for d in library.add(folder / "pool.tiff")] == [len(ANGLES)]
            (run,) = library.encode("colpali:known")
            assert (run.pages, run.pending) == (len(ANGLES), 0)
    return folder / "library"


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pagetrail.encoding.load_encoder", lambda *_: Circle())


def page_of(call: ScriptedCall) -> int:
    (key,) = call.images
    return int(key.partition("#")[2].partition("@")[0])


def run(pool: Path, recipe: str, grades: dict[int, Any]) -> tuple[list[int], list[int], Any]:
    """Return the pages found, the pages asked about, and the step of the walk."""
    replies = dict.fromkeys(ANGLES, "1") | grades
    chat = ScriptedChat(lambda call: replies[page_of(call)], draws=False)
    with pagetrail.open(pool, create=False, judge=chat) as library:
        library.models.forget()
        found = library.explain("which?", pipeline=recipe)
    step = next(step for step in found.trace.steps if step.visits)
    pages = [split_page_id(hit.page)[1] for hit in found.ranking.hits]
    return pages, sorted(map(page_of, chat.calls)), step


def test_the_code_walks_along_near_pages_and_drops_what_is_below_the_floor(pool: Path) -> None:
    recipe = "molorag:fidelity=code,width=1,keep=9"
    pages, asked, step = run(pool, recipe, {1: "2", 3: "3", 5: "5"})
    assert asked == [1, 2, 3, 4, 5]
    # Semantic scores within the document: page 1 has 1, page 8 has 0; page 5 has .59.
    assert pages == [5, 3, 1, 2, 4]
    trail = {split_page_id(v.page)[1]: v for v in step.visits}
    assert [trail[page].hop for page in (1, 3, 4, 5)] == [0, 1, 2, 3]
    assert split_page_id(trail[5].origin)[1] == 4
    assert trail[5].semantic == pytest.approx(0.59, abs=0.01)
    assert trail[5].score == pytest.approx(0.4 * trail[5].semantic + 0.6, abs=1e-6)
    pages, _, step = run(pool, recipe, {1: "2", 3: "3"})
    assert pages == [3, 1, 2, 4]  # page 5 has .4 of .59, which is below .3
    assert step.detail["below_floor"] == "1"


def test_the_code_stops_after_its_hops(pool: Path) -> None:
    _, asked, _ = run(pool, "molorag:fidelity=code,width=1,hops=2", {3: "4", 5: "5"})
    assert asked == [1, 2, 3, 4]


def test_the_paper_joins_more_pages_and_drops_none(pool: Path) -> None:
    pages, asked, _ = run(pool, "molorag:fidelity=paper,width=1,hops=1,keep=9", {4: "5"})
    assert asked == [1, 2, 3, 4]  # page 4 lies 60 degrees from page 1: a product of .5
    assert sorted(pages) == asked
    assert pages[0] == 4


def test_the_code_takes_a_reply_without_a_digit_for_3_and_a_failed_call_for_1(pool: Path) -> None:
    odd = {2: "hard to say", 3: EndpointError("the server is down")}
    _, _, step = run(pool, "molorag:fidelity=code", odd)
    verdicts = {split_page_id(v.page)[1]: v.verdict for v in step.visits}
    assert (verdicts[2].grade, verdicts[3].grade) == (3, 1)
    assert "counted as 3" in verdicts[2].reason
    assert "counted as" in step.detail["reason"]


def test_fixed_takes_neither_for_a_grade_and_keeps_what_was_not_judged(pool: Path) -> None:
    odd = {2: "hard to say", 3: EndpointError("the server is down")}
    pages, asked, step = run(pool, "molorag:keep=8,hops=0", odd)
    verdicts = {split_page_id(v.page)[1]: v.verdict for v in step.visits}
    assert (verdicts[2].outcome, verdicts[3].outcome) == ("unparsed", "failed")
    assert (step.detail["unparsed"], step.detail["failed"]) == ("1", "1")
    scores = {split_page_id(v.page)[1]: (v.score, v.semantic) for v in step.visits}
    assert scores[2][0] == scores[2][1]
    assert scores[3][0] == scores[3][1]
    assert sorted(pages) == sorted(ANGLES)
    assert asked == [1, 2, 3]


def test_a_server_that_is_down_leaves_the_semantic_ranking(pool: Path) -> None:
    down = dict.fromkeys(ANGLES, EndpointError("the server is down"))
    pages, _, step = run(pool, "molorag:keep=8", down)
    assert pages == sorted(ANGLES, key=lambda page: abs(ANGLES[page]))
    assert step.detail["outcome"] == "no_verdict"


def test_a_walk_is_told_again_from_kept_replies_without_a_call(pool: Path) -> None:
    chat = ScriptedChat("4", draws=False)
    with pagetrail.open(pool, create=False, judge=chat) as library:
        for recipe in ("molorag:fidelity=code", "molorag", "walk:start=m3docrag,budget=4"):
            library.models.forget()
            first = library.explain("which?", pipeline=recipe)
            count = len(chat.calls)
            again = library.explain("which?", pipeline=recipe)
            assert len(chat.calls) == count > 0
            assert again.trace.cost["calls"] == 0
            assert trail(again) == trail(first)
            assert [h.page for h in again.ranking.hits] == [h.page for h in first.ranking.hits]


def test_a_calibrated_judge_says_nothing_at_its_base_rate(pool: Path, tmp_path: Path) -> None:
    """Verdicts at the base rate leave the walk's own expectation as it was."""
    flat = Calibration("platt", "grade", slope=0.0, offset=-math.log(4), labels=100, positives=20)
    copy = shutil.copytree(pool, tmp_path / "library")
    with pagetrail.open(copy, create=False, judge=ScriptedChat("4", draws=False)) as library:
        judges = library._judges
        assert (judges.neutral("grade"), judges.neutral("text")) == (0.5, 0.1)
        library.models._keep("grade", flat)
        assert library._judges.neutral("grade") == 0.2
        found = library.explain("which?", pipeline="walk:start=m3docrag,budget=3,batch=1")
    visits = [visit for step in found.trace.steps for visit in step.visits]
    assert [v.verdict.probability for v in visits if v.verdict] == pytest.approx([0.2] * 3)
    # Taken for doubt, such verdicts would put what was judged behind what nobody looked at.
    assert {hit.page for hit in found.ranking.hits[:3]} == {visit.page for visit in visits}


def trail(found: Any) -> list[tuple[Any, ...]]:
    """Return the trail of a walk but for what it cost."""
    return [
        (v.page, v.edge, v.origin, v.why, v.hop, v.semantic, v.score, v.verdict.grade)
        for step in found.trace.steps
        for v in step.visits
    ]
