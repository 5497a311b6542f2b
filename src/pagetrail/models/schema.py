"""JSON out of a model's reply: exactly one value, checked against a schema, or a fault in words."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError, UsageError
from ..shallow import too_deep

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ReplyFaultError", "check_schema", "read_json", "read_reply"]

_MOST_CHARACTERS = 1_000_000
_MOST_BRACKETS = 200  # a reply made of brackets must not cost much
_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\n(.*?)```", re.DOTALL)
_LONGEST_FAULT = 200


class ReplyFaultError(ValueError):
    """What is wrong with a reply, in words that may be shown to the model and to a person."""


def read_reply(text: str, schema: Mapping[str, object]) -> Any:
    """Return the JSON value in a reply, checked against the schema.

    Raises:
        ReplyFaultError: There is not exactly one JSON value, or it does not follow the schema.
        UsageError: The schema is not valid, or refers to another; nothing is fetched.
    """
    validator = _validator(schema)
    value = read_json(text)
    from referencing.exceptions import Unresolvable

    try:
        fault = _first(validator.iter_errors(value))
    except RecursionError as error:
        raise ReplyFaultError("it is nested too deeply") from error
    except Unresolvable as error:
        raise UsageError(f"the JSON schema refers to what is not in it: {error.ref}") from error
    if fault is not None:
        path = "".join(f"[{part!r}]" for part in fault.absolute_path)
        reason = _short(fault.message)
        raise ReplyFaultError(f"{'at ' + path + ': ' if path else ''}{reason}")
    return value


def check_schema(schema: Mapping[str, object]) -> None:
    """Raise UsageError when this is not a valid JSON schema."""
    _validator(schema)


def read_json(text: str) -> Any:
    """Return the one JSON value of a reply: the whole of it, or fenced, or with words around it.

    A number, word or quoted text counts only when it is the whole reply or a fence of its own.

    Raises:
        ReplyFaultError: There is none, or more than one.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ReplyFaultError("it is too long")
    body = text.strip()
    if not body:
        raise ReplyFaultError("it is empty")
    if too_deep(body):
        raise ReplyFaultError("it is nested too deeply")
    try:
        return _strict(body)
    except ValueError as error:
        whole = error
    fenced = [part.strip() for part in _FENCE.findall(body)]
    found = _values_of(fenced) if fenced else _embedded(body)
    if len(found) == 1:
        return found[0]
    if found:
        raise ReplyFaultError(f"it holds {len(found)} JSON values instead of one")
    raise ReplyFaultError(f"it holds no JSON value that can be read ({_short(str(whole))})")


def _values_of(parts: list[str]) -> list[Any]:
    values = []
    for part in parts:
        try:
            values.append(_strict(part))
        except ValueError:
            continue
    return values


def _embedded(text: str) -> list[Any]:
    """Return the objects and lists that stand in the text, none inside another."""
    decoder = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_distinct)
    values: list[Any] = []
    start = tries = 0
    for opening in re.finditer(r"[\[{]\s*", text):
        if opening.start() < start:
            continue
        tries += 1
        if tries > _MOST_BRACKETS:
            raise ReplyFaultError("it holds too many brackets to be words around one JSON value")
        try:
            value, start = decoder.raw_decode(text, opening.start())
        except json.JSONDecodeError as error:
            if error.pos > opening.end():
                # It began as JSON: what stands inside a broken or cut value is no reply.
                raise ReplyFaultError(f"its JSON cannot be read ({_short(str(error))})") from error
            continue
        except ValueError as error:
            raise ReplyFaultError(f"its JSON cannot be read ({_short(str(error))})") from error
        values.append(value)
    return values


def _strict(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_distinct)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return result


def _first(faults: Any) -> Any:
    """Return the fault that stands highest up, the first in order of place."""
    return min(faults, key=lambda e: (len(e.absolute_path), list(map(str, e.path))), default=None)


def _validator(schema: Mapping[str, object]) -> Any:
    try:
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import Draft202012Validator, validator_for
        from referencing import Registry
    except ImportError as error:
        raise MissingExtraError("jsonschema", "remote") from error
    plain = json.loads(json.dumps(schema, default=dict))
    kind = validator_for(plain, default=Draft202012Validator)
    try:
        kind.check_schema(plain)
    except SchemaError as error:
        raise UsageError(f"not a valid JSON schema: {_short(error.message)}") from error
    # An empty registry: a reference to the web is an error, never fetched.
    return kind(plain, registry=Registry())


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_FAULT else line[: _LONGEST_FAULT - 1] + "…"
