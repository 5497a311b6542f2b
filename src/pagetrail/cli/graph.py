"""Commands about the page graph."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError
from .app import JsonOption, LibraryOption, app, library_at
from .output import clean, say

__all__ = ["graph_app", "show"]

graph_app = typer.Typer(help="See how pages lead to one another.", no_args_is_help=True)
app.add_typer(graph_app, name="graph")

_FORMATS = {".txt": "text", ".json": "json", ".graphml": "graphml", ".svg": "svg"}


@graph_app.command()
def show(
    document: Annotated[str, typer.Argument(help="Path, name or id.", metavar="DOC")],
    form: Annotated[
        str | None, typer.Option("--format", help="text, json, graphml or svg.", metavar="FORMAT")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only such edges; may be repeated."),
    ] = None,
    page: Annotated[
        int | None, typer.Option("--page", metavar="N", help="Only the edges of this page.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            readable=False,
            help="Write to this file; its suffix names the format.",
        ),
    ] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the page graph of a document, or export it."""
    from ..graphing import export

    chosen = _chosen(form, output, as_json=as_json)
    with library_at(library) as target:
        graph = target.graph(document).only(kind or (), page)
    if not graph.joined:
        say("only reading order is known as yet; `pagetrail doctor --repair` finds the rest")
    text = export(graph, chosen)
    if chosen == "text":
        text = clean(text)
    # A name that is not UTF-8 holds lone surrogates; in JSON they are escapes, as in `data`.
    content = text.encode("utf-8", "backslashreplace")
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror or error}") from error
    say(f"wrote {output}")


def _chosen(form: str | None, output: Path | None, *, as_json: bool) -> str:
    """Return the format that was asked for, by name, by the file's suffix, or with --json."""
    known = ", ".join(_FORMATS.values())
    if form is not None and form not in _FORMATS.values():
        raise UsageError(f"no format {form!r}; there are {known}")
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} ask for different things")
    if as_json or form:
        return form or "json"
    if output is None:
        return "text"
    suffix = output.suffix.lower()
    if suffix not in _FORMATS:
        raise UsageError(f"{output}: give --format, or a suffix: {', '.join(_FORMATS)}")
    return _FORMATS[suffix]
