"""What variables held, without texts of the data: of a part of an address no mask can know that it is one."""

from __future__ import annotations

import re
from typing import Final

_FEWEST_CHARACTERS: Final = 3
_FIRST_MARK: Final = 0xF0000  # of a plane that is for private use
_MARKS: Final = re.compile("[\U000f0000-\U000fffff]")
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
