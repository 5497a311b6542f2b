"""What a study of the page graph found: as JSON, as tables, as pictures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .charts import aligned, curve_picture, curve_table, document_table, markdown, reach_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from .curves import Point
    from .labelled import Skipped
    from .reach import DocumentReach, Reach

__all__ = ["Study"]


@dataclass
class Study:
    """What a study found.

    Attributes:
        recipe: Whose ranking was walked.
        questions: Questions asked.
        skipped: Lines of the file that were left out, and why.
        points: Per judge (in words), recall against pages judged.
        reaches: Per kind of edge, and for groups of them, what they reach from the first pages.
        documents: By file name.
        asked: Pages that a judge of the library was asked about; kept verdicts count once.
        unjudged: Of them, those whose verdict failed or could not be read.
        calls: Calls to models that it made.
    """

    recipe: str
    questions: int
    skipped: list[Skipped]
    points: dict[str, list[Point]] = field(default_factory=dict)
    reaches: dict[str, Reach] = field(default_factory=dict)
    documents: dict[str, DocumentReach] = field(default_factory=dict)
    asked: int = 0
    unjudged: int = 0
    calls: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return all of it; the form is that of ``graph report --json`` (docs/cli.md)."""
        return {
            "recipe": self.recipe,
            "questions": self.questions,
            "skipped": [one.as_json() for one in self.skipped],
            "asked": self.asked,
            "unjudged": self.unjudged,
            "calls": self.calls,
            "curves": {judge: [p.as_json() for p in found] for judge, found in self.points.items()},
            "reach": {kind: found.as_json() for kind, found in self.reaches.items()},
            "documents": {name: found.as_json() for name, found in self.documents.items()},
        }

    def as_text(self) -> str:
        """Return its tables for a terminal."""
        few = {name: self._only(found, "all but order") for name, found in self.documents.items()}
        titled = ["By document, along all edges but reading order:", aligned(document_table(few))]
        return "\n\n".join([*self._parts(aligned), *titled])

    def as_markdown(self) -> str:
        """Return its tables and pictures (`pictures`) as Markdown."""
        title, *parts = self._parts(markdown)
        shown = [f"![{judge}]({name})" for judge, name in self._files()]
        documents = ["By document:", markdown(document_table(self.documents))]
        return "\n\n".join(["# Page graph", title, *shown, *parts, *documents]) + "\n"

    def pictures(self) -> dict[str, str]:
        """Return the curves of each judge as an SVG picture, by file name."""
        return {name: curve_picture(self.points[judge], judge) for judge, name in self._files()}

    def _parts(self, table: Callable[[list[list[str]]], str]) -> list[str]:
        asked, on = _counted(self.questions, "question"), _counted(len(self.documents), "document")
        parts = [f"{asked} on {on}, ranking: {self.recipe}"]
        for judge, points in self.points.items():
            parts += [f"Recall against pages judged, {judge}:", table(curve_table(points))]
        if self.asked:
            judged, calls = _counted(self.asked, "page"), _counted(self.calls, "call")
            lost = f"; {self.unjudged} without a verdict" if self.unjudged else ""
            parts.append(f"Judged by the library: {judged}, with {calls} to models{lost}.")
        reached = "Gold pages within some hops of the first three pages of the ranking:"
        return [*parts, reached, table(reach_table(self.reaches))]

    def _only(self, found: DocumentReach, group: str) -> DocumentReach:
        return replace(found, reaches={g: r for g, r in found.reaches.items() if g == group})

    def _files(self) -> list[tuple[str, str]]:
        return [(judge, f"curves-{n}.svg") for n, judge in enumerate(self.points, 1)]


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
