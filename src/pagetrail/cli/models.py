"""Commands for models: encoders of a library, chat models and judges, and what they would cost."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import NotFoundError, UsageError
from .app import JsonOption, LibraryOption, PasswordOption, RecipeOption, app, library_at
from .output import data, line, progress, say, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..asking import Encoded
    from ..library import Library
    from ..modelling import Labelled

__all__ = ["encode_add", "encode_drop", "encode_list", "estimate", "models_check"]

encode_app = typer.Typer(
    help="Encoders of pictures and text, each searched under a name of its own.",
    no_args_is_help=True,
)
app.add_typer(encode_app, name="encode")
models_app = typer.Typer(help="Chat models and judges.", no_args_is_help=True)
app.add_typer(models_app, name="models")


@encode_app.command(name="add")
def encode_add(
    spec: Annotated[
        str | None,
        typer.Argument(
            metavar="SPEC",
            help="Which model: KIND:FOLDER, KIND:HUB/NAME@REVISION or openai:MODEL@URL; without "
            "it, the encoders of the library get the pages that they lack.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Search it under this name."),
    ] = None,
    password: PasswordOption = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add an encoder and encode every page; what was interrupted goes on where it was."""
    with library_at(library) as target, progress(enabled=True) as tick:
        runs = target.encode(spec, name=name, passwords=password or (), progress=tick)
        for run in runs:
            _show_run(run, as_json=as_json)
        known = bool(target.encoders())
    if not known:
        raise UsageError("this library has no encoder; add one with `pagetrail encode add SPEC`")
    if not runs and not as_json:
        say("every encoder has every page")
    if any(run.failed for run in runs):
        raise typer.Exit(3)


def _show_run(run: Encoded, *, as_json: bool) -> None:
    if as_json:
        data(
            {
                "encoder": run.channel,
                "pages": run.pages,
                "pending": run.pending,
                "failed": run.failed,
                "seconds": round(run.seconds, 3),
            }
        )
        return
    for reason in dict.fromkeys(run.failed.values()):
        count = sum(1 for r in run.failed.values() if r == reason)
        say(f"{count} page{'' if count == 1 else 's'} not encoded: {reason}")
    say(f"{run.channel}: {run.pages} pages encoded in {run.seconds:.1f} s, {run.pending} pending")


@encode_app.command(name="list")
def encode_list(library: LibraryOption = None, as_json: JsonOption = False) -> None:
    """List the added encoders: name, pages encoded and pending, size, model."""
    with library_at(library) as target:
        for channel, record in target.encoders().items():
            if as_json:
                data(
                    {
                        "encoder": channel,
                        "spec": record.spec,
                        "model": record.name,
                        "revision": record.revision,
                        "dimension": record.dimension,
                        "settings": dict(record.settings),
                        "pages": record.pages,
                        "pending": record.pending,
                        "bytes": record.bytes,
                    }
                )
                continue
            size = f"{record.bytes / 1e6:.1f} MB"
            tell(
                line(
                    f"{channel:12} {record.pages:7} pages, {record.pending} pending, {size:>10}  "
                    f"{record.spec}  {record.name} {record.revision[:12]}"
                )
            )


