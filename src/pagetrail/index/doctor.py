"""Checking a library, and repairing what can be derived again.

The catalogue is the truth: what is derived from it (search indexes, vectors, counts) is rebuilt or
marked to be encoded anew; a page whose stored content is damaged is dropped, and its document says
that it must be added again. Damage to the database file itself is only reported.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from ..errors import CorruptError, UsageError
from .changes import CatalogueWriter
from .codec import decode_page
from .files import ROW, SUFFIXES, read_array, sha256_of
from .graph_check import drop_document_graph, drop_graph_leftovers, graph_damage
from .keys import NUMBER_BITS, split_key
from .publish import clean_segments, rewrite_segment, strangers
from .registry import COMPANION
from .repair import drop_page, drop_segment, mend_coverage, recount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .catalogue import Catalogue
    from .lexical import Lexical

__all__ = ["Finding", "examine"]

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        severity: ``error``: content is lost or cannot be found; ``warning``: something is left
            over or lags behind; ``note``: nothing is wrong, but a person may want to know.
        what: What was found, one line.
        advice: What to do; empty when nothing needs doing.
        repaired: It has been put right.
    """

    severity: Severity
    what: str
    advice: str = ""
    repaired: bool = False

    def as_json(self) -> dict[str, str | bool]:
        """Return the form printed by ``doctor --json``."""
        return asdict(self)

    def as_text(self) -> str:
        """Return one line for a person."""
        advice = "; repaired" if self.repaired else f"; {self.advice}" if self.advice else ""
        return f"{self.severity}: {self.what}{advice}"


def examine(catalogue: Catalogue, lexical: Lexical, *, repair: bool = False) -> list[Finding]:
    """Check everything and return what was found, nothing when all is well.

    Every file is read and every page decoded; some 2,000 pages take a second.

    Args:
        catalogue: The library's catalogue; a `CatalogueWriter` to repair.
        lexical: Its search indexes; open for writing to repair.
        repair: Put right what can be.

    Raises:
        UsageError: ``repair`` without the right to write.
    """
    writer = catalogue if isinstance(catalogue, CatalogueWriter) else None
    if repair and writer is None:
        raise UsageError("repairing needs a library that is open for writing")
    fixer = writer if repair else None
    findings = list(_database(catalogue))
    if findings:
        return findings  # nothing below can be trusted
    pages = list(_pages(catalogue, fixer))
    findings += pages
    findings += _segments(catalogue, fixer)
    findings += _coverage(catalogue, fixer)
    findings += _graph(catalogue, fixer)
    if not pages:
        findings += _lexical(catalogue, lexical, repair=repair)
    elif repair:
        lexical.rebuild(catalogue)  # what was dropped must not be found any more
    findings += _leftovers(catalogue, fixer)
    findings += _unfinished(catalogue)
    return findings


def _database(catalogue: Catalogue) -> Iterator[Finding]:
    advice = "restore catalogue.db from a backup, or add the files to a new library"
    try:
        rows = catalogue.rows("PRAGMA integrity_check(3)")
    except CorruptError as error:
        yield Finding("error", str(error), advice)
        return
    for (line,) in rows:
        if line != "ok":
            yield Finding("error", f"catalogue.db is damaged: {line}", advice)


def _pages(catalogue: Catalogue, writer: CatalogueWriter | None) -> Iterator[Finding]:
    """Every page has an intact body and a document, and documents count their pages rightly."""
    bad = [
        key
        for (key,) in catalogue.rows(
            "SELECT key FROM pages WHERE key NOT IN (SELECT key FROM bodies) OR "
            "key >> ? NOT IN (SELECT serial FROM documents) "
            "UNION SELECT key FROM bodies WHERE key NOT IN (SELECT key FROM pages)",
            (NUMBER_BITS,),
        )
    ]
    bad += [key for key in _undecodable(catalogue) if key not in bad]
    for key in bad:
        if writer is not None:
            drop_page(writer, key)
        yield Finding(
            "error",
            f"{_place(catalogue, key)} is damaged in the catalogue",
            "add the file again to read the page anew",
            repaired=writer is not None,
        )
    for serial, source, stored, count in catalogue.rows(
        "SELECT serial, source, stored, count(key) FROM documents LEFT JOIN pages "
        "ON key BETWEEN serial << ?1 AND (serial << ?1) + (1 << ?1) - 1 "
        "GROUP BY serial HAVING stored != count(key)",
        (NUMBER_BITS,),
    ):
        if writer is not None:
            recount(writer, serial, count)
        yield Finding(
            "error",
            f"{source.decode(errors='replace')}: {stored} pages counted, {count} stored",
            "run doctor --repair",
            repaired=writer is not None,
        )


