"""Picture files: every frame is a page, turned as its camera says, on white, 8-bit RGB."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

from ..errors import DamagedError, LimitError, PageError
from .pixels import pixel_size

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    import numpy as np

    from ..types import OutlineEntry

__all__ = ["ImageFile"]

# Formats by name, so that no other decoder (PostScript, for one) is ever reached.
_FORMATS = ("PNG", "JPEG", "MPO", "WEBP", "GIF", "BMP", "DIB", "TIFF", "AVIF", "JPEG2000", "PPM")
_ONE_PAGE = ("JPEG", "MPO", "BMP", "DIB", "JPEG2000", "PPM")  # further frames are previews
_MAX_FRAMES = 5_000
_MAX_BYTES = 400_000_000  # of one decoded picture
_DEFAULT_DPI = 96.0
_READING_PIXELS = 12_000_000


class ImageFile:
    """An open picture file; a context manager. Page numbers are 1-based.

    Raises:
        DamagedError: It cannot be decoded at all.
        LimitError: A picture is too large to decode safely.
    """

    def __init__(self, path: Path, source: str) -> None:
        self._source = source
        self._picture = _opened(path, source)
        self._cut = False
        count = 1 if self._picture.format in _ONE_PAGE else self._frames()
        self.page_count = min(count, _MAX_FRAMES)
        self.caveat = f"only the first {_MAX_FRAMES} frames are read" if count > _MAX_FRAMES else ""
        self.title = ""
        self.metadata: dict[str, str] = {}
        self.outline: tuple[OutlineEntry, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._picture.close()

    def image(
        self, number: int, *, dpi: float | None = None, max_pixels: int = _READING_PIXELS
    ) -> np.ndarray:
        """Return a frame as displayed, uint8 RGB ``[height, width, 3]``; never enlarged.

        Args:
            number: 1-based.
            dpi: Resolution of the result; None keeps the file's own pixels.
            max_pixels: Larger ones are scaled down to so many.

        Raises:
            PageError: The frame cannot be decoded.
            LimitError: The frame is too large to decode safely.
        """
        import numpy as np

        frame = self._decoded(number, max_pixels)
        width, height, native = self._points(frame)
        size = pixel_size(width, height, min(dpi or native, native), max_pixels)
        rgb = _rgb(frame)
        if size != rgb.size:
            rgb = rgb.resize(size, reducing_gap=2.0)
        return np.asarray(rgb)

    def size(self, number: int) -> tuple[float, float]:
        """Return the displayed width and height of a frame in points."""
        self._seek(number)
        width, height, _ = self._points(self._picture)
        turned = self._picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        return (height, width) if turned else (width, height)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know about the last frame decoded."""
        return ("The picture is cut off; its missing part could not be read.",) * self._cut

    def _frames(self) -> int:
        try:
            return int(getattr(self._picture, "n_frames", 1))
        except (OSError, ValueError, EOFError, SyntaxError):
            return 1

    def _points(self, frame: Any) -> tuple[float, float, float]:
        """Return width and height in points, and dots per inch."""
        stated = self._picture.info.get("dpi", (0, 0))
        try:
            dpi = float(stated[0])
        except (TypeError, ValueError, IndexError, ZeroDivisionError):
            dpi = 0.0
        dpi = dpi if 30 <= dpi <= 2400 else _DEFAULT_DPI
        return frame.width * 72 / dpi, frame.height * 72 / dpi, dpi

    def _seek(self, number: int) -> None:
        if not 1 <= number <= self.page_count:
            raise PageError(self._source, number, f"the file has {self.page_count} pages")
        try:
            self._picture.seek(number - 1)
        except (OSError, ValueError, EOFError, SyntaxError) as error:
            raise PageError(self._source, number, f"cannot be decoded: {error}") from error

    def _decoded(self, number: int, max_pixels: int) -> Any:
        """Decode a frame; a cut-off one as far as it goes."""
        from PIL import ImageFile as Files
        from PIL import ImageOps

        self._seek(number)
        picture = self._picture
        if picture.format in ("JPEG", "MPO") and picture.width * picture.height > 2 * max_pixels:
            scale = (max_pixels / (picture.width * picture.height)) ** 0.5
            picture.draft(None, (int(picture.width * scale) + 1, int(picture.height * scale) + 1))
        _check_size(self._source, picture)
        self._cut = False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    picture.load()
                except OSError:
                    Files.LOAD_TRUNCATED_IMAGES = True
                    try:
                        picture.load()
                    finally:
                        Files.LOAD_TRUNCATED_IMAGES = False
                    self._cut = True
                return ImageOps.exif_transpose(picture)
        except MemoryError:
            raise
        except Exception as error:  # decoders of hostile bytes raise anything
            raise PageError(self._source, number, f"cannot be decoded: {error}") from error


