"""What kind of answer a question expects, told by its words."""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["AUXILIARY", "AnswerKind", "is_computed", "is_explained", "is_visual", "kind_of"]

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

AUXILIARY = (
    r"(?:is|are|was|were|do|does|did|can|could|should|has|have|had|will|would|must|may|might)"
)


def _one_of(*texts: str) -> str:
    """Return a pattern for any of the alternatives in the texts, which spaces separate."""
    return "(?:" + "|".join(word for text in texts for word in text.split()) + ")"


_ASKS = _one_of("what which who whom whose where when why how list name enumerate mention describe")
_ORDERS = _one_of("define repeat tell give show")
_CLAIM = re.compile(
    rf"^{AUXILIARY}\b"
    rf"|^(?!.*\b{_ASKS}\b)(?!{_ORDERS}\b)"
    rf"(?:.*\.$|(?:.*,\s+)?{AUXILIARY}(?:n't|\s+not)?\s+(?!not\b)\w+[^?]*\?*$)",
    re.IGNORECASE | re.DOTALL,
)
_LISTED = re.compile(r"^(?:list|enumerate|name)\b|\blist\b.{0,30}\b(?:format|all|of)\b")
_YEAR = re.compile(r"^(?:in |from |by )?(?:which|what) year\b|\bwhat is the (?:\w+ )?year\b")
_WHICH = re.compile(r"^(?:[^\s]+ ){0,12}?(?:which|who|where)\b")
_PERCENT = re.compile(r"\b(?:percent(?:age)?s?|proportion|per cent)\b|%")
_EXTENT = re.compile(
    r"\bhow much (?:time|longer)\b|\bhow (?:long|old|far|tall|high|heavy|large|big|often)\b"
)
_COUNT = re.compile(r"\bhow many\b|\bnumber of\b.*\?|\b(?:what|which) .*\bnumber of\b")
_MONEY = re.compile(
    r"[$€£¥₹]|\b"
    + _one_of(
        "usd dollars? euros? rupees? revenues? price costs? paid pay spend spent fees? salary",
        r"expenses? profit income budget dividends? goodwill liabilit(?:y|ies) assets equity debt",
        "earnings sales expenditure cash",
    )
    + r"\b"
)
_AMOUNT = re.compile(
    r"^(?:what|which) (?:is|was|are|were) (?:the )?(?:[^\s]+ ){0,3}?"
    r"(?:revenues?|prices?|costs?|fees?|salary|expenses?|profit|income|budget|dividends?|earnings|"
    r"sales|expenditure|assets|liabilit(?:y|ies)|equity|debt|surplus|deficit)\b"
    r"|^what (?:does|do|did|would|will)\b.*\bcosts?\W*$"
)
_IN_UNITS = re.compile(
    r"^what (?:is|was|are|were) .*\bin "
    + _one_of(
        "milliseconds nanoseconds seconds minutes hours days weeks months years percent grams",
        "kilograms metres meters kilometres kilometers miles feet inches litres liters degrees",
        "volts watts amperes tonnes tons pounds dollars euros",
    )
    + r"\W*$"
)
_NUMERIC_FORM = re.compile(
    r"\b(?:an? (?:appropriate )?integer|int(?:eger)? format|float|decimals?|nearest|round(?:ed)?|"
    r"answer in (?:\w+ )?(?:millions?|thousands?|billions?))\b",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"^(?:what|how)\b.*\b"
    + _one_of(
        "population ratio rate score value total minimum maximum average amount voltage",
        "frequency temperature weight length height width distance size performance duration",
        "capacity speed",
    )
    + r"\b"
)
_THINGS: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = (
    ("time", re.compile(r"\bwhat time\b|\bat what (?:hour|time)\b")),
    (
        "date",
        re.compile(
            r"^\W*when (?:is|was|were|are|did|does|do|will|has)\b"
            r"|\b(?:what|which)(?: is| was| are)?(?: the)? (?:(?!does |do |did )\w+ ){0,3}"
            r"(?:date|month|day|deadline)\b"
        ),
    ),
    (
        "pointer",
        re.compile(r"\b(?:which|what) (?:pages?|figures?|tables?|sections?|slides?|chapters?)\b"),
    ),
    (
        "list",
        re.compile(
            r"\b(?:what|which)\s+(?:are|were)\b"
            r"|\bwhich (?:\w+ ){0,2}\w+s (?:are|were|do|have|use|does)\b"
        ),
    ),
    ("name", re.compile(r"\b(?:who|whom|whose)\b")),
    ("place", re.compile(r"\bwhere\b|\bwhich (?:city|country|state|county|continent|region)\b")),
    (
        "definition",
        re.compile(r"\b(?:defined?s?|definition of|what does .* (?:mean|stand for)|meaning of)\b"),
    ),
    (
        "name",
        re.compile(
            r"\b(?:what|which)(?: is| was)? (?:the )?(?:\w+ ){0,2}(?:company|organi[sz]ation|"
            r"agency|"
            r"person|author|presenter|title|name|model|baseline|method|app|product|brand)\b"
        ),
    ),
)
_COMPUTED = re.compile(
    r"\b(?:differences?|differ|how (?:much|many) (?:more|less|higher|lower|fewer|greater|larger)|"
    r"what (?:higher|lower|multiple)|sum|combined|collectively|altogether|averaged?|mean value|"
    r"ratio|growth rate|roa|roe|cagr|ebitda|times (?:more|higher|larger)|absolute percent\w*|"
    r"percent(?:age)? (?:change|increase|decrease|drop)|by (?:how much|what percent\w*)|in total|"
    r"more than (?:in )?\d{4}|margins? change|drop(?:ped)?)\b",
    re.IGNORECASE,
)
_VISUAL = re.compile(
    r"\b(?:colou?rs?|colou?red|red|blue|green|yellow|orange|purple|grey|gray|pink|brown|black|"
    r"white(?! house)|logos?|icons?|pictures?|photos?|images?|wearing|arrows?|shapes?|highlighted|"
    r"drawn|faces?|charts|figures|graphs|tables|plots|diagrams|bars?|screenshots?|bold|font|left|"
    r"right|top|bottom|corner)\b",
    re.IGNORECASE,
)
_EXPLAINED = re.compile(
    r"\b(?:how (?!many|much|long|old|far|often|large|big|high)|why|describe|define|explain|"
    r"when can|"
    r"what (?:if|happens?|should|must|can|could|will|would|do|does)|under what|"
    r"what (?:is|are|was|were) (?:the |an? |one of the )?(?:\w+ )?(?:purpose|function|reason|"
    r"benefit|"
    r"effect|impact|role|difference|procedure|process|consequence|recommend\w*|precautions?|steps?|"
    r"instructions?|actions?|implications?)|"
    r"what (?:steps?|precautions?|actions?|instructions?|procedure|measures?))\b",
    re.IGNORECASE,
)


