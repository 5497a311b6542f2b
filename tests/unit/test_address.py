"""Which key goes where, and that none is ever shown."""

from __future__ import annotations

import pytest

from pagetrail.address import Address
from pagetrail.errors import ConfigError


@pytest.mark.parametrize(
    ("address", "base", "key"),
    [
        ("https://api.openai.com/v1", "", "sk-usual"),
        ("https://gateway.example/v1", "https://gateway.example/other", "sk-usual"),
        ("https://gateway.example/v1", "", "none"),
        ("https://openai.com.example/v1", "", "none"),
        ("http://127.0.0.1:8000/v1", "https://gateway.example", "none"),
    ],
)
def test_the_usual_key_goes_where_it_belongs(monkeypatch, address, base, key):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-usual")
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    assert Address(address).key == key
    assert Address(address, "own").key == "own"
    assert Address(address, "").key == "none"


def test_nothing_secret_is_shown():
    address = Address("https://me:passw0rd@host.example:8443/v1/?token=abcdef#x", "sk-secret")
    assert address.shown == "https://host.example:8443/v1"
    assert "passw0rd" not in repr(address)
    told = address.hide("bad key sk-secret for passw0rd, token=abcdef")
    assert told == "bad key *** for ***, ***"


@pytest.mark.parametrize(
    "wrong", ["", "host/v1", "ftp://host", "http://", "http://[::1", "http://h:x"]
)
def test_what_is_no_address_is_refused_without_being_shown(wrong):
    with pytest.raises(ConfigError, match="not an address"):
        Address(wrong, "key")


def test_a_key_that_cannot_be_sent_is_refused_without_being_shown():
    with pytest.raises(ConfigError) as refused:
        Address("http://host", "sk-\u2026secret")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.8.0.1", True),
        ("http://[::1]:80", True),
        ("http://model.localhost", True),
        ("http://10.0.0.1", False),
        ("http://localhost.example", False),
    ],
)
def test_servers_on_this_machine_are_known(address, local):
    assert Address(address, "").is_local is local
