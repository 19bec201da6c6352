"""Code between tags: `<code>`, `<pre>`, `<python>`, `<file path="x.py">`, `[PYTHON]`."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import unescape
from typing import Any, NamedTuple

from flyteplugins_codegen.source.extraction.fences import find_fenced
from flyteplugins_codegen.source.extraction.info_strings import file_in_attributes, known_language
from flyteplugins_codegen.source.extraction.lines import split_lines
from flyteplugins_codegen.source.extraction.passage import Passage
from flyteplugins_codegen.source.languages.infer import infer_lang
from flyteplugins_codegen.source.languages.names import LANGUAGES, language_of

# Replies that are JSON: the code is the value of a field, or stands in fences inside a string.

# The keys of code, those of what may be code or a name of it, and those of a file's content.
_JSON_CODE = re.compile(r"(?:(?P<language>[a-z+#]+)_)?(?:source_?)?code")
_MAYBE_CODE = re.compile(
    r"(?:(?P<language>[a-z+#]+)_)?(?:source|script|program|snippet|implementation|function|tests?|query)"
)
_CONTENT = re.compile(r"contents?|text")
_COMMAND = re.compile(r"command|cmd|shell_command")
_LONGEST_LITERAL = 100_000
_LANGUAGE_KEYS = ("language", "lang", "programming_language")
_CUT_FIELD = re.compile(r'"([\w-]{1,40})"\s{0,9}:\s{0,9}"([^"\\]*(?:\\.[^"\\]*)*)\\?\Z', re.DOTALL)
_SHORT_FIELD = re.compile(r'"([\w-]{1,40})"\s{0,9}:\s{0,9}"([^"\\]{0,200})"')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class _Field(NamedTuple):
    code: str
    language: str = ""
    file: str | None = None


def find_in_json(text: str, first: int, last: int) -> list[Passage]:
    """The blocks of a text that is JSON, whole or cut off; none if it is not. All get the lines `first` to `last`."""
    body = text.strip()
    if not body.startswith(("{", "[", '"')):
        return []
    try:
        value = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        literal = [passage for field in _fields(_literal(body)) for passage in _json_passages(field, first, last)]
        cut = (passage for field in _json_cut(body) for passage in _json_passages(field, first, last))
        return literal or [replace(passage, closed=False) for passage in cut]
    if isinstance(value, str):
        return _fenced(value, first, last)
    found = [passage for field in _fields(value) for passage in _json_passages(field, first, last)]
    return found or [Passage(code=body, first=first, last=last, language="json")]


def find_escaped(text: str, first: int, last: int) -> list[Passage]:
    r"""The fenced blocks of a text whose line ends are all written as `\n`, as in a string of JSON."""
    is_escaped = "\\n" in text and "```" in text and "\n" not in text.strip()
    return _fenced(_unescaped(text), first, last) if is_escaped else []


def _literal(body: str) -> Any:
    """The value of a text that is a dictionary or a list in Python's spelling; None if it is not."""
    try:
        return ast.literal_eval(body) if len(body) < _LONGEST_LITERAL else None
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _fields(value: Any) -> Iterator[_Field]:
    """The fields at any depth that hold code, in order."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and "```" in item:
            yield _Field(item)
        elif isinstance(item, dict):
            texts = {str(key): _text(text) for key, text in item.items()}
            held = {key: _field(item, key, text) for key, text in texts.items() if text is not None}
            yield from filter(None, held.values())
            waiting.extend(child for key, child in reversed(item.items()) if not held.get(key))
        elif isinstance(item, list):
            waiting.extend(reversed(item))


def _text(value: Any) -> str | None:
    """A text, or a list of a text's lines."""
    is_lines = isinstance(value, list) and value and all(isinstance(line, str) for line in value)
    return "\n".join(value) if is_lines else value if isinstance(value, str) else None


