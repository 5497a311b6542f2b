"""Choosing among candidates: orders, shares and what positions are worth."""

from __future__ import annotations

import re
from math import log

import pytest

from pagetrail.errors import EndpointError, UsageError
from pagetrail.judge.choice import Choice
from pagetrail.ports import Prompt, Reply
from pagetrail.testing import PlainPictures, make_page
from pagetrail.types import Query

PICK = Prompt("pick", 1, "{question}\n{pages}\nOne of {letters}.", system="Choose.")
WORDS = ("red", "green", "blue")
PAGES = [make_page("c", n, [("paragraph", word)]) for n, word in enumerate(WORDS, 1)]
QUERY = Query("Which one is green?")


class Chooser:
    name = "chooser"
    revision = "1"
    concurrency = 2

    def __init__(self, decide):
        self.decide, self.messages = decide, []

    def chat(self, messages, *, schema=None, max_tokens=512, logprobs=False):
        self.messages.append(messages)
        shown = dict(re.findall(r"^([A-Z]):\n<<<PAGE\n(\w+)$", messages[-1].text, re.MULTILINE))
        reply = self.decide(shown)
        if isinstance(reply, Exception):
            raise reply
        return reply


def finds_green(shown):
    letter = next(k for k, v in shown.items() if v == "green")
    return Reply(f"[{letter}]", prompt_tokens=5, reply_tokens=1)


def test_a_model_that_knows_is_followed_in_every_order():
    model = Chooser(finds_green)
    found = Choice(model, PICK, pixels=0, orders=6).choose(QUERY, PAGES, PlainPictures())
    assert found.probabilities == {"c#p0001": 0.0, "c#p0002": 1.0, "c#p0003": 0.0}
    assert found.best == "c#p0002"
    assert found.bias == pytest.approx((0, 0, 0))  # every page stood twice at every position
    assert (found.judged, found.unparsed, found.failed) == (6, 0, 0)
    assert (found.calls, found.tokens) == (6, 36)


def test_a_model_that_likes_a_letter_is_found_out():
    model = Chooser(lambda shown: Reply("A"))
    found = Choice(model, PICK, pixels=0, orders=3).choose(QUERY, PAGES, PlainPictures())
    assert found.probabilities == pytest.approx(dict.fromkeys((p.id for p in PAGES), 1 / 3))
    assert found.bias == pytest.approx((2 / 3, -1 / 3, -1 / 3))


def test_shares_of_letters_are_averaged():
    # The first position gets .2 more than its candidate deserves: green .6, others .2.
    def decide(shown):
        mass = {k: 0.6 if v == "green" else 0.2 for k, v in shown.items()}
        mass["A"] += 0.2
        return Reply("?", {k: log(m / 2) for k, m in mass.items()})

    found = Choice(Chooser(decide), PICK, pixels=0, orders=3).choose(QUERY, PAGES, PlainPictures())
    # Of 1.2: green (.6 + .6 + .8) / 3 / 1.2 = .5556, the others (.2 + .2 + .4) / 3 / 1.2 = .2222
    assert found.probabilities["c#p0002"] == pytest.approx(2 / 3.6)
    assert found.probabilities["c#p0001"] == pytest.approx(0.8 / 3.6)
    # Position A gets (.4 + .4 + .8) / 3 / 1.2 - 1/3 = .1111
    assert found.bias == pytest.approx((1 / 9, -1 / 18, -1 / 18))


def test_failures_are_counted_and_left_out():
    replies = iter([Reply("A or B"), EndpointError("down\nnow"), Reply("D"), None])

    def decide(shown):
        return next(replies) or finds_green(shown)

    model = Chooser(decide)
    model.concurrency = 1
    found = Choice(model, PICK, pixels=0, orders=4).choose(QUERY, PAGES, PlainPictures())
    assert (found.judged, found.unparsed, found.failed, found.calls) == (1, 2, 1, 4)
    assert found.best == "c#p0002"
    assert found.reason == "the reply is not one of the letters A, B, C"


def test_no_choice_is_no_number():
    model = Chooser(lambda shown: EndpointError("down\nnow"))
    found = Choice(model, PICK, pixels=0, orders=2).choose(QUERY, PAGES, PlainPictures())
    assert (found.probabilities, found.bias, found.best) == ({}, (), None)
    assert (found.failed, found.reason) == (2, "down now")


def test_orders_are_repeatable_and_depend_on_the_seed():
    def order_of(seed):
        model = Chooser(finds_green)
        model.concurrency = 1
        Choice(model, PICK, pixels=0, orders=5, seed=seed).choose(QUERY, PAGES, PlainPictures())
        return [m[-1].text for m in model.messages]

    assert order_of(1) == order_of(1)
    assert len({tuple(order_of(seed)) for seed in range(8)}) > 2
    first = order_of(1)[:3]
    places = [re.findall(r"<<<PAGE\n(\w+)", text) for text in first]
    assert [sorted(column) for column in zip(*places, strict=True)] == [sorted(WORDS)] * 3


def test_pictures_stand_in_the_order_of_the_letters():
    model = Chooser(finds_green)
    asked = Query("Which?", image=b"mine")
    Choice(model, PICK, pixels=77, orders=1).choose(asked, PAGES, PlainPictures())
    system, user = model.messages[0]
    assert system.text == "Choose."
    assert user.text.startswith("Which?\nA:\n<<<PAGE\n")
    assert user.text.endswith("\nOne of A, B, C.")
    words = re.findall(r"<<<PAGE\n(\w+)", user.text)
    keys = [image.key for image in user.images]
    assert keys[0].startswith("sha256:")
    assert keys[1:] == [f"plain:c#p{WORDS.index(w) + 1:04d}:77" for w in words]


def test_pictures_alone():
    model = Chooser(lambda shown: Reply("B"))
    Choice(model, PICK, pixels=77, orders=1, characters=0).choose(QUERY, PAGES, PlainPictures())
    assert model.messages[0][-1].text == "Which one is green?\n\nOne of A, B, C."


def test_trivial_and_impossible_choices():
    judge = Choice(Chooser(finds_green), PICK, pixels=0)
    assert judge.choose(QUERY, [], PlainPictures()).probabilities == {}
    only = judge.choose(QUERY, [PAGES[0], PAGES[0]], PlainPictures())
    assert (only.probabilities, only.calls) == ({"c#p0001": 1.0}, 0)
    many = [make_page("c", n, []) for n in range(1, 28)]
    with pytest.raises(UsageError, match="26"):
        judge.choose(QUERY, many, PlainPictures())
    with pytest.raises(UsageError, match="at least one"):
        Choice(Chooser(finds_green), PICK, pixels=0, orders=0)
    odd = Choice(Chooser(finds_green), PICK, pixels=0, orders=2)
    assert odd.choose(Query("\ud800 green?"), PAGES, PlainPictures()).best == "c#p0002"
