"""What a server says when it does not reply: why, and how long to wait."""

from __future__ import annotations

import math
import time
import unicodedata
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from ..shallow import loads

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PassingError", "RefusedError", "one_line", "reason_of", "retry_after"]

_LONGEST = 300


class PassingError(Exception):
    """An attempt failed in a way that may pass; ``wait`` is what the server asks for, seconds."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class RefusedError(Exception):
    """The server takes the request as wrong; ``param`` is the parameter that it names, or ""."""

    def __init__(self, reason: str, message: str, param: str) -> None:
        super().__init__(reason)
        self.message = message
        self.param = param


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that the server asks to wait, told as such or as a date; else None.

    Args:
        headers: The answer's headers, found by lower-case names.
        now: The time in seconds since 1970; this moment by default.
    """
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        told = headers.get(name)
        if not told:
            continue
        try:
            seconds = float(told) / scale
        except ValueError:
            try:
                then = parsedate_to_datetime(told).timestamp()
            except (ValueError, TypeError, OverflowError):
                continue
            seconds = then - (time.time() if now is None else now)
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    return None


def reason_of(error: Any) -> tuple[str, str]:
    """Return the message in a refusal's body and the parameter that it names; "" where unknown.

    Args:
        error: The SDK's error for a status; its ``response`` holds the body.
    """
    try:
        text = str(error.response.text)
    except Exception:  # noqa: BLE001 (a body that cannot be read says nothing; the status remains)
        return "", ""
    try:
        body = loads(text)
    except ValueError:
        return _plain(text), ""
    if isinstance(body, list) and body:
        body = body[0]
    fault = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(fault, dict):
        return str(fault), ""
    message = fault.get("message") or fault.get("detail") or fault.get("error") or ""
    if isinstance(message, list):  # a list of faults, each with its place
        message = "; ".join(_listed(entry) for entry in message)
    return str(message), str(fault.get("param") or "")


def _listed(entry: Any) -> str:
    if not isinstance(entry, dict):
        return str(entry)
    place = entry.get("loc") or ()
    path = ".".join(map(str, place)) if isinstance(place, list | tuple) else str(place)
    return f"{path}: {entry.get('msg', '')}"


def _plain(text: str) -> str:
    """Return a body that is no JSON, unless it is a page for a browser."""
    return "" if text.lstrip()[:1] == "<" else text


def one_line(text: str) -> str:
    """Return a server's text as one short line without control characters."""
    shown = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text[:4000])
    line = " ".join(shown.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
