"""Office files and HTML to PDF, through LibreOffice where it is installed.

Each conversion has a fresh profile, a time limit and a process group of its own that is killed at
the end, whatever happens; nothing is fetched from the network.
"""

from __future__ import annotations

import contextlib
import html
import os
import shutil
import signal
import subprocess
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from ..errors import DamagedError, LimitError, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["convert", "find_office", "without_resources"]

_NAMES = {"html": "HTML", "fodt": "OpenDocument"}
_PLACES = (
    "/usr/lib/libreoffice/program/soffice",
    "/usr/lib64/libreoffice/program/soffice",
    "/opt/libreoffice/program/soffice",
    "/snap/bin/libreoffice",
    "/Applications/LibreOffice.app/Contents/MacOS/soffice",
)
_NOWHERE = "http://127.0.0.1:9"  # the discard port: a proxy that answers nothing

# Macros off, links of untrusted files blocked, and every request led to a dead proxy.
_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="DisableActiveContent" oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetProxyType" oor:op="fuse"><value>2</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPProxyName" oor:op="fuse"><value>127.0.0.1</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPProxyPort" oor:op="fuse"><value>9</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPSProxyName" oor:op="fuse"><value>127.0.0.1</value></prop></item>
<item oor:path="/org.openoffice.Inet/Settings"><prop oor:name="ooInetHTTPSProxyPort" oor:op="fuse"><value>9</value></prop></item>
</oor:items>
"""  # noqa: E501


def find_office() -> str | None:
    """Return LibreOffice's program, None when it is not installed."""
    for name in ("soffice", "libreoffice"):
        if found := shutil.which(name):
            return found
    return next((place for place in _PLACES if os.access(place, os.X_OK)), None)


def convert(path: Path, source: str, suffix: str, *, folder: Path, seconds: float) -> Path:
    """Convert a file to PDF and return where it is; a second call returns the same file.

    Args:
        path: Where the bytes are.
        source: The path as the user gave it, for messages.
        suffix: What the file is, as told by `sniff`.
        folder: Where the result and the profile go; the caller removes it.
        seconds: Wall-clock limit.

    Raises:
        UnsupportedError: LibreOffice is not installed.
        LimitError: It took too long.
        DamagedError: It made no PDF of the file.
    """
    done = folder / "converted.pdf"
    if done.exists():
        return done
    program = find_office()
    if program is None:
        kind = _NAMES.get(suffix, suffix.upper())
        raise UnsupportedError(
            source,
            f"{kind} files are read through LibreOffice, which is not installed: install it "
            "(for example: apt install libreoffice), or save the file as PDF",
        )
    profile, out = folder / "profile", folder / "out"
    (profile / "user").mkdir(parents=True, exist_ok=True)
    (profile / "user" / "registrymodifications.xcu").write_text(_PROFILE, encoding="utf-8")
    out.mkdir(exist_ok=True)
    copy = folder / f"input.{suffix}"
    if suffix == "html":
        copy.write_text(without_resources(_decoded(path.read_bytes())), encoding="utf-8")
    else:
        shutil.copyfile(path, copy)
    _run(program, source, [copy, out, profile], seconds)
    made = out / "input.pdf"
    if not made.is_file() or made.stat().st_size == 0:
        raise DamagedError(source, "LibreOffice could not convert the file; is it damaged?")
    made.rename(done)
    return done


def _run(program: str, source: str, places: list[Path], seconds: float) -> None:
    copy, out, profile = places
    command = [
        program,
        f"-env:UserInstallation={profile.resolve().as_uri()}",
        *("--headless", "--norestore", "--nolockcheck", "--nodefault", "--nofirststartwizard"),
        # Its web layout loses headings; as a text document nothing is lost.
        *(["--infilter=HTML (StarWriter)"] if copy.suffix == ".html" else []),
        *("--convert-to", "pdf", "--outdir", str(out), str(copy)),
    ]
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "TMPDIR")}
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "ftp_proxy", "all_proxy"), _NOWHERE)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**kept, **proxies, "HOME": str(profile), "SAL_USE_VCLPLUGIN": "svp"},
        start_new_session=True,
    )
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise LimitError(
            source, f"LibreOffice did not finish within {seconds:g} seconds"
        ) from error
    finally:
        # The program is a chain of processes; all of them share the group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _decoded(data: bytes) -> str:
    for encoding in (
        ("utf-8-sig", "utf-16") if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig",)
    ):
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(encoding)
    return data.decode("cp1252", "replace")


# --- HTML that fetches nothing -------------------------------------------------------------------

_DROPPED = {"script", "style", "iframe", "object", "applet", "noscript", "template", "svg", "math"}
_VOID = {"link", "base", "meta", "embed", "source", "track", "frame", "param", "input"}
_KEPT = {"colspan", "rowspan", "align", "valign", "border", "width", "height", "lang", "dir", "id"}


def without_resources(page: str) -> str:
    """Return an HTML page reduced to text and structure, with nothing left that points outside.

    Pictures stay only where they are part of the page itself (``data:``); other tags keep a short
    list of harmless attributes, so no style, link or handler can name a place to fetch from.
    """
    cleaner = _Cleaner()
    cleaner.feed(page)
    cleaner.close()
    return '<!doctype html><meta charset="utf-8">' + "".join(cleaner.parts)


class _Cleaner(HTMLParser):
    """Rewrites a page tag by tag."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._inside or tag in _DROPPED:
            if tag in _DROPPED:
                self._inside.append(tag)
            return
        if tag in _VOID or not tag.isalnum():
            return
        given = dict(attrs)
        kept = {k: v for k, v in given.items() if k in _KEPT and v is not None}
        if tag == "img":
            where = (given.get("src") or "").strip()
            if where.startswith("data:image/") and "svg" not in where[:20]:
                kept["src"] = where
            else:
                self.parts.append(html.escape(given.get("alt") or ""))
                return
        words = "".join(f' {name}="{html.escape(value)}"' for name, value in kept.items())
        self.parts.append(f"<{tag}{words}>")

    def handle_endtag(self, tag: str) -> None:
        if self._inside:
            if tag in self._inside:
                while self._inside.pop() != tag:
                    pass
            return
        if tag not in _VOID and tag.isalnum():
            self.parts.append(f"</{tag}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _DROPPED:
            self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.parts.append(html.escape(data, quote=False))
