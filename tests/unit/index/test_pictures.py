import os

import pytest

from pagetrail.index.pictures import PictureStore

A, B = "a" * 64, "b" * 64


def test_a_picture_comes_back_and_is_forgotten_with_its_document(tmp_path):
    store = PictureStore(tmp_path / "pages", 1000)
    assert store.get(A, 1, 150) is None
    store.put(A, 1, 150, b"one")
    store.put(B, 1, 150, b"two")
    assert store.get(A, 1, 150) == b"one"
    assert store.get(A, 1, 300) is None
    store.forget(A)
    assert store.get(A, 1, 150) is None
    assert store.get(B, 1, 150) == b"two"


def test_the_longest_unused_picture_goes_first(tmp_path):
    store = PictureStore(tmp_path, 25)
    for page in (1, 2):
        store.put(A, page, 150, b"x" * 10)
        os.utime(tmp_path / f"{A}-{page}-150.png", (page, page))
    assert store.get(A, 1, 150)  # now the most recently used
    store.put(A, 3, 150, b"x" * 10)
    assert store.get(A, 2, 150) is None
    assert store.get(A, 1, 150)
    assert store.get(A, 3, 150)
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) <= 25


def test_no_cache_keeps_nothing_and_an_id_is_never_a_path(tmp_path):
    store = PictureStore(tmp_path, 0)
    store.put(A, 1, 150, b"x")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="not a content hash"):
        store.get("../../etc/passwd", 1, 150)
