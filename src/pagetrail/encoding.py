"""A library's added encoders: loaded and checked, asked, and their vectors kept up.

Part of the composition root. An encoder is known by its channel, the name under which it is
searched. Documents are parsed once; what an encoder needs of them later is drawn from their files.
"""

from __future__ import annotations

import io
import re
import time
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import SecretStr

from .asking import Encoded
from .encoders.passages import passages
from .encoders.probe import check_probe
from .encoders.spec import default_channel, load_image_encoder, parse_spec
from .errors import ModelError, NotFoundError, PagetrailError, UsageError
from .index.registry import encoders
from .index.segments import VectorIndex
from .models.spec import parse_chat_spec
from .ports import Encoder, ImageEncoder, ImageQueries, QueryVariants

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from .config import ModelSettings
    from .index.catalogue import Catalogue
    from .index.changes import CatalogueWriter
    from .index.publish import VectorWriter
    from .index.registry import EncoderRecord
    from .showing import PagePictures
    from .types import Page, Query
    from .writing import Writing

__all__ = [
    "AnyEncoder",
    "Encoders",
    "channel_name",
    "encode_pending",
    "forget_rate",
    "load_encoder",
    "note_rate",
    "pending",
    "rate_of",
]

AnyEncoder = ImageEncoder | Encoder
_OVERSAMPLE = 4  # pictures are drawn with so many times the model's pixels, which it then averages
_LEAST_PIXELS = 250_000
_BATCHES = 4  # batches of the model that are drawn, encoded and published together
_RATE = "encode_microseconds:"
_TAKEN = ("pages", "blocks", "phrases", "headings", "dense", "pointer", "names")


def channel_name(spec: str, name: str | None) -> str:
    """Return the channel of a new encoder: the name given, or one from its spec.

    Raises:
        UsageError: The spec makes no sense, or the name is no name or stands for something else.
    """
    channel = default_channel(parse_spec(spec)) if name is None else name
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", channel):
        raise UsageError(f"{channel!r} is no name for an encoder: letters, digits, - and _")
    if channel in _TAKEN:
        raise UsageError(f"{channel} is a channel of every library; choose another name")
    return channel


def load_encoder(spec: str, settings: ModelSettings) -> AnyEncoder:
    """Load the encoder that a spec names, with the settings' device and keys.

    Raises:
        UsageError: The spec makes no sense.
        MissingExtraError: A library that it needs is not installed.
        ModelError: The model cannot be loaded, or some of its weights are missing.
    """
    parsed = parse_spec(spec)
    if parsed.url:
        from .encoders.remote import open_remote_encoder

        key = settings.api_key.get_secret_value() if settings.api_key else None
        return open_remote_encoder(parsed, api_key=key, timeout=settings.timeout_seconds)
    return load_image_encoder(
        parsed, device=settings.device, dtype=settings.dtype, batch=settings.batch
    )


def _for_stored(spec: str, settings: ModelSettings) -> ModelSettings:
    """Return the settings for a spec that a library brings, which may be a stranger's.

    The key goes to a server only that the settings themselves name.
    """
    named = {urlsplit(settings.base_url or "").hostname}
    for text in (settings.judge, settings.chat):
        if text and "@http" in text:
            named.add(urlsplit(parse_chat_spec(text).url).hostname)
    if urlsplit(parse_spec(spec).url).hostname in named:
        return settings
    return settings.model_copy(update={"api_key": SecretStr("")})


