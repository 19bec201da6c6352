"""Replies that are JSON: the code is the value of a field, or stands in fences inside a string."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from flyteplugins_codegen.source.infer_lang import infer_lang
from flyteplugins_codegen.source.language_names import LANGUAGES, language_of
from flyteplugins_codegen.source.replies.fences import find_fenced
from flyteplugins_codegen.source.replies.lines import split_lines
from flyteplugins_codegen.source.replies.names import file_in_attributes, known_language
from flyteplugins_codegen.source.replies.passage import Passage

# The keys of code, those of what may be code or a name of it, and those of a file's content.
_CODE = re.compile(r"(?:(?P<language>[a-z+#]+)_)?(?:source_?)?code")
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
        literal = [passage for field in _fields(_literal(body)) for passage in _passages(field, first, last)]
        cut = (passage for field in _cut(body) for passage in _passages(field, first, last))
        return literal or [replace(passage, closed=False) for passage in cut]
    if isinstance(value, str):
        return _fenced(value, first, last)
    found = [passage for field in _fields(value) for passage in _passages(field, first, last)]
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
    match = _CODE.fullmatch(name) or _MAYBE_CODE.fullmatch(name)
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
    if is_told and (_CONTENT.fullmatch(name) or _CODE.fullmatch(name)):
        return True
    may_be = _CODE.fullmatch(name) or _MAYBE_CODE.fullmatch(name)
    return bool(may_be) and ("\n" in text or infer_lang(text) not in {"text", "unknown"})


def _passages(field: _Field, first: int, last: int) -> list[Passage]:
    code = "\n".join(split_lines(field.code))
    attributes = {"file": field.file} if field.file else {}
    plain = Passage(code=code.rstrip("\n"), first=first, last=last, language=field.language, attributes=attributes)
    return _fenced(code, first, last) or [plain]


def _fenced(text: str, first: int, last: int) -> list[Passage]:
    return [replace(passage, first=first, last=last) for passage in find_fenced(split_lines(text))]


def _cut(body: str) -> list[_Field]:
    """The field in the middle of whose value the text ends."""
    match = _CUT_FIELD.search(body)
    if not match:
        return []
    item = {**dict(_SHORT_FIELD.findall(body)), match[1]: _unescaped(match[2])}
    field = _field(item, match[1], item[match[1]])
    return [field] if field else []


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]), text)
