"""What the repository promises as a whole: cheap imports, one public surface, rules, examples."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "pagetrail"
HEAVY = ("numpy", "onnxruntime", "PIL", "pypdfium2", "rapidocr", "tantivy", "tokenizers", "cv2")

PUBLIC = {
    "open", "Library", "AddedDocument", "Finding",
    "Document", "Page", "Block", "Word", "Box", "Query", "Scope",
    "Hit", "Ranking", "Verdict", "Edge", "Visit", "Explained", "Citation", "Answer", "Trace",
    "Pipeline", "Search", "fuse", "Filter", "Rescore", "Weigh", "Walk", "Beam", "Keep", "recipe",
    "Settings", "load_settings", "PagetrailError",
}  # fmt: skip


def run(code):
    """Run Python code in a fresh interpreter; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


REPORT = f"import sys; print(*sorted(set({HEAVY!r}) & set(sys.modules)), sep=',')"


def test_import_loads_nothing_heavy():
    assert run(f"import pagetrail; {REPORT}").strip() == ""


@pytest.mark.parametrize("arguments", [["--help"], ["ask", "--help"], ["add", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    code = (
        f"import sys; sys.argv = ['pagetrail', *{arguments!r}]\n"
        "from pagetrail.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code\n"
        f"print('loaded:', end=''); {REPORT}"
    )
    printed = run(code)
    assert "Usage" in printed
    assert printed.rpartition("loaded:")[2].strip() == ""


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.stem)
def test_no_module_imports_a_heavy_library_at_its_top(path):
    """Every module may be imported for its names alone; the work imports what it needs."""
    allowed = {"numpy", "PIL"}  # modules of numeric code, reached only when there is work to do
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").partition(".")[0])
    assert not found & (set(HEAVY) - allowed)


def test_version_agrees_with_the_project_file():
    import pagetrail

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert pagetrail.__version__ == project["version"]
    assert f"[{project['version']}]" in (ROOT / "CHANGELOG.md").read_text()


def test_public_names_are_the_documented_ones():
    import pagetrail

    assert set(pagetrail.__all__) == PUBLIC
    assert len(pagetrail.__all__) == len(PUBLIC)
    missing = [name for name in pagetrail.__all__ if not hasattr(pagetrail, name)]
    assert missing == []
    documented = (ROOT / "docs" / "python.md").read_text()
    assert [name for name in sorted(PUBLIC) if f"`{name}`" not in documented] == []


def test_an_unknown_name_is_refused():
    import pagetrail

    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = pagetrail.nonsense


def test_house_rules_hold():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "check.py")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_local_links_in_the_documentation_lead_somewhere():
    link = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in link.findall(page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The examples, made anew."""
    folder = tmp_path_factory.mktemp("examples")
    subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "make_examples.py"), str(folder)],
        check=True,
        timeout=120,
    )
    return folder


def test_examples_come_out_byte_for_byte(made):
    committed = {path.name for path in (ROOT / "examples").iterdir()}
    assert {path.name for path in made.iterdir()} == committed
    for name in sorted(committed):
        again, there = made / name, ROOT / "examples" / name
        if name.endswith(".png"):
            # Pillow's builds may pack the same pixels differently.
            with Image.open(again) as a, Image.open(there) as b:
                assert a.convert("RGB").tobytes() == b.convert("RGB").tobytes(), name
        else:
            assert again.read_bytes() == there.read_bytes(), name


def test_examples_are_small():
    assert sum(path.stat().st_size for path in (ROOT / "examples").iterdir()) < 3_000_000
