"""Lists of values, and patterns in words: `A, B or C`, `low/medium/high`, `starts with "A-"`, `two capital letters`.

An unquoted word is a value only if the sample gives reason to believe it: `valid`, `the future` and `in Europe` are
words of the sentence.
"""

from __future__ import annotations

import re

from flyteplugins_codegen.data.constraints.bounds import read_numeral
from flyteplugins_codegen.data.constraints.facts import ColumnFacts
from flyteplugins_codegen.data.constraints.terms import Subject, read_list

# Items that mean more than themselves.
_OPEN_ITEMS = frozenset(
    "other others etc etc. ... any anything none null nulls empty blank missing similar unknown unset na n/a so".split()  # noqa: SIM905 - a list
)
_ITEM = re.compile(r"[\w.+\-&/]+")
_BOOLEAN_VALUES = frozenset({"true", "false", "yes", "no", "y", "n", "t", "f", "0", "1"})


def read_values(text: str, subject: Subject, *, least: int = 1) -> tuple[str, ...] | None:
    """Return the values in the text, at least `least`; None unless all are surely values of the column."""
    text = text.strip()
    quoted = re.fullmatch(r"[\[({]?\s*([\"'`]).*\1\s*[\])}]?", text) is not None
    items = _split(text, subject.facts)
    if not items or len(items) < least:
        return None
    if subject.facts.kind == "number":
        return _numbers(items, subject.facts)
    if subject.facts.kind in {"time", "clock"} or any(item.casefold() in _OPEN_ITEMS for item in items):
        return None
    return items if quoted or _are_values(items, text, subject.facts) else None


def _split(text: str, facts: ColumnFacts) -> tuple[str, ...] | None:
    is_bracketed = len(text) > 1 and text[0] + text[-1] in {"[]", "()", "{}"}
    if re.search(r"\d,\d", text) and not (is_bracketed or re.fullmatch(r"\d{1,2}(?:,\d{1,2}){2,}", text)):
        return None
    if is_bracketed and facts.decimal_mark == "," and re.search(r"\d,\d", text):
        return None
    inner = text[1:-1].strip() if is_bracketed else text
    for sign in ("/", "|", ";"):
        parts = [part.strip() for part in inner.split(sign)]
        # A value may hold the sign itself, as a path does.
        if len(parts) > 1 and inner not in facts.values and all(re.fullmatch(r"[\w.+]+", part) for part in parts):
            return tuple(dict.fromkeys(parts))
    return read_list(", ".join(part.strip() for part in inner.split(",")) if is_bracketed else text)


def _numbers(items: tuple[str, ...], facts: ColumnFacts) -> tuple[str, ...] | None:
    numbers = []
    for item in items:
        match = re.fullmatch(r"([+-]?)(\d[\d.]*)", item)
        number = read_numeral(match[2], facts) if match else None
        if match is None or number is None:
            return None
        numbers.append(item)
    return tuple(numbers)


def _are_values(items: tuple[str, ...], text: str, facts: ColumnFacts) -> bool:
    if facts.kind == "unknown":
        # Without a sample, a list of several words.
        is_listed = len(items) > 1 or text[:1] in "[({"
        return is_listed and all(re.fullmatch(r"[\w.+\-]+", item) for item in items)
    seen = [item for item in items if item in facts.values]
    if facts.kind == "boolean":
        return len(seen) == len(items) or (bool(seen) and {item.casefold() for item in items} <= _BOOLEAN_VALUES)
    forms = {_form(value) for value in seen}
    return bool(seen) and all(item in seen or (_ITEM.fullmatch(item) and _form(item) in forms) for item in items)


def _form(word: str) -> str:
    """The case of a word's letters, by which codes are told from words of the sentence."""
    letters = "".join(filter(str.isalpha, word))
    return "upper" if letters.isupper() else "lower" if letters.islower() else "capital" if letters else "none"


# --- patterns in words ---

