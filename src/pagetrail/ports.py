"""The verbs: one Protocol per stage.

Stages implement these and know nothing of each other; `library` is the only place where they meet.
Optional powers are further small Protocols, not flags.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from .types import (
        Edge,
        Hit,
        OutlineEntry,
        Page,
        Query,
        Ranking,
        Similarity,
        Trace,
        Vectors,
        Verdict,
        Word,
    )

__all__ = [
    "AnswerReader",
    "Blend",
    "ChatModel",
    "DocumentEnded",
    "DocumentOpened",
    "Draft",
    "Encoder",
    "Found",
    "ImageEncoder",
    "ImageQueries",
    "Index",
    "Judge",
    "LoadEvent",
    "LoadRequest",
    "Loader",
    "Message",
    "PageFailed",
    "PageLoaded",
    "Passage",
    "Picture",
    "Pictures",
    "Place",
    "PointerBook",
    "Prompt",
    "QueryVariants",
    "Reading",
    "Reply",
    "Resources",
    "Stage",
    "TextReader",
]


# --- documents -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """One file to parse.

    Attributes:
        document: Id to give to its pages.
        path: Where the bytes are.
        source: The path as the user gave it, for messages.
        passwords: Tried in order when the file is encrypted; never stored, never logged.
        skip: Numbers of pages that are already read (a resumed run).
    """

    document: str
    path: Path
    source: str
    passwords: tuple[str, ...] = ()
    skip: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class DocumentOpened:
    """The file could be opened; its pages follow in any order."""

    document: str
    page_count: int
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    outline: tuple[OutlineEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class PageLoaded:
    """One page was read."""

    page: Page


@dataclass(frozen=True, slots=True)
class PageFailed:
    """One page could not be read; ``reason`` is one line without path and number."""

    document: str
    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class DocumentEnded:
    """No more events for this document; ``error`` is set when the file as a whole failed."""

    document: str
    error: str = ""


LoadEvent = DocumentOpened | PageLoaded | PageFailed | DocumentEnded


@runtime_checkable
class Loader(Protocol):
    """Files to pages. Every request ends in exactly one `DocumentEnded`, whatever the file does."""

    def load(self, requests: Iterable[LoadRequest]) -> Iterator[LoadEvent]: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What OCR saw: lines of words in the picture's own frame, and how far it lies turned.

    Attributes:
        lines: Words per text line, boxes in fractions of the picture *as given*.
        turn: Clockwise degrees that make the text upright: 0, 90, 180 or 270.
        confidence: Mean recognition probability, 0..1, weighted by characters; 0 when nothing read.
    """

    lines: tuple[tuple[Word, ...], ...]
    turn: int = 0
    confidence: float = 0.0


@runtime_checkable
class TextReader(Protocol):
    """Page image to words: OCR. ``image`` is uint8 RGB, ``[height, width, 3]``."""

    def read(self, image: np.ndarray) -> Reading: ...


# --- encoders and indexes ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a page's text that is embedded as one vector; ``block`` is where it starts."""

    page: str
    block: int
    text: str


@runtime_checkable
class Encoder(Protocol):
    """Text (or, for visual encoders, pages) to vectors of unit length."""

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def encode_queries(self, texts: Sequence[str]) -> Vectors: ...

    def encode_pages(self, pages: Sequence[Page]) -> Vectors: ...


@runtime_checkable
class ImageEncoder(Protocol):
    """Pictures of pages, and questions, to vectors of unit length in one space.

    A page's score is the mean over the question's vectors of the best cosine with one of the
    page's vectors (late interaction, MaxSim); with one vector each that is their cosine. It lies
    in -1..1 for every encoder.
    """

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def pixels(self) -> int:
        """Most pixels of a picture that the model can make use of."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """Whatever else changes the vectors, such as pooling; kept with the library."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> Vectors: ...

    def encode_images(self, images: Sequence[np.ndarray]) -> Vectors:
        """Return the vectors of pictures, uint8 RGB ``[height, width, 3]`` of any sizes."""
        ...


@runtime_checkable
class ImageQueries(Protocol):
    """An `ImageEncoder` that also takes a picture as the question."""

    def encode_image_queries(self, images: Sequence[np.ndarray]) -> Vectors: ...


@runtime_checkable
class QueryVariants(Protocol):
    """An encoder that can read a question in more than one way, such as ``unpadded``."""

    @property
    def variants(self) -> tuple[str, ...]: ...

    def encode_queries_as(self, variant: str, texts: Sequence[str]) -> Vectors: ...


@runtime_checkable
class Index(Protocol):
    """Pages to search: add, remove, search. ``allowed`` is None for the whole library, else the
    ids of the documents that may appear; nothing outside it is ever returned."""

    def add(self, pages: Sequence[Page]) -> None: ...

    def remove(self, documents: Sequence[str]) -> None: ...

    def search(
        self, query: Query, *, limit: int, allowed: frozenset[str] | None
    ) -> Sequence[Hit]: ...


