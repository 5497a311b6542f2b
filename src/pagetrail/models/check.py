"""A tiny real question to a chat model, to see what it can do before work depends on it."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from ..errors import EndpointError, PagetrailError
from ..ports import Message, Picture
from .budget import Usage
from .cache import CachedChat
from .prompts import CHECK, CHECK_IMAGE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..ports import ChatModel, Prompt, Reply
    from .budget import Meter

__all__ = ["ModelCheck", "Reranker", "SchemaProbe", "Served", "check_model", "check_reranker"]

Outcome = Literal["ok", "wrong", "failed", "skipped"]
SchemaOutcome = Literal["yes", "ignored", "no", "skipped"]

_TOKENS = 512  # one word is asked for; the rest is room for models that think first
_COLOUR = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["violet"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


@runtime_checkable
class SchemaProbe(Protocol):
    """A chat model that can tell whether its server obeys JSON schemas or only takes them."""

    def schema_support(self) -> Literal["yes", "ignored", "no"]: ...


@runtime_checkable
class Served(Protocol):
    """A chat model whose server tells something about it."""

    def served(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """What came of it.

    Attributes:
        reachable: It replied at all, or at least its server did.
        text: ``ok``; ``wrong`` when it replied and not as asked; ``failed``; ``skipped``.
        image: Likewise for a question about a picture.
        logprobs: It tells log-probabilities; None when that was not seen.
        schema: ``yes``: JSON schemas are enforced; ``ignored``: taken without effect; ``no``:
            refused, or not followed.
        owner: Whom the server names as the owner; empty when it does not.
        licence: The licence, when the server tells it.
        errors: What failed, one line each.
        seconds: How long it took, all together.
        calls: Requests made.
        tokens: Their tokens, read and written.
    """

    model: str
    revision: str
    reachable: bool = False
    text: Outcome = "skipped"
    image: Outcome = "skipped"
    logprobs: bool | None = None
    schema: SchemaOutcome = "skipped"
    owner: str = ""
    licence: str = ""
    errors: tuple[str, ...] = ()
    seconds: float = 0.0
    calls: int = 0
    tokens: int = 0

    @property
    def ok(self) -> bool:
        """It answers as it should, with and without a picture where it takes any."""
        return self.text == "ok" and self.image in ("ok", "skipped")


def check_model(model: ChatModel) -> ModelCheck:
    """Ask a model a tiny question with and without a picture; nothing is kept or taken from before.

    Never raises for what the model or its server does; `ModelCheck.errors` says it.
    """
    if isinstance(model, CachedChat):
        model = model.model
    run = _Run(model)
    reply = run.ask(CHECK, ())
    if run.reachable:
        run.ask(CHECK_IMAGE, (Picture("pagetrail-check-red", _red_square),))
        run.schema()
        run.served()
    return ModelCheck(
        model=model.name,
        revision=model.revision,
        reachable=run.reachable,
        text=run.outcomes[CHECK.name],
        image=run.outcomes.get(CHECK_IMAGE.name, "skipped"),
        logprobs=None if reply is None else reply.logprobs is not None,
        schema=run.obeys,
        owner=_word(run.told, "owned_by", "owner"),
        licence=_word(run.told, "license", "licence"),
        errors=tuple(run.errors),
        seconds=time.monotonic() - run.started,
        calls=run.usage.calls,
        tokens=run.usage.tokens,
    )


class Reranker(Protocol):
    """Scores passages for a question, higher being better."""

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    def __call__(self, question: str, texts: Sequence[str]) -> Sequence[float]: ...


def check_reranker(model: Reranker, sample: tuple[str, str, str]) -> ModelCheck:
    """Ask a cross-encoder to tell two passages apart.

    Args:
        model: What to check.
        sample: A question, a passage that answers it, and one that does not.
    """
    started = time.monotonic()
    question, right, wrong = sample
    outcome: Outcome = "failed"
    errors: tuple[str, ...] = ()
    revision = ""
    try:
        revision = model.revision
        scores = model(question, [right, wrong])
        outcome = "ok" if scores[0] > scores[1] else "wrong"
    except PagetrailError as error:
        errors = (str(error),)
    return ModelCheck(
        model=model.name,
        revision=revision,
        reachable=outcome != "failed",
        text=outcome,
        errors=errors,
        seconds=time.monotonic() - started,
    )


class _Run:
    """The course of one check."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.started = time.monotonic()
        self.reachable = True
        self.outcomes: dict[str, Outcome] = {}
        self.obeys: SchemaOutcome = "skipped"
        self.told: Mapping[str, Any] = {}
        self.errors: list[str] = []
        self._meter: Meter | None = getattr(model, "meter", None)
        self._before = self._meter.usage if self._meter else Usage()
        self._counted = Usage()

    @property
    def usage(self) -> Usage:
        """What was spent: by the model's own account, or else by its replies."""
        return self._meter.usage - self._before if self._meter else self._counted

    def ask(self, prompt: Prompt, images: tuple[Picture, ...]) -> Reply | None:
        """Ask for yes or no, where yes is right."""
        part = "picture" if images else "text"
        try:
            reply = self.model.chat(
                [Message("user", prompt.text, images)], max_tokens=_TOKENS, logprobs=not images
            )
        except PagetrailError as error:
            self.errors.append(f"{part}: {error}")
            self.outcomes[prompt.name] = "failed"
            self.reachable = self.reachable and not (
                isinstance(error, EndpointError) and not images
            )
            return None
        self._count(reply)
        word = reply.text.strip().strip("\"'*.!").lower()
        self.outcomes[prompt.name] = "ok" if word == "yes" else "wrong"
        if word != "yes":
            shown = " ".join(reply.text.split())[:80] or "nothing"
            self.errors.append(f"{part}: the reply should be yes, it is: {shown}")
        return reply

    def schema(self) -> None:
        """See whether a JSON schema is followed."""
        try:
            if isinstance(self.model, SchemaProbe):
                self.obeys = self.model.schema_support()
                return
            message = Message("user", "Name the colour violet, as JSON.")
            reply = self.model.chat([message], schema=_COLOUR, max_tokens=_TOKENS)
            self._count(reply)
            self.obeys = "yes"
        except PagetrailError as error:
            self.obeys = "no"
            self.errors.append(f"schema: {error}")

    def served(self) -> None:
        """See what the server tells of the model."""
        if isinstance(self.model, Served):
            try:
                self.told = self.model.served()
            except PagetrailError as error:
                self.errors.append(f"list of models: {error}")

    def _count(self, reply: Reply) -> None:
        counted = self._counted
        self._counted = Usage(
            counted.calls + reply.calls,
            counted.prompt_tokens + reply.prompt_tokens,
            counted.reply_tokens + reply.reply_tokens,
        )


def _word(told: Mapping[str, Any], *names: str) -> str:
    found = [told[name] for name in names if isinstance(told.get(name), str)]
    return " ".join(found[0].split())[:200] if found else ""


def _red_square() -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (112, 112), (220, 0, 0)).save(out, "PNG")
    return out.getvalue()