_FEW = "one|two|three|four|five|six|seven|eight|nine|ten"
_COUNTS = {word: number for number, word in enumerate(_FEW.split("|"), 1)}
_COUNT = rf"(?P<count>\d{{1,3}}|{_FEW})"
_CHARACTERS = (
    (r"digits?", "[0-9]"),
    (r"(?:upper-?\s?case|capital|upper)(?: \w+)? letters?|capitals", "[A-Z]"),
    (r"(?:lower-?\s?case|small) letters?", "[a-z]"),
    (r"letters?", "[A-Za-z]"),
)
_DATE_PARTS = {"YYYY": "[0-9]{4}", "MM": "[0-9]{2}", "DD": "[0-9]{2}"}
_WRITTEN_TYPES = frozenset({"string", "large_string", "date32[day]"})
_FIXES = (
    (r"(?:starts?|begins?|starting|beginning) with", r"{}[\s\S]*", r"(?!{})[\s\S]*"),
    (r"(?:ends?|ending) (?:with|in)", r"[\s\S]*{}", r"(?![\s\S]*{}\Z)[\s\S]*"),
    (r"contains?|includes?", r"[\s\S]*{}[\s\S]*", r"(?![\s\S]*{})[\s\S]*"),
)


def read_pattern_in_words(words: str, subject: Subject, *, is_negated: bool) -> str | None:
    """Return the regular expression that the words describe; None for words that are not known.

    `is_negated` is for words such as `start with 0`, after `must not`.
    """
    # Times of typed files have no text of their own.
    if subject.facts.kind not in {"text", "unknown", "number"} and subject.facts.arrow_type not in _WRITTEN_TYPES:
        return None
    for verb, stated, negated in _FIXES:
        match = re.fullmatch(rf"(?:{verb}) (.+)", words, re.IGNORECASE)
        fix = _fix(match[1], verb, subject) if match else None
        if fix is not None:
            return (negated if is_negated else stated).format(re.escape(fix))
    return None if is_negated else _counted(words)


def _fix(written: str, verb: str, subject: Subject) -> str | None:
    quoted = re.fullmatch(r"([\"'`])(.+)\1", written)
    if quoted is not None and quoted[1] not in quoted[2]:
        return quoted[2]
    sign = re.fullmatch(r"(?:an? |the )?([^\w\s])(?: sign| character)?", written)
    if sign is not None:
        return sign[1]
    if re.fullmatch(r"(?:any )?(?:spaces?|blanks?)", written) and "contain" in verb:
        return " "
    if "contain" in verb or re.search(r"\s", written):
        return None
    # One character, a path, or what values of the sample begin or end with.
    if re.fullmatch(r"[A-Z0-9+/#]|\+?\d+|\w+://|\d+\.", written):
        return written
    attested = sum(
        value.endswith(written) if verb.startswith("(?:ends") else value.startswith(written)
        for value in subject.facts.values
    )
    return written if attested * 2 > len(subject.facts.values) > 0 else None


def _counted(words: str) -> str | None:
    """`5 digits`, `two capital letters`, `only digits`, `formatted as YYYY-MM-DD`."""
    lead = r"(?:(?:is |be )?(?:formatted|written|given|stored) as|(?:in|of) (?:the )?(?:format|form))"
    date = re.fullmatch(rf"{lead} ([YMD./-]{{8,10}})", words)
    parts = re.split(r"([./-])", date[1]) if date else []
    if sorted(parts[::2]) == ["DD", "MM", "YYYY"]:
        return "".join(_DATE_PARTS.get(part, re.escape(part)) for part in parts)
    if re.fullmatch(r"(?:(?:contains?|consists? of|holds?) )?(?:only digits|digits only)", words, re.IGNORECASE):
        return "[0-9]+"
    verb, tail = r"(?:consists? of |contains? |exactly |an? )*", r"(?:(?: [A-Z]+)? codes?| numbers?| long)?"
    for name, character in _CHARACTERS:
        match = re.fullmatch(rf"{verb}{_COUNT}[\s-](?:{name}){tail}", words, re.IGNORECASE)
        if match is not None:
            count = match["count"].casefold()
            return f"{character}{{{_COUNTS.get(count) or int(count)}}}"
    return None
