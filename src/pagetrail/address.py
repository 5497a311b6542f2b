"""A server's address and key, and how neither a key nor a password is ever shown.

The two doors to the OpenAI protocol share it: `models.remote` and `encoders.remote`.
"""

from __future__ import annotations

import ipaddress
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from .errors import ConfigError

if TYPE_CHECKING:
    from urllib.parse import SplitResult

__all__ = ["Address"]

_NO_KEY = "none"  # servers without keys ignore it; the SDK wants one


class Address:
    """Where a server of the OpenAI protocol is.

    Args:
        base_url: ``http://`` or ``https://``, host, and the path before ``/chat/completions``.
        api_key: The key; None: the variable OPENAI_API_KEY where that belongs, or none at all. It
            belongs to OpenAI's own servers and to the host in OPENAI_BASE_URL, and is sent nowhere
            else: whoever names another server has not agreed to show it this key.

    Raises:
        ConfigError: The address or the key cannot be used; the message shows neither.
    """

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        try:
            parts = urlsplit(base_url.strip())
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise ConfigError(
                "base_url: not an address, such as http://127.0.0.1:8000/v1"
            ) from error
        if parts.scheme not in ("http", "https") or not host:
            raise ConfigError("base_url: not an address, such as http://127.0.0.1:8000/v1")
        self.host = host
        key = (self._usual_key() if api_key is None else api_key).strip()
        if not (key.isascii() and key.isprintable()):
            raise ConfigError("api_key: it holds characters that no key has; copy it again")
        self.url = urlunsplit(parts._replace(path=parts.path.rstrip("/"), fragment=""))
        self.shown = _without_credentials(parts)
        self.key = key or _NO_KEY
        self._secrets = [s for s in (key, parts.password, parts.query) if s and len(s) > 3]

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def _usual_key(self) -> str:
        usual = urlsplit(os.environ.get("OPENAI_BASE_URL", "")).hostname
        belongs = self.is_openai or (usual is not None and usual == self.host)
        return os.environ.get("OPENAI_API_KEY", "") if belongs else ""

    @property
    def is_local(self) -> bool:
        """The server runs on this machine."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_openai(self) -> bool:
        """The server is OpenAI's own."""
        return self.host == "openai.com" or self.host.endswith(".openai.com")

    def hide(self, text: str) -> str:
        """Return text of a server's or the SDK's without the key or password it may hold."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _without_credentials(parts: SplitResult) -> str:
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
