"""Code between tags: `<code>`, `<pre>`, `<python>`, `<file path="x.py">`, `[PYTHON]`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import NamedTuple

from flyteplugins_codegen.source.infer_lang import infer_lang
from flyteplugins_codegen.source.language_names import language_of
from flyteplugins_codegen.source.replies.json_replies import find_in_json
from flyteplugins_codegen.source.replies.names import known_language
from flyteplugins_codegen.source.replies.passage import Passage

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
