"""Code that a reply wraps in something other than a fence: in JSON, or in tags; and the answer after the thinking.

Tags are `<code>`, `<pre>`, `<python>`, `<file path="x.py">`, `[PYTHON]` and the like.
"""

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

# Keys of code, keys of possible code or names of it, and keys of file contents.
_JSON_CODE = re.compile(r"(?:(?P<language>[a-z+#]+)_)?(?:source_?)?code")
_MAYBE_CODE = re.compile(
    r"(?:(?P<language>[a-z+#]+)_)?(?:source|script|program|snippet|implementation|function|tests?|query)"
)
_CONTENT = re.compile(r"contents?|text")
_COMMAND = re.compile(r"command|cmd|shell_command")
_LONGEST_LITERAL_CHARS = 100_000
_LANGUAGE_KEYS = ("language", "lang", "programming_language")
_CUT_FIELD = re.compile(r'"([\w-]{1,40})"\s{0,9}:\s{0,9}"([^"\\]*(?:\\.[^"\\]*)*)\\?\Z', re.DOTALL)
_SHORT_FIELD = re.compile(r'"([\w-]{1,40})"\s{0,9}:\s{0,9}"([^"\\]{0,200})"')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}

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
# These may also hold a sentence.
_ANSWERS = frozenset({"answer", "content", "final_answer", "output", "response", "result", "solution"})
_NAMES = _HTML | _CALLS | _ANSWERS
# A reply that opens one of these on a line is a web page.
_PAGE = re.compile(
    "a|body|div|footer|form|h[1-6]|head|header|html|img|main|nav|p|script|section|span|style|svg|table|ul"
)

_THINKING_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_THINKING = re.compile(rf"\s*<({_THINKING_NAMES})>", re.IGNORECASE)
_END_ALONE = re.compile(r"^[ \t]*</(?:think|thinking)>", re.MULTILINE)
_SPECIAL = r"(?:<\|[\w-]{1,40}\|>|</?s>|<eos>)"
_SPECIALS_BEFORE = re.compile(rf"\s*(?:{_SPECIAL}\s*)+")
_SPECIAL_AT_END = re.compile(rf"{_SPECIAL}\Z")
_LONGEST_SPECIAL_CHARS = 50


# --- JSON -------------------------------------------------------------------------------------------------------------


class _CodeField(NamedTuple):
    """The value of a field of JSON that holds code."""

    code: str
    language: str = ""
    file: str | None = None


def find_in_json(text: str, first: int, last: int) -> list[Passage]:
    """The blocks of a text that is JSON, complete or cut off; none for other text. All have lines `first` to `last`."""
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
    passages = [passage for field in _fields(value) for passage in _json_passages(field, first, last)]
    return passages or [Passage(code=body, first=first, last=last, language="json")]


def find_escaped(text: str, first: int, last: int) -> list[Passage]:
    r"""The fenced blocks of a text whose line ends are all written as `\n`, as in a JSON string."""
    is_escaped = "\\n" in text and "```" in text and "\n" not in text.strip()
    return _fenced(_unescaped(text), first, last) if is_escaped else []


