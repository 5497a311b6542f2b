"""Text to search terms: one way for pages and questions, so that what is printed can be found.

Words are runs of letters, digits and marks, lower case, without accents, English stems. Before
that a few things are brought to one form, because the same value is printed in several ways:

* compatibility forms (ligatures, full-width digits, Arabic presentation forms) and the digits of
  other scripts become plain ones, Arabic and Hebrew lose vowel points, soft hyphens and the like
  vanish;
* ``1,234`` becomes ``1234``; ``5.3`` and ``2.1.3`` stay one term;
* ``U.S.`` becomes ``US``, and a raised footnote mark or exponent stands by itself;
* a code such as ``AB-123`` is found as ``ab``, ``123`` and ``ab123``;
* scripts written without spaces (Chinese, Japanese, Thai, ...) become single characters and pairs.

Stop words stay in the index, where they make page lengths honest and let "The Who" be found, and
are left out of questions; on the development questions this ranks better than dropping them from
both, and a list with the words of asking ("what", "which", "many") better than one without.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ANALYSIS",
    "MAX_TERMS",
    "analyzer",
    "pair_analyzer",
    "pairs",
    "prepare",
    "query_pairs",
    "query_terms",
]

ANALYSIS = 2
"""Version of these rules; an index made with another one is rebuilt."""

MAX_TERMS = 64
"""Different terms used of a question; more cost time and tell little."""

_MAX_QUESTION = 4000  # characters looked at; a pasted page is more than enough of a question

_WORD = r"\p{N}+(?:\.\p{N}+)+|[\p{L}\p{M}\p{N}]+"

# Scripts without spaces: Thai, Lao, Myanmar, Khmer, kana, Han (with its extensions), not Hangul,
# which is spaced.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_CODE = re.compile(r"\b[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+\b")
_ACRONYM = re.compile(r"\b(?:[A-Za-z]\.){2,}")
_RAISED = re.compile("[\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089]+")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
# Marks that are optional in writing: Latin, Greek and Cyrillic accents, Hebrew and Arabic points,
# the Arabic stretching sign; and characters that only say how to break or to order a line.
_OPTIONAL = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)

_STOP = frozenset(
    re.findall(
        r"\w+",
        """
        a about according all also am an and any are as at be been being but by can could did do
        does done for from had has have he her his how i if in into is it its many me much my no
        not of on or our please shall she should so some such than that the their them then
        there these they this those to was we were what when where which who whom whose why will
        with would you your
        """,
    )
)


def prepare(text: str) -> str:
    """Return text in the one form that the analyzer cuts into terms."""
    if not text.isascii():
        text = _plain(text)
    text = _POSSESSIVE.sub("", text)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    if "." in text:
        text = _ACRONYM.sub(_without_dots, text)
    if "-" in text:
        text = _CODE.sub(_with_joined, text)
    return text


@cache
def analyzer(*, stem: bool = True) -> Any:
    """Return the tantivy analyzer that cuts prepared text into terms."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.regex(_WORD))
    builder = builder.filter(Filter.lowercase()).filter(Filter.ascii_fold())
    builder = builder.filter(Filter.remove_long(80))
    if stem:
        builder = builder.filter(Filter.stemmer("english"))
    return builder.build()


@cache
def pair_analyzer() -> Any:
    """Return the tantivy analyzer for text that `pairs` has already cut into terms."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    # A long pair is kept: both its words passed the limit on words.
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.remove_long(200)).build()


def pairs(prepared: str) -> list[str]:
    """Return the pairs of neighbouring stems in prepared text, stop words left out.

    "cost of goods sold" gives ``cost_good`` and ``good_sold``. Two words that stand together mean
    more than the same two words anywhere on a page.
    """
    stems = [stem for stem in analyzer().analyze(prepared) if stem not in _stop_stems()]
    return [f"{one}_{two}" for one, two in pairwise(stems)]


def query_pairs(text: str) -> list[str]:
    """Return the different pairs of a question, in order, at most `MAX_TERMS`."""
    return list(dict.fromkeys(pairs(prepare(text[:_MAX_QUESTION]))))[:MAX_TERMS]


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset(stem for word in _STOP for stem in analyzer().analyze(word))


def query_terms(text: str) -> list[str]:
    """Return the different terms of a question, in order, at most `MAX_TERMS`.

    Stop words count only when there is nothing else.
    """
    prepared = prepare(text[:_MAX_QUESTION])
    words: Sequence[str] = analyzer(stem=False).analyze(prepared)
    stems: Sequence[str] = analyzer().analyze(prepared)
    kept = [stem for word, stem in zip(words, stems, strict=True) if word not in _STOP]
    return list(dict.fromkeys(kept or stems))[:MAX_TERMS]


def _plain(text: str) -> str:
    # Lone surrogates come out of damaged files and cannot be encoded.
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = _RAISED.sub(r" \g<0> ", text)
    text = unicodedata.normalize("NFKD", text)
    text = unicodedata.normalize("NFC", _OPTIONAL.sub("", text))
    text = _OTHER_DIGIT.sub(_ascii_digit, text)
    return _UNSPACED_RUN.sub(_grams, text)


def _grams(match: re.Match[str]) -> str:
    run = match[0]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    return f" {' '.join((*run, *pairs))} "


def _ascii_digit(match: re.Match[str]) -> str:
    return str(unicodedata.decimal(match[0]))


def _without_dots(match: re.Match[str]) -> str:
    return match[0].replace(".", "")


def _with_joined(match: re.Match[str]) -> str:
    code = match[0]
    joined = code.replace("-", "")
    if len(joined) > 40 or joined.isalpha() or joined.isdigit():
        return code
    return f"{code} {joined}"
