"""What went wrong, as a model may hear it: errors quote the data that they are about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from flyteplugins_codegen.data.privacy.detection import Kind
from flyteplugins_codegen.data.privacy.masking import Masker

_FEWEST_CHARACTERS = 3
# Of a plane that is for private use: no text of a failure has them.
_FIRST_MARK = 0xF0000
_MARKS = re.compile("[\U000f0000-\U000fffff]")
# No letter before it but that of an escape, as in a text that was quoted by `repr` or as JSON.
_FRONT = r"(?:(?<!\w)|(?<=\\[abfnrtv])|(?<=\\x[0-9a-fA-F]{2})|(?<=\\u[0-9a-fA-F]{4}))"
_DATE = re.compile(r"\s*(\d{1,4})[-./](\d{1,2})[-./](\d{1,4})(?!\d)")
_LAST_DAY = 31
_WORD = re.compile(r"[^\W\d_]{3,}")


class Cells(NamedTuple):
    """Some cells of one column."""

    sample: str
    column: str
    values: Sequence[Any]


def failure_mask(text: str, cells: Iterable[Cells], masker: Masker) -> Callable[[str], str]:
    """What takes the private values out of a failure's texts, all of which stand in `text`.

    Those are the values of private columns, and by `profile` of every column, and what is told by its form. Values of
    one or two characters stay: they tell nothing, and stand everywhere. A value that occurs in `min_rows` rows is no
    secret of `profile`.
    """
    quoted = _Quoted(text, masker)
    if masker.privacy.mode != "rows":
        for some in cells:
            quoted.look_for(some)
    replacements = [(_pattern(value), fake) for value, fake in quoted.replacements()]

    def mask(part: str) -> str:
        part = _MARKS.sub("", part)
        for number, (pattern, _) in enumerate(replacements):
            # Set aside: what a fake looks like is not to be masked once more.
            part = pattern.sub(chr(_FIRST_MARK + number), part)
        return _MARKS.sub(lambda mark: replacements[ord(mark[0]) - _FIRST_MARK][1], masker.text(part).text)

    return mask


class _Quoted:
    """The values that a text quotes, found while the data streams by."""

    def __init__(self, text: str, masker: Masker) -> None:
        self._text, self._masker = text, masker
        self._counts: dict[str, Counter[str]] = {"": Counter()}

    def look_for(self, cells: Cells) -> None:
        kind = self._masker.column_kind(cells.sample, cells.column)
        if kind is None and self._masker.privacy.mode != "profile":
            return
        counts = self._counts.setdefault(kind or "", Counter())
        for value, count in Counter(str(cell) for cell in cells.values if cell is not None).items():
            for form in self._forms(value, kind):
                if form in self._text:
                    counts[form] += count

    @staticmethod
    def _forms(value: str, kind: Kind | None) -> set[str]:
        """The value, as `repr` quotes it too, and as a date if it is one; of a private one its words."""
        forms = {value, repr(value)[1:-1], value.strip(), *_dates(value)}
        if kind == "private":
            forms |= set(_WORD.findall(value))
        return {form for form in forms if len(form) >= _FEWEST_CHARACTERS}

    def replacements(self) -> list[tuple[str, str]]:
        """Values and their fakes, the longest first."""
        found: dict[str, str] = {}
        for kind, counts in self._counts.items():
            for value, count in counts.items():
                if kind or count < self._masker.privacy.min_rows:
                    found.setdefault(value, self._masker.whole(value, "private"))
        return sorted(found.items(), key=lambda pair: (-len(pair[0]), pair[0]))


def _dates(value: str) -> set[str]:
    """A date as `str` and `repr` tell it once it was read, whichever of its numbers is the day."""
    found = _DATE.match(value)
    if found is None:
        return set()
    first, second, third = map(int, found.groups())
    read = [(first, second, third)] if first > _LAST_DAY else [(third, second, first), (third, first, second)]
    return {form for y, m, d in read for form in (f"{y}, {m}, {d}", f"{y:04}-{m:02}-{d:02}")}


def _pattern(value: str) -> re.Pattern[str]:
    """The value as a word of its own: `anna` is not part of `savannah`."""
    front = _FRONT if re.match(r"\w", value) else ""
    back = r"(?!\w)" if re.search(r"\w\Z", value) else ""
    return re.compile(front + re.escape(value) + back)


# What variables held, without texts of the data: of a part of an address no mask can know that it is one.

_LINE: Final = re.compile(r"(in [^\n]*?, line \d+: )(.*)")
_NAME: Final = r"(?:[^\W\d]\w*|\.\d+)"  # `.0` is what a comprehension goes through
_NEXT: Final = re.compile(rf"; (?={_NAME} = )")
_ENTRY: Final = re.compile(rf"({_NAME}) = (.*)")
_TEXT: Final = re.compile(r"b?'(?:[^'\\]|\\.)*'|b?\"(?:[^\"\\]|\\.)*\"")
_ESCAPE: Final = re.compile(r"\\(?:x..|u.{4}|U.{8}|.)")
# What stands around texts in the words of builtin and well-known types, and in our own `<str of 9>`.
_PLAIN: Final = re.compile(
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
_HIDDEN: Final = "<not shown>"


def hide_texts(variables: str, known: str) -> str:
    """The variables as a failure tells them, with every text's type and length in its place.

    Those that stand in `known` by themselves are shown, as are texts of one or two characters, numbers, and what holds
    nothing else. What a library writes in words of its own, such as a table, is left out.
    """
    return "\n".join(_hidden_line(line, known) for line in _MARKS.sub("", variables).splitlines())


def _hidden_line(line: str, known: str) -> str:
    found = _LINE.fullmatch(line)
    if found is None:
        return _HIDDEN
    texts: list[str] = []

    def set_aside(text: re.Match[str]) -> str:
        texts.append(_shown(text[0], known))
        return chr(_FIRST_MARK + len(texts) - 1)

    entries = _NEXT.split(_TEXT.sub(set_aside, found[2]))
    told = found[1] + "; ".join(map(_hidden_entry, entries))
    return _MARKS.sub(lambda mark: texts[ord(mark[0]) - _FIRST_MARK], told)


def _hidden_entry(entry: str) -> str:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        return _HIDDEN
    return entry if _PLAIN.match(found[2]) else f"{found[1]} = {_HIDDEN}"


def _shown(text: str, known: str) -> str:
    kind, content = ("bytes", text[2:-1]) if text[0] == "b" else ("str", text[1:-1])
    length = len(_ESCAPE.sub(" ", content))
    is_known = length < _FEWEST_CHARACTERS or re.search(rf"(?<!\w){re.escape(content)}(?!\w)", known) is not None
    return text if is_known else f"<{kind} of {length}>"
