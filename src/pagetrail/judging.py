"""A library's judges and the models behind them, made from the settings when they are first asked.

Part of the composition root. A judge is known by its name; a variant may follow behind ``?``::

    yes_no    yes_no?contains    yes_no?text     asks the chat model named by `models.judge`
    grade     grade?molorag      grade?text      the same model, 1 to 5
    text                                         built in, needs no model
    cross_encoder                                the model named by `models.reranker`
"""

from __future__ import annotations

import json
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING

from .errors import NotFoundError, UsageError
from .judge.calibrate import Calibration
from .judge.chat import Grade, YesNo
from .models import prompts
from .models.budget import Meter
from .models.spec import parse_chat_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .config import ModelSettings
    from .index.catalogue import Catalogue
    from .index.folder import Folder
    from .models.budget import Usage
    from .models.cross import CrossEncoder
    from .models.store import ReplyStore
    from .ports import ChatModel, Judge, Pictures
    from .types import Query, Verdict

__all__ = ["JUDGES", "Judges", "load_chat", "load_reranker", "make_meter"]

JUDGES = ("yes_no", "grade", "text", "cross_encoder")
"""Names of judges, without their variants."""

_NO_CHAT = (
    "no chat model judges pages: name one with the setting models.judge or "
    "PAGETRAIL_MODELS__JUDGE, such as openai:MODEL@URL or local:FOLDER; the judge text needs none"
)
_NO_RERANKER = (
    "no cross-encoder is named: set models.reranker or PAGETRAIL_MODELS__RERANKER to a folder or "
    "a model hub's name"
)
_VARIANTS = {"yes_no": ("", "contains", "text"), "grade": ("", "molorag", "text")}


def make_meter(settings: ModelSettings) -> Meter:
    """Return an account with the settings' limits and prices."""
    return Meter(
        max_calls=settings.max_calls,
        max_tokens=settings.max_tokens,
        max_cost=settings.max_cost,
        price_in=settings.price_in,
        price_out=settings.price_out,
    )


def load_chat(spec: str, settings: ModelSettings, meter: Meter) -> ChatModel:
    """Return the chat model that a spec names.

    Raises:
        UsageError: The spec makes no sense, or names no server.
        MissingExtraError: A library that it needs is not installed.
        ModelError: A local model cannot be loaded.
    """
    if spec.startswith("openai:") and "@http" not in spec and settings.base_url:
        spec = f"{spec}@{settings.base_url}"
    parsed = parse_chat_spec(spec)
    if parsed.kind == "local":
        from .models.local import LocalChat

        return LocalChat(
            parsed.model,
            revision=parsed.revision,
            device=settings.device if parsed.device == "auto" else parsed.device,
            dtype=settings.dtype if parsed.dtype == "auto" else parsed.dtype,
            pixels=parsed.pixels or settings.pixels,
            meter=meter,
        )
    from .models.remote import RemoteChat

    return RemoteChat(
        parsed.model,
        parsed.url,
        settings.api_key.get_secret_value() if settings.api_key else None,
        timeout=settings.timeout_seconds,
        retries=settings.retries,
        concurrency=settings.concurrency,
        meter=meter,
    )


def load_reranker(settings: ModelSettings) -> CrossEncoder:
    """Return the cross-encoder that the settings name; it is loaded when it is first asked.

    Raises:
        NotFoundError: They name none.
    """
    from .models.cross import CrossEncoder

    if not settings.reranker:
        raise NotFoundError(_NO_RERANKER)
    return CrossEncoder(settings.reranker, device=settings.device)


