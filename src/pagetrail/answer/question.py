"""What a question asks for: the kind of answer, what it is about, and how it wants it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .kinds import AUXILIARY, is_computed, is_explained, is_visual, kind_of
from .terms import stem, stems, words

if TYPE_CHECKING:
    from .kinds import AnswerKind

__all__ = ["Question", "understand"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart.

    Attributes:
        text: The question without boilerplate and without wishes about the form of the answer.
        kind: What sort of answer is expected.
        terms: Stems of the words that carry meaning, first occurrence order.
        head: Stems of the noun that is asked for ("which *age group*", "how many *stores*").
        numbers: Numbers as they stand in the question, thousands separators dropped.
        names: Capitalised runs, acronyms and quoted strings, as written.
        options: The answers offered ("left or right"), as written; empty when none.
        extreme: ``max`` or ``min`` when a superlative or comparative asks for it.
        computed: The answer must be worked out (a difference, sum, average, ratio), not read.
        visual: The answer is seen (a colour, a count of pictures), not read.
        negated: The question asks for what is *not* so.
        explains: A sentence is wanted (how, why, what happens, what to do), not a name or value.
        unit: Symbol of the unit asked for ("°C", "MHz", "$"); empty when none is named.
    """

    text: str
    kind: AnswerKind
    terms: tuple[str, ...]
    head: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    extreme: Literal["max", "min"] | None = None
    computed: bool = False
    visual: bool = False
    negated: bool = False
    explains: bool = False
    unit: str = ""


_SOURCE = (
    r"(?:report|paper|document|article|chart|figure|table|slides?|brochure|survey|guide\w*|"
    r"text|manual|author|deck|study|graph|diagram|presentation|page)"
)
_LEAD = re.compile(
    rf"^(?:(?:according to|based on|as per|from|in|regarding|as (?:described|stated|shown) in)\s+"
    rf"(?:the|this|these|that)\s+{_SOURCE}s?\s*,\s*)+",
    re.IGNORECASE,
)
_TRAIL = re.compile(
    rf",?\s+(?:according to|based on|as per|in|as (?:described|stated|shown) in|from)\s+"
    rf"(?:the|this|these)\s+(?:\w+\s+)?{_SOURCE}s?(?=\s*[?.]?\s*$)",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"(?:^|(?<=[?.!])|(?<=,)|(?<=\n))\s*(?:"
    r"(?:please\s+)?(?:directly\s+)?an[sw]{2}er(?:ing)?\s+(?:in|with|as|to|'|\"|yes|by)|return\b|"
    r"write\s+(?:down\s+)?(?:the|your|it)|your answer|the (?:answer|output) should|"
    r"(?:please\s+)?give (?:me|your)|format (?:the|all)|round (?:your|the|to)|e\.g\.|"
    r"for example,?\s*\[|(?:please\s+)?(?:provide|list) (?:them|the answer|all of them)|"
    r"enumerate all of them|rounded? to|express (?:the|your))[^\n?]*",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"an[sw]{2}er\s+(?:with\s+)?['\"‘“]([^'\"’”]+)['\"’”]\s+or\s+['\"‘“]([^'\"’”]+)['\"’”]",
    re.IGNORECASE,
)
_EITHER = re.compile(
    r"(?:[?,:]|\b(?:greater|larger|higher|more|lower|less|smaller|bigger|longer|better|on)\b)\s+"
    r"(?:the\s+|either\s+)?([^,?.:]{2,60}?),?\s+or\s+(?:the\s+)?([^,?.:]{2,60}?)\s*(?:\?|$|,)",
    re.IGNORECASE,
)
_WH = re.compile(
    r"\b(what|which|who|whom|whose|where|when|why|how|list|name|enumerate|mention|describe|"
    r"define)\b",
    re.IGNORECASE,
)
_MAX = re.compile(
    r"\b(?:most|highest|largest|greatest|biggest|maximum|max|best|longest|majority|top|greater|"
    r"main|principal|primary|chief|leading|commonest|"
    r"larger|"
    r"higher|bigger|latest|last)\b",
    re.IGNORECASE,
)
_MIN = re.compile(
    r"\b(?:least|lowest|smallest|fewest|minimum|min|worst|shortest|lower|smaller|fewer|less|"
    r"earliest)\b",
    re.IGNORECASE,
)
_OPTION_WORDS = 6
_SIGHT = 2000
_UNITS = {
    "°C": r"\b(?:degrees? )?celsius\b|°\s?c\b",
    "°F": r"\bfahrenheit\b|°\s?f\b",
    "MHz": r"\bmhz\b|\bmegahertz\b",
    "mA": r"\bmilliamp\w*|\bin ma\b",
    "ms": r"\bmilliseconds?\b",
    "cm": r"\bcm\b|\bcentimet\w+",
    "mm": r"\bmm\b|\bmillimet\w+",
    "kg": r"\bkg\b|\bkilograms?\b",
    "$": r"\bdollars?\b|\busd\b|\$",
    "second": r"\bseconds\b",
    "minute": r"\bminutes\b",
    "hour": r"\bhours\b",
    "day": r"\bhow many days\b",
    "week": r"\bhow many weeks\b",
    "month": r"\bhow many months\b",
    "year": r"\bhow many years\b|\bhow old\b",
}
_NOT = re.compile(r"\b(?:not|n't|except|without|never|isn't|aren't|doesn't|don't)\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“‘']([^\"”’']{2,80})[\"”’'](?=\W|$)")
_NAME = re.compile(
    r"\b(?:[A-Z][\w&.'’-]*[\w]|[A-Z])"
    r"(?:\s+(?:of|and|the|for|de)?\s*(?:[A-Z][\w&.'’-]*\w|[A-Z]\b|\d+))*"
)
_BOUND = r"of\b|in\b|for\b|on\b|to\b|from\b|that\b|with\b|by\b|at\b|the\b|who\b|which\b|when\b"
_HEAD = re.compile(
    r"\b(?:what|which|whose|how many|how much|number of|names? of|"
    r"list (?:all )?(?:of )?(?:the )?)\s+"
    rf"((?:(?!{AUXILIARY}\b|{_BOUND}|involves?\b|gives?\b|uses?\b|represents?\b|go\b|costs?\b)"
    r"[\w'&/-]+\s*){1,4})",
    re.IGNORECASE,
)
_THE_HEAD = re.compile(
    rf"\b(?:what|who|which)(?:'s|\s+{AUXILIARY})\s+(?:the\s+|an?\s+)?"
    rf"((?:(?!{_BOUND}|according\b)[\w'&/-]+\s*){{1,4}})",
    re.IGNORECASE,
)


