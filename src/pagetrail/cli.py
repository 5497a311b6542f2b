"""The command line: data on stdout, talk on stderr, one clear line for every failure.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 partly done.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from . import __version__
from .errors import PagetrailError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .library import AddedDocument, Library
    from .types import Answer, Ranking

__all__ = ["app", "main"]

app = typer.Typer(
    name="pagetrail",
    help="Ask your documents; get an answer, and the trail of pages behind it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
config_app = typer.Typer(help="Settings and where they come from.", no_args_is_help=True)
app.add_typer(config_app, name="config")

LibraryOption = Annotated[
    Path | None,
    typer.Option(
        "--library",
        "-l",
        help="The library's folder. [env var: PAGETRAIL_LIBRARY; default: pagetrail-library]",
        metavar="DIR",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
DocumentOption = Annotated[
    list[str] | None,
    typer.Option(
        "--document", "-d", help="Look only in this document (path, name or id); may be repeated."
    ),
]
TagOption = Annotated[
    list[str] | None,
    typer.Option("--tag", "-t", help="Look only in documents with this tag; may be repeated."),
]
QuestionsOption = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        metavar="FILE.jsonl",
        help="Many questions: a JSON object a line with id, question and optional document.",
    ),
]


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _data(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _clean(text: str) -> str:
    """Return text from a document with control characters made visible: a terminal obeys them."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


@contextlib.contextmanager
def _library(path: Path | None, *, write: bool = False) -> Iterator[Library]:
    """Open the library named after the command, before it, by the environment, or the default."""
    import pagetrail

    if path is None:
        path = click.get_current_context().find_root().params["library"]
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
        ),
    ] = Path("pagetrail-library"),
) -> None:
    del library  # read by the commands through the root context
    if version:
        typer.echo(f"pagetrail {__version__}")
        raise typer.Exit


# --- documents -----------------------------------------------------------------------------------


