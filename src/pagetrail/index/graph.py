"""The page graph: where each page leads, kept in the catalogue and read in microseconds.

Edges within a document are stored with the page. Those to other documents are found when they are
asked for, by what the page has in common with few others, so that nothing has to be changed in a
million pages when one is added.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ..edges import agreement
from ..types import Edge, page_id
from .catalogue import decode_path, encode_path
from .keys import key_range, page_key, split_key
from .nodes import KINDS, decode_marks, decode_node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..edges import PageNode
    from .catalogue import Catalogue, View

__all__ = ["PageGraph"]

_RARE = 8  # pages of the library on which a name may stand and still lead from one to another
_COPIES = 16  # pages of the library that may look like copies; more are a form
_TWINS = 0.7  # least estimated Jaccard similarity of twins
_MOST = 5  # edges of a page to other documents, of each kind
_NAMED = 8  # documents of one name among which a link's is looked for
_ORDER = {kind: place for place, kind in enumerate(KINDS)}


class _Way(NamedTuple):
    """An edge by key; ``kind`` is its place in `KINDS`."""

    kind: int
    weight: float
    key: int
    why: str


class PageGraph:
    """Reads the edges of pages; safe to share between threads."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def neighbours(
        self, keys: Sequence[int], view: View, documents: frozenset[int] | None = None
    ) -> dict[int, list[Edge]]:
        """Return where pages lead, by key, in order of kind, then weight, then page id.

        Another page has at most one edge of a kind. Within the document: reading order, and what
        was found when it was added. To other documents: ``shared`` for rare names that stand on at
        most 8 pages of the library, weighted as within a document; ``twin`` for nearly the same
        words; ``link`` for links to a file that is in the library, found by its name, first in the
        same folder.

        Args:
            keys: Page keys; every one has an entry in the result.
            view: Decides what may be seen.
            documents: Serials of the documents that edges may lead to; None for all.

        Raises:
            CorruptError: What is stored of a page is damaged.
        """
        scope = _Scope(view, documents)
        asked = [key for key in keys if scope.has(key)]
        with self._catalogue.pinned():
            nodes = self._nodes("page IN (SELECT value FROM json_each(?))", (_list(asked),))
            ways = {key: [*_beside(key), *_within(key, nodes.get(key))] for key in asked}
            if not scope.single:
                for key, found in self._across(nodes, scope):
                    ways[key] += found
            return self._edges({key: ways.get(key, []) for key in keys}, view)

    def document_edges(self, document: str, view: View) -> dict[str, list[Edge]]:
        """Return the edges within a document by page id, for every stored page in order.

        Raises:
            CorruptError: What is stored of a page is damaged.
        """
        with self._catalogue.pinned():
            keys = self._catalogue.page_keys(document)
            if not keys or view.page_id(keys[0]) is None:
                return {}
            nodes = self._nodes("page BETWEEN ? AND ?", key_range(split_key(keys[0])[0]))
            ways = {key: [*_beside(key), *_within(key, nodes.get(key))] for key in keys}
            found = self._edges(ways, view)
        return {page_id(document, split_key(key)[1]): edges for key, edges in found.items()}

    def version(self, document: str) -> int:
        """Return which version of the code joined a document's pages; 0 when none has yet."""
        rows = self._catalogue.rows(
            "SELECT version FROM graphs WHERE document = "
            "(SELECT serial FROM documents WHERE id = ?)",
            (document,),
        )
        return int(rows[0][0]) if rows else 0

    def _nodes(self, where: str, values: Sequence[object]) -> dict[int, PageNode]:
        rows = self._catalogue.rows(f"SELECT page, body FROM edges WHERE {where}", values)  # noqa: S608
        return {key: decode_node(split_key(key)[1], body) for key, body in rows}

    def _edges(self, ways: Mapping[int, Sequence[_Way]], view: View) -> dict[int, list[Edge]]:
        """Turn ways into edges, those to pages that are not there left out."""
        wanted = {way.key for found in ways.values() for way in found}
        rows = self._catalogue.rows(
            "SELECT key FROM pages WHERE key IN (SELECT value FROM json_each(?))",
            (_list(sorted(wanted)),),
        )
        ids = {key: view.page_id(key) for (key,) in rows}
        result = {}
        for key, found in ways.items():
            edges = [
                (way.kind, -way.weight, page, way.why)
                for way in found
                if way.key != key and (page := ids.get(way.key)) is not None
            ]
            result[key] = [
                Edge(page, KINDS[kind], -weight, why) for kind, weight, page, why in sorted(edges)
            ]
        return result

    # --- to other documents ------------------------------------------------------------------

    def _across(
        self, nodes: dict[int, PageNode], scope: _Scope
    ) -> Iterator[tuple[int, list[_Way]]]:
        marks = {m for n in nodes.values() for m in (*(mark for mark, _ in n.names), *n.bands)}
        # Of a mark on very many pages no more are read than show that it is none to follow.
        rows = self._catalogue.rows(
            "SELECT value, (SELECT group_concat(page) FROM "
            "(SELECT page FROM marks WHERE mark = value LIMIT ?)) FROM json_each(?)",
            (_COPIES + 1, _list(sorted(marks))),
        )
        pages = {
            mark: [int(page) for page in found.split(",")] if found else [] for mark, found in rows
        }
        sketches = self._sketches(nodes, pages, scope)
        for key, node in nodes.items():
            yield (
                key,
                [
                    *_shared(key, node, pages, scope),
                    *_twins(key, node, pages, sketches),
                    *self._linked(key, node, scope),
                ],
            )

    def _sketches(
        self, nodes: dict[int, PageNode], pages: dict[int, list[int]], scope: _Scope
    ) -> dict[int, bytes]:
        """Return the sketches of the pages of other documents that may be twins."""
        wanted = {
            other
            for key, node in nodes.items()
            for band in node.bands
            if len(pages[band]) <= _COPIES
            for other in pages[band]
            if scope.leads(key, other)
        }
        rows = self._catalogue.rows(
            "SELECT page, body FROM edges WHERE page IN (SELECT value FROM json_each(?))",
            (_list(sorted(wanted)),),
        )
        return {key: decode_marks(body)[0] for key, body in rows}

    def _linked(self, key: int, node: PageNode, scope: _Scope) -> Iterator[_Way]:
        for name, number, why in node.files:
            rows = self._catalogue.rows(
                "SELECT serial, path FROM documents WHERE name = ? AND state != 'staged' LIMIT ?",
                (encode_path(name), _NAMED),
            )
            found = [(serial, path) for serial, path in rows if serial in scope.ids]
            if len(found) > 1:
                folder = self._folder(split_key(key)[0])
                found = [one for one in found if _parent(one[1]) == folder]
            for serial, _ in found[:1]:
                other = page_key(serial, number)
                if scope.leads(key, other):
                    yield _Way(_ORDER["link"], 1.0, other, why)

    def _folder(self, serial: int) -> str:
        rows = self._catalogue.rows("SELECT path FROM documents WHERE serial = ?", (serial,))
        return _parent(rows[0][0]) if rows else ""


