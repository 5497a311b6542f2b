"""The command that studies the page graph on labelled questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from .app import JsonOption, LibraryOption, RecipeOption, library_at
from .graph import graph_app
from .output import data, progress, say, tell

if TYPE_CHECKING:
    from ..studying import Study

__all__ = ["report"]

_NAMED = 20  # wrong lines that are told one by one

OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FOLDER",
        readable=False,
        help="Write report.json, report.md and a picture per judge here.",
    ),
]


@graph_app.command()
def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DATA", help="A folder with questions.jsonl.", readable=False)
    ],
    library: LibraryOption = None,
    recipe: RecipeOption = None,
    judge: Annotated[
        str | None,
        typer.Option("--judge", metavar="JUDGE", help="Let this judge of the library judge too."),
    ] = None,
    budget: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Pages of a question that a method may ask it; 0: any number."
        ),
    ] = 20,
    off: Annotated[
        float, typer.Option(help="Share of wrong grades of the judge that errs.", min=0, max=1)
    ] = 0.15,
    failed: Annotated[
        float, typer.Option(help="Share of its verdicts that fail.", min=0, max=1)
    ] = 0.05,
    channel: Annotated[
        str, typer.Option(help="Vectors that the published beam walks along.", metavar="CHANNEL")
    ] = "dense",
    least: Annotated[
        int, typer.Option("--least-pages", min=1, help="Leave shorter documents out.")
    ] = 20,
    output: OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """Study walks on labelled questions: what edges reach, and what judged pages buy."""
    with library_at(library) as target, progress(enabled=True) as tick:
        study = target.study(
            folder,
            pipeline=recipe or "default",
            judge=judge,
            most=budget,
            off=off,
            failed=failed,
            least=least,
            channel=channel,
            progress=tick,
        )
    data(study.as_json()) if as_json else tell(study.as_text())
    partly = _tell_lacks(study, folder)
    if output is not None:
        _write(study, output)
    if partly:
        raise typer.Exit(3)


def _tell_lacks(study: Study, folder: Path) -> bool:
    """Name the lines that are wrong, count what else was left out, and say if anything failed."""
    if study.unjudged:
        say(f"pages of {study.asked} on which no verdict came: {study.unjudged}")
    wrong = [one for one in study.skipped if one.wrong]
    for one in wrong[:_NAMED]:
        say(f"{folder}, {one}")
    if len(wrong) > _NAMED:
        say(f"wrong lines beyond these: {len(wrong) - _NAMED}; --json names them all")
    others = len(study.skipped) - len(wrong)
    if others:
        say(f"left out without evidence to find, or on a document of fewer pages: {others}")
    return bool(wrong or study.unjudged)


def _write(study: Study, folder: Path) -> None:
    content = {
        "report.json": json.dumps(study.as_json(), indent=1, ensure_ascii=False) + "\n",
        "report.md": study.as_markdown(),
        **study.pictures(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in content.items():
            (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from error
    say(f"wrote {', '.join(content)} to {folder}")
