"""Code out of a model's reply: its blocks, however they are marked, or one script without its Markdown fence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import Any

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.source.extraction.fences import find_fenced, find_short_fenced
from flyteplugins_codegen.source.extraction.info_strings import (
    file_above,
    file_in_attributes,
    file_in_first_line,
    language_above,
)
from flyteplugins_codegen.source.extraction.lines import split_lines
from flyteplugins_codegen.source.extraction.passage import CodeBlock, Passage
from flyteplugins_codegen.source.extraction.patches import find_diffs, find_sections, kind_of, search_and_replace_text
from flyteplugins_codegen.source.extraction.unfenced import find_loose, find_spans
from flyteplugins_codegen.source.extraction.wrapped import answer_of, find_escaped, find_in_json, find_tagged
from flyteplugins_codegen.source.languages.infer import infer_lang
from flyteplugins_codegen.source.languages.names import language_of_file
from flyteplugins_codegen.source.python import is_python

# The content of a chat message as one text.

_PART = 'pass {"type": "text", "text": "..."} or {"type": "image_url", ...}'


def content_str(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    """The text of a message's content as OpenAI's chat API has it: its text parts joined, `<image>` for every image.

    No content (None) is no text.

    Raises:
        ArgumentTypeError: `content` is neither text, nor a list, nor None; or a part is no mapping.
        RequestError: a part has no type, an unknown one, or no text.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        raise ArgumentTypeError(f"wrong content format: {type(content).__name__}; pass a str, a list of parts, or None")
    return "".join(_part_str(part, number) for number, part in enumerate(content, 1))


def _part_str(part: Mapping[str, Any], number: int) -> str:
    where = f"wrong content format: part {number}"
    if not isinstance(part, Mapping):
        raise ArgumentTypeError(f"{where} is {type(part).__name__}; {_PART}")
    kind = part.get("type")
    if kind == "image_url":
        return "<image>"
    if kind != "text":
        raise RequestError(f"{where} has {f'the type {kind!r}' if 'type' in part else 'no type'}; {_PART}")
    if not isinstance(part.get("text"), str):
        raise RequestError(f"{where}: its text is {type(part.get('text')).__name__}; {_PART}")
    return str(part["text"])


# What a passage of a reply is: its language, its file, its kind, and its code as it was meant.

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#x27|#34);")
# Where an escape is a part of the language.
_MARKUP = frozenset({"html", "xml", "markdown", "text", "unknown"})


def block_of(passage: Passage) -> CodeBlock:
    """The passage as a block; what the reply says of it counts before what its code looks like."""
    attributes = dict(passage.attributes)
    file = file_in_attributes(attributes) or file_above(passage.above) or file_in_first_line(passage.code)
    said = passage.language or language_of_file(file or "") or language_above(passage.above)
    code, language = (passage.code, said) if said else _inferred(passage.code)
    code = _without_escapes(code, language)
    return CodeBlock(
        language=language,
        code=code,
        attributes=attributes,
        file_name=file,
        first_line=passage.first + 1,
        last_line=passage.last + 1,
        closed=passage.closed,
        kind=kind_of(code, language),
    )


def _inferred(code: str) -> tuple[str, str]:
    """The code and the language that it looks like; a first line that only names that language is no code."""
    first, _, rest = code.partition("\n")
    named = language_above(first)
    if named and infer_lang(rest) == named:
        return rest, named
    is_edit = kind_of(code, "") == "search_replace"
    return code, infer_lang(search_and_replace_text(code) if is_edit else code)


def _without_escapes(code: str, language: str) -> str:
    """The code without HTML's escapes, where they cannot be meant: a page's source was copied."""
    if language in _MARKUP or not _ENTITY.search(code):
        return code
    plain = unescape(code)
    if language == "python":
        return plain if not is_python(code) and is_python(plain) else code
    was_escaped = "<" not in code and ">" not in code and ("<" in plain or ">" in plain)
    return plain if was_escaped else code


_FENCE = re.compile(r"```|~~~")
# What a line of prose hardly ever begins with, and a script always holds somewhere.
_PYTHON_LINE = re.compile(
    r"^(?:import \w|from [\w.]+ import |(?:async )?def \w+\s*\(|class \w+\s*[:(]|@\w)", re.MULTILINE
)
_GROUPS = 2


