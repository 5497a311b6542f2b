"""House rules that no linter knows: ``python scripts/check.py`` lists every breach, then fails.

Rules: modules of at most 600 lines (a warning above 400) and functions of at most 50; no ``print``
in the package outside the command line; ``__all__`` in every public module that defines something;
no test file without an assertion; no machine's private paths; no large files but the model.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
MODULE_LINES, MODULE_WARNING, FUNCTION_LINES = 600, 400, 50
LARGEST = 1024 * 1024
MODEL_SUFFIX = ".onnx"
# Written in pieces so that this file does not match itself.
PRIVATE = re.compile("|".join(("/wo" + "rk/", "/tm" + "p/", "/ro" + "ot/", "dev" + "cache")))
TEXT = {"", ".py", ".md", ".toml", ".txt", ".lock", ".sh", ".cfg", ".yml", ".yaml", ".json"}

# Imports inside functions by name, which import-linter cannot see.
HEAVY = re.compile(
    r'(?:need|import_module)\(\s*"(torch|transformers|sentence_transformers|open_clip)\b'
)
DOORS = {"weights.py", "encoders/image.py", "encoders/late.py", "encoders/loading.py"}
DOORS |= {"models/local.py", "models/cross.py", "models/loading.py"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def tracked() -> list[Path]:
    """Return the files of the repository: those git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name]
        return sorted(path for path in (ROOT / name for name in names) if path.is_file())
    folders = ("src", "tests", "scripts", "docs", "examples", "requirements")
    found = (path for folder in folders for path in (ROOT / folder).rglob("*"))
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def check_source(path: Path, tree: ast.Module, lines: int) -> Iterator[str]:
    """Yield breaches of a module of the package or a script."""
    if lines > MODULE_LINES:
        yield f"{lines} lines; at most {MODULE_LINES}"
    for node in ast.walk(tree):
        if isinstance(node, Function):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"line {node.lineno}: {node.name} has {length} lines; at most 50"
    if "src" not in path.relative_to(ROOT).parts:
        return
    if "cli" not in path.parts and path.name != "cli.py":
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == "print":
                yield f"line {node.lineno}: print belongs to the command line only"
    place = path.relative_to(ROOT / "src" / "pagetrail").as_posix()
    if place not in DOORS and (found := HEAVY.search(path.read_text(encoding="utf-8"))):
        yield f"{found[1]} is loaded by its doors only: {', '.join(sorted(DOORS))}"
    if not path.stem.startswith("_") and _defines(tree) and "__all__" not in _assigned(tree):
        yield "no __all__"


def _defines(tree: ast.Module) -> bool:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(n, kinds) and not n.name.startswith("_") for n in tree.body)


def _assigned(tree: ast.Module) -> set[str]:
    names = set()
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        names |= {t.id for t in targets if isinstance(t, ast.Name)}
    return names


def check_test(tree: ast.Module) -> Iterator[str]:
    """Yield a breach when a test file asserts nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            return
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if re.search(r"raises|assert|check", name):
                return
    yield "no assertion"


def check_file(path: Path) -> tuple[list[str], list[str]]:
    """Return breaches and warnings of one file."""
    where = path.relative_to(ROOT)
    faults: list[str] = []
    warnings: list[str] = []
    size = path.stat().st_size
    if size > LARGEST and not (where.parts[0] == "src" and path.suffix == MODEL_SUFFIX):
        faults.append(f"{size:,} bytes; at most {LARGEST:,}")
    if path.suffix in TEXT and size <= LARGEST:
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if match := PRIVATE.search(line):
                faults.append(f"line {number}: a private path: {match.group()}")
        if path.suffix == ".py":
            tree = ast.parse(text, str(path))
            lines = text.count("\n")
            if where.parts[0] in {"src", "scripts"}:
                faults += check_source(path, tree, lines)
                if MODULE_WARNING < lines <= MODULE_LINES:
                    warnings.append(f"{lines} lines; better under {MODULE_WARNING}")
            elif path.name.startswith("test_"):
                faults += check_test(tree)
    return [f"{where}: {fault}" for fault in faults], [f"{where}: {note}" for note in warnings]


def main() -> int:
    """Check every file; return 1 when a rule is broken."""
    broken = 0
    for path in tracked():
        faults, warnings = check_file(path)
        for line in warnings:
            print(f"warning: {line}")
        for line in faults:
            print(line)
        broken += len(faults)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
