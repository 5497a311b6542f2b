"""What is read from the wire: replies, thinking, log-probabilities; never an accident."""

from __future__ import annotations

import copy
import json
import math
import random

import pytest

from pagetrail.models.sse import MalformedStreamError, StreamReader
from pagetrail.models.thinking import ThinkingFilter, split, start_of_reply
from pagetrail.models.wire import Dialect, MalformedError, narrower, read_body

BODY = {"messages": [{"role": "user", "content": "Is it?"}]}


def token(text, value, others=()):
    top = [{"token": t, "logprob": p} for t, p in others]
    return {"token": text, "logprob": value, "bytes": list(text.encode()), "top_logprobs": top}


def answer(content, tokens=None, **message):
    choice = {"message": {"content": content, **message}, "finish_reason": "stop"}
    if tokens is not None:
        choice["logprobs"] = {"content": tokens}
    return {"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}


def read(answered):
    return read_body(json.dumps(answered).encode(), BODY)


def test_tokens_spelt_alike_add_up():
    others = [("yes", math.log(0.4)), ("no", math.log(0.2)), ("yes", math.log(0.3))]
    said = read(answer("yes", [token("yes", math.log(0.4), others)]))
    assert said.logprobs == pytest.approx({"yes": math.log(0.7), "no": math.log(0.2)})


def test_the_token_that_was_chosen_counts_even_if_it_is_not_listed():
    said = read(answer("yes", [token("yes", -4.0, [("no", -0.1)])]))
    assert said.logprobs == {"yes": -4.0, "no": -0.1}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 0.5])
def test_what_is_no_logprob_is_left_out(value):
    assert read(answer("yes", [token("yes", -0.1, [("no", value)])])).logprobs == {"yes": -0.1}
    assert read(answer("yes", [token("yes", value)])).logprobs is None


def test_rounding_above_zero_is_zero():
    assert read(answer("yes", [token("yes", 1e-6)])).logprobs == {"yes": 0.0}


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [{}],
        None,
        "x",
        [{"token": "yes"}],
        [token("other", -0.1)],
        [7],
        [token("yes", -(10**400))],
        [token("yes", -0.1, [("no", -(10**400))])],
    ],
)
def test_logprobs_that_make_no_sense_are_none(tokens):
    assert read(answer("yes", tokens)).logprobs is None


@pytest.mark.parametrize(
    ("tokens", "reply", "thought", "place"),
    [
        ([b"Yes"], "Yes", False, 0),
        ([b"\n", b" Yes", b"."], "Yes.", False, 1),
        ([b"Yes", b"</think>", b"\n\n", b"Yes", b"<|im_end|>"], "Yes", True, 3),
        ([b"Yes", b" I", b" think"], "No", True, None),  # the tokens are those of the thinking
        ([b"think</think>Y", b"es"], "Yes", True, None),  # no token begins with the reply
        ([b"\xe6\xa9", b"\x8b"], "橋", False, 0),
        ([b"\xef\xbf\xbd", b"\xef\xbf\xbd"], "橋", False, None),
        ([b"Yes", b"?"], "Yes.", False, 0),  # spelt otherwise further on
        ([b"Yes"], "", False, None),
        ([], "Yes", False, None),
    ],
)
def test_where_the_reply_begins(tokens, reply, thought, place):
    assert start_of_reply(tokens, reply, thought=thought) == place


@pytest.mark.parametrize(
    ("raw", "thought", "reply"),
    [
        ("Yes", "", "Yes"),
        ("<think>a</think>b", "a", "b"),
        (" <think>\na\n</think>\n\n b ", "a", "b"),
        ("a</think>b", "a", "b"),
        ("<think>a", "a", ""),
        ("It says <think>a</think>.", "", "It says <think>a</think>."),
        ("", "", ""),
    ],
)
def test_thinking_is_split_off(raw, thought, reply):
    assert split(raw) == (thought, reply)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("raw", "reply"),
    [
        ("Yes, <b> it is", "Yes, <b> it is"),
        ("\n <think>a < b </thin></think>\n\nYes", "Yes"),
        ("<thinking> is fun", "<thinking> is fun"),
        ("<thi", "<thi"),
        ("<think>cut", ""),
        ("<think></think>", ""),
    ],
)
def test_thinking_is_kept_out_of_streams_however_they_are_cut(raw, reply, size):
    thinking = ThinkingFilter()
    pieces = [thinking.feed(raw[n : n + size]) for n in range(0, len(raw), size)]
    assert "".join([*pieces, thinking.end()]) == reply


def test_what_is_named_is_dropped_first():
    body = {"max_tokens": 3, "seed": 0, "logprobs": True, "temperature": 0}
    full = Dialect()
    assert narrower(full, body, "Unknown field: seed") == Dialect(seed=False)
    assert narrower(full, body, "bad") == Dialect(logprobs=False)
    assert narrower(full, body, "the image is broken") is None
    assert narrower(full, {"max_tokens": 3}, "bad") is None
    assert narrower(full, {"max_tokens": 3}, "no seed here") is None  # not in the request


def test_a_lone_surrogate_becomes_a_question_mark():
    said = read(answer("a\ud800", [token("a?", -0.5)]))
    assert said.text == "a?"
    assert said.logprobs == {"a?": -0.5}


JUNK = [None, 1, -1, 0.5, "x", "", [], {}, [1], {"a": 1}, True, float("nan"), "\ud800", [300]]


def places(value, path=()):
    if path:
        yield path
    if isinstance(value, list):
        value = dict(enumerate(value))
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield from places(inner, (*path, key))


def mutants(count):
    """Yield good answers in which one or two places hold something else, or nothing."""
    chance = random.Random(7)
    good = answer("<think>a</think>Yes", [token("Yes", -0.1, [("No", -2.0)])], reasoning="a")
    for _ in range(count):
        made = copy.deepcopy(good)
        for _ in range(chance.randint(1, 2)):
            *way, last = chance.choice(list(places(made)))
            holder = made
            for key in way:
                holder = holder[key]
            if chance.random() < 0.3:
                del holder[last]
            else:
                holder[last] = copy.deepcopy(chance.choice(JUNK))
        yield made


class _Opening:
    """A streaming response that holds these bytes."""

    headers = {}  # noqa: RUF012

    def __init__(self, content):
        self.content = content

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        pass

    def iter_bytes(self):
        yield self.content


def test_any_answer_is_a_reply_or_malformed():
    replies = 0
    for made in mutants(600):
        content = json.dumps(made).encode()
        try:
            said = read_body(content, BODY)
        except MalformedError:
            continue
        replies += 1
        said.text.encode()
        assert said.tokens.prompt >= 0
        assert said.tokens.reply >= 0
        assert all(value <= 0 for value in (said.logprobs or {}).values())
    assert 100 < replies < 600


def test_any_stream_is_a_reply_or_malformed():
    ended = 0
    for made in mutants(600):
        event = json.dumps(made).replace('"message"', '"delta"').encode()
        reader = StreamReader(_Opening(b"data: %s\n\n" % event), BODY)
        try:
            while reader.next() is not None:
                pass
        except MalformedStreamError:
            continue
        ended += 1
        assert reader.tokens.reply >= 0
    assert 50 < ended < 600
