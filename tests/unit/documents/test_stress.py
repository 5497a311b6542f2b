"""Every odd file ends with a word about it, in time, and none stops another."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

from pagetrail.config import DocumentSettings
from pagetrail.documents.load import find_files
from pagetrail.documents.office import find_office
from pagetrail.documents.worker import PoolLoader
from pagetrail.ports import DocumentEnded, DocumentOpened, LoadRequest, PageFailed, PageLoaded

STRESS = Path(os.environ.get("PAGETRAIL_DATA", "")) / "stress"

pytestmark = [
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("PAGETRAIL_DATA") or not STRESS.is_dir(),
        reason="PAGETRAIL_DATA names no folder with stress files",
    ),
]


@pytest.fixture(scope="module")
def manifest():
    with (STRESS / "manifest.jsonl").open() as lines:
        return {row["file"]: row for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def outcomes(manifest):
    """Per file: pages announced, read and failed, the last word, and the longest silence."""
    files = [f for f in find_files([STRESS]) if f.name != "manifest.jsonl"]

    def requests():
        for file in files:
            name = str(file.relative_to(STRESS))
            password = manifest.get(name, {}).get("password")
            yield LoadRequest(name, file, name, (password,) if password else ())

    found, silence, last = {}, 0.0, time.monotonic()
    for event in PoolLoader(DocumentSettings(ocr=False)).load(requests()):
        silence, last = max(silence, time.monotonic() - last), time.monotonic()
        name = event.page.document if isinstance(event, PageLoaded) else event.document
        entry = found.setdefault(name, {"count": 0, "read": set(), "failed": {}, "ends": []})
        if isinstance(event, DocumentOpened):
            entry["count"] = event.page_count
        elif isinstance(event, PageLoaded):
            assert event.page.number not in entry["read"]
            entry["read"].add(event.page.number)
        elif isinstance(event, PageFailed):
            entry["failed"][event.number] = event.reason
        else:
            assert isinstance(event, DocumentEnded)
            entry["ends"].append(event.error)
    return found, silence


def test_every_file_ends_once(outcomes):
    found, silence = outcomes
    assert len(found) == 175
    assert silence < 60
    for name, entry in found.items():
        assert len(entry["ends"]) == 1, name
        if entry["count"]:
            assert entry["read"] | set(entry["failed"]) == set(range(1, entry["count"] + 1)), name
        else:
            assert entry["ends"][0], name


def test_reasons_are_one_clear_line(outcomes):
    for name, entry in outcomes[0].items():
        for reason in [*entry["ends"], *entry["failed"].values()]:
            assert "\n" not in reason
            assert len(reason) < 400, name
            assert "crashed" not in reason, name
            assert "Error" not in reason, name


def test_page_counts_agree_where_the_file_is_sound(outcomes, manifest):
    for name, row in manifest.items():
        stated = re.match(r"ok:(\d+)", row["expected"])
        count = int(stated[1]) if stated else row.get("pages_with_password")
        if count is None:
            continue
        entry = outcomes[0][name]
        assert entry["count"] == count, name
        if "page errors" not in row["expected"]:
            assert len(entry["read"]) == count, name
            assert entry["ends"] == [""], name


def test_broken_files_are_not_called_sound(outcomes, manifest):
    told_by_content = {"syn__jpeg_as.pdf", "syn__pdf_as.png", "qpdf__bad1.pdf"}
    if find_office() is not None:
        told_by_content.add("syn__html_as.pdf")
    for name, row in manifest.items():
        if row["expected"].startswith("error") and not row.get("password"):
            entry = outcomes[0][name]
            if name in told_by_content:
                assert len(entry["read"]) == entry["count"] > 0, name
            else:
                assert entry["ends"][0], name
