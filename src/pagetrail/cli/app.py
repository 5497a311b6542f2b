"""The application object, the options that every command shares, and the way in."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import __version__
from ..errors import PagetrailError, UsageError
from .output import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..library import Library

__all__ = [
    "DocumentOption",
    "JsonOption",
    "LibraryOption",
    "PasswordOption",
    "QuestionsOption",
    "RecipeOption",
    "TagOption",
    "app",
    "library_at",
    "main",
]

app = typer.Typer(
    name="pagetrail",
    help="Ask your documents; get an answer, and the trail of pages behind it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _or_root(context: typer.Context, value: Path | None) -> Path:
    """Let ``--library DIR`` stand before or after the command."""
    root: Path = context.find_root().params["library"]
    return value or root


def _or_environment(value: list[str] | None) -> list[str]:
    # Not through `envvar`, which would take a password with a space in it for two.
    given = os.environ.get("PAGETRAIL_PASSWORD")
    return value or ([given] if given else [])


LibraryOption = Annotated[
    Path | None,
    typer.Option(
        "--library",
        "-l",
        help="The library's folder. [env var: PAGETRAIL_LIBRARY; default: pagetrail-library]",
        metavar="DIR",
        readable=False,  # the library says better what is wrong with it
        callback=_or_root,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
DocumentOption = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        "-d",
        metavar="DOC",
        help="Look only in this document (path, name or id); may be repeated.",
    ),
]
TagOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        "-t",
        metavar="TAG",
        help="Look only in documents with this tag; repeated: with one of these.",
    ),
]
PasswordOption = Annotated[
    list[str] | None,
    typer.Option(
        "--password",
        metavar="PASSWORD",
        help="Try this password on encrypted files; may be repeated. [env var: PAGETRAIL_PASSWORD]",
        callback=_or_environment,
    ),
]
RecipeOption = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        "-r",
        metavar="RECIPE",
        help="How to search: a recipe's name, with options as in vrag:fidelity=code,m=20.",
    ),
]
QuestionsOption = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        metavar="FILE.jsonl",
        readable=False,
        help="Many questions: a JSON object a line with id, question and optional document. "
        "Prints a JSON line for each.",
    ),
]


@contextlib.contextmanager
def library_at(path: Path | None, *, write: bool = False) -> Iterator[Library]:
    """Open a library for one command and close it whatever happens."""
    import pagetrail

    assert path is not None, "the option's callback gives every command a path"
    library = pagetrail.open(path, create=write)
    try:
        yield library
    finally:
        library.close()


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)
    ] = False,
    library: Annotated[
        Path,
        typer.Option(
            "--library",
            "-l",
            envvar="PAGETRAIL_LIBRARY",
            help="The library's folder.",
            metavar="DIR",
            readable=False,
        ),
    ] = Path("pagetrail-library"),
) -> None:
    del library  # read by the commands through the root context
    if version:
        typer.echo(f"pagetrail {__version__}")
        raise typer.Exit


def _run() -> None:
    try:
        app(prog_name="pagetrail")
    except SystemExit as stop:
        if stop.code == 130:  # the way in which typer tells of Ctrl-C
            raise KeyboardInterrupt from stop
        raise


def main() -> None:
    """Run the command line; errors made on purpose become one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A locale without the character is no reason to stop half-way.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        _run()
    except UsageError as error:
        say(f"pagetrail: {error}")
        sys.exit(2)
    except PagetrailError as error:
        say(f"pagetrail: {error}")
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read our output has had enough, such as `head`; the rest has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        say(f"pagetrail: {place}{error.strerror or error}")
        sys.exit(1)
    except KeyboardInterrupt:
        say("pagetrail: stopped; what was finished is kept")
        sys.exit(130)
