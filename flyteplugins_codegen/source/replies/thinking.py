"""What a reply holds besides its answer: the model's thinking before it, marks of its template around it."""

from __future__ import annotations

import re

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_THINKING = re.compile(rf"\s*<({_NAMES})>", re.IGNORECASE)
_END_ALONE = re.compile(r"^[ \t]*</(?:think|thinking)>", re.MULTILINE)
_MARK = r"(?:<\|[\w-]{1,40}\|>|</?s>|<eos>)"
_MARKS_BEFORE = re.compile(rf"\s*(?:{_MARK}\s*)+")
_MARK_AT_END = re.compile(rf"{_MARK}\Z")
_LONGEST_MARK = 50


def answer_of(text: str) -> str:
    """The text with its thinking and the template's marks cut out, every line left at its number.

    A text that is nothing else comes back as it is. The beginning of the thinking may be missing, as it is where the
    template has written it.
    """
    body = _without_marks(text)
    opening = _THINKING.match(body)
    if opening:
        end = body.find(f"</{opening[1]}>", opening.end())
        start = end + len(opening[1]) + 3 if end >= 0 else 0
    else:
        closing = _END_ALONE.search(body)
        start = closing.end() if closing else 0
    return _cut(body, start) if body[start:].strip() else body


def _without_marks(text: str) -> str:
    marks = _MARKS_BEFORE.match(text)
    text = _cut(text, marks.end()) if marks else text
    end = len(text.rstrip())
    while mark := _MARK_AT_END.search(text, max(0, end - _LONGEST_MARK), end):
        text = text[: mark.start()]
        end = len(text.rstrip())
    return text


def _cut(text: str, start: int) -> str:
    return "\n" * text.count("\n", 0, start) + text[start:]
