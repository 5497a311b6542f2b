"""Where figures, tables, sections and page labels stand: what a question can point at.

Kept in the catalogue in the same commit as the pages they stand on, so they come and go with them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..ports import Place
from ..types import page_id
from .keys import NUMBER_BITS, key_range, page_key, split_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..types import Page
    from .catalogue import Catalogue

__all__ = ["PlaceBook", "copy_places", "drop_places", "label_rows", "place_rows"]


def place_rows(page: Page, key: int) -> list[tuple[str, str, int, int, int]]:
    """Return a page's references as rows of ``places``: the first block for each."""
    rows: dict[tuple[str, str, bool], tuple[str, str, int, int, int]] = {}
    for reference in page.references:
        mention = reference.role == "mention"
        rows.setdefault(
            (reference.kind, reference.key, mention),
            (reference.kind, reference.key, key, int(mention), reference.block),
        )
    return list(rows.values())


def label_rows(page: Page, key: int) -> list[tuple[str, int]]:
    """Return a page's printed label as a row of ``labels``; none for an unlabelled page."""
    return [(page.label.casefold(), key)] if page.label else []


def copy_places(run: Callable[[str, Sequence[object]], int], source: int, target: int) -> None:
    """Give one document's places to another with the same pages; serials of documents."""
    shift = (target - source) << NUMBER_BITS
    span = key_range(source)
    run(
        "INSERT INTO places SELECT kind, key, page + ?, mention, block FROM places "
        "WHERE page BETWEEN ? AND ?",
        (shift, *span),
    )
    run(
        "INSERT INTO labels SELECT label, page + ? FROM labels WHERE page BETWEEN ? AND ?",
        (shift, *span),
    )


def drop_places(run: Callable[[str, Sequence[object]], int], serial: int) -> None:
    """Forget a removed document's places."""
    run("DELETE FROM places WHERE page BETWEEN ? AND ?", key_range(serial))
    run("DELETE FROM labels WHERE page BETWEEN ? AND ?", key_range(serial))


class PlaceBook:
    """A library's `ports.PointerBook`: answers from the catalogue, at its current state."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def places(
        self, kind: str, key: str, *, allowed: frozenset[str] | None, limit: int
    ) -> Sequence[Place]:
        """Return where a numbered thing stands, targets before mentions, then by page id."""
        rows = self._catalogue.rows(
            "SELECT page, mention, block FROM places JOIN documents ON serial = page >> ? "
            "WHERE kind = ? AND key = ? AND state != 'staged' "
            "AND (? IS NULL OR id IN (SELECT value FROM json_each(?))) "
            "ORDER BY mention, id, page LIMIT ?",
            (NUMBER_BITS, kind, key, *_names(allowed), limit),
        )
        ids = self._ids(page for page, _, _ in rows)
        return [
            Place(ids[page], "mention" if mention else "target", block if block >= 0 else None)
            for page, mention, block in rows
        ]

    def labelled(self, label: str, *, allowed: frozenset[str] | None, limit: int) -> Sequence[str]:
        """Return the pages whose printed label is this one, whatever the case."""
        rows = self._catalogue.rows(
            "SELECT page FROM labels JOIN documents ON serial = page >> ? "
            "WHERE label = ? AND state != 'staged' "
            "AND (? IS NULL OR id IN (SELECT value FROM json_each(?))) ORDER BY id, page LIMIT ?",
            (NUMBER_BITS, label.casefold(), *_names(allowed), limit),
        )
        ids = self._ids(page for (page,) in rows)
        return [ids[page] for (page,) in rows]

    def numbered(self, number: int, *, allowed: frozenset[str] | None, limit: int) -> Sequence[str]:
        """Return the pages with this physical number; -1 is the last page of each document."""
        rows = self._catalogue.rows(
            "SELECT serial, page_count FROM documents "
            "WHERE state != 'staged' AND stored > 0 AND page_count >= ? "
            "AND (? IS NULL OR id IN (SELECT value FROM json_each(?))) ORDER BY id LIMIT ?",
            (abs(number), *_names(allowed), limit),
        )
        wanted = [
            page_key(serial, number if number > 0 else count + 1 + number)
            for serial, count in rows
            if number
        ]
        stored = self._catalogue.rows(
            "SELECT key FROM pages WHERE key IN (SELECT value FROM json_each(?))",
            (json.dumps(wanted),),
        )
        return sorted(self._ids(key for (key,) in stored).values())

    def _ids(self, keys: Iterable[int]) -> dict[int, str]:
        ids = self._catalogue.view().ids
        places = ((key, *split_key(key)) for key in keys)
        return {
            key: page_id(ids[serial], number) for key, serial, number in places if serial in ids
        }


def _names(allowed: frozenset[str] | None) -> tuple[str | None, str | None]:
    """Return the ids that may appear, as the statements take them: twice, null for all."""
    names = None if allowed is None else json.dumps(sorted(allowed))
    return names, names
