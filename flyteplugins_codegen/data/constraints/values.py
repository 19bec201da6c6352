"""The numbers, dates and lists of a constraint."""

from __future__ import annotations

import datetime as dt
import re

from flyteplugins_codegen.data.constraints.subjects import NotApplicableError
from flyteplugins_codegen.models.rules import Bound

_WHOLE = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)\Z", re.ASCII)
_REAL = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d*)\.?\d+(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?\Z", re.ASCII)
_WORDS = {"zero": 0, "one": 1}
# Words that no item of a list has: the sentence goes on. In small letters, for `IS` and `NOT` are codes.
_GOES_ON = re.compile(r"\b(?:must|should|shall|is|are|if|unless|when|where|while|except|but|not|only|with)\b|[.;:]\s")
_QUOTED_ITEM = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)'|`([^`]*)`)\s*(?:,\s*(?:and|or)\s|,|and\s|or\s|\Z)")


def read_bound(text: str) -> Bound | None:
    """A number or a date; None for anything else, such as one with a unit."""
    text = text.strip()
    if text.casefold() in _WORDS:
        return _WORDS[text.casefold()]
    if _WHOLE.match(text):
        return int(text.replace(",", ""))
    if _REAL.match(text):
        return float(text.replace(",", ""))
    return _read_date(text)


def _read_date(text: str) -> str | None:
    if not _DATE.match(text):
        return None
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        raise NotApplicableError(f"{text} is no date of the calendar") from None
    return text


def read_list(text: str) -> tuple[str, ...] | None:
    """The items of `A, B or C`, `[A, B]`, `'A', 'B and C'`; None where it cannot be told where one ends."""
    text = text.strip()
    if len(text) > 1 and text[0] + text[-1] in {"[]", "()", "{}"}:
        text = text[1:-1].strip()
    items = _quoted_items(text) if text[:1] in {'"', "'", "`"} else _plain_items(text)
    return tuple(dict.fromkeys(items)) if items and all(items) else None


def _quoted_items(text: str) -> list[str] | None:
    items, position = [], 0
    while position < len(text):
        found = _QUOTED_ITEM.match(text, position)
        if found is None:
            return None
        items.append(next(group for group in found.groups() if group is not None))
        position = found.end()
    return items


def _plain_items(text: str) -> list[str] | None:
    # `1,000` may be one number or two.
    if re.search(r"\d,\d{3}(?!\d)|[\"'`()\[\]{}]", text) or _GOES_ON.search(text):
        return None
    parts = [part.strip() for part in re.split(r",\s*(?:and|or)\s+|,", text)]
    last = re.split(r"\s+(?:and|or)\s+", parts.pop())
    return [*parts, *(part.strip() for part in last)]
