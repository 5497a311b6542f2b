"""Commands that take questions: one on the command line, or a file of them."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import PagetrailError, UsageError
from ..shallow import loads
from .app import (
    DocumentOption,
    JsonOption,
    LibraryOption,
    PasswordOption,
    QuestionsOption,
    RecipeOption,
    TagOption,
    app,
    library_at,
)
from .output import (
    answer_text,
    data,
    explained_text,
    failed_calls,
    judge_notes,
    ranking_text,
    save,
    say,
    search_notes,
    tell,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..library import Library
    from ..types import Answer

__all__ = ["ask", "search"]

Result = tuple[dict[str, Any], str, bool]  # JSON form, text, and whether a part of it failed


_UNSEEN = (
    "nothing looked at the picture: ask an encoder that takes pictures, such as "
    "--recipe 'single:channel=NAME?image'"
)


@app.command()
def search(
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="What to look for.")
    ] = None,
    library: LibraryOption = None,
    document: DocumentOption = None,
    tag: TagOption = None,
    top: Annotated[
        int, typer.Option("--top", "-k", min=1, metavar="N", help="How many pages.")
    ] = 10,
    recipe: RecipeOption = None,
    image: Annotated[
        Path | None,
        typer.Option(
            "--image",
            metavar="FILE",
            readable=False,
            help="A picture that is part of the question.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show each channel's scores, verdicts, steps and cost."),
    ] = False,
    questions: QuestionsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the pages that hold the evidence, best first."""
    picture = None if image is None else _read_image(image)
    if image is not None and question is None and questions is None:
        question = ""

    def run(target: Library, text: str, documents: list[str]) -> Result:
        found = target.explain(
            text, documents=documents, tags=tag or (), image=picture, limit=top, pipeline=recipe
        )
        for note in search_notes(found):
            say(note)
        if picture is not None and not found.looked:
            say(_UNSEEN)
        partly = failed_calls(found.trace)
        if explain:
            view = target.view(found)
            return view, explained_text(view), partly
        return target.view(found.ranking), ranking_text(target, found.ranking), partly

    _answer_all(question, questions, library, document, run, as_json=as_json)


@app.command()
def ask(
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="The question.")
    ] = None,
    library: LibraryOption = None,
    document: DocumentOption = None,
    tag: TagOption = None,
    recipe: RecipeOption = None,
    questions: QuestionsOption = None,
    evidence_image: Annotated[
        Path | None,
        typer.Option(
            "--evidence-image",
            metavar="FILE.png",
            readable=False,
            help="Write the cited page with its boxes drawn.",
        ),
    ] = None,
    password: PasswordOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from the documents and show where each statement stands."""
    if evidence_image is not None and questions is not None:
        raise UsageError("--evidence-image goes with one question, not with --questions")

    answers: list[Answer] = []

    def run(target: Library, text: str, documents: list[str]) -> Result:
        answers[:] = [target.ask(text, documents=documents, tags=tag or (), pipeline=recipe)]
        for note in judge_notes(answers[0].trace):
            say(note)
        partly = failed_calls(answers[0].trace)
        return target.view(answers[0]), answer_text(target, answers[0]), partly

    def picture() -> None:
        if evidence_image is not None:
            _write_evidence(library, answers[0], evidence_image, password or [])

    _answer_all(question, questions, library, document, run, as_json=as_json, then=picture)


def _read_image(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _write_evidence(library: Path | None, answer: Answer, path: Path, passwords: list[str]) -> None:
    """Write the picture of an answer that was printed; without the file the answer stays."""
    if not answer.citations:
        say("no page is cited, so no picture was written")
        return
    try:
        with library_at(library) as target:
            save(target.evidence_image(answer.citations[0], passwords=passwords), path)
    except PagetrailError as error:
        say(f"no picture was written: {error}")
        raise typer.Exit(3) from error


def _answer_all(
    question: str | None,
    questions: Path | None,
    library: Path | None,
    documents: list[str] | None,
    run: Callable[[Library, str, list[str]], Result],
    *,
    as_json: bool,
    then: Callable[[], None] = lambda: None,
) -> None:
    """Run one question, or every line of a file; a bad line is told and the others still run."""
    if (question is None) == (questions is None):
        raise UsageError("give a question, or --questions FILE.jsonl")
    with library_at(library) as target:
        if question is not None:
            view, text, partly = run(target, question, documents or [])
            data(view) if as_json else tell(text)
    if question is not None:
        then()
        if partly:
            raise typer.Exit(3)
        return
    assert questions is not None, "one of the two was given"
    with library_at(library) as target:
        _answer_file(target, questions, documents or [], run)


def _answer_file(
    target: Library,
    questions: Path,
    documents: list[str],
    run: Callable[[Library, str, list[str]], Result],
) -> None:
    failed = done = lacking = 0
    for row in _read_questions(questions):
        try:
            if "error" in row:
                raise UsageError(row["error"])
            scope = documents if row["document"] is None else [row["document"]]
            view, _, partly = run(target, row["question"], scope)
            data({"id": row["id"], **view})
            done += 1
            lacking += partly
        except PagetrailError as error:
            failed += 1
            data({"id": row["id"], "error": str(error)})
    if not failed and not done:
        say(f"{questions} holds no question")
    if failed or lacking:
        raise typer.Exit(3 if done else 1)


def _read_questions(path: Path) -> Iterator[dict[str, Any]]:
    """Yield what each line of a file asks; a line that asks nothing gives ``error`` instead."""
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.removeprefix(codecs.BOM_UTF8).strip():
                    yield _read_question(line.removeprefix(codecs.BOM_UTF8), path, number)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _read_question(line: bytes, path: Path, number: int) -> dict[str, Any]:
    place = f"{path}, line {number}"
    try:
        row = loads(line.decode("utf-8"))
    except ValueError as error:
        return {"id": None, "error": f"{place}: not JSON: {error}"}
    if not isinstance(row, dict):
        return {"id": None, "error": f"{place}: not a JSON object"}
    row = {"id": str(number), **row}
    if not isinstance(row.get("question"), str):
        return {"id": row["id"], "error": f"{place}: needs a question, a string"}
    if not isinstance(row.get("document"), str | None):
        return {"id": row["id"], "error": f"{place}: document must be a string"}
    return {key: row.get(key) for key in ("id", "question", "document")}
