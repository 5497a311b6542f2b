"""Names of other files in links."""

import pytest

from pagetrail.documents.links import file_address, file_name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("other.pdf", "other.pdf"),
        ("../reports/2020.pdf", "2020.pdf"),
        ("C:\\\\docs\\\\a b.pdf", "a b.pdf"),
        ("docs/", ""),
        ("..", ""),
        ("a\x00\u202eb.pdf", "ab.pdf"),
        ("x" * 400, "x" * 255),
    ],
)
def test_only_the_name_is_kept(path, name):
    assert file_name(path) == name


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("other.pdf", (0, "other.pdf")),
        ("sub/other%20one.pdf#page=12&zoom=50", (12, "other one.pdf")),
        ("file:///home/me/a.pdf#page=2", (2, "a.pdf")),
        ("a.pdf#chapter", (0, "a.pdf")),
        ("https://example.org/a.pdf", (0, "")),
        ("mailto:me@example.org", (0, "")),
        ("//host/a.pdf", (0, "")),
        ("#page=3", (0, "")),
        ("page?file=a.pdf", (0, "")),
        ("imprint", (0, "")),
    ],
)
def test_addresses_beside_the_document(address, found):
    assert file_address(address) == found
