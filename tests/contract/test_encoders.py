"""Every encoder keeps to the contract, and the contract notices those that do not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pagetrail.encoders.text import TextEncoder
from pagetrail.testing import HashEncoder, check_encoder


@pytest.mark.parametrize("make", [HashEncoder, TextEncoder, lambda: TextEncoder(threads=2)])
def test_encoder_keeps_the_contract(make):
    check_encoder(make())


class _TooLong(HashEncoder):
    def encode_queries(self, texts):
        vectors = super().encode_queries(texts)
        return dataclasses.replace(vectors, data=vectors.data * 2)


class _DependsOnNeighbours(HashEncoder):
    def encode_queries(self, texts):
        vectors = super().encode_queries(texts)
        data = vectors.data + vectors.data.sum(axis=0, keepdims=True)
        data /= np.maximum(np.linalg.norm(data, axis=1, keepdims=True), 1e-9)
        return dataclasses.replace(vectors, data=data.astype(np.float32))


class _Unsigned(HashEncoder):
    def encode_queries(self, texts):
        return dataclasses.replace(super().encode_queries(texts), revision="")


class _WordsOnEmptyPages(HashEncoder):
    def encode_pages(self, pages):
        return self._vectors([[b.text for b in p.blocks] or [""] for p in pages])


class _Blind(HashEncoder):
    def encode_pages(self, pages):
        return self._vectors([["same"] * len(p.blocks) for p in pages])


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (_TooLong, "unit length"),
        (_DependsOnNeighbours, "alone and among others"),
        (_Unsigned, "revision"),
        (_WordsOnEmptyPages, "pages with words"),
        (_Blind, "sentence of its own"),
    ],
)
def test_contract_notices_a_broken_encoder(broken, rule):
    with pytest.raises(AssertionError, match=rule):
        check_encoder(broken())
