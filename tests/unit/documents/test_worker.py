"""The worker pool: every page once, whatever the pages do to their workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter

import pytest
from PIL import Image

from pagetrail.config import DocumentSettings
from pagetrail.documents.process import death
from pagetrail.documents.worker import PoolLoader
from pagetrail.ports import DocumentEnded, DocumentOpened, LoadRequest, PageFailed, PageLoaded

# A reader that does to its worker what the picture's first red value says.
MISCHIEF = """
import os, signal, time
from pagetrail.ports import Reading
from pagetrail.types import Box, Word

def make():
    return Reader()

class Reader:
    hoard = []
    def read(self, image):
        what = int(image[0, 0, 0])
        if what == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if what == 2:
            time.sleep(600)
        if what == 3:
            self.kept = bytearray(4 << 30)
        if what == 4:
            raise ValueError("strange\\npicture")
        if what == 5:
            os._exit(7)
        if what == 6:
            self.hoard.append(b"x" * (200 << 20))
        if what == 7:
            time.sleep(0.3)
        if what == 8:
            while True:
                pass
        word = Word(f"pid{os.getpid()}", Box(0.1, 0.1, 0.5, 0.5))
        return Reading(((word,),), confidence=0.9)
"""


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return a reader factory that workers can import."""
    folder = tmp_path / "code"
    folder.mkdir()
    name = f"mischief_{tmp_path.name}"
    (folder / f"{name}.py").write_text(MISCHIEF)
    monkeypatch.syspath_prepend(folder)
    return __import__(name).make


@pytest.fixture
def film(tmp_path):
    """Write a picture file whose frames carry what the reader is to do."""

    def write(*deeds, name="film.tiff"):
        frames = []
        for deed in deeds:
            frame = Image.new("RGB", (40, 40), "white")
            frame.putpixel((0, 0), (deed, 0, 0))
            frames.append(frame)
        path = tmp_path / name
        frames[0].save(path, save_all=True, append_images=frames[1:])
        return path

    return write


def request(path, document="doc", **more):
    return LoadRequest(document, path, path.name, **more)


def settings(**more):
    return DocumentSettings(**{"workers": 2, **more})


def run(loader, *requests):
    """Return events by document, checking that each is opened first and ended last, once."""
    events = {r.document: [] for r in requests}
    for event in loader.load(requests):
        document = event.page.document if isinstance(event, PageLoaded) else event.document
        events[document].append(event)
    for listed in events.values():
        assert isinstance(listed[-1], DocumentEnded)
        assert sum(isinstance(e, DocumentEnded) for e in listed) == 1
        numbers = [e.page.number if isinstance(e, PageLoaded) else e.number for e in pages(listed)]
        assert len(numbers) == len(set(numbers))
        if numbers:
            assert isinstance(listed[0], DocumentOpened)
    return events


def pages(events):
    return [e for e in events if isinstance(e, PageLoaded | PageFailed)]


def loaded(events):
    return sorted(e.page.number for e in events if isinstance(e, PageLoaded))


def failed(events):
    return {e.number: e.reason for e in events if isinstance(e, PageFailed)}


