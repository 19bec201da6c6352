"""Code as HTML: a highlighted listing, and the difference of two versions."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

from flyteplugins_codegen.html.kit import fitting, text
from flyteplugins_codegen.text import shorten_middle

_MOST_CHARS: Final = 60_000
_MOST_HTML_CHARS: Final = 200_000
_MOST_NUMBERED_LINES: Final = 4_000
_MOST_COMPARED_CHARS: Final = 60_000
# Classes of the style sheet by the prefix of Pygments' token names; the first match counts.
_TOKEN_CLASSES: Final = (
    ("Token.Comment", "c"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "n"),
    ("Token.Keyword", "k"),
    ("Token.Operator.Word", "k"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Class", "f"),
    ("Token.Name.Decorator", "d"),
    ("Token.Name.Builtin", "b"),
)


def python_code(code: str) -> str:
    """Highlighted Python with line numbers. Long code is shortened; code whose HTML is too long is plain."""
    code = shorten_middle(code.rstrip("\n"), _MOST_CHARS)
    highlighted = "".join(_spans(code))
    lines = highlighted if len(highlighted) <= _MOST_HTML_CHARS else fitting(code, _MOST_HTML_CHARS)
    return _listing(lines, _line_numbers(code))


def _line_numbers(code: str) -> str:
    last = code.count("\n") + 1
    if last > _MOST_NUMBERED_LINES:
        return ""
    numbers = "\n".join(str(number) for number in range(1, last + 1))
    return f'<pre class="numbers" aria-hidden="true">{numbers}</pre>'


def shell_code(commands: str) -> str:
    """Shell commands, not highlighted."""
    return _listing(text(commands))


def plain_code(code: str, chars: int) -> str:
    """Code of about `chars` characters at most, not highlighted. Its lines do not wrap: in Python they have meaning."""
    return _listing(fitting(code.strip("\n"), chars))


def _listing(code: str, numbers: str = "") -> str:
    return f'<div class="code" tabindex="0">{numbers}<pre><code>{code}</code></pre></div>'


def _spans(code: str) -> Iterator[str]:
    from pygments.lexers.python import PythonLexer

    tokens = PythonLexer(stripnl=False, ensurenl=False).get_tokens(code)
    classified = ((_class_of(str(token)), value) for token, value in tokens)
    for token_class, run in groupby(classified, key=lambda item: item[0]):
        escaped = text("".join(value for _, value in run))
        yield f'<span class="{token_class}">{escaped}</span>' if token_class else escaped


def _class_of(token: str) -> str:
    return next((name for prefix, name in _TOKEN_CLASSES if token.startswith(prefix)), "")


class FileChange(NamedTuple):
    """A file's unified difference, without its header lines."""

    name: str
    lines: list[str]


def changes(files: Iterable[tuple[str, str, str]]) -> list[FileChange]:
    """The files that changed, out of (name, text before, text after) of each."""
    return [FileChange(name, _diff(before, after)) for name, before, after in files if before != after]


def _diff(before: str, after: str) -> list[str]:
    old, new = (shorten_middle(version, _MOST_COMPARED_CHARS).splitlines() for version in (before, after))
    return list(difflib.unified_diff(old, new, lineterm=""))[2:]


def render_change(change: FileChange, chars: int) -> str:
    """The changed lines of one file, and how many were added and removed."""
    added, removed = (sum(line.startswith(sign) for line in change.lines) for sign in "+-")
    lines = shorten_middle("\n".join(change.lines), chars).split("\n")
    return (
        f'<p class="file"><b>{text(change.name)}</b> '
        f'<span class="plus">+{added}</span> <span class="minus">&minus;{removed}</span></p>'
        f'<pre class="diff" tabindex="0">{"".join(_diff_line(line) for line in lines)}</pre>'
    )


def _diff_line(line: str) -> str:
    kind = {"+": "plus", "-": "minus", "@": "hunk"}.get(line[:1])
    escaped = fitting(line, 2_000) or " "
    return f'<span class="{kind}">{escaped}</span>' if kind else f"<span>{escaped}</span>"
