"""Pipelines as values: equality, JSON, fingerprints."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.errors import UsageError
from pagetrail.retrieve import pipeline as p
from pagetrail.retrieve.boost import Boost
from pagetrail.retrieve.fuse import Fuse, fuse
from pagetrail.retrieve.value import fingerprint, from_json, to_json

names = st.sampled_from(["words", "meaning", "blocks", "ключ"])
weights = st.floats(0.1, 9, allow_nan=False)
searches = st.builds(p.Search, names, st.integers(1, 5000), st.booleans())


def _extend(inner: st.SearchStrategy[p.Pipeline]) -> st.SearchStrategy[p.Pipeline]:
    cuts = st.builds(p.Cut, st.integers(1, 100))
    boosts = st.builds(Boost, inner, weights)
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(p.Sum, several),
        st.builds(
            lambda start, stages: p.Then(start, tuple(stages)),
            inner,
            st.lists(st.one_of(cuts, boosts), min_size=1, max_size=3),
        ),
        several.flatmap(
            lambda inputs: st.builds(
                Fuse,
                st.just(inputs),
                st.sampled_from(["zscore", "rrf"]),
                st.lists(weights, min_size=len(inputs), max_size=len(inputs)).map(tuple),
            )
        ),
    )


pipelines = st.recursive(searches, _extend, max_leaves=6)


@given(pipelines)
def test_json_round_trip_keeps_the_value(value):
    again = from_json(to_json(value))
    assert again == value
    assert hash(again) == hash(value)
    assert again.fingerprint == value.fingerprint
    assert again.explain() == value.explain()
    assert str(again) == str(value)


@given(pipelines, pipelines)
def test_fingerprints_tell_values_apart(one, other):
    assert (one.fingerprint == other.fingerprint) == (one == other)


def test_fingerprint_is_the_same_in_another_process():
    code = (
        "from pagetrail.retrieve.fuse import fuse\n"
        "from pagetrail.retrieve.pipeline import Search\n"
        "print((fuse(Search('a'), Search('b'), weights=(1, 1.5)) % 5).fingerprint)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = (fuse(p.Search("a"), p.Search("b"), weights=(1, 1.5)) % 5).fingerprint
    assert out.stdout.strip() == here
    assert len(here) == 64


def test_whole_and_decimal_weights_are_one_value():
    assert fuse(p.Search("a"), p.Search("b"), weights=(1, 2)) == fuse(
        p.Search("a"), p.Search("b"), weights=(1.0, 2.0)
    )


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "JSON"),
        ("[", "JSON"),
        ("3", "kind"),
        ("[]", "kind"),
        ("{}", "unknown kind"),
        ('{"kind": "teleport"}', "unknown kind"),
        ('{"kind": ["search"]}', "unknown kind"),
        ('{"kind": "search", "channel": "a"}', "depth"),
        ('{"kind": "search", "channel": "a", "depth": 5, "trim": false, "speed": 1}', "speed"),
        ('{"kind": "search", "channel": "a", "depth": "5", "trim": false}', "whole number"),
        ('{"kind": "search", "channel": "a", "depth": true, "trim": false}', "whole number"),
        ('{"kind": "search", "channel": 7, "depth": 5, "trim": false}', "name"),
        ('{"kind": "search", "channel": "a", "depth": 5, "trim": 1}', "trim"),
        ('{"kind": "cut", "k": NaN}', "JSON"),
        ('{"kind": "cut", "k": 0}', "at least 1"),
        ('{"kind": "sum", "terms": "ab"}', "searches"),
        ('{"kind": "sum", "terms": [{"kind": "cut", "k": 3}]}', "searches"),
    ],
)
def test_bad_json_is_refused_with_a_reason(text, word):
    with pytest.raises(UsageError, match=word):
        from_json(text)


def test_deep_nesting_is_refused():
    deep = '{"kind":"sum","terms":[' * 200 + "]}" * 200
    with pytest.raises(UsageError, match="deep"):
        from_json(deep)
    with pytest.raises(UsageError, match="JSON"):
        from_json("[" * 100_000)


def test_json_is_canonical():
    text = to_json(p.Search("a") % 3)
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_fingerprint_of_a_stage_alone():
    assert fingerprint(p.Cut(3)) != fingerprint(p.Cut(4))


def test_json_is_read_without_having_made_a_piece_before():
    text = to_json(fuse(p.Search("a"), p.Search("b")) >> Boost(p.Search("c")))
    code = (
        "import sys; from pagetrail.retrieve.value import from_json; print(from_json(sys.argv[1]))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, text], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == str(from_json(text))
