"""For tests, ours and yours: deterministic fakes, contract checks, a tiny corpus.

A contract check takes an implementation of a Protocol of `ports` and raises AssertionError, with
the broken rule in words, when it does not keep to it::

    def test_my_encoder() -> None:
        check_encoder(MyEncoder())
"""

from __future__ import annotations

from .corpus import make_page, tiny_pages
from .encoders import HashEncoder, check_encoder
from .images import PatchEncoder, check_image_encoder
from .judges import PlainPictures, WordJudge, check_judge
from .readers import check_answer_reader

__all__ = [
    "HashEncoder",
    "PatchEncoder",
    "PlainPictures",
    "WordJudge",
    "check_answer_reader",
    "check_encoder",
    "check_image_encoder",
    "check_judge",
    "make_page",
    "tiny_pages",
]
