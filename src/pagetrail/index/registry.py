"""Which encoders a library knows: the channel they answer to, how to load them, what they hold."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, NotFoundError
from .files import remove_segment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .catalogue import Catalogue
    from .changes import CatalogueWriter

__all__ = [
    "COMPANION",
    "EncoderRecord",
    "Registration",
    "check_settings",
    "drop_encoder",
    "encoders",
    "find_encoder",
    "register_encoder",
]

COMPANION = "/pooled"
"""Ends the name of what is kept of an encoder's pages for a first look; see `pooled`."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What a library keeps of an added encoder.

    Attributes:
        channel: The name under which it is searched.
        spec: How to load it.
        settings: Whatever else changes its vectors.
        probe: float32 ``[n]``, what it makes of a fixed input, to tell whether it is still the
            same model; None when that is not checked.
    """

    channel: str
    spec: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    probe: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class EncoderRecord:
    """A registered encoder and what it holds.

    Attributes:
        id: Its number in this library.
        channel: The name under which it is searched; None for the built-in one.
        probe: float32 ``[n]``, or None.
        pages: Pages that have been encoded.
        pending: Pages that have not.
        bytes: Size of its files.
    """

    id: int
    name: str
    revision: str
    dimension: int
    channel: str | None
    spec: str
    settings: Mapping[str, str]
    probe: np.ndarray | None
    pages: int
    pending: int
    bytes: int


def encoders(catalogue: Catalogue) -> list[EncoderRecord]:
    """Return the registered encoders in the order in which they were added."""
    rows = catalogue.rows(
        "SELECT id, name, revision, dimension, channel, spec, settings, probe, "
        "(SELECT count(*) FROM vectors WHERE encoder = id), "
        "(SELECT count(*) FROM pending WHERE encoder = id) FROM encoders ORDER BY id"
    )
    companions = {(row[1], row[2]): row[0] for row in rows if row[1].endswith(COMPANION)}
    records = []
    for ident, name, revision, dimension, channel, spec, settings, probe, pages, pending in rows:
        if name.endswith(COMPANION):
            continue
        companion = companions.get((name + COMPANION, revision))
        records.append(
            EncoderRecord(
                ident,
                name,
                revision,
                dimension,
                channel,
                spec,
                json.loads(settings),
                None if probe is None else np.frombuffer(probe, np.float32),
                pages,
                pending,
                _size(catalogue, ident) + (_size(catalogue, companion) if companion else 0),
            )
        )
    return records


def find_encoder(
    catalogue: Catalogue, name: str, revision: str, dimension: int, channel: str | None
) -> int | None:
    """Return an encoder's number, or None when the library does not know it yet.

    Raises:
        ModelError: The library knows the encoder otherwise, or the channel is another encoder's.
    """
    if channel is not None:
        rows = catalogue.rows("SELECT name, revision FROM encoders WHERE channel = ?", (channel,))
        if rows and rows[0] != (name, revision):
            raise ModelError(
                f"channel {channel} was built with {_called(*rows[0])}, now it is "
                f"{_called(name, revision)}: drop it and add it again"
            )
    rows = catalogue.rows(
        "SELECT id, dimension, channel FROM encoders WHERE name = ? AND revision = ?",
        (name, revision),
    )
    if not rows:
        return None
    ident, known, other = rows[0]
    if known != dimension:
        raise ModelError(
            f"{name} ({revision[:12]}) made vectors of length {known} in this library, "
            f"now {dimension}: it is not the same model"
        )
    if channel is not None and other != channel:
        raise ModelError(
            f"{_called(name, revision)} is in this library already, as "
            f"{'the built-in encoder' if other is None else f'channel {other}'}"
        )
    return int(ident)


def register_encoder(
    writer: CatalogueWriter,
    names: tuple[str, str, int],
    registration: Registration | None,
) -> int:
    """Make an encoder known, with all pages waiting for it; returns its number.

    Raises:
        ModelError: Its name is that of another encoder's pooled vectors.
    """
    if registration is not None and names[0].endswith(COMPANION):
        raise ModelError(f"an encoder's name cannot end in {COMPANION}; give the model another one")
    columns: tuple[Any, ...] = (None, "", "{}", None)
    if registration is not None:
        probe = registration.probe
        columns = (
            registration.channel,
            registration.spec,
            json.dumps(dict(registration.settings), sort_keys=True),
            None if probe is None else np.asarray(probe, np.float32).tobytes(),
        )
    with writer.transaction():
        writer.rows(
            "INSERT INTO encoders (name, revision, dimension, channel, spec, settings, probe) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*names, *columns),
        )
        ((ident,),) = writer.rows(
            "SELECT id FROM encoders WHERE name = ? AND revision = ?", names[:2]
        )
        writer.rows("INSERT INTO pending SELECT ?, key, NULL FROM pages", (ident,))
        writer.bump()
    return int(ident)


def check_settings(catalogue: Catalogue, ident: int, registration: Registration) -> None:
    """Raise ModelError when an encoder's vectors were made with other settings."""
    ((text,),) = catalogue.rows("SELECT settings FROM encoders WHERE id = ?", (ident,))
    known, now = json.loads(text), dict(registration.settings)
    for name in sorted({*known, *now}):
        if known.get(name) != now.get(name):
            raise ModelError(
                f"channel {registration.channel} was built with {name} {known.get(name)!r}, now "
                f"it is {now.get(name)!r}: drop it and add it again"
            )


def drop_encoder(writer: CatalogueWriter, ident: int) -> int:
    """Forget an encoder with all its vectors in one commit, then delete its files.

    What a kill leaves of the files is deleted by `publish.clean_segments`.

    Returns:
        The bytes that were freed.

    Raises:
        NotFoundError: There is no such encoder.
    """
    rows = writer.rows("SELECT name, revision FROM encoders WHERE id = ?", (ident,))
    if not rows:
        raise NotFoundError(f"no encoder with number {ident} in this library")
    name, revision = rows[0]
    with writer.transaction():
        doomed = [ident]
        doomed += [
            other
            for (other,) in writer.rows(
                "SELECT id FROM encoders WHERE name = ? AND revision = ?",
                (name + COMPANION, revision),
            )
        ]
        freed = sum(_size(writer, number) for number in doomed)
        files = []
        for number in doomed:
            found = writer.rows("SELECT name FROM segments WHERE encoder = ?", (number,))
            files += [file for (file,) in found]
            for table in ("vectors", "pending", "segments"):
                writer.rows(f"DELETE FROM {table} WHERE encoder = ?", (number,))  # noqa: S608
            writer.rows("DELETE FROM encoders WHERE id = ?", (number,))
        writer.bump()
    for file in files:
        remove_segment(writer.folder.segments, file)
    return freed


def _called(name: str, revision: str) -> str:
    return f"{name} revision {revision[:12]}"


def _size(catalogue: Catalogue, ident: int) -> int:
    folder = catalogue.folder.segments
    size = 0
    for (name,) in catalogue.rows("SELECT name FROM segments WHERE encoder = ?", (ident,)):
        for path in folder.glob(f"{name}.*"):
            with contextlib.suppress(FileNotFoundError):  # another process compacts just now
                size += path.stat().st_size
    return size
