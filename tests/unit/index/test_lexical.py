from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

from pagetrail.errors import CorruptError, LibraryError, NotFoundError
from pagetrail.index import lexical as module
from pagetrail.index.catalogue import Catalogue
from pagetrail.index.keys import split_key
from pagetrail.index.lexical import Lexical


@pytest.fixture
def shelf(shelf: Any) -> Any:
    shelf.follow = ("lexical",)
    return shelf


def found(shelf: Any, text: str, channel: str, **more: Any) -> Any:
    return shelf.lexical.search(text, channel, **{"limit": 10, **more})


def test_the_best_page_and_its_best_block(shelf: Any) -> None:
    document = shelf.add(
        "a.pdf",
        "Introduction\nGreetings to everyone",
        "Revenue table\nTotal revenue 1,234 million in 2019\nCosts were low",
        "Outlook\nCosts may rise next year",
    )
    assert shelf.words("total revenue 2019")[0] == f"{document}#p0002"
    result = found(shelf, "total revenue in 2019", "blocks")
    assert split_key(int(result.keys[0]))[1] == 2
    assert result.blocks[0] == 1
    assert np.all(np.diff(result.scores) <= 0)
    assert len(set(result.keys.tolist())) == len(result)
    assert found(shelf, "costs", "pages").blocks is None
    assert [split_key(int(k))[1] for k in found(shelf, "costs", "blocks").keys] in ([2, 3], [3, 2])


def test_a_question_is_data(shelf: Any) -> None:
    document = shelf.add("a.pdf", "alpha OR beta")
    for text in ("alpha AND NOT beta", 'document:1 "alpha', "alpha^^ ((", "*", "al?ha alpha"):
        assert shelf.words(text) in ([f"{document}#p0001"], [])
    assert shelf.words("alpha AND NOT nothing:here") == [f"{document}#p0001"]
    assert shelf.words("alph*") == []


@pytest.mark.parametrize("text", ["", "   ", "?", "\x00", "\ud800", "x" * 20_000])
def test_questions_without_terms_find_nothing(shelf: Any, text: str) -> None:
    shelf.add("a.pdf", "alpha")
    for channel in ("pages", "blocks"):
        assert len(found(shelf, text, channel)) == 0


def test_questions_of_stop_words_find_them(shelf: Any) -> None:
    document = shelf.add("a.pdf", "The Who played", "Another page")
    assert shelf.words("the who") == [f"{document}#p0001"]


def test_scope_is_exact(shelf: Any) -> None:
    ids = [shelf.add(f"{n}.pdf", f"common word {n}", f"common {n}") for n in range(12)]
    serials = {i: s for s, i in shelf.catalogue.view().ids.items()}
    for channel in ("pages", "blocks"):
        for wanted in (ids[:1], ids[3:6], ids):
            scope = frozenset(serials[i] for i in wanted)
            result = found(shelf, "common", channel, limit=100, documents=scope)
            assert {split_key(int(k))[0] for k in result.keys} == scope
            assert len(result) == 2 * len(wanted)
        assert len(found(shelf, "common", channel, documents=frozenset())) == 0
        assert len(found(shelf, "common", channel, documents=frozenset({999}))) == 0
        assert len(found(shelf, "common", channel, limit=3)) <= 3
        assert len(found(shelf, "common", channel, limit=0)) == 0
    with pytest.raises(NotFoundError, match="there are pages"):
        found(shelf, "common", "chapters")


def test_scope_gives_the_scores_of_the_whole_library(shelf: Any) -> None:
    ids = [shelf.add(f"{n}.pdf", f"common word {'x ' * n}") for n in range(4)]
    (serial,) = [s for s, i in shelf.catalogue.view().ids.items() if i == ids[2]]
    whole = found(shelf, "common word", "pages")
    part = found(shelf, "common word", "pages", documents=frozenset({serial}))
    at = int(np.flatnonzero(whole.keys >> 20 == serial)[0])
    assert part.scores[0] == pytest.approx(whole.scores[at], rel=1e-6)


def test_sync_goes_on_where_it_was(shelf: Any, make_page: Any) -> None:
    shelf.add("a.pdf", "alpha")
    begun = shelf.begin("b.pdf", "b")
    pages = [make_page(begun.document, n, f"beta {n}") for n in (1, 2)]
    keys = shelf.catalogue.put_pages(pages)
    assert shelf.lexical.behind(shelf.catalogue)
    fresh = dict(zip(keys, pages, strict=True))
    assert shelf.lexical.sync(shelf.catalogue, fresh) == 2
    assert shelf.words("beta") == []  # not committed yet
    assert shelf.lexical.sync(shelf.catalogue) == 0
    shelf.lexical.commit(shelf.catalogue)
    assert len(shelf.words("beta")) == 2
    assert not shelf.lexical.behind(shelf.catalogue)
    shelf.close()
    shelf.open()
    assert shelf.lexical.sync(shelf.catalogue) == 0
    assert len(shelf.words("beta")) == 2
    assert shelf.lexical.counts() == shelf.lexical.expected(shelf.catalogue)


