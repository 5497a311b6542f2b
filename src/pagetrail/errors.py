"""Everything Pagetrail raises on purpose, as one tree.

PagetrailError
├── UsageError             the call itself is wrong: bad argument, unknown name, empty question
│   ├── ConfigError        a setting is unknown or out of bounds
│   ├── NotFoundError      no such document, page, channel or library
│   └── ScopeError         the scope names nothing in this library
├── DocumentError          one file cannot be read, wholly or in part; names the file
│   ├── UnsupportedError   the format is not one Pagetrail reads, or needs a program that is absent
│   ├── PasswordError      the file is encrypted and no given password opens it
│   ├── DamagedError       the bytes cannot be parsed
│   └── LimitError         a time, memory, page or pixel limit was hit
├── PageError              one page cannot be read; names the file and the page
├── LibraryError           the library folder as a whole
│   ├── LockedError        another process is writing
│   ├── VersionError       written by a newer version
│   └── CorruptError       contents do not match their checksums; `doctor --repair` may help
├── ModelError             a model cannot be loaded, or is not the one the library was built with
│   ├── EndpointError      a model's server cannot be reached, refuses, or fails again and again
│   │   └── AccessError    it refuses the key, or knows no such model: no request will succeed
│   ├── ReplyError         a model's reply is not what was asked for, or was cut off
│   └── BudgetError        the calls, tokens or money allowed for this run are spent
└── MissingExtraError      an optional dependency is absent; names the extra to install
"""

from __future__ import annotations

__all__ = [
    "AccessError",
    "BudgetError",
    "ConfigError",
    "CorruptError",
    "DamagedError",
    "DocumentError",
    "EndpointError",
    "LibraryError",
    "LimitError",
    "LockedError",
    "MissingExtraError",
    "ModelError",
    "NotFoundError",
    "PageError",
    "PagetrailError",
    "PasswordError",
    "ReplyError",
    "ScopeError",
    "UnsupportedError",
    "UsageError",
    "VersionError",
]


class PagetrailError(Exception):
    """Base of every error raised on purpose; its text is one clear line for a person."""


class UsageError(PagetrailError):
    """The call is wrong; nothing was done."""


class ConfigError(UsageError):
    """A setting is unknown, malformed or out of bounds."""


class NotFoundError(UsageError):
    """No such document, page, channel or library."""


class ScopeError(UsageError):
    """The scope of a question names nothing in this library."""


class DocumentError(PagetrailError):
    """One file cannot be read.

    Args:
        document: The path as the user gave it.
        reason: What is wrong and what to do, without the path.
    """

    def __init__(self, document: str, reason: str) -> None:
        super().__init__(f"{document}: {reason}")
        self.document = document
        self.reason = reason

    def __reduce__(self) -> tuple[type[DocumentError], tuple[str, str]]:
        # Errors cross process borders; the default rebuilds from the joined text and loses a part.
        return type(self), (self.document, self.reason)


class UnsupportedError(DocumentError):
    """The format is not one Pagetrail reads, or the program that reads it is not installed."""


class PasswordError(DocumentError):
    """The file is encrypted and none of the given passwords opens it."""


class DamagedError(DocumentError):
    """The bytes cannot be parsed as what they claim to be."""


class LimitError(DocumentError):
    """A time, memory, page or pixel limit was hit while reading the file."""


class PageError(PagetrailError):
    """One page cannot be read; the rest of its document can.

    Args:
        document: The path as the user gave it.
        page: 1-based physical page number.
        reason: What is wrong, without path and page.
    """

    def __init__(self, document: str, page: int, reason: str) -> None:
        super().__init__(f"{document}, page {page}: {reason}")
        self.document = document
        self.page = page
        self.reason = reason

    def __reduce__(self) -> tuple[type[PageError], tuple[str, int, str]]:
        return type(self), (self.document, self.page, self.reason)


class LibraryError(PagetrailError):
    """The library folder cannot be used as it is."""


class LockedError(LibraryError):
    """Another process is writing to the library."""


class VersionError(LibraryError):
    """The library was written by a newer version of Pagetrail."""


class CorruptError(LibraryError):
    """The library's contents do not match their checksums or each other."""


class ModelError(PagetrailError):
    """A model cannot be loaded or used, or is not the one the library was built with."""


class EndpointError(ModelError):
    """A model's server cannot be reached, refuses the request, or fails after all retries."""


class AccessError(EndpointError):
    """The server refuses the key or knows no such model, so that no request will succeed."""


class ReplyError(ModelError):
    """A model's reply is not what was asked for: no JSON, against the schema, or cut off."""


class BudgetError(ModelError):
    """The calls, tokens or money allowed are spent; nothing more was asked of the model."""


class MissingExtraError(PagetrailError, ImportError):
    """An optional dependency is not installed.

    Args:
        package: The distribution that is missing.
        extra: The extra of Pagetrail that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; run: pip install 'pagetrail[{extra}]'")
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), (self.package, self.extra)
