"""Every judge keeps to the contract, and the contract notices those that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pagetrail.errors import EndpointError
from pagetrail.judge.calibrate import Calibration
from pagetrail.judge.chat import Grade, YesNo
from pagetrail.judge.text import CrossEncoderJudge, TextJudge
from pagetrail.models import prompts
from pagetrail.models.cache import CachedChat, MemoryStore
from pagetrail.ports import Prompt, Reply
from pagetrail.testing import (
    ChatServer,
    HashEncoder,
    PlainPictures,
    ScriptedChat,
    Turn,
    WordJudge,
    check_judge,
    tiny_pages,
)
from pagetrail.types import Query, Verdict

ASK = Prompt("ask", 1, "Can this page answer: {question}\n{page}\nSay yes or no.")
PLATT = Calibration("platt", slope=0.5, offset=-1.0)


class Model:
    """Looks at every picture and replies by what the page says."""

    name = "model"
    revision = "1"

    def __init__(self, reply: str, *, logprobs=None, concurrency: int = 1) -> None:
        self._reply, self._logprobs, self.concurrency = reply, logprobs, concurrency

    def chat(self, messages, *, schema=None, max_tokens=512, logprobs=False):
        for picture in messages[-1].images:
            picture.draw()
        if "tomatoes, a third" in messages[-1].text and self._reply == "fail":
            raise EndpointError("the server said:\n500")
        kept = self._logprobs if logprobs else None
        return Reply(self._reply, kept, prompt_tokens=10, reply_tokens=1)


class Looks:
    """A cross-encoder that looks at pictures."""

    def score_pictures(self, question, pictures):
        return [len(picture) / 100 - 1 for picture in pictures]


def similarity(question, texts):
    vectors = HashEncoder().encode_queries([question, *texts]).data
    return (vectors[1:] @ vectors[0]).tolist()


def cross(question, texts):
    return [4 * cosine - 1 for cosine in similarity(question, texts)]


DEGREES = {"Yes": -0.5, " no": -1.2, "4": -2.0, "5": -3.0}


@pytest.mark.parametrize(
    "judge",
    [
        WordJudge(),
        YesNo(Model("Yes."), ASK, pixels=500),
        YesNo(Model("perhaps"), ASK, pixels=500),
        YesNo(Model("fail"), ASK, pixels=500, name="fails"),
        YesNo(Model("no", concurrency=4), ASK, pixels=0),
        YesNo(Model("x", logprobs=DEGREES, concurrency=4), ASK, pixels=5000),
        YesNo(Model("x", logprobs=DEGREES), ASK, pixels=5000, calibration=PLATT),
        YesNo(Model("eyes"), ASK, pixels=500, parse="contains"),
        Grade(Model("4"), ASK, pixels=500),
        Grade(Model("10"), ASK, pixels=500),
        Grade(Model("x", logprobs=DEGREES, concurrency=3), ASK, pixels=500),
        Grade(Model("4"), ASK, pixels=500, parse="molorag"),
        Grade(Model("none"), ASK, pixels=500, parse="molorag"),
        YesNo(ScriptedChat("yes"), prompts.YES_NO, pixels=5000),
        Grade(ScriptedChat("3"), prompts.GRADE_TEXT, pixels=0),
        YesNo(CachedChat(ScriptedChat("no"), MemoryStore()), prompts.YES_NO, pixels=5000),
        TextJudge(similarity),
        CrossEncoderJudge(cross),
        CrossEncoderJudge(Looks(), pixels=4000, calibration=PLATT),
    ],
)
def test_judge_keeps_the_contract(judge):
    check_judge(judge)


def test_judges_over_a_model_of_this_machine_keep_the_contract(tiny_model):
    pytest.importorskip("torch", reason="needs the extra local")
    from pagetrail.models.local import LocalChat

    model = LocalChat(str(tiny_model("idefics3")), device="cpu")
    judge = YesNo(CachedChat(model, MemoryStore()), prompts.YES_NO, pixels=4000)
    check_judge(judge)
    degrees = judge.judge(Query("How many tomatoes?"), tiny_pages(), PlainPictures())
    assert all(v.log_odds is not None for v in degrees)
    grade = Grade(model, prompts.GRADE, pixels=4000)
    for verdict in grade.judge(Query("How many?"), tiny_pages()[:2], PlainPictures()):
        assert 1 < verdict.grade < 5


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_judges_over_a_real_server_keep_the_contract_and_ask_once():
    pytest.importorskip("openai", reason="needs the extra remote")
    from pagetrail.models.remote import RemoteChat

    def says(asked):
        if "Fares" in asked.text:
            return Turn(status=400, message="the context is too long")
        return Turn("yes", logprobs={"yes": -0.4, " no": -1.4, "The": -3.0})

    with ChatServer(says) as server, RemoteChat("test", server.url, "k") as model:
        judge = YesNo(CachedChat(model, MemoryStore()), prompts.YES_NO, pixels=4000)
        check_judge(judge)
        query = Query("How much is a bicycle?")
        for cost in (len(tiny_pages()), 0):
            before = len(server.asked)
            verdicts = judge.judge(query, tiny_pages(), PlainPictures())
            assert {round(v.log_odds, 6) for v in verdicts} == {1.0}
            assert sum(v.calls for v in verdicts) == cost == len(server.asked) - before
        by_words = YesNo(model, prompts.YES_NO_TEXT, pixels=0)
        outcomes = [v.outcome for v in by_words.judge(query, tiny_pages(), PlainPictures())]
        assert outcomes == ["judged"] * 2 + ["failed"] + ["judged"] * 2 + ["failed"]


class _Changed(WordJudge):
    def __init__(self, **changes):
        self._changes = changes

    def judge(self, query, pages, pictures):
        return [replace(v, **self._changes) for v in super().judge(query, pages, pictures)]


class _Sorted(WordJudge):
    def judge(self, query, pages, pictures):
        return sorted(super().judge(query, pages, pictures), key=lambda v: v.page)


class _Eager(WordJudge):
    def judge(self, query, pages, pictures):
        for page in pages:
            pictures.picture(page.id, pixels=100).draw()
        return super().judge(query, pages, _NoPictures())


class _NoPictures:
    def picture(self, page, *, pixels):
        raise AssertionError("no pictures are needed")


class _Relative(WordJudge):
    def judge(self, query, pages, pictures):
        found = super().judge(query, pages, pictures)
        return [replace(v, probability=i / max(1, len(found))) for i, v in enumerate(found)]


class _Forgetful(WordJudge):
    def __init__(self):
        self._times = 0

    def judge(self, query, pages, pictures):
        self._times += 1
        return [Verdict(p.id, "judged", probability=1 / self._times) for p in pages]


class _LooksAndIgnores(WordJudge):
    def judge(self, query, pages, pictures):
        for page in {p.id for p in pages}:
            try:
                pictures.picture(page, pixels=100).draw()
            except Exception:  # noqa: BLE001
                continue
        return super().judge(query, pages, pictures)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (object(), "methods of ports.Judge"),
        (_Sorted(), "in the order given"),
        (_Changed(probability=1.5), r"within 0\.\.1"),
        (_Changed(log_odds=float("inf")), "finite"),
        (_Changed(probability=None), "a number to what it judged"),
        (_Changed(outcome="failed", reason="why"), "numbers only to what it judged"),
        (_Changed(outcome="unparsed", probability=None), "says why"),
        (_Changed(reason="two\nlines"), "one line"),
        (_Changed(calls=1), "only once"),
        (_Changed(calls=1, cached=True), "what was kept"),
        (_Eager(), "once per call"),
        (_Relative(), "another order"),
        (_Forgetful(), "when asked again"),
        (_LooksAndIgnores(), "cannot be drawn"),
    ],
)
def test_contract_notices_a_broken_judge(broken, rule):
    with pytest.raises(AssertionError, match=rule):
        check_judge(broken)
