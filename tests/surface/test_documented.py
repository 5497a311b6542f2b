"""The documentation names every command, option, setting and channel that there is."""

from pathlib import Path

import pytest
from typer.main import get_command

from pagetrail.cli import app
from pagetrail.config import Settings

DOCS = Path(__file__).resolve().parents[2] / "docs"


def commands(command, name=""):
    """Yield the name and the object of every command that does something."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name.strip(), command
    for word, each in (inner or {}).items():
        yield from commands(each, f"{name} {word}")


COMMANDS = dict(commands(get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_json_and_is_documented(name):
    text = (DOCS / "cli.md").read_text()
    options = {option for p in COMMANDS[name].params for option in p.opts if option[:2] == "--"}
    assert "--json" in options
    assert f"`{name}" in text
    row = next(line for line in text.splitlines() if line.startswith(f"| `{name}"))
    shared = {"--json", "--library", "--help"}
    assert {option for option in options - shared if option not in row} == set()
    assert all(p.help for p in COMMANDS[name].params)


def test_every_setting_is_documented():
    text = "".join(path.read_text() for path in DOCS.glob("*.md"))
    for section, field in Settings.model_fields.items():
        for key in field.annotation.model_fields:
            names = (f"`{section}.{key}`", f"`{key.upper()}`", f"__{key.upper()}=")
            assert any(name in text for name in names), f"{section}.{key}"


def test_every_channel_is_documented(filled, tmp_path):
    import pagetrail
    from pagetrail.errors import NotFoundError

    text = (DOCS / "search.md").read_text()
    with (
        pagetrail.open(tmp_path / "library") as library,
        pytest.raises(NotFoundError) as caught,
    ):
        library.search("x", pipeline=pagetrail.Search("nonsense") % 1)
    known = str(caught.value).partition("there are ")[2].partition(";")[0].split(", ")
    assert len(known) > 5
    assert [name for name in known if f"| `{name}` |" not in text] == []