def _field(item: dict[str, Any], key: str, text: str) -> _Field | None:
    name, beside = key.lower(), {other: word for other, word in item.items() if isinstance(word, str) and other != key}
    match = _JSON_CODE.fullmatch(name) or _MAYBE_CODE.fullmatch(name)
    by_key = "sh" if _COMMAND.fullmatch(name) else known_language((match and match["language"]) or "")
    language = next((language_of(beside[other]) for other in _LANGUAGE_KEYS if other in beside), "") or by_key
    file = file_in_attributes(beside)
    if text.strip() and _is_code(name, text, is_told=language in LANGUAGES or bool(file)):
        return _Field(text, language, file)
    by_name = known_language(name)  # `{"html": "<p>"}`
    return _Field(text, by_name, file) if by_name and infer_lang(text) == by_name else None


def _is_code(name: str, text: str, *, is_told: bool) -> bool:
    """Whether the field of a name holds code; `is_told` if the fields beside it say the language or the file."""
    if _COMMAND.fullmatch(name):
        return True
    if is_told and (_CONTENT.fullmatch(name) or _JSON_CODE.fullmatch(name)):
        return True
    may_be = _JSON_CODE.fullmatch(name) or _MAYBE_CODE.fullmatch(name)
    return bool(may_be) and ("\n" in text or infer_lang(text) not in {"text", "unknown"})


def _json_passages(field: _Field, first: int, last: int) -> list[Passage]:
    code = "\n".join(split_lines(field.code))
    attributes = {"file": field.file} if field.file else {}
    plain = Passage(code=code.rstrip("\n"), first=first, last=last, language=field.language, attributes=attributes)
    return _fenced(code, first, last) or [plain]


def _fenced(text: str, first: int, last: int) -> list[Passage]:
    return [replace(passage, first=first, last=last) for passage in find_fenced(split_lines(text))]


def _json_cut(body: str) -> list[_Field]:
    """The field in the middle of whose value the text ends."""
    match = _CUT_FIELD.search(body)
    if not match:
        return []
    item = {**dict(_SHORT_FIELD.findall(body)), match[1]: _unescaped(match[2])}
    field = _field(item, match[1], item[match[1]])
    return [field] if field else []


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]), text)


