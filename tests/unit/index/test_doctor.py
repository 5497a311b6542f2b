from __future__ import annotations

from typing import Any

import pytest

from pagetrail.errors import UsageError
from pagetrail.index import doctor
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.doctor import examine
from pagetrail.index.lexical import Lexical
from pagetrail.index.repair import drop_page


@pytest.fixture
def full(shelf: Any) -> Any:
    shelf.add("a.pdf", "alpha one\nalpha two", "alpha three")
    shelf.add("b.pdf", "beta", "gamma")
    return shelf


def check(shelf: Any, *, repair: bool = False) -> list[Any]:
    return examine(shelf.catalogue, shelf.lexical, repair=repair)


def heal(shelf: Any, severity: str, what: str) -> None:
    """The finding is reported, repaired on demand, and gone after that."""
    assert any(f.severity == severity and what in f.what for f in check(shelf)), check(shelf)
    assert not any(f.repaired for f in check(shelf))
    found = check(shelf, repair=True)
    assert any(what in f.what and f.repaired for f in found), found
    assert not [f for f in check(shelf) if f.severity == "error"]


def test_a_sound_library_is_clean(full: Any) -> None:
    assert check(full) == []
    assert check(full, repair=True) == []
    with Catalogue(full.folder) as reader:
        assert examine(reader, Lexical(full.folder.lexical)) == []
        with pytest.raises(UsageError, match="open for writing"):
            examine(reader, Lexical(full.folder.lexical), repair=True)


def test_after_removal_replacement_copy_and_compaction_it_is_clean(full: Any) -> None:
    for n in range(10):
        full.add(f"{n}.pdf", f"text {n}")
    full.add("a.pdf", "replaced")
    full.add("copy.pdf", "beta", "gamma")
    full.catalogue.remove_documents([full.catalogue.find("b.pdf")[0].id])
    full.catch_up()
    full.vectors.compact()
    assert check(full) == []


def test_a_damaged_page_is_dropped_and_can_be_read_again(full: Any) -> None:
    key = full.catalogue.page_keys(full.catalogue.find("a.pdf")[0].id)[1]
    with full.catalogue.transaction():
        full.catalogue.rows("UPDATE bodies SET body = x'01ff' WHERE key = ?", (key,))
    heal(full, "error", "a.pdf, page 2, is damaged")
    document = full.catalogue.find("a.pdf")[0]
    assert document.status == "partial"
    assert full.words("alpha") == [f"{document.id}#p0001"]
    assert full.begin("a.pdf", "alpha one\nalpha two\falpha three").stored == {1}
    full.add("a.pdf", "alpha one\nalpha two", "alpha three")
    assert check(full) == []
    assert len(full.words("alpha")) == len(full.near("alpha three")[:2]) == 2


def test_a_dropped_page_is_found_by_no_channel(full: Any) -> None:
    for n in range(6):
        full.add(f"{n}.pdf", f"text {n}")
    full.vectors._merge(full.vectors._segments())  # most of the segment stays alive
    document = full.catalogue.find("a.pdf")[0].id
    key = full.catalogue.page_keys(document)[1]
    with full.catalogue.transaction():
        full.catalogue.rows("UPDATE bodies SET body = x'01ff' WHERE key = ?", (key,))
    check(full, repair=True)
    assert f"{document}#p0002" not in full.near("alpha three")
    assert len(full.near("alpha three")) == 9
    assert full.vectors.missing() == []


def test_a_kill_between_dropping_a_page_and_its_vectors(full: Any) -> None:
    document = full.catalogue.find("a.pdf")[0].id
    drop_page(full.catalogue, full.catalogue.page_keys(document)[1])
    heal(full, "error", "1 pages that were dropped can still be found")
    assert f"{document}#p0002" not in full.near("alpha three")


