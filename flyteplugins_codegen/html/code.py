"""Source code with its words coloured, and the difference of two versions."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

from flyteplugins_codegen.html.kit import fitting, text
from flyteplugins_codegen.text import shorten_middle

_MOST_CHARS: Final = 60_000
_MOST_SHOWN_CHARS: Final = 200_000
_MOST_NUMBERED_LINES: Final = 4_000
_MOST_COMPARED_CHARS: Final = 60_000
# Classes of the style sheet by the beginning of Pygments' names of tokens; the first that fits.
_CLASSES: Final = (
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
    """A Python file with its lines numbered. What takes too much room is shown plain, what is too long shortened."""
    code = shorten_middle(code.rstrip("\n"), _MOST_CHARS)
    coloured = "".join(_spans(code))
    lines = coloured if len(coloured) <= _MOST_SHOWN_CHARS else fitting(code, _MOST_SHOWN_CHARS)
    return f'<div class="code" tabindex="0">{_numbers(code)}<pre><code>{lines}</code></pre></div>'


def _numbers(code: str) -> str:
    last = code.count("\n") + 1
    if last > _MOST_NUMBERED_LINES:
        return ""
    numbers = "\n".join(str(number) for number in range(1, last + 1))
    return f'<pre class="numbers" aria-hidden="true">{numbers}</pre>'


def shell_code(commands: str) -> str:
    """Commands to type."""
    return _scrolled(text(commands))


def plain_code(code: str, chars: int) -> str:
    """Code of about so many characters at most, without colours; its lines stay whole, as in Python they must."""
    return _scrolled(fitting(code.strip("\n"), chars))


def _scrolled(code: str) -> str:
    return f'<div class="code" tabindex="0"><pre><code>{code}</code></pre></div>'


def _spans(code: str) -> Iterator[str]:
    from pygments.lexers.python import PythonLexer

    tokens = PythonLexer(stripnl=False, ensurenl=False).get_tokens(code)
    for kind, run in groupby(((_class_of(str(token)), value) for token, value in tokens), key=lambda item: item[0]):
        words = text("".join(value for _, value in run))
        yield f'<span class="{kind}">{words}</span>' if kind else words


def _class_of(token: str) -> str:
    return next((kind for beginning, kind in _CLASSES if token.startswith(beginning)), "")


class FileChange(NamedTuple):
    """The lines of a unified difference, without its heading."""

    name: str
    lines: list[str]


def changes(files: Iterable[tuple[str, str, str]]) -> list[FileChange]:
    """What changed, file by file: of each the name, the text before and the text after; nothing where nothing did."""
    return [FileChange(name, _differing(before, after)) for name, before, after in files if before != after]


def _differing(before: str, after: str) -> list[str]:
    old, new = (shorten_middle(text, _MOST_COMPARED_CHARS).splitlines() for text in (before, after))
    return list(difflib.unified_diff(old, new, lineterm=""))[2:]


def render_change(change: FileChange, chars: int) -> str:
    """The lines, coloured by what became of them."""
    added, removed = (sum(line.startswith(sign) for line in change.lines) for sign in "+-")
    shown = shorten_middle("\n".join(change.lines), chars).split("\n")
    return (
        f'<p class="file"><b>{change.name}</b> '
        f'<span class="plus">+{added}</span> <span class="minus">&minus;{removed}</span></p>'
        f'<pre class="diff" tabindex="0">{"".join(_diff_line(line) for line in shown)}</pre>'
    )


def _diff_line(line: str) -> str:
    kind = {"+": "plus", "-": "minus", "@": "place"}.get(line[:1])
    shown = fitting(line, 2_000) or " "
    return f'<span class="{kind}">{shown}</span>' if kind else f"<span>{shown}</span>"