class Encoders:
    """The added encoders of one library; each is loaded and checked when it is first asked.

    Args:
        catalogue: The library's catalogue.
        settings: Where and how models run.
    """

    def __init__(self, catalogue: Catalogue, settings: ModelSettings) -> None:
        self._catalogue = catalogue
        self._settings = settings
        self._loaded: dict[int, AnyEncoder] = {}
        self._indexes: dict[int, VectorIndex] = {}
        self._known: tuple[int, dict[str, EncoderRecord]] = (-1, {})
        # A model is loaded once, and fast tokenizers must not run in two threads.
        self._lock = RLock()

    def records(self) -> dict[str, EncoderRecord]:
        """Return the added encoders by channel, in the order in which they were added."""
        generation = self._catalogue.generation()
        if self._known[0] != generation:
            found = {r.channel: r for r in encoders(self._catalogue) if r.channel is not None}
            self._known = (generation, found)
        return self._known[1]

    def record(self, channel: str) -> EncoderRecord:
        """Return what is known of a channel's encoder; a variant behind ``?`` is passed over.

        Raises:
            NotFoundError: No encoder was added under this name.
        """
        name = channel.partition("?")[0]
        if name not in self.records():
            raise NotFoundError(
                f"no encoder {name!r} in this library; add one with `pagetrail encode add SPEC`"
            )
        return self.records()[name]

    def has(self, channel: str) -> bool:
        """Say whether an encoder was added under this name."""
        return channel.partition("?")[0] in self.records()

    def rate(self, channel: str) -> float | None:
        """Return the seconds that a page took in the last run; None before the first."""
        return rate_of(self._catalogue, channel)

    def look(self, channels: Sequence[str], query: Query) -> bool:
        """Say whether one of the channels, variants included, asks with the query's picture."""
        if query.image is None:
            return False
        wordless = not query.text.strip()
        return any(c.endswith("?image") or (wordless and self.has(c)) for c in channels)

    def lacking(self, channels: Sequence[str]) -> dict[str, int]:
        """Return the encoders among channels that lack pages, and how many."""
        known = self.records()
        return {c: known[c].pending for c in channels if c in known and known[c].pending}

    def encoder(self, channel: str) -> AnyEncoder:
        """Return a channel's encoder, the same model that made the library's vectors.

        Raises:
            ModelError: It cannot be loaded, or is another model now.
        """
        record = self.record(channel)
        with self._lock:
            if record.id not in self._loaded:
                encoder = load_encoder(record.spec, _for_stored(record.spec, self._settings))
                _check_same(encoder, record)
                self._loaded[record.id] = encoder
            return self._loaded[record.id]

    def run(
        self,
        channel: str,
        spec: str,
        writing: Callable[[], Writing],
        pictures: PagePictures,
        *,
        passwords: Sequence[str] = (),
        progress: Callable[[int, int, str], None] | None = None,
    ) -> Encoded:
        """Give a channel's encoder all pages that it lacks; a new channel is made known first.

        Args:
            channel: The encoder's name.
            spec: Which model; empty for the one that was added under this name.
            writing: Opens the library for changes.
            pictures: Draws pages.
            passwords: Tried on encrypted files.
            progress: Called with pages done, pages to do, and the channel.
        """
        if not spec:
            spec, encoder = self.record(channel).spec, self.encoder(channel)
        else:
            spec = _lasting(spec)
            encoder = load_encoder(spec, self._settings)
            if self.has(channel):
                _check_same(encoder, self.record(channel))
        with writing() as change:
            made = change.encode(
                channel,
                spec,
                encoder,
                pictures,
                batch=_BATCHES * self._settings.batch,
                passwords=passwords,
                progress=progress,
            )
        self._loaded[self.record(channel).id] = encoder
        return replace(made, pending=pending(self._catalogue, encoder))

    def index(self, channel: str) -> VectorIndex:
        """Return a channel's vectors."""
        record = self.record(channel)
        if record.id not in self._indexes:
            self._indexes[record.id] = VectorIndex(
                self._catalogue,
                name=record.name,
                revision=record.revision,
                dimension=record.dimension,
                channel=record.channel,
            )
        return self._indexes[record.id]

    def question(self, channel: str, query: Query) -> np.ndarray | None:
        """Return a question's vectors, float32 ``[q, dimension]``; None when it asks nothing.

        ``clip?image`` asks with the question's picture, ``siglip?unpadded`` in one of the
        encoder's own variants; a picture without words is asked with anyway.

        Raises:
            UsageError: The encoder has no such variant, or cannot take a picture.
        """
        with self._lock:
            return self._encode(channel, query)

    def _encode(self, channel: str, query: Query) -> np.ndarray | None:
        name, _, variant = channel.partition("?")
        encoder = self.encoder(name)
        if variant == "image" or (query.image is not None and not query.text.strip()):
            return self._picture(encoder, query)
        if not query.text.strip():
            return None
        if not variant:
            return encoder.encode_queries([query.text]).data
        known = encoder.variants if isinstance(encoder, QueryVariants) else ()
        if not isinstance(encoder, QueryVariants) or variant not in known:
            names = ", ".join(("image", *known))
            raise UsageError(f"{name} has no variant {variant!r}; there are {names}")
        return encoder.encode_queries_as(variant, [query.text]).data

    def _picture(self, encoder: AnyEncoder, query: Query) -> np.ndarray | None:
        if query.image is None:
            return None
        if not isinstance(encoder, ImageQueries):
            raise UsageError(f"{encoder.name} does not take a picture as the question")
        return encoder.encode_image_queries([_pixels(query.image)]).data


