"""Pictures of pages, drawn from the documents' own files when somebody wants to see one.

Part of the composition root: the catalogue knows the file, `documents` draws it, `index.pictures`
keeps what was drawn.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from .documents.draw import draw_boxes
from .documents.load import open_source
from .errors import DamagedError, NotFoundError, UsageError
from .index.changes import file_stamp
from .index.pictures import PictureStore
from .types import split_page_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

    from .config import Settings
    from .index.catalogue import Catalogue
    from .types import Citation, Document

__all__ = ["PagePictures"]


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

    def _draw(self, document: Document, number: int, dpi: int, passwords: Sequence[str]) -> Image:
        from PIL import Image as Pictures

        path, stamp = self._catalogue.location(document.id)
        try:
            changed = file_stamp(path) != stamp
        except OSError as error:
            raise NotFoundError(
                f"{document.source} is no longer at {path}; add it again from its new place"
            ) from error
        if changed:
            raise DamagedError(document.source, "the file changed since it was added; add it again")
        with open_source(
            Path(path), document.source, settings=self._settings, passwords=passwords
        ) as source:
            pixels = source.image(number, dpi=dpi, max_pixels=self._settings.max_pixels)
        return Pictures.fromarray(pixels)