# --- retrieve ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """What a channel found, in columns, so that a search of many pages stays cheap.

    Attributes:
        keys: int64 ``[n]``, the library's own numbers for pages, none twice, in any order.
        scores: float ``[n]``, higher is better, comparable within one search.
        blocks: int32 ``[n]``, order of the page's best block, -1 where unknown; None: all unknown.
        ways: For channels that have more to say than their name: key to how the page was reached.
    """

    keys: np.ndarray
    scores: np.ndarray
    blocks: np.ndarray | None = None
    ways: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def nothing(cls) -> Found:
        """Return an empty result."""
        import numpy as np

        return cls(np.empty(0, np.int64), np.empty(0, np.float32))


@dataclass(frozen=True, slots=True)
class Blend:
    """The exact weighted sum of several vector channels over every page in scope.

    Attributes:
        found: The best pages by the sum.
        parts: Per channel its own scores of those pages, float ``[n]``, in the order of ``found``.
    """

    found: Found
    parts: Mapping[str, np.ndarray]


class Resources(Protocol):
    """What a running pipeline may ask of the library: a value stays a value, this is the world."""

    def find(self, channel: str, query: Query, limit: int) -> Found:
        """Return a channel's best pages within the query's scope.

        Raises:
            NotFoundError: The library has no such channel.
        """
        ...

    def blend(
        self, channels: Sequence[str], weights: Sequence[float], query: Query, limit: int
    ) -> Blend | None:
        """Return the best pages by the weighted sum of several channels' scores.

        None when one of them is not a channel of vectors, which score every page. A page without
        vectors in a channel counts 0 there.
        """
        ...

    def rescore(self, channel: str, query: Query, keys: Sequence[int]) -> Found:
        """Return a vector channel's exact scores of the pages named; those it lacks are left out.

        Raises:
            NotFoundError: The library has no such channel of vectors.
        """
        ...

    def judge(self, judge: str, query: Query, ids: Sequence[str]) -> Sequence[Verdict]:
        """Return a judge's verdicts on pages, in the order asked.

        Raises:
            NotFoundError: There is no judge of that name.
            ModelError: The model behind it cannot be used at all.
        """
        ...

    def neutral(self, judge: str) -> float:
        """Return the probability with which a judge says nothing of a page, above 0 and below 1.

        For calibrated probabilities the share of pages with evidence that they were fitted on,
        otherwise .5.

        Raises:
            NotFoundError: There is no judge of that name.
        """
        ...

    def neighbours(self, query: Query, ids: Sequence[str]) -> Mapping[str, Sequence[Edge]]:
        """Return where the library's page graph leads from pages, within the query's scope.

        Every page asked has an entry, possibly empty; edges stand in order of kind, then weight,
        then page id. No edge leads to its own page, none out of the scope or to a removed page.
        """
        ...

    def alike(
        self, rule: Similarity, query: Query, ids: Sequence[str]
    ) -> Mapping[str, Sequence[Edge]]:
        """Return the ``similar`` edges of pages by a rule, best first, within each document.

        The rule is applied to all stored pages of a page's document, whatever ids are asked.

        Raises:
            NotFoundError: The library has no such channel of vectors.
        """
        ...

    def page_total(self, query: Query) -> int:
        """Return the number of pages in the query's scope."""
        ...

    def page_ids(self, keys: Sequence[int]) -> Sequence[str]:
        """Return the ids of pages, in the order asked."""
        ...

    def page_keys(self, ids: Sequence[str]) -> Sequence[int]:
        """Return the numbers of pages, in the order asked; `page_ids` backwards."""
        ...

    def pages(self, ids: Sequence[str]) -> Sequence[Page]:
        """Return pages by id, in the order asked."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where a numbered thing stands, or where the text points at it; ``block`` is its order."""

    page: str
    role: Literal["target", "mention"]
    block: int | None = None


@runtime_checkable
class PointerBook(Protocol):
    """What a library knows of the numbers on its pages: figures, tables, sections, page labels.

    ``allowed`` is None for the whole library, else the ids of the documents that may appear. Each
    method returns at most ``limit`` places or page ids, in order of page id.
    """

    def places(
        self, kind: str, key: str, *, allowed: frozenset[str] | None, limit: int
    ) -> Sequence[Place]:
        """Return where a `types.Reference` of this kind and key stands, targets before mentions.

        A line of a document's outline that opens with such a number is a target as well.
        """
        ...

    def labelled(self, label: str, *, allowed: frozenset[str] | None, limit: int) -> Sequence[str]:
        """Return the pages whose printed label is this one; upper and lower case are alike."""
        ...

    def numbered(self, number: int, *, allowed: frozenset[str] | None, limit: int) -> Sequence[str]:
        """Return the pages with this physical number; below zero it counts from the end, -1 is
        the last page."""
        ...


