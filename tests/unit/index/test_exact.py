"""Whatever is removed, scoped, merged or scored by column: a search is what brute force finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pagetrail.index import columns, loaded
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.ensemble import Ensemble
from pagetrail.index.maxsim import Question, page_scores
from pagetrail.index.publish import Registration, VectorWriter
from pagetrail.index.segments import VectorIndex
from pagetrail.types import Vectors

RAGGED = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(autouse=True)
def _small_blocks(shelf: Any, monkeypatch: Any) -> None:
    shelf.follow = ()
    monkeypatch.setattr(columns, "_LEAST", 4)
    monkeypatch.setattr(columns, "BLOCK", 8)
    monkeypatch.setattr(loaded, "BLOCK", 8)


def add(shelf: Any, writer: VectorWriter, counts: list[int], seed: int) -> None:
    """Add a document whose pages have so many vectors each."""
    now = shelf.catalogue.generation()
    shelf.add(f"{now}.pdf", *[f"page {n} {now}" for n in range(len(counts))])
    keys = writer.missing()
    name, revision, width = writer._names
    data = np.random.default_rng(seed).standard_normal((sum(counts), width)).astype(np.float32)
    data /= np.linalg.norm(data, axis=1, keepdims=True)
    offsets = np.append(0, np.cumsum(counts)).astype(np.int64)
    writer.publish(keys, Vectors(data, offsets, name, revision))


def brute(index: VectorIndex, query: np.ndarray, scope: frozenset[int] | None) -> dict[int, float]:
    """Scores of every page in scope from its own codes, a page at a time."""
    state = index.loaded()
    scores = {}
    for place in np.flatnonzero(state.shown).tolist():
        part, page = state.owner(place)
        if scope is None or int(state.keys[place]) >> 20 in scope:
            rows = part.rows.part(page, page + 1)
            score = page_scores(Question.of(query), rows, integer_product=False)[0]
            dequantised = index.float_scores(query, [int(state.keys[place])])[0]
            assert score == pytest.approx(dequantised, abs=0.02)
            scores[int(state.keys[place])] = float(score)
    return scores


def ranked(scores: dict[int, float], limit: int) -> list[int]:
    return sorted(scores, key=lambda key: (-scores[key], key))[:limit]


counts_of_pages = st.lists(st.sampled_from([0, 1, 1, 1, 2, 3, 17, 40]), min_size=1, max_size=12)


@RAGGED
@given(st.data())
def test_search_is_brute_force(shelf: Any, data: st.DataObject) -> None:
    name = f"e{shelf.catalogue.generation()}"
    writer = VectorWriter(
        shelf.catalogue, name=name, revision="1", dimension=8, registration=Registration(name)
    )
    for key in writer.missing(100_000):  # documents of former examples stay without vectors
        writer._writer.rows("DELETE FROM pending WHERE encoder = ? AND page = ?", (writer._id, key))
    first = len(shelf.catalogue.view().ids) + 1
    for seed, counts in enumerate(data.draw(st.lists(counts_of_pages, min_size=1, max_size=10))):
        add(shelf, writer, counts, seed)
    ids = dict(shelf.catalogue.view().ids)
    mine = [serial for serial in sorted(ids) if serial >= first]
    gone = data.draw(st.sets(st.sampled_from(mine), max_size=3)) if mine else set()
    shelf.catalogue.remove_documents([ids[serial] for serial in gone])
    if data.draw(st.booleans()):
        writer.compact()
    catalogue = Catalogue(shelf.folder)
    index = VectorIndex(catalogue, name=name, revision="1", dimension=8, channel=name)
    tokens = data.draw(st.sampled_from([1, 1, 3, 6]))
    query = np.random.default_rng(99).standard_normal((tokens, 8)).astype(np.float32)
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    limit = data.draw(st.integers(1, 30))
    scope = data.draw(st.none() | st.frozensets(st.sampled_from([*mine, 10_000]), max_size=4))
    expected = brute(index, query, scope)
    found = index.search(query, limit=limit, documents=scope)
    assert found.keys.tolist() == ranked(expected, limit)
    assert found.scores.tolist() == [expected[key] for key in found.keys.tolist()]
    again = index.rescore(query, found.keys)
    assert again.keys.tolist() == found.keys.tolist()
    assert again.scores.tolist() == found.scores.tolist()
    catalogue.close()


def test_large_segments_are_scored_by_column_and_exactly(shelf: Any, monkeypatch: Any) -> None:
    shelf.add("empty.pdf", "nothing")
    writers = [
        VectorWriter(
            shelf.catalogue,
            name=name,
            revision="1",
            dimension=width,
            registration=Registration(name),
        )
        for name, width in (("a", 96), ("b", 200))
    ]
    for writer in writers:
        writer.publish(
            writer.missing(),
            Vectors(
                np.empty((0, writer.dimension), np.float32),
                np.zeros(2, np.int64),
                writer.channel,
                "1",
            ),
        )
    ids = [shelf.add(f"{n}.pdf", *[f"page {n} {m}" for m in range(100)]) for n in range(6)]
    random = np.random.default_rng(0)
    for writer in writers:
        keys = writer.missing(1000)
        rows = random.standard_normal((len(keys), writer.dimension)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        writer.publish(keys, Vectors(rows, np.arange(len(keys) + 1), writer.channel, "1"))
    shelf.catalogue.remove_documents([ids[2]])
    scored: list[int] = []
    real = columns.Columns.estimate
    monkeypatch.setattr(
        columns.Columns, "estimate", lambda *given: scored.append(given[2]) or real(*given)
    )
    queries = [random.standard_normal(w.dimension).astype(np.float32) for w in writers]
    queries = [query / np.linalg.norm(query) for query in queries]
    expected = [brute(w, query, None) for w, query in zip(writers, queries, strict=True)]
    for writer, query, scores in zip(writers, queries, expected, strict=True):
        found, slack = writer.estimate(query)
        assert 1e-5 < slack < 0.05
        exact = np.array([scores[key] for key in found.keys.tolist()])
        assert 0 < np.abs(found.scores - exact).max() < slack
        found = writer.search(query, limit=20)
        assert found.keys.tolist() == ranked(scores, 20)
        assert found.scores.tolist() == [scores[key] for key in found.keys.tolist()]
        narrow = writer.search(query, limit=5, documents=frozenset({3, 4, 5}))
        assert narrow.keys.tolist() == ranked(
            {k: s for k, s in scores.items() if k >> 20 in (3, 5)}, 5
        )
    assert scored
    blend = Ensemble(writers).search(queries, [1.0, 2.0], limit=15)
    total = {key: expected[0][key] + 2 * expected[1][key] for key in expected[0]}
    assert blend.found.keys.tolist() == ranked(total, 15)
    for name, scores in zip("ab", expected, strict=True):
        assert blend.parts[name].tolist() == [scores[key] for key in blend.found.keys.tolist()]
