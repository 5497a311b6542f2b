"""What the commands print: data on stdout, talk on stderr, nothing a terminal would obey."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any

import typer

from ..errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from PIL.Image import Image

    from ..library import AddedDocument, Library
    from ..types import Answer, Ranking

__all__ = [
    "added_line",
    "answer_text",
    "clean",
    "data",
    "describe",
    "progress",
    "ranking_text",
    "save",
    "say",
]


def say(text: str) -> None:
    typer.echo(text, err=True)


def data(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def save(picture: Image, path: Path) -> None:
    """Write a picture as PNG and say so; a place that cannot be written to is a usage error."""
    try:
        picture.save(path, "PNG")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
    say(f"wrote {path}")


def clean(text: str) -> str:
    """Return text from a document with control characters made visible: a terminal obeys them."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def added_line(result: AddedDocument) -> str:
    pages = f"{result.pages} page{'' if result.pages == 1 else 's'}"
    note = result.reason or ("unchanged" if result.unchanged else "")
    line = f"{result.status:8} {result.document}  {pages}  {result.seconds:.1f} s"
    return clean(f"{line}  {note}".rstrip())


@contextlib.contextmanager
def progress(*, enabled: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Yield a callback (pages done, pages known, current document) that draws a bar, or None."""
    if not (enabled and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("pages", total=None)

        def tick(done: int, known: int, name: str) -> None:
            bar.update(task, completed=done, total=known or None, description=clean(name)[-40:])

        yield tick


def describe(view: dict[str, Any]) -> str:
    lines = [
        f"{key.replace('_', ' '):14} {value if not isinstance(value, list) else ', '.join(value)}"
        for key, value in view.items()
        if value and key not in {"outline", "metadata", "pages_failed"}
    ]
    if view["pages_failed"]:
        lines.append(f"{'pages failed':14} {', '.join(map(str, view['pages_failed']))}")
    lines += [f"{k:14} {v}" for k, v in view["metadata"].items()]
    lines += [
        f"{'  ' * entry['level']}{entry['title']}  p. {entry['page'] or '?'}"
        for entry in view["outline"]
    ]
    return clean("\n".join(lines))


def ranking_text(target: Library, ranking: Ranking) -> str:
    view = target.view(ranking)
    if not view["hits"]:
        return "no page matches"
    return "\n".join(
        f"{rank:3}. {where(hit)}  {hit['score']:.3f}  {hit['via']}"
        for rank, hit in enumerate(view["hits"], 1)
    )


def where(place: dict[str, Any]) -> str:
    label = f" (printed {place['label']})" if place["label"] else ""
    return f"{place['document']}, page {place['page']}{label}"


def answer_text(target: Library, answer: Answer) -> str:
    view = target.view(answer)
    if answer.abstained:
        near = [f"  - {where(place)}" for place in view["pages_considered"]]
        return "\n".join([f"No answer: {answer.reason}", "Nearest pages:", *near])
    lines = [answer.text, ""]
    lines += [
        f"[{n}] {where(c)}: \u201c{c['quote']}\u201d" for n, c in enumerate(view["citations"], 1)
    ]
    lines.append(f"confidence {answer.confidence:.2f}; {answer.reason}".rstrip("; "))
    return "\n".join(lines)