@runtime_checkable
class Stage(Protocol):
    """A ranking to a better one; a frozen value, so the same value means the same result."""

    def run(
        self, query: Query, ranking: Ranking, resources: Resources
    ) -> tuple[Ranking, Trace]: ...


# --- judge, models, answer -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture for a model, drawn only when it is needed.

    Attributes:
        key: Names the content: file hash, page, pixels. Equal keys mean equal bytes, so a reply
            can be kept without drawing the picture again.
        draw: Returns PNG or JPEG bytes.
    """

    key: str
    draw: Callable[[], bytes]


class Pictures(Protocol):
    """Where a judge gets pictures of pages; safe to call from several threads."""

    def picture(self, page: str, *, pixels: int) -> Picture:
        """Return the picture of a page (by page id) with at most so many pixels.

        Drawing it raises DocumentError or NotFoundError when the document's file is gone.
        """
        ...


@runtime_checkable
class Judge(Protocol):
    """How well pages answer a query; one verdict per page, in the order given.

    A page whose call fails gets a verdict that says so; only a model that cannot be used at all
    (cannot be loaded, refuses the key) raises ModelError.
    """

    @property
    def name(self) -> str: ...

    def judge(
        self, query: Query, pages: Sequence[Page], pictures: Pictures
    ) -> Sequence[Verdict]: ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with a name and a version, so that what was asked can be said and kept.

    Attributes:
        text: May hold fields such as ``{question}``; `fill` puts values in, which are never read
            as fields themselves.
        system: What the model is told of its role; may be empty.
        schema: The JSON schema of the reply, when one is asked for.
    """

    name: str
    version: int
    text: str
    system: str = ""
    schema: Mapping[str, object] | None = None

    @property
    def id(self) -> str:
        return f"{self.name}/{self.version}"

    def fill(self, **values: str) -> str:
        """Return the text with every ``{field}`` replaced; values are taken literally."""
        return re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), self.text)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; pictures stand before the text."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    Attributes:
        text: What it wrote; thinking that a model shows apart from its reply is left out.
        logprobs: Natural log-probabilities of alternatives for the first token of the reply, by
            the token's text as the model spells it; None when the model does not tell them.
        data: The reply's JSON when a schema was asked for; it was checked against the schema.
        prompt_tokens: Tokens read for it, all attempts together; 0 when kept from before.
        reply_tokens: Tokens written for it, likewise.
        calls: Requests made for it; 0 when kept from before.
        cached: It was kept from before.
        finish: ``stop``, or ``length`` when it was cut at the most tokens allowed.
    """

    text: str
    logprobs: Mapping[str, float] | None = None
    data: Any = None
    prompt_tokens: int = 0
    reply_tokens: int = 0
    calls: int = 1
    cached: bool = False
    finish: Literal["stop", "length"] = "stop"


@runtime_checkable
class ChatModel(Protocol):
    """Messages, possibly with pictures, to a reply; safe to call from several threads."""

    @property
    def name(self) -> str: ...

    @property
    def revision(self) -> str: ...

    @property
    def concurrency(self) -> int:
        """How many calls at a time are worth making."""
        ...

    def chat(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        max_tokens: int = 512,
        logprobs: bool = False,
    ) -> Reply:
        """Return the reply to a conversation, decoded greedily (temperature 0).

        Args:
            messages: The turns; the last one is the user's.
            schema: A JSON schema that the reply must follow.
            max_tokens: Most tokens to write.
            logprobs: Ask for `Reply.logprobs`.

        Raises:
            EndpointError: The server cannot be reached, refuses, or fails after all retries.
            ReplyError: The reply does not follow the schema, after one attempt at repair.
            BudgetError: The budget is spent; nothing was asked.
            ModelError: The model cannot be loaded.
        """
        ...


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before it is checked.

    Attributes:
        text: The answer itself, as short as the question allows; empty when nothing was found.
        page: Id of the page it was read on.
        block: Order of the block on that page.
        quote: The sentence or row it stands in, words as on the page.
        score: Higher is surer; comparable for one reader.
        features: What the gate weighs, by name.
        also: Further places the answer rests on (a list over several blocks): page, block, quote.
    """

    text: str
    page: str
    block: int
    quote: str
    score: float
    features: Mapping[str, float] = field(default_factory=dict)
    also: tuple[tuple[str, int, str], ...] = ()


@runtime_checkable
class AnswerReader(Protocol):
    """Question and ranked pages to drafts, best first; empty when the pages say nothing."""

    def read(self, query: Query, ranking: Ranking, pages: Sequence[Page]) -> Sequence[Draft]: ...