@encode_app.command(name="drop")
def encode_drop(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The encoder's name.")],
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forget an encoder with all its vectors and free their space."""
    with library_at(library) as target:
        freed = target.drop_encoder(name)
    data({"encoder": name, "freed": freed}) if as_json else say(f"freed {freed / 1e6:.1f} MB")


@models_app.command(name="check")
def models_check(as_json: JsonOption = False) -> None:
    """Ask each configured model a tiny real question; chat models with and without a picture."""
    from ..modelling import check_models

    checks = check_models()
    if not checks:
        raise NotFoundError(
            "no chat model is named: set models.judge or models.chat, such as "
            "PAGETRAIL_MODELS__JUDGE=openai:MODEL@URL"
        )
    for role, check in checks.items():
        told = {name: getattr(check, name) for name in check.__dataclass_fields__}
        if as_json:
            data({"role": role, "ok": check.ok, **told, "errors": list(check.errors)})
            continue
        shown = {True: "yes", False: "no", None: "not seen"}[check.logprobs]
        tell(line(f"{role}: {check.model} ({check.revision})"))
        tell(f"  text {check.text}, picture {check.image}, log-probabilities {shown}")
        tell(f"  JSON schema {check.schema}, licence {check.licence or 'not told'}")
        tell(f"  {check.calls} calls, {check.tokens} tokens, {check.seconds:.1f} s")
        for error in check.errors:
            tell(line(f"  {error}"))
    if not all(check.ok for check in checks.values()):
        raise typer.Exit(1)


@models_app.command(name="forget")
def models_forget(
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Only this model's replies.")
    ] = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete the replies of chat models that the library keeps."""
    with library_at(library) as target:
        count = target.models.forget(model=model)
    data({"forgotten": count}) if as_json else say(f"forgot {count} replies")


@models_app.command(name="calibrate")
def models_calibrate(
    judge: Annotated[str, typer.Argument(metavar="JUDGE", help="yes_no, grade, cross_encoder.")],
    questions: Annotated[
        Path,
        typer.Option(
            "--questions",
            metavar="FILE.jsonl",
            readable=False,
            help="A JSON object a line: question, document, and pages, the numbers of the pages "
            "that hold the evidence.",
        ),
    ],
    kind: Annotated[str, typer.Option("--kind", help="platt or isotonic.")] = "platt",
    pages: Annotated[
        int, typer.Option("--pages", min=2, help="Pages judged for each question.")
    ] = 10,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit how a judge's numbers become probabilities, and keep it with the library."""
    chosen = _kind(kind)
    with library_at(library) as target:
        done = target.models.calibrate(judge, _labelled(questions), kind=chosen, pages=pages)
    tables = {"before": done.before, "after": done.after}
    if as_json:
        rows = {
            name: {
                "bins": [[b.predicted, b.positive, b.count] for b in table.bins],
                "error": table.error,
                "brier": table.brier,
            }
            for name, table in tables.items()
        }
        data({"judge": judge, "unjudged": done.unjudged, **rows})
        return
    for name, table in tables.items():
        error = f"calibration error {table.error:.3f}, Brier {table.brier:.3f}"
        tell(f"{name}: {error}, n {table.count}")
        for b in table.bins:
            tell(f"  said {b.predicted:.2f}  was {b.positive:.2f}  n {b.count}")
    say(f"{judge} is calibrated; {done.unjudged} verdicts had no number")


def _kind(text: str) -> Literal["platt", "isotonic"]:
    if text == "platt":
        return "platt"
    if text == "isotonic":
        return "isotonic"
    raise UsageError(f"--kind is platt or isotonic, not {text!r}")


def _labelled(path: Path) -> Iterator[Labelled]:
    from ..modelling import Labelled

    try:
        rows = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    for number, text in enumerate(rows, 1):
        if not text.strip():
            continue
        try:
            row: Any = json.loads(text)
            pages = frozenset(int(n) for n in row["pages"])
            yield Labelled(str(row["question"]), str(row["document"]), pages)
        except (ValueError, KeyError, TypeError) as error:
            wanted = "question, document and pages, a list of numbers"
            raise UsageError(f"{path}, line {number}: needs {wanted}") from error


@app.command()
def estimate(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Files and folders to be added.")
    ] = None,
    recipe: RecipeOption = None,
    library: LibraryOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell pages, time, model calls and tokens before anything is spent."""
    with _library_or_none(library) as target:
        told = target.estimate(paths or [], pipeline=recipe)
    if as_json:
        data(told.as_json())
        return
    least, most = told.parse_seconds
    tell(f"{told.files} new files, {told.pages} pages; the library holds {told.stored} pages")
    for path, reason in told.unread.items():
        tell(line(f"  not counted: {path}: {reason}"))
    if told.files:
        tell(f"adding them takes about {least:.0f} s, up to {most:.0f} s if all are scans")
    for channel, (pages, seconds) in told.encode.items():
        if not pages:
            continue
        time = "unknown time" if seconds is None else f"{seconds:.0f} s at its last pace"
        tell(f"  encoder {channel} will encode {pages} pages: {time}")
    cost = f", {told.cost:.4f} by the prices set" if told.cost else ""
    tell(f"one question asks models {told.calls} times, {told.tokens} tokens{cost}")
    for needed in told.missing:
        tell(line(f"  missing: {needed}"))
    say("times are those of a two-core machine, scaled by cores: an order of magnitude")


@contextlib.contextmanager
def _library_or_none(path: Path | None) -> Iterator[Library]:
    """Open the library, or an empty one in passing where there is none yet."""
    with contextlib.ExitStack() as stack:
        try:
            target = stack.enter_context(library_at(path))
        except NotFoundError:
            folder = stack.enter_context(tempfile.TemporaryDirectory("-pagetrail"))
            target = stack.enter_context(library_at(Path(folder) / "library", write=True))
        yield target
