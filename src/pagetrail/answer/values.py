"""Values that stand in a text: numbers with units, percentages, money, dates, years, names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Value", "ValueKind", "codes_in", "names_in", "values_in"]

ValueKind = Literal[
    "percentage",
    "money",
    "date",
    "year",
    "time",
    "number",
    "name",
    "code",
    "email",
    "link",
    "phone",
]


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text; ``text[start:end]`` of the text searched is ``shown``."""

    kind: ValueKind
    shown: str
    start: int
    end: int


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_SCALE = (
    r"(?:\s?(?:trillion|billion|million|thousand|hundred|lakhs?|lacs|crores?|bn|mn|"
    r"[MBK](?![\w]))\b)?"
)
_UNIT = (
    r"(?:\s?(?:°\s?[CF]?|[kMG]?Hz|[mµun]?s|[mck]?m|[km]?g|m?l|[mk]?V|[mµ]?A|[mk]?W|kWh|"
    r"[KMGT]i?B|dpi|px|"
    r"(?:second|minute|hour|day|week|month|year|inch|inche|feet|mile|meter|metre|gram|kilogram|"
    r"liter|"
    r"litre|degree|pixel|unit|point|credit)s?)(?![\w/]))?"
)
_SPELT = (
    r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|seventeen|eighteen|nineteen|twenty)"
)
_VALUE = re.compile(
    rf"""
    (?P<date>
        \b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:\s*,?\s*\d{{4}})?\b
      | \b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:\s*,?\s*\d{{4}})?\b
      | \b{_MONTH}\s*,?\s*\d{{4}}\b
      | \b\d{{4}}-\d{{2}}(?:-\d{{2}})?\b
      | \b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{2,4}}\b )
  | (?P<time>\b\d{{1,2}}(?::\d{{2}})\s*(?:[ap]\.?m\.?)?|\b\d{{1,2}}\s*[ap]\.?m\b\.?)
  | (?P<percentage>[-−+]?(?:{_NUMBER})\s?(?:%|percent\b|per\ cent\b|percentage\ points?\b))
  | (?P<money>[-−(]?\s?(?:US|C|A|S|HK)?[$€£¥₹]\s?(?:{_NUMBER}){_SCALE}
      | \b(?:USD|EUR|GBP|Rs\.?|INR|SGD|RMB)\s?(?:{_NUMBER}){_SCALE}
      | (?:{_NUMBER}){_SCALE}\s?(?:USD|dollars|euros|rupees)\b)
  | (?P<year>(?<![\w.,$/-])(?:1[89]|20)\d{{2}}(?![\w%]|[.,]\d))
  | (?P<number>(?<![\w.,/])(?<!\d[-–])[-−–+±]?(?:{_NUMBER}){_SCALE}{_UNIT}(?![\w]*\d)
      | \b{_SPELT}\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CODE = re.compile(
    r"""
    (?P<email>\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+)
  | (?P<link>\bhttps?://[^\s<>"]{3,300}[^\s<>".,;)]|\bwww\.[^\s<>"]{3,300}[^\s<>".,;)])
  | (?P<phone>(?<![\w.,])\+?\(?\d{2,5}\)?(?:[\s-]\(?\d{2,7}\)?){1,4}(?![\w.,]\d|%))
  | (?P<code>\b[A-Z]{1,6}[-.]?\d[\w.-]{0,20}\b|\b\d{1,10}[A-Z][\w.-]{0,20}\b|\b\d{4,10}-\d{2,4}\b)
    """,
    re.VERBOSE,
)
_NAME = re.compile(
    r"(?:(?:Mr|Mrs|Ms|Dr|Prof)\.?\s+)?"
    r"(?:[^\W\d_a-zà-öø-ÿ][\w&.'’+-]*\w|[A-Z]\b\.?)"
    r"(?:(?:\s+(?:of(?:\s+the)?|for|de|von|van|&))?\s+(?:[^\W\d_a-zà-öø-ÿ][\w&.'’+-]*\w|"
    r"[A-Z]\b\.?|\d+\b))*"
)


def values_in(text: str) -> Iterator[Value]:
    """Yield the values of a text in order, each character in at most one of them."""
    for match in _VALUE.finditer(text):
        kind = match.lastgroup
        shown = match[0].strip()
        start = match.start() + match[0].find(shown)
        if shown.startswith("(") and ")" not in shown:
            shown, start = shown[1:].lstrip(), match.end() - len(shown[1:].lstrip())
        yield Value(kind, shown, start, start + len(shown))  # type: ignore[arg-type]


def codes_in(text: str) -> Iterator[Value]:
    """Yield what identifies or reaches something: codes, emails, web links, telephone numbers."""
    for match in _CODE.finditer(text):
        yield Value(match.lastgroup, match[0], match.start(), match.end())  # type: ignore[arg-type]


def names_in(text: str) -> Iterator[Value]:
    """Yield the capitalised runs of a text: people, organisations, places, products, titles."""
    for match in _NAME.finditer(text):
        shown = match[0].rstrip(".") if not re.search(r"\b[A-Z]\.$", match[0]) else match[0]
        yield Value("name", shown, match.start(), match.start() + len(shown))