def _literal(body: str) -> Any:
    """The value of a text that is a Python literal such as a dict or a list; None for other text."""
    try:
        return ast.literal_eval(body) if len(body) < _LONGEST_LITERAL_CHARS else None
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _fields(value: Any) -> Iterator[_CodeField]:
    """The fields at any depth that hold code, in order."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str) and "```" in item:
            yield _CodeField(item)
        elif isinstance(item, dict):
            texts = {str(key): _text(text) for key, text in item.items()}
            fields = {key: _field(item, key, text) for key, text in texts.items() if text is not None}
            yield from filter(None, fields.values())
            pending.extend(child for key, child in reversed(item.items()) if not fields.get(key))
        elif isinstance(item, list):
            pending.extend(reversed(item))


def _text(value: Any) -> str | None:
    """The text of a str or of a list of lines, None for other values."""
    is_lines = isinstance(value, list) and value and all(isinstance(line, str) for line in value)
    return "\n".join(value) if is_lines else value if isinstance(value, str) else None


def _field(item: dict[str, Any], key: str, text: str) -> _CodeField | None:
    name, beside = key.lower(), {other: word for other, word in item.items() if isinstance(word, str) and other != key}
    match = _JSON_CODE.fullmatch(name) or _MAYBE_CODE.fullmatch(name)
    by_key = "sh" if _COMMAND.fullmatch(name) else known_language((match and match["language"]) or "")
    language = next((language_of(beside[other]) for other in _LANGUAGE_KEYS if other in beside), "") or by_key
    file = file_in_attributes(beside)
    if text.strip() and _is_code(name, text, is_declared=language in LANGUAGES or bool(file)):
        return _CodeField(text, language, file)
    by_name = known_language(name)  # `{"html": "<p>"}`
    return _CodeField(text, by_name, file) if by_name and infer_lang(text) == by_name else None


def _is_code(name: str, text: str, *, is_declared: bool) -> bool:
    """Whether a field of this name holds code; `is_declared` if fields beside it state the language or the file."""
    if _COMMAND.fullmatch(name):
        return True
    if is_declared and (_CONTENT.fullmatch(name) or _JSON_CODE.fullmatch(name)):
        return True
    may_be = _JSON_CODE.fullmatch(name) or _MAYBE_CODE.fullmatch(name)
    return bool(may_be) and ("\n" in text or infer_lang(text) not in {"text", "unknown"})


def _json_passages(field: _CodeField, first: int, last: int) -> list[Passage]:
    code = "\n".join(split_lines(field.code))
    attributes = {"file": field.file} if field.file else {}
    plain = Passage(code=code.rstrip("\n"), first=first, last=last, language=field.language, attributes=attributes)
    return _fenced(code, first, last) or [plain]


def _fenced(text: str, first: int, last: int) -> list[Passage]:
    return [replace(passage, first=first, last=last) for passage in find_fenced(split_lines(text))]


def _json_cut(body: str) -> list[_CodeField]:
    """The field whose value is cut off at the end of the text."""
    match = _CUT_FIELD.search(body)
    if not match:
        return []
    item = {**dict(_SHORT_FIELD.findall(body)), match[1]: _unescaped(match[2])}
    field = _field(item, match[1], item[match[1]])
    return [field] if field else []


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]), text)


# --- tags -------------------------------------------------------------------------------------------------------------


class _Tag(NamedTuple):
    """An opening tag: `number` is the index of its line, `column` where its content begins."""

    name: str
    attributes: dict[str, str]
    number: int
    column: int
    closing: str


class _TagEnd(NamedTuple):
    """Where a tag is closed: the index of the line, and the column of the closing tag."""

    number: int
    column: int
    is_last_of_line: bool
    closed: bool = True


class _TaggedRegion(NamedTuple):
    """A tag with its content; `last` is the index of its last line."""

    tag: _Tag
    last: int
    content: str
    closed: bool


def find_tagged(lines: Sequence[str]) -> list[Passage]:
    """The code between tags that open at the start of a line and close at the end of one."""
    return [passage for region in _regions(lines, _tags(lines)) for passage in _passages(region)]


def _tags(lines: Sequence[str]) -> list[_Tag]:
    tags = []
    for number, line in enumerate(lines):
        match = _OPENING.match(line) if "<" in line or "[" in line else None
        tag = _tag(match, number) if match else None
        if tag and _PAGE.fullmatch(tag.name):
            break
        if tag and (tag.name in _NAMES or _CODE.fullmatch(tag.name) or known_language(tag.name)):
            tags.append(tag)
    return tags


def _tag(match: re.Match[str], number: int) -> _Tag:
    name = (match["name"] or match["square"]).lower()
    closing = f"[/{name}]" if match["square"] else "</code>" if match["code"] else f"</{name}>"
    pairs = _ATTRIBUTE.findall(f"{match['attributes'] or ''} {match['more'] or ''}")
    attributes = {key.lower(): next(filter(None, values), "") for key, *values in pairs}
    return _Tag(name, attributes, number, match.end(), closing)


def _language_in(attributes: dict[str, str]) -> str:
    stated = attributes.get("language") or attributes.get("lang") or ""
    classes = (name for name in attributes.get("class", "").split() if name.startswith(("language-", "lang-")))
    kind = attributes.get("type", "").rpartition("/")[2]
    return language_of(stated) or language_of(next(classes, "")) or known_language(kind)


def _regions(lines: Sequence[str], tags: Sequence[_Tag]) -> Iterator[_TaggedRegion]:
    """The regions of the outermost tags; no line is in two of them."""
    free = 0
    ends: dict[str, _TagEnd] = {}
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
            yield _TaggedRegion(tag, end.number, _content(lines, tag, end), end.closed)


def _find_end(lines: Sequence[str], tag: _Tag) -> _TagEnd:
    start = tag.column
    for number in range(tag.number, len(lines)):
        column = lines[number].lower().find(tag.closing, start)
        if column >= 0:
            return _TagEnd(number, column, bool(_END_OF_LINE.match(lines[number], column + len(tag.closing))))
        start = 0
    return _TagEnd(len(lines) - 1, len(lines[-1]), is_last_of_line=True, closed=False)


def _content(lines: Sequence[str], tag: _Tag, end: _TagEnd) -> str:
    if tag.number == end.number:
        return lines[tag.number][tag.column : end.column].strip()
    parts = [lines[tag.number][tag.column :], *lines[tag.number + 1 : end.number], lines[end.number][: end.column]]
    content = "\n".join(parts if parts[0].strip() else parts[1:]).rstrip()
    data = _CHARACTER_DATA.fullmatch(content)
    return data[1] if data else content


def _passages(region: _TaggedRegion) -> Iterator[Passage]:
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


# --- thinking and special tokens --------------------------------------------------------------------------------------


def answer_of(text: str) -> str:
    """The text without thinking and the template's special tokens; lines keep their numbers.

    Text with nothing else is returned as it is. The opening tag of the thinking may be missing, as it is if the prompt
    template contains it.
    """
    body = _without_tokens(text)
    opening = _THINKING.match(body)
    if opening:
        end = body.find(f"</{opening[1]}>", opening.end())
        start = end + len(opening[1]) + 3 if end >= 0 else 0
    else:
        closing = _END_ALONE.search(body)
        start = closing.end() if closing else 0
    return _blank_out(body, start) if body[start:].strip() else body


def _without_tokens(text: str) -> str:
    tokens = _SPECIALS_BEFORE.match(text)
    text = _blank_out(text, tokens.end()) if tokens else text
    end = len(text.rstrip())
    while token := _SPECIAL_AT_END.search(text, max(0, end - _LONGEST_SPECIAL_CHARS), end):
        text = text[: token.start()]
        end = len(text.rstrip())
    return text


def _blank_out(text: str, start: int) -> str:
    """The text with its lines up to `start` emptied."""
    return "\n" * text.count("\n", 0, start) + text[start:]
