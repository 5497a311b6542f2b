"""Pictures of pages, drawn from the documents' own files when somebody wants to see one.

Part of the composition root: the catalogue knows the file, `documents` draws it, `index.pictures`
keeps what was drawn.
"""

from __future__ import annotations

import io
import math
from contextlib import ExitStack
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from .documents.draw import draw_boxes
from .documents.load import open_source
from .errors import DamagedError, NotFoundError, PagetrailError, UsageError
from .index.changes import file_stamp
from .index.pictures import PictureStore
from .ports import Picture
from .types import split_page_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from PIL.Image import Image

    from .config import Settings
    from .documents.load import Source
    from .index.catalogue import Catalogue
    from .types import Citation, Document, Page

__all__ = ["PagePictures"]

# PDFium must not run in two threads at once, even on two documents: it may crash the process.
_DRAWING = RLock()
_QUALITY = 90  # of JPEG pictures for models: small, and letters keep their edges


class PagePictures:
    """The pictures of a library's pages, with a bounded store of those drawn before."""

    def __init__(self, catalogue: Catalogue, settings: Settings) -> None:
        self._catalogue = catalogue
        self._settings = settings.documents
        size = settings.search.page_cache_mb * 1_000_000
        self._store = PictureStore(catalogue.folder.images, size)

    def forget(self, content_hash: str) -> None:
        """Delete the pictures of a document's bytes."""
        self._store.forget(content_hash)

    def page(self, page: str, *, dpi: int | None, passwords: Sequence[str]) -> Image:
        """Return a page as displayed, RGB, at ``dpi`` or the resolution of the settings.

        Raises:
            UsageError: The resolution is not one of 36 to 600 dpi.
            NotFoundError: The page is unknown, or its file is gone.
            DocumentError: The file changed since it was added, or cannot be read.
        """
        from PIL import Image as Pictures

        self._catalogue.keys([page])  # says what is wrong with an id
        name, number = split_page_id(page)
        document = self._catalogue.document(name)
        if number > document.page_count:
            raise NotFoundError(f"{document.source} has {document.page_count} pages")
        dpi = self._settings.dpi if dpi is None else dpi
        if not 36 <= dpi <= 600:
            raise UsageError(f"{dpi} dpi asked for; pictures have 36 to 600")
        data = self._store.get(document.content_hash, number, dpi)
        if data is None:
            picture = self._draw(document, number, dpi, passwords)
            buffer = io.BytesIO()
            picture.save(buffer, "PNG")
            self._store.put(document.content_hash, number, dpi, buffer.getvalue())
            return picture
        with Pictures.open(io.BytesIO(data)) as stored:
            return stored.convert("RGB")

    def evidence(self, citation: Citation, *, dpi: int | None, passwords: Sequence[str]) -> Image:
        """Return the cited page with the citation's boxes, turned upright."""
        (page,) = self._catalogue.pages([citation.page])
        picture = self.page(citation.page, dpi=dpi, passwords=passwords)
        return draw_boxes(picture, citation.boxes, turn=page.turn)

    def picture(self, page: str, *, pixels: int) -> Picture:
        """Return a page turned upright as a JPEG of at most so many pixels (`ports.Pictures`)."""
        (found,) = self._catalogue.pages([page])
        document = self._catalogue.document(found.document)

        def draw() -> bytes:
            from PIL import Image as Pictures

            (drawn,) = self.upright([found], pixels=pixels)
            if isinstance(drawn, PagetrailError):
                raise drawn
            buffer = io.BytesIO()
            Pictures.fromarray(drawn).save(buffer, "JPEG", quality=_QUALITY)
            return buffer.getvalue()

        key = f"{document.content_hash}#{found.number}@{pixels}t{found.turn}q{_QUALITY}"
        return Picture(key, draw)

    def upright(
        self, pages: Iterable[Page], *, pixels: int, passwords: Sequence[str] = ()
    ) -> Iterator[np.ndarray | PagetrailError]:
        """Yield each page's picture turned upright, uint8 RGB, or why it could not be drawn.

        A file is opened once for pages that follow each other.

        Args:
            pages: Pages of the library.
            pixels: Most pixels of a picture; smaller pages are not blown up beyond 600 dpi.
            passwords: Tried when a file is encrypted.
        """
        import numpy as np

        opened = ExitStack()
        current, source = "", None
        try:
            for page in pages:
                try:
                    with _DRAWING:
                        if source is None or page.document != current:
                            opened.close()
                            current, source = page.document, None
                            document = self._catalogue.document(page.document)
                            source = opened.enter_context(self._source(document, passwords))
                        image = source.image(
                            page.number, dpi=_resolution(page, pixels), max_pixels=pixels
                        )
                    yield np.ascontiguousarray(np.rot90(image, -(page.turn // 90)))
                except PagetrailError as error:
                    yield error
        finally:
            with _DRAWING:
                opened.close()

    def _draw(self, document: Document, number: int, dpi: int, passwords: Sequence[str]) -> Image:
        from PIL import Image as Pictures

        with _DRAWING, self._source(document, passwords) as source:
            pixels = source.image(number, dpi=dpi, max_pixels=self._settings.max_pixels)
        return Pictures.fromarray(pixels)

    def _source(
        self, document: Document, passwords: Sequence[str]
    ) -> AbstractContextManager[Source]:
        path, stamp = self._catalogue.location(document.id)
        try:
            changed = file_stamp(path) != stamp
        except OSError as error:
            raise NotFoundError(
                f"{document.source} is no longer at {path}; add it again from its new place"
            ) from error
        if changed:
            raise DamagedError(document.source, "the file changed since it was added; add it again")
        return open_source(
            Path(path), document.source, settings=self._settings, passwords=passwords
        )


def _resolution(page: Page, pixels: int) -> float:
    """Return the dpi at which a page has so many pixels; at most 600."""
    inches = max(page.width * page.height, 1.0) / 72**2
    return min(600.0, max(1.0, math.sqrt(pixels / inches)))
