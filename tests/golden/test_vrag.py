"""V-RAG on a pool made by hand: known cosines, scripted replies, and what the published code does.

Seventy pictures of one grey each. Each encoder knows the cosine of every grey with the question, so
the ensemble's order is known: the sum of the three cosines falls from page to page in steps of .04,
while each encoder alone has an order of its own.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

import pagetrail
from pagetrail.config import DocumentSettings, load_settings
from pagetrail.errors import EndpointError
from pagetrail.judge.calibrate import Calibration
from pagetrail.ports import Reply
from pagetrail.testing import ScriptedCall, ScriptedChat
from pagetrail.types import Vectors, split_page_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PAGES = 70
CHANCE = random.Random(7)
# Page numbers by falling sum of cosines.
ORDER = CHANCE.sample(range(1, PAGES + 1), PAGES)
SUMS = {page: 1.5 - 0.04 * rank for rank, page in enumerate(ORDER)}
LEAN = {page: CHANCE.uniform(-0.15, 0.15) for page in ORDER}
OTHER = {page: CHANCE.uniform(-0.15, 0.15) for page in ORDER}
COSINES: dict[str, dict[int, float]] = {
    "clip": {p: SUMS[p] / 3 + LEAN[p] for p in ORDER},
    "siglip": {p: SUMS[p] / 3 - OTHER[p] for p in ORDER},
    "openclip": {p: SUMS[p] / 3 + OTHER[p] - LEAN[p] for p in ORDER},
}
# What SigLIP makes of a question that is not padded: the first page of all drops behind the tenth.
UNPADDED = COSINES["siglip"] | {ORDER[0]: COSINES["siglip"][ORDER[0]] - 0.46}
CODE_ORDER = [*ORDER[1:11], ORDER[0], *ORDER[11:]]


class Known:
    """An encoder that knows the cosine of every grey with any question."""

    revision = "1"
    dimension = 3
    pixels = 1024

    def __init__(self, name: str) -> None:
        self.name = name
        self.settings: dict[str, str] = {}
        self.variants = ("unpadded",) if name == "siglip" else ()

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self._vectors([[1.0, 0.0, 0.0]] * len(texts))

    def encode_queries_as(self, variant: str, texts: Sequence[str]) -> Vectors:
        assert variant == "unpadded"
        return self._vectors([[0.0, 1.0, 0.0]] * len(texts))

    def encode_images(self, images: Sequence[np.ndarray]) -> Vectors:
        rows = []
        for image in images:
            page = round(int(image[0, 0, 0]) / 3)
            padded = COSINES[self.name].get(page, 0.0)
            plain = UNPADDED.get(page, 0.0) if self.name == "siglip" else 0.0
            rows.append([padded, plain, math.sqrt(1 - padded**2 - plain**2)])
        return self._vectors(rows)

    def _vectors(self, rows: list[list[float]]) -> Vectors:
        data = np.array(rows, np.float32).reshape(-1, 3)
        return Vectors(data, np.arange(len(data) + 1), self.name, self.revision)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library of the seventy pictures, with the three encoders."""
    folder = tmp_path_factory.mktemp("vrag")
    frames = [Image.new("RGB", (32, 32), (3 * n,) * 3) for n in range(1, PAGES + 1)]
    frames[0].save(folder / "pool.tiff", save_all=True, append_images=frames[1:])
    settings = load_settings(documents=DocumentSettings(ocr=False, workers=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pagetrail.encoding.load_encoder", lambda spec, _: Known(spec.split(":")[0]))
        with pagetrail.open(folder / "library", settings=settings) as library:
            assert [d.pages for d in library.add(folder / "pool.tiff")] == [PAGES]
            for name in COSINES:
                (run,) = library.encode(f"{name}:known")
                assert (run.channel, run.pages, run.pending) == (name, PAGES, 0)
    return folder / "library"


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pagetrail.encoding.load_encoder", lambda spec, _: Known(spec[:-6]))


def page_of(call: ScriptedCall) -> int:
    (key,) = call.images
    return int(key.partition("#")[2].partition("@")[0])


def run(
    pool: Path, recipe: str, says: Callable[[int], Any], limit: int = PAGES
) -> tuple[list[int], list[ScriptedCall], Any]:
    """Return the page numbers found, the calls made, and the explained ranking."""
    chat = ScriptedChat(lambda call: says(page_of(call)), draws=False)
    with pagetrail.open(pool, create=False, judge=chat) as library:
        library.models.forget()
        found = library.explain("which?", pipeline=recipe, limit=limit)
    return [split_page_id(h.page)[1] for h in found.ranking.hits], chat.calls, found


def test_the_ensemble_orders_pages_by_the_sum_and_no_encoder_does(pool: Path) -> None:
    pages, calls, _ = run(pool, "vrag:fidelity=paper,filter=off,keep=70", str)
    assert pages == ORDER
    assert calls == []
    for name, cosines in COSINES.items():
        alone = run(pool, f"single:channel={name},keep=70", str)[0]
        # Vectors are kept in 8 bits: only nearly equal cosines may stand the other way round.
        found = [cosines[page] for page in alone]
        assert all(a > max(found[n:]) - 0.01 for n, a in enumerate(found))
        assert alone != ORDER


def test_the_code_asks_about_ten_and_keeps_their_order(pool: Path) -> None:
    replies = dict(zip(CODE_ORDER, ["No.", "Yes, it can.", "no", "YES"] * 20, strict=False))
    replies[CODE_ORDER[2]] = "I said so yesterday"  # holds the letters y, e, s
    pages, calls, found = run(pool, "vrag:fidelity=code,keep=70", replies.__getitem__)
    asked = CODE_ORDER[:10]
    assert sorted(map(page_of, calls)) == sorted(asked)
    assert not any(call.logprobs for call in calls)
    assert pages == [p for p in asked if "yes" in replies[p].lower()]
    assert CODE_ORDER[2] in pages
    assert ORDER[0] not in asked
    step = found.trace.steps[2]
    assert (step.calls, step.detail["passed"]) == (10, "6")


def test_the_code_hands_on_five(pool: Path) -> None:
    pages, calls, _ = run(pool, "vrag:fidelity=code", lambda _: "Yes")
    assert pages == CODE_ORDER[:5]
    assert len(calls) == 10


@pytest.mark.parametrize("reply", ["No", "", EndpointError("the server is down")])
def test_the_code_keeps_all_ten_when_none_passes_and_says_so(pool: Path, reply: Any) -> None:
    pages, _, found = run(pool, "vrag:fidelity=code,keep=70", lambda _: reply)
    assert pages == CODE_ORDER[:10]
    detail = found.trace.steps[2].detail
    assert detail["outcome"] == "no_candidate"
    assert detail["failed"] == ("10" if isinstance(reply, Exception) else "0")


def test_the_paper_asks_about_sixty_and_reads_strictly(pool: Path) -> None:
    replies = dict.fromkeys(ORDER, "no") | {ORDER[58]: "Yes.", ORDER[3]: "yes", ORDER[60]: "yes"}
    replies[ORDER[7]] = "Yes, it can."  # not the one word that was asked for
    pages, calls, found = run(pool, "vrag:fidelity=paper", replies.__getitem__)
    assert sorted(map(page_of, calls)) == sorted(ORDER[:60])
    assert pages == [ORDER[3], ORDER[58]]
    assert found.trace.steps[2].detail["unparsed"] == "1"


def odds(log_odds: float) -> Reply:
    """Return a reply whose first token is yes with these odds against no."""
    yes = -math.log1p(math.exp(-log_odds))
    return Reply("yes" if log_odds > 0 else "no", {"Yes": yes, " no": yes - log_odds})


def test_fixed_ranks_by_calibrated_log_odds(pool: Path) -> None:
    scores = {page: (page * 37 % 71 - 35) / 10 for page in ORDER}
    replies: dict[int, Any] = {page: odds(score) for page, score in scores.items()}
    calibration = Calibration("platt", slope=0.5, offset=-0.25, labels=100, positives=50)
    passing = [p for p in ORDER[:60] if 0.5 * scores[p] - 0.25 >= 0]
    replies[passing[0]] = EndpointError("the server is down")
    replies[passing[1]] = Reply("perhaps")
    with pagetrail.open(pool, create=False, judge=ScriptedChat()) as library:
        library.models._keep("yes_no", calibration)
    pages, calls, found = run(pool, "vrag:fidelity=fixed,fusion=sum,keep=70", replies.__getitem__)
    assert len(calls) == 60
    assert all(call.logprobs for call in calls)
    sure = passing[2:]
    assert pages[: len(sure)] == sorted(sure, key=lambda p: (-scores[p], ORDER.index(p)))
    # Two pages that could not be judged stand behind, and have no number.
    assert pages[len(sure) :] == passing[:2]
    verdicts = [hit.verdicts["yes_no"] for hit in found.ranking.hits]
    for page, hit, verdict in zip(pages, found.ranking.hits, verdicts, strict=True):
        if page in sure:
            assert verdict.log_odds == pytest.approx(scores[page], abs=1e-6)
            expected = 1 / (1 + math.exp(-(0.5 * scores[page] - 0.25)))
            assert hit.score == verdict.probability == pytest.approx(expected, abs=1e-6)
    assert [v.outcome for v in verdicts[-2:]] == ["failed", "unparsed"]
    assert {v.probability for v in verdicts[-2:]} == {None}


def test_a_second_run_asks_nothing(pool: Path) -> None:
    chat = ScriptedChat("yes", draws=False)
    with pagetrail.open(pool, create=False, judge=chat) as library:
        library.models.forget()
        first = library.explain("which?", pipeline="vrag:fidelity=code")
        assert len(chat.calls) == 10
        again = library.explain("which?", pipeline="vrag:fidelity=code")
    assert len(chat.calls) == 10
    assert [h.page for h in again.ranking.hits] == [h.page for h in first.ranking.hits]
    assert again.trace.cost["calls"] == 0
    assert again.trace.cost["cache_hits"] == 10
    with pagetrail.open(pool, create=False, judge=ScriptedChat("no", draws=False)) as other:
        kept = other.explain("which?", pipeline="vrag:fidelity=code")
    assert kept.trace.cost["cache_hits"] == 10
