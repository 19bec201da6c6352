"""The blocks of code in a model's reply, however they are marked, or one script without its Markdown fence."""

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

_CONTENT_PART = 'pass {"type": "text", "text": "..."} or {"type": "image_url", ...}'
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#x27|#34);")
# Languages that have such entities themselves.
_MARKUP = frozenset({"html", "xml", "markdown", "text", "unknown"})
_FENCE = re.compile(r"```|~~~")
# Lines that nearly every script has and prose hardly ever.
_PYTHON_LINE = re.compile(
    r"^(?:import \w|from [\w.]+ import |(?:async )?def \w+\s*\(|class \w+\s*[:(]|@\w)", re.MULTILINE
)
_GROUPS = 2


def extract_blocks(text: str) -> tuple[CodeBlock, ...]:
    r"""The blocks of code of a model's reply, in order; none if it holds no code.

    Fenced blocks are read by CommonMark 0.31, section 4.5, but tolerantly. A reply without a fence may hold code in
    tags, in a field of JSON, as edits of files, or between sentences. Thinking before the answer is skipped. The code
    is text of the reply without the quote marks and the indentation of its block, with `\n` for every line end, and
    with escapes of JSON and HTML decoded where the reply uses them.

    Raises:
        ArgumentTypeError: `text` is not a str. No str raises.
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
    their language. A `pattern` replaces all rules: a regular expression in which `.` matches any character. Its two
    groups are the language and the code, unchanged; if it has one group or none, that (or the match) is the code.

    Raises:
        RequestError: `pattern` is not a regular expression, or has more than two groups; or see `content_str`.
    """
    content = content_str(text)
    if pattern is not None:
        codes = list(_by_pattern(content, pattern, with_spans=detect_single_line_code))
    elif detect_single_line_code:
        codes = _blocks_and_spans(content)
    else:
        codes = [(block.language, block.code) for block in extract_blocks(content)]
    return codes or [("unknown", content)]


def unfence(text: str) -> str:
    """The code of a reply's code field, without Markdown fences and the prose around them; never raises.

    Text that is valid Python or has no fence is returned unchanged, except that blank lines around it are cut and it
    ends with one newline. Of several fenced blocks the longest is returned. The last one need not be closed.
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
    """The passages that the first successful rule finds."""
    text = "\n".join(lines)
    last = len(lines) - 1
    passages = find_in_json(text, 0, last) or find_escaped(text, 0, last)
    for find in (find_fenced, find_short_fenced, find_tagged, find_sections, find_diffs, find_loose):
        passages = passages or find(lines)
    return passages


def _blocks_and_spans(text: str) -> list[tuple[str, str]]:
    lines = _answer_lines(text)
    passages = _passages(lines)
    taken = {number for passage in passages for number in range(passage.first, passage.last + 1)}
    blocks = ((passage.first, block_of(passage)) for passage in passages)
    codes = [(number, (block.language, block.code)) for number, block in blocks]
    codes += [(number, ("", code)) for number, code in find_spans(lines, taken)]
    return [code for _, code in sorted(codes, key=lambda item: item[0])]


def _by_pattern(text: str, pattern: str, *, with_spans: bool) -> Iterator[tuple[str, str]]:
    read = 0  # up to where the text was searched
    for match in _compiled(pattern).finditer(text):
        groups = match.groups("") or (match[0],)
        if with_spans:
            yield from (("", code) for _, code in find_spans(split_lines(text[read : match.start()]), ()))
        read = match.end()
        yield (groups[0], groups[1]) if len(groups) == _GROUPS else (infer_lang(groups[0]), groups[0])
    if with_spans:
        yield from (("", code) for _, code in find_spans(split_lines(text[read:]), ()))


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


def block_of(passage: Passage) -> CodeBlock:
    """The passage as a block. The language that the reply states wins over the one that the code looks like."""
    attributes = dict(passage.attributes)
    file = file_in_attributes(attributes) or file_above(passage.above) or file_in_first_line(passage.code)
    stated = passage.language or language_of_file(file or "") or language_above(passage.above)
    code, language = (passage.code, stated) if stated else _inferred(passage.code)
    code = _without_entities(code, language)
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
    """The code and its inferred language; a first line that only names that language is cut off."""
    first, _, rest = code.partition("\n")
    named = language_above(first)
    if named and infer_lang(rest) == named:
        return rest, named
    is_edit = kind_of(code, "") == "search_replace"
    return code, infer_lang(search_and_replace_text(code) if is_edit else code)


def _without_entities(code: str, language: str) -> str:
    """The code with HTML entities decoded, if they cannot be meant: the source of a page was copied."""
    if language in _MARKUP or not _ENTITY.search(code):
        return code
    plain = unescape(code)
    if language == "python":
        return plain if not is_python(code) and is_python(plain) else code
    was_escaped = "<" not in code and ">" not in code and ("<" in plain or ">" in plain)
    return plain if was_escaped else code


def content_str(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    """The text of a message's content in OpenAI's chat API: its text parts joined, with `<image>` for every image.

    "" for None.

    Raises:
        ArgumentTypeError: `content` is not a str, a list or None, or a part is not a mapping.
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
        raise ArgumentTypeError(f"{where} is {type(part).__name__}; {_CONTENT_PART}")
    kind = part.get("type")
    if kind == "image_url":
        return "<image>"
    if kind != "text":
        raise RequestError(f"{where} has {f'the type {kind!r}' if 'type' in part else 'no type'}; {_CONTENT_PART}")
    if not isinstance(part.get("text"), str):
        raise RequestError(f"{where}: its text is {type(part.get('text')).__name__}; {_CONTENT_PART}")
    return str(part["text"])