class Judges:
    """The judges of one library.

    Args:
        catalogue: Holds calibrations and the replies kept from before.
        settings: Which models, and what they may spend.
        pictures: Draws pages.
        similarity: One cosine per text: how near its meaning is to the question's.
        meter: The account of all model calls.
        chat: Use this model instead of loading the one that the settings name.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        settings: ModelSettings,
        pictures: Pictures,
        similarity: Callable[[str, Sequence[str]], Sequence[float]],
        meter: Meter,
        chat: ChatModel | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._settings = settings
        self._pictures = pictures
        self._similarity = similarity
        self._meter = meter
        self._given = chat
        self._made: dict[str, Judge] = {}
        self._cross: CrossEncoder | None = None
        self._lock = RLock()  # a model is loaded once, however many threads ask

    @property
    def usage(self) -> Usage:
        """What model calls have cost since the library was opened."""
        return self._meter.usage

    @property
    def folder(self) -> Folder:
        """Where the library is."""
        return self._catalogue.folder

    @cached_property
    def replies(self) -> ReplyStore:
        """The replies kept from before."""
        from .models.store import ReplyStore

        return ReplyStore(self._catalogue.folder.catalogue)

    def close(self) -> None:
        """Give the file of kept replies back; harmless when it was not opened."""
        if "replies" in self.__dict__:
            self.replies.close()

    def load(self, spec: str) -> ChatModel:
        """Load the chat model that a spec names, on the library's account."""
        return load_chat(spec, self._settings, self._meter)

    def renew(self) -> None:
        """Forget judges that were made, since a calibration changed."""
        self._made.clear()

    def has(self, kind: str) -> bool:
        """Say whether a judge could be asked: it is built in, or its model is named."""
        if kind == "text":
            return True
        if kind == "cross_encoder":
            return self._settings.reranker is not None
        return self._given is not None or self._settings.judge is not None

    def judge(
        self, name: str, query: Query, ids: Sequence[str], *, raw: bool = False
    ) -> Sequence[Verdict]:
        """Return a judge's verdicts on pages, in the order asked; ``raw`` without calibration.

        Raises:
            NotFoundError: There is no such judge, or its model is not named.
            ModelError: The model cannot be used at all.
        """
        judge = self._make(name, raw=True) if raw else self.get(name)
        return judge.judge(query, self._catalogue.pages(ids), self._pictures)

    def get(self, name: str) -> Judge:
        """Return a judge by name."""
        with self._lock:
            if name not in self._made:
                self._made[name] = self._make(name)
            return self._made[name]

    @cached_property
    def chat(self) -> ChatModel:
        """The model that judges, with the replies kept from before."""
        model = self._given
        if model is None:
            if not self._settings.judge:
                raise NotFoundError(_NO_CHAT)
            model = self.load(self._settings.judge)
        if not self._settings.cache:
            return model
        from .models.cache import CachedChat

        return CachedChat(model, self.replies, meter=self._meter)

    def require(self, name: str) -> None:
        """Check, without loading anything, that a judge is known and its model is named.

        Raises:
            NotFoundError: There is no such judge, or its model is not named.
        """
        kind, _, variant = name.partition("?")
        if kind not in JUDGES:
            raise NotFoundError(f"no judge {kind!r}; there are {', '.join(JUDGES)}")
        known = _VARIANTS.get(kind, ("",))
        if variant not in known:
            names = ", ".join(filter(None, known)) or "none"
            raise NotFoundError(f"judge {kind} has no variant {variant!r}; it has: {names}")
        if not self.has(kind):
            raise NotFoundError(_NO_RERANKER if kind == "cross_encoder" else _NO_CHAT)

    def _make(self, name: str, *, raw: bool = False) -> Judge:
        self.require(name)
        kind, _, variant = name.partition("?")
        if kind == "text":
            from .judge.text import TextJudge

            return TextJudge(self._similarity)
        calibration = None if raw else self.calibration(name)
        if kind == "cross_encoder":
            from .judge.text import CrossEncoderJudge

            return CrossEncoderJudge(self._reranker, calibration=calibration)
        pixels = 0 if variant == "text" else self._settings.pixels
        if kind == "yes_no":
            return YesNo(
                self.chat,
                prompts.YES_NO_TEXT if variant == "text" else prompts.YES_NO,
                pixels=pixels,
                calibration=calibration,
                parse="contains" if variant == "contains" else "strict",
                name=name,
            )
        return Grade(
            self.chat,
            prompts.GRADE_TEXT if variant == "text" else prompts.GRADE,
            pixels=pixels,
            calibration=calibration,
            parse="molorag" if variant == "molorag" else "strict",
            name=name,
        )

    def calibration(self, name: str) -> Calibration | None:
        """Return how a judge's numbers become probabilities in this library; None: as they are."""
        key = self.calibration_key(name)
        rows = self._catalogue.rows("SELECT body FROM calibrations WHERE judge = ?", (key,))
        return Calibration.from_json(rows[0][0]) if rows else None

    def neutral(self, name: str) -> float:
        """Return the probability with which a judge says nothing of a page, above 0 and below 1.

        Raises:
            NotFoundError: There is no such judge, or its model is not named.
        """
        from .judge.text import BASE_RATE

        self.require(name)
        if name.partition("?")[0] == "text":
            return BASE_RATE
        known = self.calibration(name)
        if known is None or not 0 < known.positives < known.labels:
            return 0.5
        return known.positives / known.labels

    def calibration_key(self, name: str) -> str:
        """Return the key of a judge's calibration: what fits one model's numbers fits no other's.

        Raises:
            UsageError: The judge takes no calibration.
            NotFoundError: Its model is not named.
        """
        self.require(name)
        kind = name.partition("?")[0]
        if kind == "text":
            raise UsageError("the judge text is calibrated already and takes no other calibration")
        model = self._reranker if kind == "cross_encoder" else self.chat
        return json.dumps([name, model.name, model.revision])

    @property
    def _reranker(self) -> CrossEncoder:
        """The cross-encoder; made once, since each one loads its model anew."""
        if not self._settings.reranker:
            raise NotFoundError(_NO_RERANKER)
        with self._lock:
            if self._cross is None:
                self._cross = load_reranker(self._settings)
            return self._cross
