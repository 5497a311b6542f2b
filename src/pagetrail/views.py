"""The JSON forms of results: a contract shared by every surface, documented in docs/cli.md.

Documents appear as the path under which they were added, pages as 1-based physical numbers with
the printed label beside, boxes as ``[x0, y0, x1, y1]`` fractions of the displayed page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .types import split_page_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .asking import Explained
    from .graph.shown import DocumentGraph, OuterEdge, ShownEdge
    from .types import Answer, Citation, Document, Hit, Page, Ranking, Verdict, Visit

__all__ = [
    "answer_view",
    "document_view",
    "explained_view",
    "graph_view",
    "page_view",
    "ranking_view",
    "result_view",
]


def result_view(
    result: Ranking | Answer | Explained | DocumentGraph,
    places: Callable[[Iterable[str]], Mapping[str, tuple[str, int, str | None]]],
) -> dict[str, Any]:
    """Return any result in its form; ``places`` gives path, number and label of pages by id."""
    from .asking import Explained
    from .types import Answer, Ranking

    if isinstance(result, Explained):
        return explained_view(result, places(result.pages))
    if isinstance(result, Ranking):
        return ranking_view(result, places(hit.page for hit in result.hits))
    if isinstance(result, Answer):
        cited = [citation.page for citation in result.citations]
        return answer_view(result, places([*cited, *result.pages_considered]))
    return graph_view(result)


def _place(page: str, places: Mapping[str, tuple[str, int, str | None]]) -> dict[str, Any]:
    document, number = split_page_id(page)
    source, number, label = places.get(page, (document, number, None))
    return {"document": source, "page": number, "label": label}


def ranking_view(
    ranking: Ranking, places: Mapping[str, tuple[str, int, str | None]]
) -> dict[str, Any]:
    """Return ``{"query", "hits": [{"document", "page", "label", "score", "parts", "via"}]}``.

    Pages that were judged have ``verdicts`` as well.
    """
    return {
        "query": ranking.query.text,
        "hits": [_hit_view(hit, places) for hit in ranking.hits],
    }


def _hit_view(hit: Hit, places: Mapping[str, tuple[str, int, str | None]]) -> dict[str, Any]:
    view = {
        **_place(hit.page, places),
        "score": round(hit.score, 6),
        "parts": {
            name: {"raw": round(part.raw, 6), "normalised": round(part.normalised, 6)}
            for name, part in sorted(hit.parts.items())
        },
        "via": hit.via,
    }
    if hit.verdicts:
        view["verdicts"] = {name: _verdict_view(v) for name, v in sorted(hit.verdicts.items())}
    return view


def _verdict_view(verdict: Verdict) -> dict[str, Any]:
    numbers = {
        "probability": verdict.probability,
        "log_odds": verdict.log_odds,
        "grade": verdict.grade,
    }
    return {
        "outcome": verdict.outcome,
        **{name: round(value, 6) for name, value in numbers.items() if value is not None},
        **({"reason": verdict.reason} if verdict.reason else {}),
        "cached": verdict.cached,
    }


def explained_view(
    explained: Explained, places: Mapping[str, tuple[str, int, str | None]]
) -> dict[str, Any]:
    """Return the ranking with the pipeline in words, its steps, and what they cost.

    A step that walked from page to page has its ``trail``: one object per page, in order.
    """
    return {
        **ranking_view(explained.ranking, places),
        "pipeline": str(explained.pipeline),
        "fingerprint": explained.pipeline.fingerprint,
        "steps": [
            {
                "stage": step.stage,
                "calls": step.calls,
                "tokens": step.tokens,
                "seconds": round(step.seconds, 6),
                "cache_hits": step.cache_hits,
                **dict(step.detail),
                **({"trail": _trail_view(step.visits, places)} if step.visits else {}),
            }
            for step in explained.trace.steps
        ],
        "cost": explained.trace.cost,
        "lacking": dict(explained.lacking),
    }


def _trail_view(
    visits: Sequence[Visit], places: Mapping[str, tuple[str, int, str | None]]
) -> list[dict[str, Any]]:
    return [
        {
            **_place(visit.page, places),
            "edge": visit.edge,
            "from": _place(visit.origin, places) if visit.origin else None,
            "why": visit.why,
            "hop": visit.hop,
            "semantic": None if visit.semantic is None else round(visit.semantic, 6),
            "score": round(visit.score, 6),
            "verdict": None if visit.verdict is None else _verdict_view(visit.verdict),
        }
        for visit in visits
    ]


def _citation_view(
    citation: Citation, places: Mapping[str, tuple[str, int, str | None]]
) -> dict[str, Any]:
    return {
        **_place(citation.page, places),
        "boxes": [box.as_list() for box in citation.boxes],
        "quote": citation.quote,
        "verified": citation.verified,
    }


def answer_view(
    answer: Answer, places: Mapping[str, tuple[str, int, str | None]]
) -> dict[str, Any]:
    """Return the answer with its citations, the pages considered and what it cost."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "abstained": answer.abstained,
        "reason": answer.reason,
        "confidence": round(answer.confidence, 4),
        "source": answer.source,
        "citations": [_citation_view(c, places) for c in answer.citations],
        "pages_considered": [_place(page, places) for page in answer.pages_considered],
        "cost": answer.trace.cost,
    }