_OPENING = re.compile(
    r"[ \t]*(?:<(?P<name>[A-Za-z][\w:.-]{0,40})(?P<attributes>(?:\s[^<>]{0,400})?)>"
    r"(?P<code>[ \t]*<code(?P<more>[^<>]{0,400})>)?|\[(?P<square>[A-Z]{2,12}|code)\])"
)
_ATTRIBUTE = re.compile(r"""([\w:-]{1,40})=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_CHARACTER_DATA = re.compile(r"\s*<!\[CDATA\[\n?(.*?)\s*\]\]>", re.DOTALL)
_END_OF_LINE = re.compile(r"(?:[ \t]|</[\w:.-]{1,40}>)*\Z")
_HTML = frozenset({"pre", "code"})
_CODE = re.compile(
    r"(?:ant|bolt)?(?:artifact|action)|cell|code_?block|code_snippet|execute(?:_\w+)?|file|patch|run_code|snippet|source"
    r"|tests?|tool_code"
)
_CALLS = frozenset({"tool_call", "function_call", "tool_use"})
# These may hold a sentence as well.
_ANSWERS = frozenset({"answer", "content", "final_answer", "output", "response", "result", "solution"})
_NAMES = _HTML | _CALLS | _ANSWERS
# A reply that opens one of these by itself is a page.
_PAGE = re.compile(
    "a|body|div|footer|form|h[1-6]|head|header|html|img|main|nav|p|script|section|span|style|svg|table|ul"
)


class _Tag(NamedTuple):
    """`number` is the index of the line that it opens on, `column` where its content begins."""

    name: str
    attributes: dict[str, str]
    number: int
    column: int
    closing: str


class _End(NamedTuple):
    number: int
    column: int
    is_last_of_line: bool
    closed: bool = True


class _Region(NamedTuple):
    tag: _Tag
    last: int
    content: str
    closed: bool


def find_tagged(lines: Sequence[str]) -> list[Passage]:
    """The code between tags that open at the start of a line and close at the end of one."""
    found: list[Passage] = []
    for region in _regions(lines, _tags(lines)):
        found.extend(_passages(region))
    return found


def _tags(lines: Sequence[str]) -> list[_Tag]:
    found = []
    for number, line in enumerate(lines):
        match = _OPENING.match(line) if "<" in line or "[" in line else None
        tag = _tag(match, number) if match else None
        if tag and _PAGE.fullmatch(tag.name):
            break
        if tag and (tag.name in _NAMES or _CODE.fullmatch(tag.name) or known_language(tag.name)):
            found.append(tag)
    return found


def _tag(match: re.Match[str], number: int) -> _Tag:
    name = (match["name"] or match["square"]).lower()
    closing = f"[/{name}]" if match["square"] else "</code>" if match["code"] else f"</{name}>"
    found = _ATTRIBUTE.findall(f"{match['attributes'] or ''} {match['more'] or ''}")
    attributes = {key.lower(): next(filter(None, values), "") for key, *values in found}
    return _Tag(name, attributes, number, match.end(), closing)


def _language_in(attributes: dict[str, str]) -> str:
    said = attributes.get("language") or attributes.get("lang") or ""
    classes = (name for name in attributes.get("class", "").split() if name.startswith(("language-", "lang-")))
    kind = attributes.get("type", "").rpartition("/")[2]
    return language_of(said) or language_of(next(classes, "")) or known_language(kind)


def _regions(lines: Sequence[str], tags: Sequence[_Tag]) -> Iterator[_Region]:
    """What lies between each tag and its end, from the outside in, each line once."""
    free = 0
    ends: dict[str, _End] = {}
    for at, tag in enumerate(tags):
        if tag.number < free:
            continue
        end = ends.get(tag.closing)
        if end is None or (end.number, end.column) < (tag.number, tag.column):
            end = ends[tag.closing] = _find_end(lines, tag)
        holds_tag = at + 1 < len(tags) and tags[at + 1].number <= end.number
        is_whole = end.is_last_of_line and (end.closed or tag.closing.startswith("<"))
        if is_whole and not (tag.name in _ANSWERS and holds_tag):
            free = end.number + 1
            yield _Region(tag, end.number, _content(lines, tag, end), end.closed)


def _find_end(lines: Sequence[str], tag: _Tag) -> _End:
    start = tag.column
    for number in range(tag.number, len(lines)):
        column = lines[number].lower().find(tag.closing, start)
        if column >= 0:
            return _End(number, column, bool(_END_OF_LINE.match(lines[number], column + len(tag.closing))))
        start = 0
    return _End(len(lines) - 1, len(lines[-1]), is_last_of_line=True, closed=False)


def _content(lines: Sequence[str], tag: _Tag, end: _End) -> str:
    if tag.number == end.number:
        return lines[tag.number][tag.column : end.column].strip()
    parts = [lines[tag.number][tag.column :], *lines[tag.number + 1 : end.number], lines[end.number][: end.column]]
    content = "\n".join(parts if parts[0].strip() else parts[1:]).rstrip()
    data = _CHARACTER_DATA.fullmatch(content)
    return data[1] if data else content


def _passages(region: _Region) -> Iterator[Passage]:
    tag = region.tag
    if tag.name in _CALLS:
        yield from find_in_json(region.content, tag.number, region.last)
        return
    code = unescape(region.content) if tag.name in _HTML or tag.closing == "</code>" else region.content
    language = _language_in(tag.attributes) or known_language(tag.name)
    if not code or (tag.name in _ANSWERS | _HTML and not language and infer_lang(code) in {"text", "unknown"}):
        return
    yield Passage(
        code=code,
        first=tag.number,
        last=region.last,
        language=language,
        attributes=tag.attributes,
        closed=region.closed,
    )


# What a reply holds besides its answer: the model's thinking before it, marks of its template around it.

_THINKING_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_THINKING = re.compile(rf"\s*<({_THINKING_NAMES})>", re.IGNORECASE)
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
