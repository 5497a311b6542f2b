"""MoLoRAG as published, against a second implementation that is slow and obvious.

What the second one does is taken from the paper (arXiv 2509.07666) and from what its code is known
to do; it shares nothing with the stage but the order of equal pages (the lower id first).
"""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pagetrail.recipes import molorag
from pagetrail.types import Query, Verdict, page_id

QUERY = Query("which?")


def inner(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def edges_by_product(vectors, theta=0.4):
    """The paper: an inner product of theta and more."""
    count = len(vectors)
    return {
        i: {j for j in range(count) if j != i and inner(vectors[i], vectors[j]) >= theta}
        for i in range(count)
    }


def edges_by_neighbours(vectors, k=5, theta=0.8):
    """The code: k nearest by cosine, of .8 and more, then both ways; none for three pages."""
    count = len(vectors)
    joined = {i: set() for i in range(count)}
    if count <= 3:
        return joined
    for i in range(count):
        cosines = []
        for j in range(count):
            if j != i:
                lengths = math.sqrt(inner(vectors[i], vectors[i]) * inner(vectors[j], vectors[j]))
                cosines.append((inner(vectors[i], vectors[j]) / lengths, -j))
        for cosine, minus in sorted(cosines, reverse=True)[:k]:
            if cosine >= theta:
                joined[i].add(-minus)
                joined[-minus].add(i)
    return joined


def walk(semantic, grades, edges, *, alpha, floor, keep, width=3, hops=4):
    """Return the pages kept with their scores, and the pages graded."""
    low, high = min(semantic), max(semantic)
    flat = high == low
    near = [1.0 if flat else (value - low) / (high - low) for value in semantic]

    def score(i):
        return alpha * near[i] + (1 - alpha) * (grades[i] - 1) / 4

    beam = sorted(range(len(semantic)), key=lambda i: (-near[i], i))[:width]
    visited = set(beam)
    for _ in range(hops):
        candidates = {j for i in beam for j in edges[i]} - visited
        if not candidates:
            break
        visited |= candidates
        beam = sorted(candidates, key=lambda i: (-score(i), i))[:width]
    kept = sorted((i for i in visited if score(i) >= floor), key=lambda i: (-score(i), i))
    return [(i, score(i)) for i in kept[:keep]], visited


@st.composite
def documents(draw):
    """Pages with semantic scores and grades that often tie, and mean vectors that hardly do."""
    count = draw(st.integers(1, 14))
    chance = random.Random(draw(st.integers(0, 10**6)))
    # Few dimensions and short vectors, so that pages are often alike, and often not.
    vectors = [[chance.gauss(0, 0.7) for _ in range(2)] for _ in range(count)]
    semantic = draw(st.lists(st.integers(0, 6), min_size=count, max_size=count))
    grades = draw(st.lists(st.integers(1, 5), min_size=count, max_size=count))
    return vectors, semantic, grades


def run(make_world, document, fidelity, keep, **options):
    vectors, semantic, grades = document
    ids = [page_id("a", n + 1) for n in range(len(vectors))]
    said = {
        page: Verdict(page, "judged", probability=0.5, grade=grade, calls=1)
        for page, grade in zip(ids, grades, strict=True)
    }
    world = make_world(
        {"late": dict(zip(ids, map(float, semantic), strict=True))},
        total=len(ids),
        verdicts={"grade": said, "grade?molorag": said},
        points={"late": dict(zip(ids, vectors, strict=True))},
    )
    recipe = molorag(keep, fidelity=fidelity, channel="late", **options)
    ranking, trace = recipe.run(QUERY, world)
    step = next(step for step in trace.steps if step.calls)
    found = [(ids.index(hit.page), hit.score) for hit in ranking.hits]
    return found, [ids.index(visit.page) for visit in step.visits]


@given(documents(), st.sampled_from([1, 3, 5]))
def test_the_code(make_world, document, keep):
    found, graded = run(make_world, document, "code", keep)
    edges = edges_by_neighbours(document[0])
    expected, visited = walk(*document[1:], edges, alpha=0.4, floor=0.3, keep=keep)
    assert found == expected
    assert sorted(graded) == sorted(visited)


@given(documents(), st.sampled_from([1, 3, 5]))
def test_the_paper(make_world, document, keep):
    found, graded = run(make_world, document, "paper", keep)
    edges = edges_by_product(document[0])
    expected, visited = walk(*document[1:], edges, alpha=0.5, floor=0.0, keep=keep)
    assert found == expected
    assert sorted(graded) == sorted(visited)


@given(documents(), st.sampled_from(["paper", "code"]), st.integers(1, 4), st.integers(0, 5))
def test_any_width_and_number_of_hops(make_world, document, fidelity, width, hops):
    found, _ = run(make_world, document, fidelity, 5, width=width, hops=hops)
    code = fidelity == "code"
    edges = edges_by_neighbours(document[0]) if code else edges_by_product(document[0])
    alpha, floor = (0.4, 0.3) if code else (0.5, 0.0)
    expected, _ = walk(
        *document[1:], edges, alpha=alpha, floor=floor, keep=5, width=width, hops=hops
    )
    assert found == expected


@given(documents(), st.sampled_from(["paper", "code"]))
def test_the_judge_alone(make_world, document, fidelity):
    found, _ = run(make_world, document, fidelity, 5, mode="logic")
    code = fidelity == "code"
    edges = edges_by_neighbours(document[0]) if code else edges_by_product(document[0])
    expected, _ = walk(*document[1:], edges, alpha=0.0, floor=0.3 if code else 0.0, keep=5)
    assert found == expected


@given(documents(), st.sampled_from(["paper", "code"]), st.integers(0, 6))
def test_every_page_or_the_best_few(make_world, document, fidelity, top):
    """Grading down the ranking; a page that was not graded has its semantic score alone."""
    _, semantic, grades = document
    options = {"mode": "top", "top": top} if top else {"mode": "full"}
    found, graded = run(make_world, document, fidelity, 5, **options)
    order = sorted(range(len(semantic)), key=lambda i: (-semantic[i], i))
    first = order[: top or None]
    assert graded == first
    alpha, floor = (0.4, 0.3) if fidelity == "code" else (0.5, 0.0)
    span = max(semantic) - min(semantic)
    score = {}
    for i in order:
        near = (semantic[i] - min(semantic)) / span if span else 1.0
        score[i] = alpha * near + (1 - alpha) * (grades[i] - 1) / 4 if i in first else near
    kept = [i for i in order if i not in first or score[i] >= floor]
    assert found == [(i, score[i]) for i in sorted(kept, key=lambda i: (-score[i], i))[:5]]


def test_documents_by_hand(make_world):
    """Four pages: 1 is found; 2 and 3 are like it, 4 is not; the judge likes 3."""
    vectors = [[1.0, 0.0], [0.9, 0.2], [0.9, -0.2], [0.0, 1.0]]
    document = (vectors, [9, 0, 0, 0], [2, 1, 5, 5])
    found, graded = run(make_world, document, "code", 5, width=1)
    assert graded == [0, 1, 2]
    assert [page for page, _ in found] == [2, 0]  # page 2 is below the floor
    assert [score for _, score in found] == pytest.approx([0.6, 0.4 + 0.6 / 4])
    # Of three pages none is joined to another: only the first beam is graded.
    small = tuple(part[:3] for part in document)
    assert run(make_world, small, "code", 5, width=1)[1] == [0]
    assert run(make_world, small, "paper", 5, width=1)[1] == [0, 1, 2]