def extract_blocks(text: str) -> tuple[CodeBlock, ...]:
    r"""The blocks of code of a model's reply, in order; none if it holds no code.

    Fenced blocks are read by CommonMark 0.31, section 4.5, with patience for what models make of it. A reply without a
    fence may hold code in tags, in a field of JSON, as edits of files, or between sentences. Of thinking before the
    answer nothing is taken. Code is text of the reply, less the quote marks and the indentation of its block, with
    `\n` for every line end, and with JSON's and HTML's escapes undone where the reply is written in them.

    Raises:
        ArgumentTypeError: `text` is no str. No str whatsoever raises.
    """
    if not isinstance(text, str):
        raise ArgumentTypeError(f"the text of a reply is {type(text).__name__}; pass a str")
    return tuple(block_of(passage) for passage in _passages(_answer_lines(text)))


def extract_code(
    text: str | Sequence[Mapping[str, Any]] | None,
    pattern: str | None = None,
    detect_single_line_code: bool = False,  # noqa: FBT001, FBT002 - the signature of AutoGen 0.2
) -> list[tuple[str, str]]:
    """`(language, code)` of every block of code of a reply; `[("unknown", text)]` if it holds none. As in AutoGen 0.2.

    Blocks are those of `extract_blocks`. With `detect_single_line_code`, code spans in the prose count too, with "" for
    their language. A `pattern` is used instead of any rule, as a regular expression in which `.` is any character: its
    two groups are the language and the code, left as they are; if it has one group or none, that is the code.

    Raises:
        RequestError: `pattern` is no regular expression, or has more than two groups; or see `content_str`.
    """
    content = content_str(text)
    if pattern is None:
        found = _blocks_and_spans(content) if detect_single_line_code else _blocks(content)
    else:
        found = list(_by_pattern(content, pattern, with_spans=detect_single_line_code))
    return found or [("unknown", content)]


def unfence(text: str) -> str:
    """The code of a reply's code field, free of Markdown fences and of prose around them; never raises.

    Text that is Python as it stands, or that holds no fence, comes back as it is, apart from blank lines around it and
    one newline at its end. Of several fenced blocks the longest is the code. A last fence that is never closed gives
    what is there.
    """
    if not _FENCE.search(text) or is_python(text):
        return _trim(text)
    lines = split_lines(text)
    passages = find_fenced(lines)
    if not passages or _PYTHON_LINE.search("\n".join(lines[: passages[0].first])):
        return _trim(text)  # no block, or broken code with a fence inside one of its strings
    return _trim(max((passage.code for passage in passages), key=len))


def _answer_lines(text: str) -> list[str]:
    return split_lines(answer_of("\n".join(split_lines(text))))


def _passages(lines: list[str]) -> list[Passage]:
    """What is code by the first rule that finds any."""
    text = "\n".join(lines)
    last = len(lines) - 1
    found = find_in_json(text, 0, last) or find_escaped(text, 0, last)
    for find in (find_fenced, find_short_fenced, find_tagged, find_sections, find_diffs, find_loose):
        found = found or find(lines)
    return found


def _blocks(text: str) -> list[tuple[str, str]]:
    return [(block.language, block.code) for block in extract_blocks(text)]


def _blocks_and_spans(text: str) -> list[tuple[str, str]]:
    lines = _answer_lines(text)
    passages = _passages(lines)
    taken = {number for passage in passages for number in range(passage.first, passage.last + 1)}
    blocks = ((passage.first, block_of(passage)) for passage in passages)
    found = [(number, (block.language, block.code)) for number, block in blocks]
    found += [(number, ("", code)) for number, code in find_spans(lines, taken)]
    return [code for _, code in sorted(found, key=lambda item: item[0])]


def _by_pattern(text: str, pattern: str, *, with_spans: bool) -> Iterator[tuple[str, str]]:
    free = 0
    for match in _compiled(pattern).finditer(text):
        groups = match.groups("") or (match[0],)
        if with_spans:
            yield from (("", code) for _, code in find_spans(split_lines(text[free : match.start()]), ()))
        free = match.end()
        yield (groups[0], groups[1]) if len(groups) == _GROUPS else (infer_lang(groups[0]), groups[0])
    if with_spans:
        yield from (("", code) for _, code in find_spans(split_lines(text[free:]), ()))


def _compiled(pattern: str) -> re.Pattern[str]:
    remedy = "pass a regular expression of two groups, the language and the code"
    if not isinstance(pattern, str):
        raise ArgumentTypeError(f"the pattern for code is {type(pattern).__name__}; {remedy}")
    try:
        compiled = re.compile(pattern, re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise RequestError(f"the pattern for code is no regular expression: {pattern!r}: {error}; {remedy}") from error
    if compiled.groups > _GROUPS:
        raise RequestError(f"the pattern for code has {compiled.groups} groups: {pattern!r}; {remedy}")
    return compiled


def _trim(text: str) -> str:
    lines = text.split("\n")
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return "\n".join(lines[start:end]) + "\n" if end > start else ""
