"""Code out of a model's reply: a code field that arrives as a fenced Markdown block is freed of its fence."""

from __future__ import annotations

import ast
import re

_FENCE = re.compile(r"```|~~~")
# What a line of prose hardly ever begins with, and a script always holds somewhere.
_PYTHON_LINE = re.compile(
    r"^(?:import \w|from [\w.]+ import |(?:async )?def \w+\s*\(|class \w+\s*[:(]|@\w)", re.MULTILINE
)


def unfence(text: str) -> str:
    """The code of a reply's code field, free of Markdown fences and of prose around them; never raises.

    Text that is Python as it stands, or that holds no fence, comes back as it is, apart from blank lines around it and
    one newline at its end. Of several fenced blocks the longest is the code. A last fence that is never closed gives
    what is there, as CommonMark (section 4.5) has it.
    """
    if not _FENCE.search(text) or _is_python(text):
        return _trim(text)
    return _trim(_fenced_code(text))


def _fenced_code(text: str) -> str:
    blocks = _fences(text)
    if not blocks:
        return text
    lines = re.split(r"\r\n|\r|\n", text)
    outside = "\n".join(lines[: blocks[0][0]])
    if _PYTHON_LINE.search(outside):
        return text  # code that is broken somewhere, with a fence inside one of its strings
    longest = max((content for _, _, content in blocks), key=len)
    if _is_python(longest):
        return longest
    # A fence inside the code's own docstring ends the block early for CommonMark: try the outermost pair.
    outermost = "\n".join(lines[blocks[0][0] + 1 : _last_fence_line(lines)])
    return outermost if outermost.strip() and _is_python(outermost) else longest


def _fences(text: str) -> list[tuple[int, int, str]]:
    """The first line, the line after the last, and the content of every fenced block."""
    from markdown_it import MarkdownIt

    # Only the block structure counts. Without HTML blocks, a tag above a fence does not swallow it.
    parser = MarkdownIt("commonmark").disable(["inline", "html_block", "reference"])
    return [
        (token.map[0], token.map[1], token.content)
        for token in parser.parse(text)
        if token.type == "fence" and token.map is not None
    ]


def _last_fence_line(lines: list[str]) -> int:
    fences = (number for number, line in enumerate(lines) if line.lstrip().startswith(("```", "~~~")))
    return max(fences, default=len(lines))


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _trim(text: str) -> str:
    lines = text.split("\n")
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return "\n".join(lines[start:end]) + "\n" if end > start else ""