def encode_pending(
    catalogue: Catalogue,
    vectors: VectorWriter,
    channel: str,
    encoder: AnyEncoder,
    pictures: PagePictures,
    *,
    batch: int,
    passwords: Sequence[str] = (),
    progress: Callable[[int, int, str], None] | None = None,
) -> Encoded:
    """Encode the pages that an encoder lacks, a batch at a time, each kept as it is done.

    Args:
        catalogue: The library's catalogue.
        vectors: The encoder's vectors, open for writing.
        channel: The encoder's name, for the progress.
        encoder: The loaded model.
        pictures: Draws pages.
        batch: Pages drawn, encoded and published at a time.
        passwords: Tried on encrypted files.
        progress: Called with pages done, pages to do, and the channel.
    """
    started = time.perf_counter()
    while vectors.adopt():
        pass
    todo = pending(catalogue, encoder)
    done, seen, after = 0, 0, -1
    failed: dict[str, str] = {}
    while keys := vectors.missing(batch, after=after):
        after = keys[-1]
        seen += len(keys)
        found = catalogue.pages_by_key(keys)
        pages = [(key, found[key]) for key in keys if key in found]
        done += _encode_batch(vectors, encoder, pages, pictures, passwords, failed)
        if progress is not None:
            progress(min(seen, todo), todo, channel)
    return Encoded(channel, done, failed, time.perf_counter() - started)


def pending(catalogue: Catalogue, encoder: AnyEncoder) -> int:
    """Return the number of pages that an encoder lacks."""
    ((count,),) = catalogue.rows(
        "SELECT count(*) FROM pending JOIN encoders ON encoders.id = pending.encoder "
        "WHERE encoders.name = ? AND encoders.revision = ?",
        (encoder.name, encoder.revision),
    )
    return int(count)


def note_rate(writer: CatalogueWriter, run: Encoded) -> None:
    """Keep how long a page took, for estimates."""
    if run.pages:
        with writer.transaction():
            writer.rows(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                (_RATE + run.channel, round(run.seconds / run.pages * 1e6)),
            )


def forget_rate(writer: CatalogueWriter, channel: str) -> None:
    """Forget how long a page took: another encoder may come under the same name."""
    with writer.transaction():
        writer.rows("DELETE FROM meta WHERE key = ?", (_RATE + channel,))


def rate_of(catalogue: Catalogue, channel: str) -> float | None:
    """Return the seconds that a page took in the encoder's last run here; None before the first."""
    rows = catalogue.rows("SELECT value FROM meta WHERE key = ?", (_RATE + channel,))
    return rows[0][0] / 1e6 if rows else None


def _encode_batch(
    vectors: VectorWriter,
    encoder: AnyEncoder,
    pages: Sequence[tuple[int, Page]],
    pictures: PagePictures,
    passwords: Sequence[str],
    failed: dict[str, str],
) -> int:
    if not isinstance(encoder, ImageEncoder):
        made = encoder.encode_pages([page for _, page in pages])
        blocks = [passage.block for _, page in pages for passage in passages(page)]
        vectors.publish([key for key, _ in pages], made, blocks)
        return len(pages)
    pixels = max(_LEAST_PIXELS, _OVERSAMPLE * encoder.pixels)
    drawn = pictures.upright([page for _, page in pages], pixels=pixels, passwords=passwords)
    ready: list[tuple[int, np.ndarray]] = []
    for (key, page), picture in zip(pages, drawn, strict=True):
        if isinstance(picture, PagetrailError):
            failed[page.id] = str(picture)
        else:
            ready.append((key, picture))
    if ready:
        made = encoder.encode_images([picture for _, picture in ready])
        vectors.publish([key for key, _ in ready], made, [-1] * len(made.data))
    return len(ready)


def _lasting(spec: str) -> str:
    """Return a spec with its folder written in full, so that it holds wherever we are run."""
    parsed = parse_spec(spec)
    if parsed.folder is None:
        return str(parsed)
    return str(replace(parsed, model=str(parsed.folder.resolve())))


def _check_same(encoder: AnyEncoder, record: EncoderRecord) -> None:
    """Refuse a model that is not the one that made the library's vectors."""
    now = (encoder.name, encoder.revision, encoder.dimension)
    then = (record.name, record.revision, record.dimension)
    if now != then:
        raise ModelError(
            f"the vectors of {record.channel} were made by {then[0]} ({then[1]}, {then[2]} "
            f"numbers); the model is now {now[0]} ({now[1]}, {now[2]} numbers): put the old "
            f"model back, choose another name, or `pagetrail encode drop {record.channel}` and add "
            "it again"
        )
    if record.probe is not None:
        check_probe(encoder, record.probe.reshape(-1, record.dimension))


def _pixels(image: bytes) -> np.ndarray:
    """Return a question's picture, uint8 RGB ``[height, width, 3]``."""
    import numpy as np
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(image)) as picture:
            return np.asarray(ImageOps.exif_transpose(picture).convert("RGB"))
    except Exception as error:  # damaged files make PIL raise nearly anything
        raise UsageError(f"the question's picture cannot be read: {error}") from error