def _undecodable(catalogue: Catalogue) -> Iterator[int]:
    last = -1
    while True:
        rows = catalogue.rows(
            "SELECT key, body FROM bodies WHERE key > ? ORDER BY key LIMIT 200", (last,)
        )
        if not rows:
            return
        for key, body in rows:
            try:
                page = decode_page("", body)
                if page.number != split_key(key)[1]:
                    yield key
            except CorruptError:
                yield key
        last = rows[-1][0]


def _segments(catalogue: Catalogue, writer: CatalogueWriter | None) -> Iterator[Finding]:
    """Every published segment is there, unchanged, and holds the pages it is said to hold."""
    for ident, name, rows, *sums in catalogue.rows(
        "SELECT id, name, rows, codes_sha256, rows_sha256 FROM segments"
    ):
        try:
            trouble = _segment_trouble(catalogue, ident, name, rows, sums)
            gone = 0 if trouble else _gone(catalogue, ident, name, rows)
        except FileNotFoundError as error:
            trouble, gone = f"{name} cannot be read: {error.strerror}", 0
        if not catalogue.rows("SELECT id FROM segments WHERE id = ?", (ident,)):
            continue  # another process rewrote it meanwhile
        if trouble:
            if writer is not None:
                drop_segment(writer, ident)
            yield Finding(
                "error",
                f"segments/{name}: {trouble}",
                "run doctor --repair, then add to encode its pages anew",
                repaired=writer is not None,
            )
        elif gone:
            if writer is not None:
                rewrite_segment(writer, ident)
            yield Finding(
                "error",
                f"segments/{name}: {gone} pages that were dropped can still be found in it",
                "run doctor --repair",
                repaired=writer is not None,
            )


def _gone(catalogue: Catalogue, ident: int, name: str, rows: int) -> int:
    """Count the pages that search would find in a segment though it stands for them no more.

    Rows of removed documents hide with them, rows of pages read again behind those of a later
    segment; what is left are pages that a repair dropped.
    """
    records = read_array(catalogue.folder.segments / (name + SUFFIXES[1]), ROW, rows)
    held = set(records["page"].tolist())
    held -= {p for (p,) in catalogue.rows("SELECT page FROM vectors WHERE segment = ?", (ident,))}
    if not held:
        return 0
    serials = {serial for (serial,) in catalogue.rows("SELECT serial FROM documents")}
    held -= {
        page
        for (page,) in catalogue.rows(
            "SELECT page FROM vectors JOIN segments ON segments.encoder = vectors.encoder "
            "WHERE segments.id = ?1 AND segment > ?1",
            (ident,),
        )
    }
    return sum(split_key(page)[0] in serials for page in held)


def _segment_trouble(
    catalogue: Catalogue, ident: int, name: str, rows: int, sums: list[str]
) -> str:
    for suffix, expected in zip(SUFFIXES, sums, strict=True):
        path = catalogue.folder.segments / (name + suffix)
        try:
            if sha256_of(path) != expected:
                return f"{path.name} does not match its checksum"
        except OSError as error:
            return f"{path.name} cannot be read: {error.strerror}"
    records = read_array(catalogue.folder.segments / (name + SUFFIXES[1]), ROW, rows)
    held: dict[int, int] = {}
    for page in records["page"].tolist():
        held[page] = held.get(page, 0) + 1
    with catalogue.pinned():  # another process may be removing documents
        said = dict(catalogue.rows("SELECT page, rows FROM vectors WHERE segment = ?", (ident,)))
        dead = [n for (n,) in catalogue.rows("SELECT dead FROM segments WHERE id = ?", (ident,))]
    if any(held.get(page, 0) != count for page, count in said.items()):
        return "the pages in it are not those in the catalogue"
    if [rows - sum(said.values())] != dead:
        return "its count of dead rows is wrong"
    return ""