def understand(text: str) -> Question:
    """Take a question apart; never fails, an unclear one asks for a phrase.

    Only the first 2,000 characters are looked at.
    """
    text = text[:_SIGHT]
    offered = _OFFER.search(text)
    plain = " ".join(_FORM.sub(" ", text).split())
    plain = _TRAIL.sub("", _LEAD.sub("", plain)).strip(" ,") or " ".join(text.split())
    if len(stems(plain)) == 0:
        plain = " ".join(text.split())
    options = _options(plain, offered)
    kind = kind_of(plain, text, options)
    if kind == "yes_no":
        options = ()
    head = _HEAD.search(plain) or _THE_HEAD.search(plain)
    return Question(
        text=plain,
        kind=kind,
        terms=tuple(dict.fromkeys(stems(plain))),
        head=tuple(dict.fromkeys(stems(head[1]))) if head else (),
        numbers=tuple(dict.fromkeys(w.rstrip("%") for w in words(plain) if w[0].isdigit())),
        names=_names(plain),
        options=options,
        extreme="max" if _MAX.search(plain) else "min" if _MIN.search(plain) else None,
        computed=is_computed(plain),
        visual=is_visual(plain),
        negated=bool(_NOT.search(plain)),
        explains=is_explained(plain),
        unit=next((u for u, p in _UNITS.items() if re.search(p, plain, re.IGNORECASE)), ""),
    )


def _options(plain: str, offered: re.Match[str] | None) -> tuple[str, ...]:
    if offered:
        return offered[1].strip(), offered[2].strip()
    if not _WH.search(plain) and not re.search(r"\bor\b.*\?", plain):
        return ()
    either = _EITHER.search(plain)
    if either is None or not re.search(
        r"\b(?:which|what|whether|is|are|who)\b", plain, re.IGNORECASE
    ):
        return ()
    pair = either[1].strip(), either[2].strip()
    return pair if all(len(option.split()) <= _OPTION_WORDS for option in pair) else ()


def _names(plain: str) -> tuple[str, ...]:
    found = [m.strip() for m in _QUOTED.findall(plain)]
    for match in _NAME.finditer(plain):
        name = match[0].strip()
        first_word = match.start() == 0 or plain[: match.start()].rstrip()[-1:] in ".?!"
        # The first word of a sentence is capitalised anyway; drop it unless more of the run is.
        if first_word and " " in name and stem(name.split()[0].casefold()) not in stems(name):
            name = name.split(" ", 1)[1]
        elif first_word and not name.isupper():
            continue
        if stems(name) and not any(name in quoted for quoted in found):
            found.append(name)
    return tuple(dict.fromkeys(found))
