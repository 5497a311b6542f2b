"""What is shown of a page as JSON."""

from pagetrail.types import Box, Document, Link, Page
from pagetrail.views import page_view


def test_links_name_the_page_and_another_file_where_there_is_one():
    box = Box(0, 0, 1, 1)
    page = Page("d", 1, 1, 1, links=(Link(box, 3), Link(box, 0, "other.pdf")))
    shown = page_view(Document("d", "a.pdf", "", 1, "indexed"), page)["links"]
    assert [{k: v for k, v in link.items() if k != "box"} for link in shown] == [
        {"page": 3},
        {"page": None, "file": "other.pdf"},
    ]
