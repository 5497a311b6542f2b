"""What a question asks, apart from how its answer should be written.

"Which year had the most visits? Write the answer as an integer." asks for a year; the second
sentence would only bring pages about writing and answers, and "formatted as a list, for example
['Page 2', 'Page 4']" would point at pages nobody meant.
"""

from __future__ import annotations

import re

__all__ = ["content"]

# Numbers, values and results are not among them: "in Table 3, list the values" is a question.
_OBJECT = (
    r"(?:(?:the |your |its |all )*(?:final (?:results?|numbers?|values?)|(?:final )?answers?)\b"
    r"|(?:it|them) (?:as|in|to)\b)"
)
_VERB = (
    r"(?:write|give|provide|return|express|format|present|report|round|sort|order|list|state|put"
    r"|output|enumerate)"
)
_INSTRUCTION = re.compile(
    r"(?:^|(?<=[.?!,;:)]))\s*(?:and\s+|then\s+)?(?:please\s+|kindly\s+)?(?:"
    rf"{_VERB}\s+(?:down\s+)?{_OBJECT}"
    r"|(?:your|the|all)\s+(?:final\s+)?answers?\s+(?:should|must|needs?|has|is to|in|as|are to)\b"
    r"|answers?\s+(?:in|with|as|using|should|must|format|the question|to the question|only|just)\b"
    r"|round(?:ed|ing)?\s+(?:up|down|off|to|your|the)\b"
    r")[^?]*$",
    re.IGNORECASE,
)


def content(question: str) -> str:
    """Return the question without a trailing instruction on the form of its answer.

    A question that is nothing but such an instruction is returned as it is.

    >>> content("How many cars are shown? Please write the answer in int format.")
    'How many cars are shown?'
    """
    return _INSTRUCTION.sub("", question).strip() or question