@app.command()
def add(
    paths: Annotated[
        list[Path], typer.Argument(help="Files and folders; folders are searched.", metavar="PATH")
    ],
    library: LibraryOption = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="Tag the documents; may be repeated.")
    ] = None,
    password: Annotated[
        list[str] | None,
        typer.Option(
            "--password",
            help="Try this password on encrypted files; may be repeated.",
            envvar="PAGETRAIL_PASSWORD",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Add files and folders. Unchanged files cost nothing, changed ones replace what was there."""
    counts = {"indexed": 0, "partial": 0, "failed": 0}
    with _library(library, write=True) as target, _progress(enabled=not as_json) as tick:
        for result in target.add_iter(
            paths, tags=tag or (), passwords=password or (), progress=tick
        ):
            counts[result.status] += 1
            if as_json:
                _data(result.as_json())
            else:
                _say(_added_line(result))
    if not as_json:
        _say("{indexed} indexed, {partial} partly, {failed} failed".format(**counts))
    if not sum(counts.values()):
        raise UsageError("nothing to add: no readable file under " + ", ".join(map(str, paths)))
    if counts["failed"] == sum(counts.values()):
        raise typer.Exit(1)
    if counts["failed"] or counts["partial"]:
        raise typer.Exit(3)


def _added_line(result: AddedDocument) -> str:
    pages = f"{result.pages} page{'' if result.pages == 1 else 's'}"
    note = result.reason or ("unchanged" if result.unchanged else "")
    line = f"{result.status:8} {result.document}  {pages}  {result.seconds:.1f} s"
    return _clean(f"{line}  {note}".rstrip())


@contextlib.contextmanager
def _progress(*, enabled: bool) -> Iterator[Callable[[int, int, str], None] | None]:
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
            bar.update(task, completed=done, total=known or None, description=_clean(name)[-40:])

        yield tick


@app.command()
def remove(
    documents: Annotated[
        list[str], typer.Argument(help="Path, name or id of each document.", metavar="DOC")
    ],
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove documents from the library; the files themselves stay."""
    with _library(library) as target:
        for document in target.remove(documents):
            if as_json:
                _data({"document": document.source, "removed": True})
            else:
                _say(f"removed {_clean(document.source)}")


@app.command(name="list")
def list_(
    library: LibraryOption = None, tag: TagOption = None, as_json: JsonOption = False
) -> None:
    """List the documents, a line each: status, pages, tags, path, and what is wrong."""
    from .views import document_view

    with _library(library) as target:
        for document in target.documents(tags=tag or ()):
            if as_json:
                _data(document_view(document))
                continue
            tags = f"  [{', '.join(sorted(document.tags))}]" if document.tags else ""
            reason = f"  {document.reason}" if document.reason else ""
            typer.echo(
                _clean(
                    f"{document.status:8} {document.page_count:5}  {document.source}{tags}{reason}"
                )
            )


@app.command()
def tag(
    document: Annotated[str, typer.Argument(help="Path, name or id.", metavar="DOC")],
    add_tags: Annotated[
        list[str] | None, typer.Option("--add", help="Tag to set; may be repeated.")
    ] = None,
    remove_tags: Annotated[
        list[str] | None, typer.Option("--remove", help="Tag to take away; may be repeated.")
    ] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set or take away tags of a document, and show them."""
    with _library(library) as target:
        found = target.tag(document, add=add_tags or (), remove=remove_tags or ())
        if as_json:
            _data({"document": found.source, "tags": sorted(found.tags)})
        else:
            typer.echo(_clean(f"{found.source}: {', '.join(sorted(found.tags)) or 'no tags'}"))


@app.command()
def show(
    document: Annotated[str, typer.Argument(help="Path, name or id.", metavar="DOC")],
    page: Annotated[int | None, typer.Argument(help="1-based physical number.")] = None,
    image: Annotated[
        Path | None, typer.Option("--image", help="Write the page's picture here (PNG).")
    ] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a document, or what was read on one of its pages."""
    from .views import document_view, page_view

    with _library(library) as target:
        found = target.document(document)
        if page is None:
            if image is not None:
                raise UsageError("--image needs a page number")
            view = document_view(found)
            _data(view) if as_json else typer.echo(_describe(view))
            return
        content = target.page(document, page)
        if image is not None:
            target.page_image(content.id).save(image, "PNG")
            _say(f"wrote {image}")
        if as_json:
            _data(page_view(found, content))
        else:
            typer.echo(_clean(content.text))


def _describe(view: dict[str, Any]) -> str:
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
    return _clean("\n".join(lines))


# --- questions -----------------------------------------------------------------------------------


@app.command()
def search(
    question: Annotated[str | None, typer.Argument(help="What to look for.")] = None,
    library: LibraryOption = None,
    document: DocumentOption = None,
    tag: TagOption = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many pages.")] = 10,
    questions: QuestionsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the pages that hold the evidence, best first."""

    def run(target: Library, text: str, documents: list[str]) -> tuple[dict[str, Any], str]:
        ranking = target.search(text, documents=documents, tags=tag or (), limit=top)
        return target.view(ranking), _ranking_text(target, ranking)

    _answer_all(question, questions, library, document, run, as_json=as_json)


@app.command()
def ask(
    question: Annotated[str | None, typer.Argument(help="The question.")] = None,
    library: LibraryOption = None,
    document: DocumentOption = None,
    tag: TagOption = None,
    questions: QuestionsOption = None,
    evidence_image: Annotated[
        Path | None,
        typer.Option(
            "--evidence-image",
            metavar="FILE.png",
            help="Write the cited page with its boxes drawn.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from the documents and show where each statement stands."""
    if evidence_image is not None and questions is not None:
        raise UsageError("--evidence-image goes with one question, not with --questions")

    def run(target: Library, text: str, documents: list[str]) -> tuple[dict[str, Any], str]:
        answer = target.ask(text, documents=documents, tags=tag or ())
        if evidence_image is not None:
            _write_evidence(target, answer, evidence_image)
        return target.view(answer), _answer_text(target, answer)

    _answer_all(question, questions, library, document, run, as_json=as_json)


def _write_evidence(target: Library, answer: Answer, path: Path) -> None:
    if not answer.citations:
        _say("no page is cited, so no picture was written")
        return
    target.evidence_image(answer.citations[0]).save(path, "PNG")
    _say(f"wrote {path}")


def _answer_all(
    question: str | None,
    questions: Path | None,
    library: Path | None,
    documents: list[str] | None,
    run: Callable[[Library, str, list[str]], tuple[dict[str, Any], str]],
    *,
    as_json: bool,
) -> None:
    """Run one question, or every line of a file; a bad line is told and the others still run."""
    if (question is None) == (questions is None):
        raise UsageError("give a question, or --questions FILE.jsonl")
    with _library(library) as target:
        if question is not None:
            view, text = run(target, question, documents or [])
            _data(view) if as_json else typer.echo(_clean(text))
            return
        failed = done = 0
        for row in _read_questions(questions):
            try:
                if "error" in row:
                    raise UsageError(row["error"])
                scope = [row["document"]] if row.get("document") else documents or []
                view, _ = run(target, row["question"], scope)
                _data({"id": row["id"], **view})
                done += 1
            except PagetrailError as error:
                failed += 1
                _data({"id": row.get("id"), "error": str(error)})
    if failed:
        raise typer.Exit(3 if done else 1)


def _read_questions(path: Path | None) -> Iterator[dict[str, Any]]:
    assert path is not None
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except json.JSONDecodeError as error:
                    yield {"error": f"{path}, line {number}: not JSON: {error}"}
                    continue
                if not isinstance(row, dict) or not isinstance(row.get("question"), str):
                    yield {"error": f"{path}, line {number}: needs an id and a question"}
                    continue
                yield {"id": str(number), **row}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


def _ranking_text(target: Library, ranking: Ranking) -> str:
    view = target.view(ranking)
    if not view["hits"]:
        return "no page matches"
    return "\n".join(
        f"{rank:3}. {_where(hit)}  {hit['score']:.3f}  {hit['via']}"
        for rank, hit in enumerate(view["hits"], 1)
    )


def _where(place: dict[str, Any]) -> str:
    label = f" (printed {place['label']})" if place["label"] else ""
    return f"{place['document']}, page {place['page']}{label}"


def _answer_text(target: Library, answer: Answer) -> str:
    view = target.view(answer)
    if answer.abstained:
        near = [f"  - {_where(place)}" for place in view["pages_considered"]]
        return "\n".join([f"No answer: {answer.reason}", "Nearest pages:", *near])
    lines = [answer.text, ""]
    lines += [
        f"[{n}] {_where(c)}: \u201c{c['quote']}\u201d" for n, c in enumerate(view["citations"], 1)
    ]
    lines.append(f"confidence {answer.confidence:.2f}; {answer.reason}".rstrip("; "))
    return "\n".join(lines)


# --- upkeep --------------------------------------------------------------------------------------


@app.command()
def doctor(
    library: LibraryOption = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the library: files, checksums, indexes, documents that failed."""
    with _library(library) as target:
        findings = target.doctor(repair=repair)
        for finding in findings:
            if as_json:
                _data(finding.as_json())
            else:
                typer.echo(_clean(finding.as_text()))
        if not findings and not as_json:
            _say("the library is sound")
    if any(f.severity == "error" and not f.repaired for f in findings):
        raise typer.Exit(1)


@config_app.command(name="show")
def config_show(as_json: JsonOption = False) -> None:
    """Print the settings in force."""
    from .config import load_settings

    settings = load_settings().model_dump()
    if as_json:
        _data(settings)
        return
    for section, values in settings.items():
        typer.echo(f"[{section}]")
        for key, value in values.items():
            typer.echo(f"{key} = {json.dumps(value) if value is not None else '# unset'}")


def main() -> None:
    """Run the command line; errors made on purpose become one line and an exit code."""
    try:
        app()
    except UsageError as error:
        _say(f"pagetrail: {_clean(str(error))}")
        sys.exit(2)
    except PagetrailError as error:
        _say(f"pagetrail: {_clean(str(error))}")
        sys.exit(1)
    except KeyboardInterrupt:
        _say("pagetrail: stopped; what was finished is kept")
        sys.exit(130)
