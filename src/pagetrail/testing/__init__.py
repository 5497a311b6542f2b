"""For tests, ours and yours: deterministic fakes, contract checks, a tiny corpus.

A contract check takes an implementation of a Protocol of `ports` and raises AssertionError, with
the broken rule in words, when it does not keep to it::

    def test_my_encoder() -> None:
        check_encoder(MyEncoder())
"""

from __future__ import annotations

from .chat import ScriptedCall, ScriptedChat, check_chat_model
from .corpus import make_page, tiny_pages
from .encoders import HashEncoder, check_encoder
from .images import PatchEncoder, check_image_encoder
from .judges import PlainPictures, WordJudge, check_judge
from .pictures import plain_png
from .readers import check_answer_reader
from .server import Asked, ChatServer, Turn

__all__ = [
    "Asked",
    "ChatServer",
    "HashEncoder",
    "PatchEncoder",
    "PlainPictures",
    "ScriptedCall",
    "ScriptedChat",
    "Turn",
    "WordJudge",
    "check_answer_reader",
    "check_chat_model",
    "check_encoder",
    "check_image_encoder",
    "check_judge",
    "make_page",
    "plain_png",
    "tiny_pages",
]