class _Scope:
    """Where edges may lead."""

    def __init__(self, view: View, documents: frozenset[int] | None) -> None:
        self.ids = view.ids if documents is None else documents & view.ids.keys()
        self.single = len(self.ids) < 2

    def has(self, key: int) -> bool:
        """Say whether a page's document is in scope."""
        return split_key(key)[0] in self.ids

    def leads(self, key: int, other: int) -> bool:
        """Say whether an edge from one page to another leads to another document in scope."""
        serial = split_key(other)[0]
        return serial in self.ids and serial != split_key(key)[0]


def _beside(key: int) -> Iterator[_Way]:
    """Yield the ways to the pages before and after."""
    yield _Way(_ORDER["next"], 1.0, key + 1, "the next page")
    yield _Way(_ORDER["previous"], 1.0, key - 1, "the page before")


def _within(key: int, node: PageNode | None) -> Iterator[_Way]:
    """Yield the ways that are stored with a page."""
    serial, _ = split_key(key)
    for number, kind, weight, why in () if node is None else node.ways:
        yield _Way(_ORDER[kind], weight, page_key(serial, number), why)


def _shared(key: int, node: PageNode, pages: dict[int, list[int]], scope: _Scope) -> Iterator[_Way]:
    """Yield the ways to pages of other documents that share rare names, the strongest few."""
    left: dict[int, float] = defaultdict(lambda: 1.0)
    rarest: dict[int, tuple[int, str]] = {}
    for mark, text in node.names:
        count = len(pages[mark])
        if count > _RARE:
            continue
        for other in pages[mark]:
            if scope.leads(key, other):
                left[other] *= 1 - 1 / max(2, count)
                rarest[other] = min(rarest.get(other, (count, text)), (count, text))
    ranked = sorted(left.items(), key=lambda item: (item[1], item[0]))
    for other, rest in ranked[:_MOST]:
        yield _Way(_ORDER["shared"], 1 - rest, other, f'shares "{rarest[other][1]}"')


def _twins(
    key: int, node: PageNode, pages: dict[int, list[int]], sketches: dict[int, bytes]
) -> Iterator[_Way]:
    """Yield the ways to pages of other documents with nearly the same words, the nearest few."""
    near = {other for band in node.bands for other in pages[band] if other in sketches}
    weighed = [
        (agreement(node.sketch, sketches[other]), other)
        for other in near
        if split_key(other)[0] != split_key(key)[0]
    ]
    weighed.sort(key=lambda item: (-item[0], item[1]))
    for share, other in weighed[:_MOST]:
        if share >= _TWINS:
            yield _Way(_ORDER["twin"], share, other, "nearly the same words")


def _parent(path: bytes) -> str:
    """Return the folder of a stored path."""
    return decode_path(path).replace("\\", "/").rpartition("/")[0]


def _list(keys: Sequence[int]) -> str:
    return json.dumps(keys)