def test_removing_the_newest_document_leaves_nothing_to_catch_up(shelf: Any) -> None:
    shelf.add("a.pdf", "alpha")
    newest = shelf.add("b.pdf", "beta")
    shelf.catalogue.remove_documents([newest])
    assert shelf.lexical.behind(shelf.catalogue)
    shelf.catch_up()
    assert not shelf.lexical.behind(shelf.catalogue)


def test_what_was_not_committed_is_taken_in_again(shelf: Any, make_page: Any) -> None:
    shelf.add("a.pdf", "alpha")
    begun = shelf.begin("b.pdf", "b")
    shelf.catalogue.put_pages([make_page(begun.document, 1, "beta")])
    shelf.lexical.sync(shelf.catalogue)
    shelf.close()
    shelf.open()
    assert shelf.lexical.sync(shelf.catalogue) == 1
    shelf.lexical.commit(shelf.catalogue)
    assert len(shelf.words("beta")) == 1
    assert shelf.lexical.counts()["pages"] == 2


def test_what_a_killed_commit_left_behind_is_not_in_the_way(shelf: Any) -> None:
    shelf.follow = ()
    document = shelf.add("a.pdf", "alpha", "beta")
    shelf.add("b.pdf", "gamma")
    shelf.follow = ("lexical",)
    shelf.catch_up()  # one commit for both
    shelf.lexical.close()
    states = [shelf.folder.lexical / channel / "meta.json" for channel in ("pages", "blocks")]
    before = [state.read_bytes() for state in states]
    shelf.catalogue.remove_documents([document])
    lists = []
    for _ in range(2):
        for state, content in zip(states, before, strict=True):
            state.write_bytes(content)  # as if killed just before the new state took its place
        shelf.lexical = Lexical(shelf.folder.lexical, write=True)
        shelf.lexical.sync(shelf.catalogue)
        shelf.lexical.commit(shelf.catalogue)
        lists.append(sorted(path.name for path in shelf.folder.lexical.rglob("*.del")))
        assert len(found(shelf, "alpha", "pages")) == 0
        assert len(found(shelf, "gamma", "pages")) == 1
        shelf.lexical.close()
    assert lists[0] == lists[1]
    assert len(lists[0]) == 2


def test_a_reader_sees_commits_of_the_writer(shelf: Any) -> None:
    shelf.add("a.pdf", "alpha")
    reader = Lexical(shelf.folder.lexical)
    assert len(reader.search("alpha", "pages", limit=5)) == 1
    with pytest.raises(LibraryError, match="reading only"):
        reader.rebuild(shelf.catalogue)
    shelf.add("b.pdf", "alpha again")
    assert len(reader.search("alpha", "pages", limit=5)) == 2


def test_an_index_that_is_not_there_yet_is_empty(tmp_path: Any) -> None:
    reader = Lexical(tmp_path)
    assert len(reader.search("alpha", "pages", limit=5)) == 0
    assert reader.counts() == {"pages": 0, "blocks": 0}


def test_damaged_indexes_are_told_to_readers_and_rebuilt_by_writers(shelf: Any) -> None:
    shelf.add("a.pdf", "alpha")
    shelf.close()
    (shelf.folder.lexical / "pages" / "meta.json").write_text("{}")
    shutil.rmtree(shelf.folder.lexical / "blocks")
    reader = Lexical(shelf.folder.lexical)
    with pytest.raises(CorruptError, match="doctor --repair"):
        reader.search("alpha", "pages", limit=5)
    shelf.open()
    shelf.catch_up()
    assert len(shelf.words("alpha")) == len(shelf.words("alpha", "blocks")) == 1


def test_an_index_of_older_rules_is_rebuilt(shelf: Any, monkeypatch: Any) -> None:
    shelf.add("a.pdf", "alpha")
    shelf.close()
    monkeypatch.setattr(module, "ANALYSIS", module.ANALYSIS + 1)
    with Catalogue(shelf.folder) as catalogue:
        assert Lexical(shelf.folder.lexical).behind(catalogue)
    shelf.open()
    assert shelf.lexical.sync(shelf.catalogue) == 1
    shelf.lexical.commit(shelf.catalogue)
    assert not shelf.lexical.behind(shelf.catalogue)
    assert len(shelf.words("alpha")) == 1


def test_empty_pages_are_taken_in_and_never_found(shelf: Any, make_page: Any) -> None:
    begun = shelf.begin("a.pdf", "a")
    page = make_page(begun.document, 1, "x")
    blank = type(page)(begun.document, 2, 10.0, 10.0)
    shelf.catalogue.put_pages([page, blank])
    shelf.catch_up()
    assert not shelf.lexical.behind(shelf.catalogue)
    assert len(shelf.words("x")) == 1


def test_a_folder_that_cannot_be_written_to_is_searched_all_the_same(
    shelf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = shelf.add("a.pdf", "nothing here", "the lighthouse stands on a rock")
    monkeypatch.setattr("pagetrail.index.lexical.os.access", lambda path, mode: False)
    lexical = Lexical(shelf.catalogue.folder.lexical)
    try:
        result = lexical.search("lighthouse", "pages", limit=5)
        assert shelf.catalogue.view().page_id(int(result.keys[0])) == f"{document}#p0002"
    finally:
        lexical.close()