@pytest.mark.parametrize("rewritten", [True, False])
def test_a_writer_at_work_is_no_damage(full: Any, monkeypatch: Any, *, rewritten: bool) -> None:
    hashing = doctor.sha256_of

    def meanwhile(path: Any) -> str:
        monkeypatch.setattr(doctor, "sha256_of", hashing)
        full.catalogue.remove_documents([full.catalogue.find("b.pdf")[0].id])
        if rewritten:
            full.vectors._merge(full.vectors._segments())
        return hashing(path)

    monkeypatch.setattr(doctor, "sha256_of", meanwhile)
    with Catalogue(full.folder) as reader:
        found = examine(reader, full.lexical)
    assert not [f for f in found if f.severity == "error"]


def test_a_wrong_count_is_corrected(full: Any) -> None:
    with full.catalogue.transaction():
        full.catalogue.rows("UPDATE documents SET stored = 9 WHERE id LIKE '%' AND serial = 1")
    heal(full, "error", "9 pages counted, 2 stored")
    assert check(full) == []


def test_a_damaged_segment_is_encoded_anew(full: Any) -> None:
    path = min(full.folder.segments.iterdir())
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    heal(full, "error", "does not match its checksum")
    assert any(f.severity == "warning" and "2 pages" in f.what for f in check(full))
    full.catch_up()
    assert check(full) == []


def test_a_lost_segment_is_encoded_anew(full: Any) -> None:
    for path in full.folder.segments.iterdir():
        path.unlink()
    heal(full, "error", "cannot be read")
    full.catch_up()
    assert check(full) == []
    assert len(full.near("beta")) == 4


def test_pages_that_no_encoder_knows_of_are_listed_again(full: Any) -> None:
    with full.catalogue.transaction():
        full.catalogue.rows("DELETE FROM vectors WHERE page = (SELECT min(page) FROM vectors)")
        full.catalogue.rows("INSERT INTO pending VALUES (1, 12345, NULL)")
    assert any("1 pages neither encoded nor waiting, 1 entries" in f.what for f in check(full))
    check(full, repair=True)
    # The segment no longer agrees with the catalogue either, so both its pages are encoded anew.
    assert full.vectors.missing() == full.catalogue.page_keys(full.catalogue.find("a.pdf")[0].id)
    full.catch_up()
    assert check(full) == []


def test_an_index_that_lags_is_brought_up(full: Any, make_page: Any) -> None:
    begun = full.begin("c.pdf", "c")
    full.catalogue.put_pages([make_page(begun.document, 1, "delta")])
    found = check(full)
    assert [f.severity for f in found] == ["warning", "warning", "note"]
    assert "behind" in found[1].what
    assert "c.pdf: 1 of its pages" in found[2].what
    check(full, repair=True)
    assert full.words("delta") == [f"{begun.document}#p0001"]


def test_an_index_with_the_wrong_content_is_rebuilt(full: Any) -> None:
    index = full.lexical._indexes["blocks"].open()
    index._put(7, 7 << 40, {"text": "stray entry"})
    index._open_writer().commit()
    heal(full, "error", "instead of 4 and 5")
    assert full.words("stray", "blocks") == []


def test_leftovers_and_unfinished_replacements_are_told(full: Any, make_page: Any) -> None:
    (full.folder.segments / "01-x.rows.npy.tmp").write_bytes(b"")
    heal(full, "warning", "01-x.rows.npy.tmp belongs to nothing")
    begun = full.begin("a.pdf", "changed")
    full.catalogue.put_pages([make_page(begun.document, 1, "new")])
    full.catch_up()
    (note,) = check(full)
    assert note.severity == "note"
    assert "former content is shown" in note.what


def test_a_damaged_database_is_reported(full: Any) -> None:
    full.catalogue.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(full.folder.catalogue.read_bytes())
    for at in range(8192, len(data), 8192):
        data[at : at + 90] = b"\x5a" * 90
    full.close()
    full.folder.catalogue.write_bytes(bytes(data))
    try:
        with Catalogue(full.folder) as catalogue:
            found = examine(catalogue, Lexical(full.folder.lexical))
    finally:
        full.folder.catalogue.unlink()
        full.open()
    assert found
    assert all(f.severity == "error" and "backup" in f.advice for f in found)