def gone(process, seconds=10.0):
    """Wait for a process to end."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{process}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def children(process="self"):
    own = os.getpid() if process == "self" else process
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    if int(file.read().rsplit(")", 1)[1].split()[1]) == own:
                        found.append(int(entry))
            except OSError:
                continue
    return found


def test_several_documents_of_all_kinds(pdf, film, tmp_path):
    for number in range(30):
        pdf.page().text(40, 200, f"Page{number + 1}")
    report = tmp_path / "report"
    report.write_bytes(pdf.data())
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes\n\nwords\n")
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing")
    events = run(
        PoolLoader(settings()),
        request(report, "a"),
        request(notes, "b"),
        request(broken, "c"),
        request(tmp_path / "absent.pdf", "d"),
        request(film(9, 9, 9), "e"),
    )
    assert loaded(events["a"]) == list(range(1, 31))
    for event in events["a"]:
        if isinstance(event, PageLoaded):
            assert event.page.text == f"Page{event.page.number}"
    assert events["a"][0] == DocumentOpened("a", 30)
    assert events["b"][0].title == "Notes"
    assert events["b"][0].outline[0].title == "Notes"
    assert events["c"] == [
        DocumentEnded(
            "c", "not a readable PDF: damaged or cut off; open and save it again in another program"
        )
    ]
    assert events["d"][0].error
    assert "\n" not in events["d"][0].error
    assert loaded(events["e"]) == [1, 2, 3]
    assert [events[d][-1].error for d in "abe"] == [""] * 3


def test_pages_already_read_are_not_read_again(film):
    path = film(9, 9, 9, 9)
    loader = PoolLoader(settings())
    events = run(loader, request(path, skip=frozenset({1, 3, 77})))["doc"]
    assert loaded(events) == [2, 4]
    events = run(loader, request(path, skip=frozenset({1, 2, 3, 4})))["doc"]
    assert [type(e) for e in events] == [DocumentOpened, DocumentEnded]


def test_one_long_document_uses_all_workers(make, film):
    events = run(PoolLoader(settings(), make), request(film(*[7] * 24)))["doc"]
    assert loaded(events) == list(range(1, 25))
    shares = Counter(e.page.text for e in events if isinstance(e, PageLoaded))
    assert len(shares) == 2


def test_bad_pages_cost_themselves_only(make, film):
    deeds = (9, 1, 9, 9, 3, 9, 4, 9, 5, 9)
    events = run(PoolLoader(settings(), make), request(film(*deeds)))["doc"]
    assert loaded(events) == [1, 3, 4, 6, 8, 10]
    assert failed(events) == {
        2: "the reading process crashed (SIGSEGV)",
        5: "needs more memory than document_memory_mb allows",
        7: "cannot be read: ValueError: strange picture",
        9: "the reading process ended by itself (status 7)",
    }
    assert events[-1].error == ""


@pytest.mark.parametrize("deed", [2, 8])
def test_a_page_that_takes_too_long_is_given_up(make, film, deed):
    started = time.monotonic()
    events = run(
        PoolLoader(settings(page_seconds=2.0), make),
        request(film(9, deed, 9, 9), "slow"),
        request(film(9, 9, name="other.tiff"), "other"),
    )
    assert loaded(events["slow"]) == [1, 3, 4]
    assert failed(events["slow"]) == {2: "took longer than 2 s"}
    assert loaded(events["other"]) == [1, 2]
    assert time.monotonic() - started < 60  # long enough for a machine that is busy otherwise


def test_a_hopeless_document_is_given_up_and_the_next_is_read(make, film):
    events = run(
        PoolLoader(settings(workers=1), make),
        request(film(*[5] * 40), "bad"),
        request(film(9, name="good.tiff"), "good"),
    )
    assert len(failed(events["bad"])) < 10
    assert events["bad"][-1].error.startswith("given up: ")
    assert loaded(events["good"]) == [1]


def test_a_worker_that_has_grown_is_replaced_and_no_page_is_lost(make, film):
    events = run(PoolLoader(settings(workers=1), make), request(film(*[9] * 20, 6, *[9] * 5)))
    assert loaded(events["doc"]) == list(range(1, 27))
    assert len({e.page.text for e in events["doc"] if isinstance(e, PageLoaded)}) == 2


def test_a_busy_consumer_is_not_mistaken_for_a_slow_page(make, film):
    loader = PoolLoader(settings(workers=1, page_seconds=1.5), make)
    numbers = []
    for event in loader.load([request(film(*[9] * 4))]):
        if isinstance(event, PageLoaded):
            numbers.append(event.page.number)
            time.sleep(1.7 if len(numbers) <= 2 else 0)
        assert not isinstance(event, PageFailed)
    assert numbers == [1, 2, 3, 4]


def test_requests_are_taken_as_needed_and_closing_ends_the_workers(film):
    path, taken = film(*[9] * 50), []

    def requests():
        for number in range(1000):
            taken.append(number)
            yield request(path, f"d{number}")

    before = set(children())
    events = PoolLoader(settings()).load(requests())
    for _ in range(5):
        next(events)
    assert len(taken) <= 4
    mine = set(children()) - before
    assert mine
    events.close()
    assert not set(children()) - before


def test_no_worker_survives_its_owner(make, film, tmp_path):
    script = tmp_path / "owner.py"
    script.write_text(
        textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from pagetrail.config import DocumentSettings
        from pagetrail.documents.worker import PoolLoader
        from pagetrail.ports import LoadRequest
        sys.path.insert(0, {str(tmp_path / "code")!r})
        import {make.__module__} as mischief
        path = Path({str(film(9, *[2] * 20))!r})
        # At module level and without a guard: workers must not run this file again.
        for event in PoolLoader(DocumentSettings(workers=2), mischief.make).load(
            [LoadRequest("d", path, "film")]
        ):
            print(type(event).__name__, flush=True)
        """)
    )
    for how in (signal.SIGKILL, signal.SIGINT):
        owner = subprocess.Popen(
            [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert owner.stdout.readline() == "DocumentOpened\n"
        assert owner.stdout.readline() == "PageLoaded\n"
        time.sleep(0.5)  # by now a worker sleeps in the second page
        mine = children(owner.pid)
        assert mine
        owner.send_signal(how)
        _, errors = owner.communicate(timeout=120)  # generous: the machine may be busy
        assert ("KeyboardInterrupt" in errors) == (how == signal.SIGINT)
        assert all(gone(child) for child in mine)


def test_passwords_are_not_visible_from_outside(pdf, tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf.page().data())
    loader = PoolLoader(settings(workers=1))
    events = loader.load([request(path, passwords=("sesame-open",))])
    next(events)
    for child in children():
        for name in ("cmdline", "environ"):
            with open(f"/proc/{child}/{name}", "rb") as file:
                assert b"sesame-open" not in file.read()
    events.close()


def test_ends_are_put_in_words():
    assert death(-signal.SIGSEGV) == "the reading process crashed (SIGSEGV)"
    assert "memory" in death(-signal.SIGKILL)
    assert death(3).endswith("(status 3)")
