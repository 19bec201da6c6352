"""Masks the texts of failures for a model: error messages and the values of variables quote the data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from flyteplugins_codegen.data.privacy.detection import SensitiveKind
from flyteplugins_codegen.data.privacy.masking import Masker

_FEWEST_CHARACTERS = 3
# Characters of a private use plane, which do not occur in the text of a failure.
_FIRST_MARK = 0xF0000
_MARKS = re.compile("[\U000f0000-\U000fffff]")
# No letter before it, except one of an escape sequence in a text quoted by `repr` or as JSON.
_FRONT = r"(?:(?<!\w)|(?<=\\[abfnrtv])|(?<=\\x[0-9a-fA-F]{2})|(?<=\\u[0-9a-fA-F]{4}))"
_DATE = re.compile(r"\s*(\d{1,4})[-./](\d{1,2})[-./](\d{1,4})(?!\d)")
_LAST_DAY = 31
_WORD = re.compile(r"[^\W\d_]{3,}")
_LINE = re.compile(r"(in [^\n]*?, line \d+: )(.*)")
_NAME = r"(?:[^\W\d]\w*|\.\d+)"  # `.0` is the iterable of a comprehension
_NEXT = re.compile(rf"; (?={_NAME} = )")
_ENTRY = re.compile(rf"({_NAME}) = (.*)")
_TEXT = re.compile(r"b?'(?:[^'\\]|\\.)*'|b?\"(?:[^\"\\]|\\.)*\"")
_ESCAPE = re.compile(r"\\(?:x..|u.{4}|U.{8}|.)")
# What surrounds texts in the `repr` of builtin and well-known types, and in `<str of 9>` of this module.
_PLAIN = re.compile(
    r"""(?:
    [\s\[\](){},:+\-.\U000f0000-\U000fffff]
    | \d[\d_.]*(?:e[+-]?\d+)?j?(?!\w) | \d+\ in\ all
    | \b(?:None|True|False|inf|nan|NaN|NaT|NA|(?:np\.)?(?:True_|False_)|datetime\.timezone\.utc)\b
    | \b(?:datetime\.|np\.)?(?:array|bytes_|Counter|date|datetime|datetime64|Decimal|deque|float\d+|Fraction|frozenset
        |int\d+|OrderedDict|(?:Posix)?Path|set|str_|time|timedelta|timedelta64|Timedelta|Timestamp|uint\d+|UUID)\(
    | \b(?:dtype=(?:object|\w*\d+)|(?:fold|maxlen|microseconds|days|seconds|tz|tzinfo)=)
    | <[^\W\d]\w*(?:\ of\ (?:shape\ )?[\d(][\d,\ )]*(?:bits|,\ columns\ \[[\U000f0000-\U000fffff,\ ]*\])?)?>
    )*\Z""",
    re.VERBOSE,
)
_HIDDEN = "<not shown>"


class Cells(NamedTuple):
    """Some cells of one column."""

    sample: str
    column: str
    values: Sequence[Any]


def failure_mask(text: str, cells: Iterable[Cells], masker: Masker) -> Callable[[str], str]:
    """Return a function that masks the parts of a failure's text; `text` contains all parts.

    It replaces the values of private columns, in the mode `profile` of all columns, and values that are detected by
    their form. Values of one or two characters stay, because they say nothing and occur everywhere. In the mode
    `profile` a value stays if it occurs in `min_rows` rows.
    """
    quoted = _QuotedValues(text, masker)
    if masker.privacy.mode != "rows":
        for column_cells in cells:
            quoted.find(column_cells)
    replacements = [(_pattern(value), fake) for value, fake in quoted.replacements()]

    def mask(part: str) -> str:
        part = _MARKS.sub("", part)
        for number, (pattern, _) in enumerate(replacements):
            # A placeholder, so that the fake is not masked again.
            part = pattern.sub(chr(_FIRST_MARK + number), part)
        return _MARKS.sub(lambda mark: replacements[ord(mark[0]) - _FIRST_MARK][1], masker.text(part).text)

    return mask


class _QuotedValues:
    """Finds the values that a text quotes while the data are streamed."""

    def __init__(self, text: str, masker: Masker) -> None:
        self._text, self._masker = text, masker
        self._counts: dict[str, Counter[str]] = {"": Counter()}

    def find(self, cells: Cells) -> None:
        kind = self._masker.column_kind(cells.sample, cells.column)
        if kind is None and self._masker.privacy.mode != "profile":
            return
        counts = self._counts.setdefault(kind or "", Counter())
        for value, count in Counter(str(cell) for cell in cells.values if cell is not None).items():
            for form in self._forms(value, kind):
                if form in self._text:
                    counts[form] += count

    @staticmethod
    def _forms(value: str, kind: SensitiveKind | None) -> set[str]:
        """Return the value, its `repr`, the forms of a date, and the words of a private value."""
        forms = {value, repr(value)[1:-1], value.strip(), *_dates(value)}
        if kind == "private":
            forms |= set(_WORD.findall(value))
        return {form for form in forms if len(form) >= _FEWEST_CHARACTERS}

    def replacements(self) -> list[tuple[str, str]]:
        """Return the values and their fakes, the longest first."""
        fakes: dict[str, str] = {}
        for kind, counts in self._counts.items():
            for value, count in counts.items():
                if kind or count < self._masker.privacy.min_rows:
                    fakes.setdefault(value, self._masker.whole(value, "private"))
        return sorted(fakes.items(), key=lambda pair: (-len(pair[0]), pair[0]))


def _dates(value: str) -> set[str]:
    """Return the `str` and `repr` forms of a parsed date, for each number that may be the day."""
    match = _DATE.match(value)
    if match is None:
        return set()
    first, second, third = map(int, match.groups())
    dates = [(first, second, third)] if first > _LAST_DAY else [(third, second, first), (third, first, second)]
    return {form for y, m, d in dates for form in (f"{y}, {m}, {d}", f"{y:04}-{m:02}-{d:02}")}


def _pattern(value: str) -> re.Pattern[str]:
    """Return a pattern that matches the value as a whole word: `anna` does not match in `savannah`."""
    front = _FRONT if re.match(r"\w", value) else ""
    back = r"(?!\w)" if re.search(r"\w\Z", value) else ""
    return re.compile(front + re.escape(value) + back)


# --- variables ---


def hide_texts(variables: str, known: str) -> str:
    """Replace every text in the variables of a failure by its type and length.

    Texts that occur in `known` as whole words stay, and so do texts of one or two characters, numbers, and containers
    of these. The own formats of libraries, such as a printed table, are left out.
    """
    return "\n".join(_hidden_line(line, known) for line in _MARKS.sub("", variables).splitlines())


def _hidden_line(line: str, known: str) -> str:
    match = _LINE.fullmatch(line)
    if match is None:
        return _HIDDEN
    texts: list[str] = []

    def set_aside(text: re.Match[str]) -> str:
        texts.append(_hidden_text(text[0], known))
        return chr(_FIRST_MARK + len(texts) - 1)

    entries = _NEXT.split(_TEXT.sub(set_aside, match[2]))
    hidden = match[1] + "; ".join(map(_hidden_entry, entries))
    return _MARKS.sub(lambda mark: texts[ord(mark[0]) - _FIRST_MARK], hidden)


def _hidden_entry(entry: str) -> str:
    match = _ENTRY.fullmatch(entry)
    if match is None:
        return _HIDDEN
    return entry if _PLAIN.match(match[2]) else f"{match[1]} = {_HIDDEN}"


def _hidden_text(text: str, known: str) -> str:
    kind, content = ("bytes", text[2:-1]) if text[0] == "b" else ("str", text[1:-1])
    length = len(_ESCAPE.sub(" ", content))
    is_known = length < _FEWEST_CHARACTERS or re.search(rf"(?<!\w){re.escape(content)}(?!\w)", known) is not None
    return text if is_known else f"<{kind} of {length}>"
