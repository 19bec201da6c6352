"""Replies that are JSON: the code is the value of a field, or stands in fences inside a string."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from flyteplugins_codegen.source.code_block import Passage, split_lines
from flyteplugins_codegen.source.infer_lang import infer_lang
from flyteplugins_codegen.source.language_names import LANGUAGES, language_of
from flyteplugins_codegen.source.python_syntax import is_python
from flyteplugins_codegen.source.replies.fences import find_fenced
from flyteplugins_codegen.source.replies.file_names import file_in_attributes

_CODE_KEY = re.compile(
    r"(?:(?P<said>[a-z+#]+)_)?(?:code|source_?code|source|script|program|snippet|implementation|function|tests?|query)"
)
_COMMAND_KEYS = frozenset({"command", "cmd", "shell_command"})
_CONTENT_KEYS = frozenset({"content", "contents", "text"})
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


def find_escaped(text: str) -> list[Passage]:
    r"""The fenced blocks of a text whose line ends are all written as `\n`, as in a string of JSON."""
    if "\\n" not in text or "```" not in text or "\n" in text.strip():
        return []
    return _fenced(_unescaped(text), 0, 0)


def _literal(body: str) -> Any:
    """The value of a text that is a dictionary or a list in Python's spelling."""
    try:
        return ast.literal_eval(body) if is_python(body) else None
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
    said = next((language_of(item[name]) for name in _LANGUAGE_KEYS if isinstance(item.get(name), str)), "")
    file = file_in_attributes({name: word for name, word in item.items() if isinstance(word, str) and word is not text})
    name = key.lower()
    match = _CODE_KEY.fullmatch(name)
    if match:
        by_key = language_of(match["said"] or "")
        language = said or (by_key if by_key in LANGUAGES else "")
        is_code = bool(language or file) or "\n" in text or infer_lang(text) not in {"text", "unknown"}
    else:
        language = "sh" if name in _COMMAND_KEYS else said
        is_code = name in _COMMAND_KEYS or (name in _CONTENT_KEYS and bool(said or file))
    if not is_code and language_of(name) in LANGUAGES:
        language = language_of(name)
        is_code = infer_lang(text) == language
    return _Field(text, language, file) if is_code and text.strip() else None


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
