"""Commands that look after a library and show the settings."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from .app import JsonOption, LibraryOption, app, library_at
from .output import data, line, say, tell

__all__ = ["config_show", "doctor"]

config_app = typer.Typer(help="Look at the settings.", no_args_is_help=True)
app.add_typer(config_app, name="config")


@app.command()
def doctor(
    library: LibraryOption = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the library: files, checksums, indexes, documents that failed."""
    with library_at(library) as target:
        findings = target.doctor(repair=repair)
        for finding in findings:
            if as_json:
                data(finding.as_json())
            else:
                tell(line(finding.as_text()))
        if not findings and not as_json:
            say("the library is sound")
    if any(f.severity == "error" and not f.repaired for f in findings):
        raise typer.Exit(1)


@config_app.command(name="show")
def config_show(as_json: JsonOption = False) -> None:
    """Print the settings in force."""
    from ..config import load_settings

    settings = load_settings().model_dump(mode="json")
    if as_json:
        data(settings)
        return
    for section, values in settings.items():
        typer.echo(f"[{section}]")
        for key, value in values.items():
            tell(f"# {key} is unset" if value is None else f"{key} = {json.dumps(value)}")