def kind_of(plain: str, whole: str, options: tuple[str, ...]) -> AnswerKind:
    """Return the kind of answer a question expects.

    Args:
        plain: The question without wishes about the form of the answer.
        whole: The question as it was put.
        options: The answers it offers.
    """
    lower = plain.casefold()
    if {o.casefold() for o in options} == {"yes", "no"}:
        return "yes_no"
    if options:
        return "choice"
    if _CLAIM.search(lower):
        return "yes_no"
    quantity = _quantity(lower, whole)
    if quantity:
        return quantity
    for kind, pattern in _THINGS:
        if pattern.search(lower):
            return kind
    return "phrase"


def _quantity(lower: str, whole: str) -> AnswerKind | None:
    asks_how_many = re.match(r"how (?:many|much)\b", lower) is not None
    if not asks_how_many and (_LISTED.search(lower) or _LISTED.search(whole.casefold())):
        return "list"
    if _YEAR.search(lower):
        return "year"
    # A quantity that only qualifies something else: "which group has the highest percentage".
    counted = _COUNT.search(lower) or re.search(r"\bhow much\b", lower)
    qualifies = _WHICH.search(lower) and not counted
    if _PERCENT.search(lower) and not qualifies:
        return "percentage"
    if _EXTENT.search(lower):
        return "number"
    if _COUNT.search(lower):
        return "count"
    if re.search(r"\bhow much\b", lower) or (_NUMERIC_FORM.search(whole) and not qualifies):
        return "money" if _MONEY.search(lower) else "number"
    if _IN_UNITS.search(lower):
        return "number"
    if _AMOUNT.search(lower):
        return "money"
    return "number" if _MEASURE.search(lower) else None


def is_computed(plain: str) -> bool:
    """Whether the answer has to be worked out from several values."""
    return _COMPUTED.search(plain) is not None


def is_visual(plain: str) -> bool:
    """Whether the answer is seen rather than read."""
    return _VISUAL.search(plain) is not None


def is_explained(plain: str) -> bool:
    """Whether a sentence is wanted rather than a name or value."""
    return _EXPLAINED.search(plain) is not None
