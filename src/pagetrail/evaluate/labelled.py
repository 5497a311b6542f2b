"""Labelled questions: a file with a JSON object a line, each with the pages that answer it.

The file comes from strangers. A line that cannot be used is told with its number and the reason,
and the others still count.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import NotFoundError, UsageError
from ..shallow import loads

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LabelledQuestion", "Skipped", "read_questions"]

_FILE = "questions.jsonl"


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question whose evidence is known.

    Attributes:
        line: Its line in the file, from 1.
        id: As in the file; the line's number when there is none.
        text: The question.
        document: The file name of its document.
        pages: Numbers of the pages with evidence, from 1; at least one.
    """

    line: int
    id: str
    text: str
    document: str
    pages: frozenset[int]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line that is left out.

    Attributes:
        line: Its number, from 1.
        reason: Why, in words.
        wrong: Whether something is wrong with it; a question without evidence is just not asked.
    """

    line: int
    reason: str
    wrong: bool = True

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"

    def as_json(self) -> dict[str, object]:
        """Return its three fields."""
        return {"line": self.line, "reason": self.reason, "wrong": self.wrong}


def read_questions(folder: Path) -> tuple[list[LabelledQuestion], list[Skipped]]:
    """Return the questions of ``questions.jsonl`` in a folder, and the lines that ask none.

    A line has ``question``, ``doc`` (a file name), ``evidence_pages`` (numbers from 1) and perhaps
    ``id``; other fields are passed over. Where ``answerable`` or ``pages_in_range`` is false, or
    there are no evidence pages, there is nothing to find. Blank lines do not count.

    Raises:
        NotFoundError: The folder holds no such file.
        UsageError: It cannot be read.
    """
    file = folder / _FILE
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(f"{folder} holds no {_FILE}; see docs/measuring.md") from error
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from error
    asked: list[LabelledQuestion] = []
    skipped: list[Skipped] = []
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = _row(line)
        except UsageError as error:
            skipped.append(Skipped(number, str(error)))
            continue
        pages = frozenset(row.get("evidence_pages") or ())
        if pages and row.get("answerable", True) and row.get("pages_in_range", True):
            name = str(row.get("id", number))
            asked.append(LabelledQuestion(number, name, row["question"], row["doc"], pages))
        else:
            skipped.append(Skipped(number, "it has no evidence to find", wrong=False))
    return asked, skipped


def _row(line: bytes) -> dict[str, Any]:
    """Return a line's object, its fields checked.

    Raises:
        UsageError: It cannot be used; the message says why.
    """
    try:
        row = loads(line.decode("utf-8"))
    except ValueError as error:
        raise UsageError("it is not JSON in UTF-8") from error
    if not isinstance(row, dict):
        raise UsageError("it is not a JSON object")
    for field in ("question", "doc"):
        if not isinstance(row.get(field), str) or not row[field].strip():
            raise UsageError(f"it has no {field}")
    pages = row.get("evidence_pages", [])
    # A truth value counts as an int in Python, but it is no page number.
    if not isinstance(pages, list) or not all(type(page) is int for page in pages):
        raise UsageError("evidence_pages is not a list of page numbers")
    return row