def _opened(path: Path, source: str) -> Any:
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Image.init()
            return Image.open(path, formats=[f for f in _FORMATS if f in Image.OPEN])
    except Image.DecompressionBombError as error:
        raise LimitError(source, f"the picture is too large to decode safely: {error}") from error
    except UnidentifiedImageError as error:
        raise DamagedError(source, "a damaged picture: its header makes no sense") from error
    except Exception as error:  # decoders of hostile bytes raise anything
        raise DamagedError(source, f"a picture that cannot be decoded: {error}") from error


def _check_size(source: str, picture: Any) -> None:
    depth = 4 if picture.mode in ("I", "F", "RGBA", "CMYK", "RGBX") else len(picture.getbands())
    if picture.width * picture.height * depth > _MAX_BYTES:
        raise LimitError(
            source,
            f"the picture has {picture.width} x {picture.height} pixels, too many to decode safely",
        )


# --- to 8-bit RGB --------------------------------------------------------------------------------


def _rgb(frame: Any) -> Any:
    """Return a Pillow picture in mode RGB that a person can read."""
    if frame.mode.startswith(("I", "F")):
        return _scaled(frame)
    if frame.mode == "LAB":
        return _from_lab(frame)
    if "transparency" in frame.info or frame.mode in ("RGBA", "LA", "PA", "RGBa", "La"):
        return _flattened(frame.convert("RGBA"))
    return frame.convert("RGB")


def _scaled(frame: Any) -> Any:
    """Scale deep grey values to 8 bits; plain conversion would clip all of them to white.

    The depth is guessed from the brightest value, since 12-bit scans are stored in 16 bits.
    """
    import numpy as np
    from PIL import Image

    values = np.nan_to_num(np.asarray(frame).astype(np.float64))
    low, high = float(values.min()), float(values.max())
    if frame.mode == "F" or low < 0 or high > 65535:
        span = (high - low) or 1.0
        values = (values - low) / span
    else:
        values = values / next(full for full in (255, 4095, 65535) if high <= full)
    return Image.fromarray(np.rint(values * 255).astype(np.uint8)).convert("RGB")


def _from_lab(frame: Any) -> Any:
    from PIL import ImageCms

    lab, srgb = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
    return ImageCms.profileToProfile(frame, lab, srgb, outputMode="RGB")


def _flattened(frame: Any) -> Any:
    """Put a transparent picture on white, or on what makes it readable.

    White on transparent needs a dark ground; a picture that is transparent all over but holds
    something is shown as if it were not.
    """
    import numpy as np
    from PIL import Image

    colours, alpha = frame.convert("RGB"), frame.getchannel("A")
    low, high = alpha.getextrema()
    if high == 0:
        return colours if _contrast(colours) else Image.new("RGB", frame.size, "white")
    shown = _over(colours, alpha, "white")
    if low < high and _contrast(shown) < 16:
        dark = _over(colours, alpha, "black")
        shown = dark if _contrast(dark) > _contrast(shown) else shown
        if _contrast(shown) < 16:
            return Image.fromarray(255 - np.asarray(alpha)).convert("RGB")
    return shown


def _over(colours: Any, alpha: Any, ground: str) -> Any:
    from PIL import Image

    base = Image.new("RGB", colours.size, ground)
    base.paste(colours, mask=alpha)
    return base


def _contrast(picture: Any) -> int:
    """Return the widest range of any channel, 0..255."""
    return int(max(high - low for low, high in picture.getextrema()))