def document_view(document: Document) -> dict[str, Any]:
    """Return what a library knows of a document, without its pages."""
    return {
        "document": document.source,
        "id": document.id,
        "title": document.title,
        "status": document.status,
        "reason": document.reason,
        "pages": document.page_count,
        "pages_failed": list(document.pages_failed),
        "tags": sorted(document.tags),
        "sha256": document.content_hash,
        "metadata": dict(document.metadata),
        "outline": [
            {"title": e.title, "level": e.level, "page": e.page or None} for e in document.outline
        ],
    }


def page_view(document: Document, page: Page) -> dict[str, Any]:
    """Return a page with its blocks, references and links."""
    return {
        "document": document.source,
        "page": page.number,
        "label": page.label,
        "width": page.width,
        "height": page.height,
        "turn": page.turn,
        "text_source": page.text_source,
        "notes": list(page.notes),
        "blocks": [
            {
                "order": block.order,
                "kind": block.kind,
                "level": block.level,
                "source": block.source,
                "text": block.text,
                "box": block.box.as_list(),
            }
            for block in page.blocks
        ],
        "references": [
            {"kind": r.kind, "key": r.key, "role": r.role, "block": r.block}
            for r in page.references
        ],
        "links": [
            {"box": link.box.as_list(), "page": link.target or None}
            | ({"file": link.file} if link.file else {})
            for link in page.links
        ],
    }


def graph_view(graph: DocumentGraph) -> dict[str, Any]:
    """Return a document's page graph: pages, edges by page number, edges elsewhere, a summary."""
    summary = graph.summary
    return {
        "document": graph.name,
        "id": graph.id,
        "joined": graph.joined,
        "pages": [{"page": p.number, "label": p.label, "title": p.title} for p in graph.pages],
        "edges": [
            {"from": edge.source, "to": edge.target, **_edge_view(edge)} for edge in graph.edges
        ],
        "elsewhere": [
            {"from": edge.source, "document": edge.name, "page": edge.page, **_edge_view(edge)}
            for edge in graph.outer
        ],
        "summary": {
            "pages": summary.pages,
            "edges": dict(summary.kinds),
            "elsewhere": summary.outer,
            "mean_degree": round(summary.degree, 4),
            "alone": summary.alone,
            "components": summary.components,
        },
    }


def _edge_view(edge: ShownEdge | OuterEdge) -> dict[str, Any]:
    return {"kind": edge.kind, "weight": round(edge.weight, 4), "why": edge.why}
