"""Every answer reader keeps to the contract, and the contract notices those that do not."""

from __future__ import annotations

import dataclasses

import pytest

from pagetrail.answer.extract import ExtractiveReader
from pagetrail.testing import check_answer_reader


def _same(question, texts):
    return [0.5] * len(texts)


@pytest.mark.parametrize("reader", [ExtractiveReader(), ExtractiveReader(similarity=_same)])
def test_reader_keeps_the_contract(reader):
    check_answer_reader(reader)


class _Changed:
    """The built-in reader with its drafts changed in one way."""

    def __init__(self, **changes):
        self._changes = changes

    def read(self, query, ranking, pages):
        drafts = ExtractiveReader().read(query, ranking, pages)
        return [dataclasses.replace(d, **self._changes) for d in drafts]


class _Reversed(ExtractiveReader):
    def read(self, query, ranking, pages):
        return list(reversed(super().read(query, ranking, pages)))


class _Silent:
    def read(self, query, ranking, pages):
        return []


@pytest.mark.parametrize(
    ("reader", "rule"),
    [
        (_Changed(quote="words that stand nowhere"), "stands on its page"),
        (_Changed(page="other#p0001"), "pages that were given"),
        (_Changed(text=" "), "says something"),
        (_Changed(also=(("garden#p0001", 0, "nowhere"),)), "stands on its page"),
        (_Reversed(), "best first"),
        (_Silent(), "gets a draft"),
        (object(), "read method"),
    ],
)
def test_a_broken_reader_is_noticed(reader, rule):
    with pytest.raises(AssertionError, match=rule):
        check_answer_reader(reader)
