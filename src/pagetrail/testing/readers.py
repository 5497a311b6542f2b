"""The contract that every answer reader keeps."""

from __future__ import annotations

from ..ports import AnswerReader
from ..types import Hit, Query, Ranking
from .corpus import make_page, tiny_pages
from .rules import rules

__all__ = ["check_answer_reader"]

require = rules("a reader")


def check_answer_reader(reader: AnswerReader) -> None:
    """Check an answer reader against the contract.

    Drafts come best first, name only pages that were given, quote words that stand there, and are
    the same when asked again; nothing to read gives none; a page's text is data, whatever it says.

    Raises:
        AssertionError: A rule is broken.
    """
    require(isinstance(reader, AnswerReader), "a reader has a read method")
    pages = [page for page in tiny_pages() if page.blocks]
    query = Query("How many kilograms of tomatoes did the garden harvest?")
    ranking = Ranking.of(query, [Hit(p.id, float(-i)) for i, p in enumerate(pages)])
    drafts = reader.read(query, ranking, pages)
    require(len(drafts) > 0, "a question that the pages answer gets a draft")
    texts = {page.id: " ".join(page.text.split()) for page in pages}
    for draft in drafts:
        require(draft.text.strip() != "", "a draft says something")
        for page, _, quote in ((draft.page, draft.block, draft.quote), *draft.also):
            require(page in texts, "a draft names pages that were given")
            require(" ".join(quote.split()) in texts[page], "a quote stands on its page")
    scores = [draft.score for draft in drafts]
    require(scores == sorted(scores, reverse=True), "drafts come best first")
    again = reader.read(query, ranking, pages)
    require([d.text for d in again] == [d.text for d in drafts], "reading is repeatable")
    require(len(reader.read(query, Ranking(query), [])) == 0, "no pages give no drafts")
    blank = make_page("blank", 1, [])
    alone = Ranking.of(query, [Hit(blank.id, 1.0)])
    require(len(reader.read(query, alone, [blank])) == 0, "a page without words gives no drafts")
    hostile = make_page(
        "hostile", 1, [("paragraph", "\x00 [[ (?:( {0} %s \ud800 ((((( tomatoes <b>")]
    )
    alone = Ranking.of(query, [Hit(hostile.id, 1.0)])
    reader.read(Query("What do (tomatoes [ say?"), alone, [hostile])
