"""What a question asks for: the kind of answer, what it is about, and how it wants it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .terms import stem, stems, words

__all__ = ["AnswerKind", "Question", "understand"]

AnswerKind = Literal[
    "choice",
    "count",
    "date",
    "definition",
    "list",
    "money",
    "name",
    "number",
    "percentage",
    "phrase",
    "place",
    "pointer",
    "time",
    "yes_no",
    "year",
]


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
    r"(?:^|(?<=[?.!])|(?<=,)|(?<=\n))\s*(?:(?:please\s+)?(?:directly\s+)?an[sw]{2}er(?:ing)?\s+(?:in|with|as|to|"
    r"'|\"|yes|by)|return\b|write\s+(?:down\s+)?(?:the|your|it)|your answer|the (?:answer|output) should|"
    r"(?:please\s+)?give (?:me|your)|format (?:the|all)|round (?:your|the|to)|e\.g\.|for example,?\s*\[|"
    r"(?:please\s+)?(?:provide|list) (?:them|the answer|all of them)|enumerate all of them|"
    r"rounded? to|express (?:the|your))[^\n?]*",
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
_AUX = r"(?:is|are|was|were|do|does|did|can|could|should|has|have|had|will|would|must|may|might)"
_YES_NO = re.compile(rf"(?:^|,\s+){_AUX}(?:n't|\s+not)?\s+(?!not\b)\w+[^?]*\?*$", re.IGNORECASE)
_WH = re.compile(
    r"\b(what|which|who|whom|whose|where|when|why|how|list|name|enumerate|mention|describe|define)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"\bhow\s+(?:many|much)\b|\b(?:what|which)\s+(?:is|was|are|were)\s+the\s+(?:total\s+)?number\s+of\b|"
    r"\bnumber of\b.*\?",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"\b(?:percent(?:age)?s?|proportion|per cent)\b|%", re.IGNORECASE)
_MONEY = re.compile(
    r"[$€£¥₹]|\b(?:usd|dollars?|euros?|rupees?|revenues?|price|costs?|paid|pay|spend|spent|fee|fees|salary|"
    r"expenses?|profit|income|budget|dividends?|goodwill|liabilit\w+|assets|equity|debt|earnings|sales|expenditure|cash)\b",
    re.IGNORECASE,
)
_NUMERIC_FORM = re.compile(
    r"\b(?:an?\s+(?:appropriate\s+)?integer|int(?:eger)? format|float|decimals?|nearest|answer in (?:\w+ )?(?:millions?|"
    r"thousands?|billions?)|round(?:ed)?)\b",
    re.IGNORECASE,
)
_COMPUTED = re.compile(
    r"\b(?:differences?|differ|how (?:much|many) (?:more|less|higher|lower|fewer|greater|larger)|"
    r"what (?:higher|lower|multiple)|sum|combined|collectively|altogether|averaged?|mean value|ratio|growth rate|roa|roe|cagr|ebitda|"
    r"times (?:more|higher|larger)|percent(?:age)? (?:change|increase|decrease|drop)|absolute percent\w*|"
    r"by (?:how much|what percent\w*)|in total|more than (?:in )?\d{4}|margins? change|drop(?:ped)?)\b",
    re.IGNORECASE,
)
_VISUAL = re.compile(
    r"\b(?:colou?rs?|colou?red|red|blue|green|yellow|orange|purple|grey|gray|pink|brown|black|white(?! house)|"
    r"logos?|icons?|pictures?|photos?|images?|wearing|arrows?|shapes?|highlighted|drawn|faces?|"
    r"charts|figures|graphs|tables|plots|diagrams|bars?|screenshots?|bold|font|left|right|top|bottom|corner)\b",
    re.IGNORECASE,
)
_MAX = re.compile(
    r"\b(?:most|highest|largest|greatest|biggest|maximum|max|best|longest|majority|top|greater|larger|higher|bigger|latest|last)\b",
    re.IGNORECASE,
)
_MIN = re.compile(
    r"\b(?:least|lowest|smallest|fewest|minimum|min|worst|shortest|lower|smaller|fewer|less|earliest)\b",
    re.IGNORECASE,
)
_EXPLAINS = re.compile(
    r"\b(?:how (?!many|much|long|old|far|often|large|big|high)|why|what (?:happens?|should|must|can|could|will|would|do|does)"
    r"|what (?:is|are|was|were) (?:the |an? |one of the )?(?:\w+ )?(?:purpose|function|reason|benefit|effect|impact|role|"
    r"difference|procedure|process|consequence|recommend\w*|precautions?|steps?|instructions?|actions?|implications?)|"
    r"what (?:steps?|precautions?|actions?|instructions?|procedure|measures?)|under what|describe|define|explain|when can|"
    r"what if)\b",
    re.IGNORECASE,
)
_OPTION_WORDS = 6
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
    r"\b(?:[A-Z][\w&.'’-]*[\w]|[A-Z])(?:\s+(?:of|and|the|for|de)?\s*(?:[A-Z][\w&.'’-]*\w|[A-Z]\b|\d+))*"
)
_HEAD = re.compile(
    r"\b(?:what|which|whose|how many|how much|number of|names? of|list (?:all )?(?:of )?(?:the )?)\s+"
    rf"((?:(?!{_AUX}\b|of\b|in\b|for\b|on\b|to\b|from\b|that\b|with\b|by\b|at\b|the\b|who\b|which\b|when\b|involves?\b|"
    r"gives?\b|uses?\b|represents?\b|go\b|costs?\b)[\w'&/-]+\s*){1,4})",
    re.IGNORECASE,
)
_THE_HEAD = re.compile(
    rf"\b(?:what|who|which)(?:'s|\s+{_AUX})\s+(?:the\s+|an?\s+)?((?:(?!of\b|in\b|for\b|on\b|to\b|from\b|that\b|with\b|by\b|at\b|"
    r"the\b|who\b|which\b|when\b|according\b)[\w'&/-]+\s*){1,4})",
    re.IGNORECASE,
)


def understand(text: str) -> Question:
    """Take a question apart; never fails, an unclear one asks for a phrase."""
    offered = _OFFER.search(text)
    plain = " ".join(_FORM.sub(" ", text).split())
    plain = _TRAIL.sub("", _LEAD.sub("", plain)).strip(" ,") or " ".join(text.split())
    if len(stems(plain)) == 0:
        plain = " ".join(text.split())
    options = _options(plain, offered)
    kind = _kind(plain, text, options)
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
        computed=bool(_COMPUTED.search(plain)),
        visual=bool(_VISUAL.search(plain)),
        negated=bool(_NOT.search(plain)),
        explains=bool(_EXPLAINS.search(plain)),
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


def _kind(plain: str, whole: str, options: tuple[str, ...]) -> AnswerKind:
    lower = plain.casefold()
    if {o.casefold() for o in options} == {"yes", "no"}:
        return "yes_no"
    if options:
        return "choice"
    asks = _WH.search(lower)
    starts_aux = re.match(rf"{_AUX}\b", lower) is not None
    if (
        starts_aux
        or (asks is None and re.search(r"\.$", plain))
        or (asks is None and _YES_NO.search(lower))
    ):
        return "yes_no"
    return _quantity(lower, whole) or _thing(lower)


def _quantity(lower: str, whole: str) -> AnswerKind | None:
    many = _HOW_MANY.search(lower)
    listed = re.match(r"(?:list|enumerate|name)\b", lower) or re.search(
        r"\blist\b.{0,30}\b(?:format|all|of)\b", whole.casefold()
    )
    if listed and not re.match(r"how (?:many|much)", lower):
        return "list"
    if re.match(r"(?:in |from |by )?(?:which|what) year\b", lower) or re.search(
        r"\bwhat is the (?:\w+ )?year\b", lower
    ):
        return "year"
    # A percentage that only qualifies something else ("which group has the highest percentage").
    asks_which = re.match(r"(?:\w+,? )*?(?:which|who|where)\b", lower) and not many
    if _PERCENT.search(lower) and not asks_which:
        return "percentage"
    if re.search(
        r"\bhow much (?:time|longer)\b|\bhow long\b|\bhow old\b|\bhow far\b|\bhow (?:tall|high|heavy|large|big|often)\b",
        lower,
    ):
        return "number"
    if re.search(r"\bhow many\b|\bnumber of\b", lower) and many:
        return "count"
    if re.search(r"\bhow much\b", lower) or (_NUMERIC_FORM.search(whole) and not asks_which):
        return "money" if _MONEY.search(lower) else "number"
    if re.match(
        r"(?:what|how)\b.*\b(?:population|ratio|rate|score|value|total|minimum|maximum|average|amount|voltage|frequency|"
        r"temperature|weight|length|height|width|distance|size|performance|duration|capacity|speed)\b",
        lower,
    ):
        return "number"
    return None


def _thing(lower: str) -> AnswerKind:
    if re.search(r"\bwhat time\b|\bat what (?:hour|time)\b", lower):
        return "time"
    if re.search(
        r"\bwhen\b(?! can)|\b(?:what|which)(?: is| was| are)?(?: the)? (?:\w+ ){0,3}(?:date|month|day|deadline)\b",
        lower,
    ):
        return (
            "date"
            if re.search(
                r"^(?:\W*when (?:is|was|were|are|did|does|do|will|has)|.*\b(?:date|month|day|deadline))",
                lower,
            )
            else "phrase"
        )
    if re.search(
        r"\b(?:on |in )?(?:which|what) (?:pages?|figures?|tables?|sections?|slides?|chapters?)\b",
        lower,
    ):
        return "pointer"
    plural = re.search(r"\b(?:what|which)\s+(?:are|were)\b", lower) or re.search(
        r"\bwhich (?:\w+ ){0,2}\w+s (?:are|were|do|have|use|does)\b", lower
    )
    if plural:
        return "list"
    if re.search(r"\b(?:who|whom|whose)\b", lower):
        return "name"
    if re.search(
        r"\bwhere\b|\bwhich (?:city|country|state|county|place|continent|region)\b", lower
    ):
        return "place"
    if re.search(
        r"\b(?:define[sd]?|definition of|what does .* (?:mean|stand for)|meaning of)\b", lower
    ):
        return "definition"
    if re.search(
        r"\b(?:what|which)(?: is| was)? (?:the )?(?:\w+ ){0,2}(?:company|organi[sz]ation|agency|person|author|presenter|"
        r"title|name|model|baseline|method|app|product|brand)\b",
        lower,
    ):
        return "name"
    return "phrase"


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
