"""What every piece of the pipeline algebra is: a frozen value that can be kept as JSON.

A piece is a frozen dataclass whose fields are numbers, strings, other pieces, or tuples of these.
Its JSON form is canonical (sorted keys, no white space), so its SHA-256 is the same in every
process and on every machine.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..errors import UsageError
from ..shallow import loads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Piece", "fingerprint", "from_json", "piece", "to_json", "written"]

_KINDS: dict[str, type[Piece]] = {}
_DEEPEST = 64  # a pipeline nested deeper than this is a mistake or an attack on the parser


@dataclass(frozen=True)
class Piece:
    """Base of the algebra; subclasses are frozen dataclasses marked with `piece`."""

    kind: ClassVar[str] = ""

    def explain(self) -> str:
        """Return the piece in plain words, one line per step."""
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        raise NotImplementedError


PieceType = TypeVar("PieceType", bound=type[Piece])


def piece(kind: str) -> Callable[[PieceType], PieceType]:
    """Give a kind of piece its name in JSON; two kinds may not share one."""

    def register(cls: PieceType) -> PieceType:
        known = _KINDS.setdefault(kind, cls)
        if known.__qualname__ != cls.__qualname__:
            raise UsageError(f"two kinds of pipeline piece are called {kind!r}")
        _KINDS[kind] = cls
        cls.kind = kind
        return cls

    return register


def to_json(value: Piece) -> str:
    """Return the canonical JSON form."""
    return json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def from_json(text: str) -> Piece:
    """Return the piece that `to_json` wrote.

    Raises:
        UsageError: Not JSON, an unknown kind, an unknown or missing field, or a value out of range.
    """
    try:
        data = loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise UsageError(f"a pipeline is kept as JSON, and this is not: {error}") from error
    value = _piece(data, 0)
    if not isinstance(value, Piece):
        raise UsageError('a pipeline is a JSON object with a "kind"')
    return value


def fingerprint(value: Piece) -> str:
    """Return the SHA-256 of the canonical JSON, hexadecimal; stable across processes."""
    known = value.__dict__.get("_fingerprint")
    if known is None:
        known = hashlib.sha256(to_json(value).encode()).hexdigest()
        # Kept on the value, which never changes; it is no field and takes no part in equality.
        object.__setattr__(value, "_fingerprint", known)
    return str(known)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _plain(value: object) -> object:
    if isinstance(value, Piece):
        return {"kind": value.kind} | {
            f.name: _plain(getattr(value, f.name)) for f in fields(value)
        }
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise UsageError(f"a pipeline cannot hold a {type(value).__name__}")


def _piece(data: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise UsageError(f"a pipeline may be nested {_DEEPEST} deep at most")
    if isinstance(data, list):
        return tuple(_piece(d, depth + 1) for d in data)
    if not isinstance(data, dict):
        return data
    kind = data.get("kind")
    cls = _KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise UsageError(f"unknown kind of stage {kind!r}; known are {', '.join(sorted(_KINDS))}")
    wanted, given = {f.name for f in fields(cls)}, set(data) - {"kind"}
    if wanted != given:
        odd = ", ".join(sorted(wanted ^ given))
        raise UsageError(f"stage {kind!r} has the fields {', '.join(sorted(wanted))}; see: {odd}")
    return cls(**{name: _piece(data[name], depth + 1) for name in given})


def written(value: Piece) -> str:
    """Return a piece as Python would make it: its first field, and what is not as by default."""
    first, *others = fields(value)
    given = [
        f"{field.name}={_literal(getattr(value, field.name))}"
        for field in others
        if getattr(value, field.name) != field.default
    ]
    values = [_literal(getattr(value, first.name)), *given]
    return f"{type(value).__name__}({', '.join(values)})"


def _literal(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def check_count(value: object, what: str) -> None:
    """Refuse anything but a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{what} must be a whole number of at least 1, not {value!r}")


def as_number(value: object, what: str) -> float:
    """Return a finite number as a float, so that 1 and 1.0 are the same value."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"{what} must be a finite number, not {value!r}")
    return float(value)