def _coverage(catalogue: Catalogue, writer: CatalogueWriter | None) -> Iterator[Finding]:
    """Every page is encoded, or listed as to be encoded, once for each encoder."""
    for encoder, name, channel in catalogue.rows(
        "SELECT id, coalesce(channel, name), channel FROM encoders"
    ):
        lost = catalogue.rows(
            "SELECT key FROM pages WHERE key NOT IN "
            "(SELECT page FROM vectors WHERE encoder = ?1 UNION ALL "
            "SELECT page FROM pending WHERE encoder = ?1)",
            (encoder,),
        )
        stray = catalogue.rows(
            "SELECT page FROM vectors WHERE encoder = ?1 AND page NOT IN (SELECT key FROM pages) "
            "UNION SELECT page FROM pending WHERE encoder = ?1 AND "
            "(page NOT IN (SELECT key FROM pages) "
            "OR page IN (SELECT page FROM vectors WHERE encoder = ?1))",
            (encoder,),
        )
        if writer is not None and (lost or stray):
            mend_coverage(writer, encoder, [key for (key,) in lost], [key for (key,) in stray])
        if lost or stray:
            yield Finding(
                "error",
                f"{name}: {len(lost)} pages neither encoded nor waiting, {len(stray)} entries "
                "of pages that do not exist or are encoded already",
                "run doctor --repair",
                repaired=writer is not None,
            )
        ((waiting,),) = catalogue.rows("SELECT count(*) FROM pending WHERE encoder = ?", (encoder,))
        # Pooled vectors are made only once an encoder has very many; until then all pages wait.
        if waiting and not name.endswith(COMPANION):
            command = "add" if channel is None else "encode add"
            yield Finding(
                "warning", f"{name}: {waiting} pages are not encoded yet", f"run {command} to go on"
            )


def _graph(catalogue: Catalogue, writer: CatalogueWriter | None) -> Iterator[Finding]:
    """Every live document has a graph or waits for one, and what is stored of it is whole."""
    damaged, left = graph_damage(catalogue)
    for serial, what in damaged.items():
        if writer is not None:
            drop_document_graph(writer, serial)
        ((source,),) = catalogue.rows("SELECT source FROM documents WHERE serial = ?", (serial,))
        yield Finding(
            "error",
            f"{source.decode(errors='replace')}: {what}",
            "run doctor --repair",
            repaired=writer is not None,
        )
    if left:
        if writer is not None:
            drop_graph_leftovers(writer)
        yield Finding(
            "warning",
            f"the page graph holds {left} entries of pages that do not exist",
            "run doctor --repair",
            repaired=writer is not None,
        )


def _lexical(catalogue: Catalogue, lexical: Lexical, *, repair: bool) -> Iterator[Finding]:
    """The search indexes hold exactly the catalogue's visible pages."""
    generation = catalogue.generation()
    try:
        behind = lexical.behind(catalogue)
        counts = lexical.counts()
    except CorruptError as error:
        yield Finding("error", str(error))  # the message says what to do
        return
    if behind:
        if repair:
            lexical.sync(catalogue)
            lexical.commit(catalogue)
            counts = lexical.counts()
        yield Finding(
            "warning",
            "the search indexes are behind the catalogue",
            "any writing command brings them up to date",
            repaired=repair,
        )
        if not repair:
            return
    expected = lexical.expected(catalogue)
    if counts != expected and (repair or catalogue.generation() == generation):
        if repair:
            lexical.rebuild(catalogue)
        yield Finding(
            "error",
            f"the search indexes hold {counts['pages']} pages and {counts['blocks']} blocks "
            f"instead of {expected['pages']} and {expected['blocks']}",
            "run doctor --repair",
            repaired=repair,
        )


def _leftovers(catalogue: Catalogue, writer: CatalogueWriter | None) -> Iterator[Finding]:
    """No file lies in the segments' folder that no segment owns."""
    names = clean_segments(writer) if writer is not None else strangers(catalogue)
    for name in names:
        yield Finding(
            "warning",
            f"segments/{name} belongs to nothing (an interrupted run left it)",
            "the next writing command deletes it",
            repaired=writer is not None,
        )


def _unfinished(catalogue: Catalogue) -> Iterator[Finding]:
    for source, state, stored, count in catalogue.rows(
        "SELECT source, state, stored, page_count FROM documents WHERE state != 'live' "
        "ORDER BY source"
    ):
        name = source.decode(errors="replace")
        what = f"{name}: {stored} of {count or 'its'} pages read before it was interrupted"
        if state == "staged":
            what += "; its former content is shown until it is complete"
        yield Finding("note", what, "add the file again to go on")


def _place(catalogue: Catalogue, key: int) -> str:
    serial, number = split_key(key)
    rows = catalogue.rows("SELECT source FROM documents WHERE serial = ?", (serial,))
    source = rows[0][0].decode(errors="replace") if rows else f"removed document {serial}"
    return f"{source}, page {number},"
