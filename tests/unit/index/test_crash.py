"""What a killed writer leaves, and what readers see while one writes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pagetrail.index.catalogue import Catalogue
from pagetrail.index.doctor import examine
from pagetrail.index.lexical import Lexical

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("PAGETRAIL_KILLS", "10"))

_WRITER = """
import importlib.util, sys
from pathlib import Path
from pagetrail.index.publish import clean_segments

spec = importlib.util.spec_from_file_location("shelf_tools", sys.argv[1])
tools = importlib.util.module_from_spec(spec)
sys.modules["shelf_tools"] = tools
spec.loader.exec_module(tools)
root, files = Path(sys.argv[2]), Path(sys.argv[3])
version = sys.argv[4]
shelf = tools.Shelf(root, files)
clean_segments(shelf.catalogue)
shelf.catch_up()
print("open", flush=True)
for d in range(8):
    begun = shelf.begin(f"{d}.pdf", f"document {d} {version}")
    if begun.complete:
        continue
    wanted = [n for n in range(1, 9) if n not in begun.stored]
    for at in range(0, len(wanted), 2):
        pages = [
            tools.page(begun.document, n, f"{version} words of {d} {n}", "second block")
            for n in wanted[at : at + 2]
        ]
        keys = shelf.catalogue.put_pages(pages)
        if begun.action == "new":
            for n in wanted[at : at + 2]:
                print("page", f"{begun.document}#p{n:04d}", flush=True)
        shelf.lexical.sync(shelf.catalogue, dict(zip(keys, pages)))
        shelf.encode(keys)
    shelf.finish(begun.document, 8)
    print("document", d, version, flush=True)
    shelf.catch_up()
    shelf.vectors.compact()
shelf.catch_up()
shelf.close()
print("done", flush=True)
"""


class Writer:
    """The script above in a process of its own."""

    def __init__(self, folder: Path, version: str) -> None:
        tools = Path(__file__).with_name("shelf.py")
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, tools, folder / "library", folder / "files", version],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kill_after(self, seconds: float) -> list[str]:
        """Kill it some time after it has opened the library; return the lines it wrote."""
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline().strip()]
        time.sleep(seconds)
        self.process.send_signal(signal.SIGKILL)
        return lines + self.end()

    def end(self) -> list[str]:
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode in (0, -signal.SIGKILL), err
        return [line for line in out.splitlines() if line]


def _sound(folder: Any) -> None:
    """No error in the library; what lags behind after a kill is at most a warning."""
    with Catalogue(folder) as catalogue:
        findings = examine(catalogue, Lexical(folder.lexical))
        assert not [f for f in findings if f.severity == "error"], findings
        numbers = catalogue.rows("SELECT id, stored FROM documents")
        assert all(stored <= 8 for _, stored in numbers)


def test_a_killed_writer_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    from pagetrail.index.folder import Folder

    chance = random.Random(7)
    (tmp_path / "files").mkdir()
    folder = Folder(tmp_path / "library")
    reported: set[str] = set()
    complete: set[tuple[str, str]] = set()
    for _ in range(KILLS):
        lines = Writer(tmp_path, "first").kill_after(chance.uniform(0, 0.35))
        reported |= {line.split()[1] for line in lines if line.startswith("page ")}
        complete |= {(w[1], w[2]) for line in lines if (w := line.split())[0] == "document"}
        with Catalogue(folder) as catalogue:
            assert len(catalogue.pages(sorted(reported))) == len(reported)
            finished = {d.source for d in catalogue.documents() if d.status == "indexed"}
            assert {f"{d}.pdf" for d, _ in complete} <= finished
        _sound(folder)
    assert reported
    assert Writer(tmp_path, "first").end()[-1] == "done"
    with Catalogue(folder) as catalogue:
        assert examine(catalogue, Lexical(folder.lexical)) == []
        assert catalogue.page_total() == 8 * 8
        found = Lexical(folder.lexical).search("words", "pages", limit=500)
        assert len(found) == len(set(found.keys.tolist())) == 64


def test_a_kill_while_replacing_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    from pagetrail.index.folder import Folder

    chance = random.Random(8)
    (tmp_path / "files").mkdir()
    folder = Folder(tmp_path / "library")
    assert Writer(tmp_path, "first").end()[-1] == "done"
    replaced: set[str] = set()
    for _ in range(KILLS // 2):
        lines = Writer(tmp_path, "second").kill_after(chance.uniform(0, 0.35))
        replaced |= {f"{line.split()[1]}.pdf" for line in lines if line.startswith("document ")}
        with Catalogue(folder) as catalogue:
            documents = catalogue.documents()
            assert sorted(d.source for d in documents) == sorted(f"{d}.pdf" for d in range(8))
            for document in documents:
                words = {p.text.split()[0] for p in catalogue.iterate(document.id)}
                assert words == {"second"} if document.source in replaced else len(words) == 1
                assert len(catalogue.page_keys(document.id)) == 8
        _sound(folder)
    assert Writer(tmp_path, "second").end()[-1] == "done"
    with Catalogue(folder) as catalogue:
        assert examine(catalogue, Lexical(folder.lexical)) == []
        assert len(Lexical(folder.lexical).search("first", "pages", limit=500)) == 0
        assert len(Lexical(folder.lexical).search("second", "blocks", limit=500)) == 64


_READER = """
import sys, time
from pathlib import Path
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.folder import open_folder
from pagetrail.index.lexical import Lexical

folder = open_folder(Path(sys.argv[1]))
catalogue, lexical = Catalogue(folder), Lexical(folder.lexical)
most = rounds = 0
print("ready", flush=True)
while most < 64:
    with catalogue.pinned():
        view = catalogue.view()
        total = catalogue.page_total()
        keys = [k for d in catalogue.documents() for k in catalogue.page_keys(d.id)]
        assert total == len(keys) == len(catalogue.pages_by_key(keys)), (total, len(keys))
    assert total >= most, (total, most)
    found = view.visible(lexical.search("words", "pages", limit=500))
    assert len(set(found.keys.tolist())) == len(found)
    time.sleep(0.01)
    if total == 64 and len(found) < 64:
        continue
    most, rounds = total, rounds + 1
print("rounds", rounds, flush=True)
"""


def test_two_processes_read_while_one_writes(shelf: Any, tmp_path: Path) -> None:
    shelf.close()  # the library exists, and is free
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", _READER, str(shelf.root)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    try:
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "ready\n"
        assert Writer(tmp_path, "first").end()[-1] == "done"
        for reader in readers:
            out, _ = reader.communicate(timeout=60)
            assert reader.returncode == 0
            assert int(out.split()[1]) >= 1
    finally:
        for reader in readers:
            reader.kill()
            reader.communicate()
        shelf.open()


def test_a_second_writer_is_told_and_harms_nothing(shelf: Any, tmp_path: Path) -> None:
    shelf.add("x.pdf", "text")
    writer = Writer(tmp_path, "first")
    _, err = writer.process.communicate(timeout=60)
    assert writer.process.returncode == 1
    assert "LockedError: another process (process" in err
    assert shelf.words("text") == [f"{shelf.catalogue.find('x.pdf')[0].id}#p0001"]


@pytest.mark.parametrize("channel", ["pages", "blocks"])
def test_the_tools_of_this_file_find_what_they_add(shelf: Any, channel: str) -> None:
    document = shelf.add("x.pdf", "words of one", "other")
    assert shelf.words("words", channel) == [f"{document}#p0001"]
