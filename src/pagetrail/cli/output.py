"""What the commands print: data on stdout, talk on stderr, nothing a terminal would obey."""

from __future__ import annotations

import contextlib
import json
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

import typer

from ..errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from PIL.Image import Image

    from ..asking import Explained
    from ..library import AddedDocument, Library
    from ..types import Answer, Ranking, Trace

__all__ = [
    "added_line",
    "answer_text",
    "clean",
    "data",
    "describe",
    "explained_text",
    "failed_calls",
    "judge_notes",
    "line",
    "progress",
    "ranking_text",
    "save",
    "say",
    "search_notes",
    "tell",
]

# Persian and Indic words need the joiners, hyphenated ones the soft hyphen; they change no order.
_JOINERS = "\u00ad\u200c\u200d"


def say(text: str) -> None:
    """Tell the person at the terminal one line."""
    typer.echo(line(text), err=True)


def tell(text: str) -> None:
    """Print a result for a person to read; it may have several lines."""
    typer.echo(clean(text))


def data(value: Any) -> None:
    """Print one JSON line and flush it: UTF-8 in every locale, whatever a file is called."""
    text = json.dumps(value, ensure_ascii=False) + "\n"
    sys.stdout.flush()
    # A name that is not UTF-8 holds lone surrogates; written as \udcXX they are JSON's own escapes.
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def save(picture: Image, path: Path) -> None:
    """Write a picture as PNG and say so; a place that cannot be written to is a usage error."""
    try:
        picture.save(path, "PNG")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
    say(f"wrote {path}")


def clean(text: str) -> str:
    """Return text with what a terminal would obey made visible: controls, turns of direction."""
    return text if text.isprintable() else "".join(map(_visible, text))


def line(text: str) -> str:
    """Return text as `clean` does, in one line: a file's name may hold line breaks."""
    return clean(text).replace("\n", "\\n").replace("\t", "\\t")


def _visible(character: str) -> str:
    if character.isprintable() or character in "\n\t" or character in _JOINERS:
        return character
    code = ord(character)
    if unicodedata.category(character) == "Zs":
        return character
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file's name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def added_line(result: AddedDocument) -> str:
    pages = f"{result.pages} page{'' if result.pages == 1 else 's'}"
    note = result.reason or ("unchanged" if result.unchanged else "")
    return f"{result.status:8} {result.document}  {pages}  {result.seconds:.1f} s  {note}".rstrip()


@contextlib.contextmanager
def progress(*, enabled: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Yield a callback (pages done, pages known, current document) that draws a bar, or None.

    The bar is drawn on standard error, and only where that is a terminal.
    """
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
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("pages", total=None)

        def tick(done: int, known: int, name: str) -> None:
            bar.update(task, completed=done, total=known or None, description=line(name)[-40:])

        yield tick


def describe(view: dict[str, Any]) -> str:
    """Return a document's JSON form as lines for a person."""
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
    return "\n".join(map(line, lines))


def ranking_text(target: Library, ranking: Ranking) -> str:
    view = target.view(ranking)
    if not view["hits"]:
        return "no page matches"
    return "\n".join(
        f"{rank:3}. {_where(hit)}  {hit['score']:.3f}  {hit['via']}"
        for rank, hit in enumerate(view["hits"], 1)
    )


def explained_text(view: dict[str, Any]) -> str:
    """Return a ranking's JSON form with scores, verdicts and steps as lines for a person."""
    lines = [f"pipeline {view['pipeline']}", ""]
    for rank, hit in enumerate(view["hits"], 1):
        lines.append(f"{rank:3}. {_where(hit)}  {hit['score']:.4f}  {hit['via']}")
        lines += [
            f"       {name:12} {part['raw']:9.4f}  {part['normalised']:8.4f}"
            for name, part in hit["parts"].items()
        ]
        lines += [f"       {name:12} {_verdict(v)}" for name, v in hit.get("verdicts", {}).items()]
    lines += ["" if view["hits"] else "no page matches", "steps"]
    for step in view["steps"]:
        known = ("stage", "calls", "tokens", "seconds", "cache_hits", "trail")
        more = ", ".join(f"{name} {value}" for name, value in step.items() if name not in known)
        spent = f"{step['calls']} calls, {step['tokens']} tokens, {step['cache_hits']} kept"
        lines.append(f"  {step['stage']}: {more}; {spent}; {step['seconds']:.3f} s")
        lines += [f"    {_visit(visit)}" for visit in step.get("trail", ())]
    cost = view["cost"]
    lines.append(f"cost {cost['calls']} calls, {cost['tokens']} tokens, {cost['seconds']:.3f} s")
    return "\n".join(map(line, lines))


def _visit(visit: dict[str, Any]) -> str:
    """Return one page of a walk's trail as a line."""
    way = visit["edge"]
    if visit["from"] is not None:
        origin = visit["from"]
        page = f"page {origin['page']}"
        same = origin["document"] == visit["document"]
        way = f"{way} from {page if same else _where(origin)} ({visit['why']})"
    said = "not asked" if visit["verdict"] is None else _verdict(visit["verdict"])
    return f"{_where(visit)}  {visit['score']:.4f}  {way}; {said}"


def search_notes(explained: Explained) -> list[str]:
    """Return what a person should know of a search: pages not encoded, or without a verdict."""
    notes = [
        f"{name} lacks {pages} page{'' if pages == 1 else 's'}; `pagetrail encode add` goes on"
        for name, pages in explained.lacking.items()
    ]
    return notes + judge_notes(explained.trace)


def judge_notes(trace: Trace) -> list[str]:
    """Return what a person should know of judges: calls that failed, and that no page passed."""
    notes = []
    for step in trace.steps:
        lost = {name: step.detail.get(name, "0") for name in ("failed", "unparsed")}
        told = [f"{count} {name}" for name, count in lost.items() if count != "0"]
        if told:
            why = f": {step.detail['reason']}" if "reason" in step.detail else ""
            notes.append(f"{step.stage}: {', '.join(told)} of {step.detail['asked']}{why}")
        judged = lost["failed"] != step.detail.get("asked")
        if step.detail.get("outcome") == "no_candidate" and judged:
            notes.append(f"{step.stage}: no page passed")
    return notes


def failed_calls(trace: Trace) -> bool:
    """Say whether a judge's call failed, so that a result is only partly what was asked for."""
    return any(step.detail.get("failed", "0") != "0" for step in trace.steps)


def _verdict(verdict: dict[str, Any]) -> str:
    numbers = [
        f"{name.replace('_', ' ')} {verdict[name]:.3f}"
        for name in ("probability", "log_odds", "grade")
        if name in verdict
    ]
    kept = ["kept from before"] if verdict["cached"] else []
    reason = [verdict["reason"]] if "reason" in verdict else []
    return ", ".join([verdict["outcome"], *numbers, *reason, *kept])


def _where(place: dict[str, Any]) -> str:
    label = f" (printed {place['label']})" if place["label"] else ""
    return line(f"{place['document']}, page {place['page']}{label}")


def answer_text(target: Library, answer: Answer) -> str:
    view = target.view(answer)
    if answer.abstained:
        near = [f"  - {_where(place)}" for place in view["pages_considered"]]
        return "\n".join(
            [f"No answer: {answer.reason}", *(["Nearest pages:"] if near else []), *near]
        )
    lines = [answer.text, ""]
    lines += [
        f"[{n}] {_where(c)}: \u201c{c['quote']}\u201d" for n, c in enumerate(view["citations"], 1)
    ]
    lines.append(f"confidence {answer.confidence:.2f}; {answer.reason}".rstrip("; "))
    return "\n".join(lines)
