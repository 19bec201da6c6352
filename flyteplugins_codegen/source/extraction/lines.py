"""The lines of a reply: their columns, the strings that span them, and whether a line reads as prose or as code.

Columns are counted as CommonMark counts them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_TAB = 4
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")

_PYTHON_TOKEN = re.compile(r"""#.*|\"{3}|'{3}|"[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?""")
_HEREDOC = re.compile(r"""(?<!<)<<-?[ \t]*(['"]?)([A-Za-z_]\w*)\1""")
_TRIPLE = ('"""', "'''")
_PYTHON = frozenset({"python", ""})
_SHELLS = frozenset({"sh", "bash"})

_MARKUP = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?")
_CODE_SPAN = re.compile(r"`[^`]+`")
_BOLD = re.compile(r"\*\*|__")
_WORD = re.compile(r"[(\"'\u2018\u201c]*[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[)\"'\u2019\u201d]*[.,:;!?\u2026]*\Z")
_CODE_SIGNS = re.compile(r"[=<>{}\[\];|\\$@&^~]|\w\(|\w\.\w|\(\)|::|--|\w/\w|/\w")
_COMMENT = re.compile(r"#(?!#)|//|/\*|--(?!-)| \* |<!--|;;|%%|\"\"\"|'''|\$ |>>> ")
_KEYWORDS = re.compile(
    r"(?:if|elif|else|for|while|with|try|except|finally|def|class|async|case|match|switch|function|func|fn|do|then|done"
    r"|import|from|return|package|use|using|let|const|var|pub|echo|cd|git|pip|npm|sudo|apt|docker|export|set|end|begin"
    r"|print|raise|assert|yield|lambda|global|del|pass|mkdir|python|bash|sh|source|module|struct|type|enum|interface"
    r"|select|insert|delete|alter|drop|SELECT|INSERT|UPDATE|DELETE|CREATE|FROM|WHERE|WITH|ALTER|DROP|ORDER|GROUP|JOIN"
    r"|SET|VALUES|RUN|CMD|COPY|ENV|ARG|EXPOSE|ENTRYPOINT|WORKDIR)\b"
)
_ENGLISH = (
    "the a an is are was be been to of in on at it its this that these those you your i i'm i'll we our they he she"
    " will would can could should may might must have has had do does did not no and or but so because since when"
    " where which what who how why there here here's for from with without as by if then than each every all any"
)
_COMMON_WORDS = frozenset(_ENGLISH.split())
_STOPS = (".", "!", "?", ":", "\u2026", "\u3002", "\uff1a", "\uff01", "\uff1f")
_LONGEST_CHARS = 2_000
_FEW_WORDS = 2
_FEW_SIGNS = 0.3
_MOSTLY = 0.6


def split_lines(text: str) -> list[str]:
    """The lines of a text, split at LF, CRLF and CR only."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def columns(prefix: str) -> int:
    """The width of a line's prefix in columns, with tab stops every four columns."""
    return len(prefix.expandtabs(_TAB)) if "\t" in prefix else len(prefix)


def indentation(line: str) -> int:
    """The width of a line's leading blanks in columns."""
    return columns(line[: len(line) - len(line.lstrip(" \t"))])


def item_width(line: str) -> int:
    """The indentation of a list item's content if the line begins one, else 0."""
    item = _ITEM.match(line)
    return columns(item[0]) if item else 0


def is_in_item(lines: Sequence[str], number: int, column: int) -> bool:
    """Whether a line at a column belongs to a list item, judged by the line above it or above one blank line."""
    above = next((line for line in reversed(lines[max(0, number - 2) : number]) if line.strip()), "")
    is_fence = above.lstrip(" \t").startswith(("```", "~~~"))
    return not is_fence and 0 < column <= max(item_width(above), indentation(above))


def without_containers(line: str, quotes: int, column: int) -> str | None:
    """A line without its quote marks and up to `column` columns of blanks; None if it has fewer quote marks."""
    start = 0
    for _ in range(quotes):
        start = line.find(">", start) + 1
        if start == 0 or line[:start].strip("> \t"):
            return None
    end, at = columns(line[:start]), start
    wanted = end + column + (1 if quotes else 0)
    while at < len(line) and end < wanted and line[at] in " \t":
        end += 1 if line[at] == " " else _TAB - end % _TAB
        at += 1
    return " " * (end - wanted) + line[at:]


def open_literal(language: str, line: str, literal: str) -> str:
    """The terminator of the multi-line string that is open after the line, "" if none is; `literal` is that before it.

    Handles Python's triple quotes (also for text without a language) and the here-documents of shells.
    """
    if language in _PYTHON:
        return _open_triple_quote(line, literal) if '"""' in line or "'''" in line else literal
    if language not in _SHELLS:
        return ""
    if literal:
        return "" if line.strip() == literal else literal
    opened = _HEREDOC.search(line)
    return opened[2] if opened else ""


def _open_triple_quote(line: str, literal: str) -> str:
    at = 0
    while at < len(line):
        if literal:
            end = line.find(literal, at)
            if end < 0:
                return literal
            at, literal = end + len(literal), ""
        else:
            token = _PYTHON_TOKEN.search(line, at)
            if not token:
                return ""
            at, literal = token.end(), token[0] if token[0] in _TRIPLE else ""
    return literal


def is_prose(line: str, following: str = "") -> bool:
    """Whether a line, given the line after it, is prose: a sentence, a heading, an item, a row of a table.

    False in doubt, so a line that is not prose is not necessarily code.
    """
    if line.startswith(("    ", "\t")) or not line.strip() or _COMMENT.match(line):
        return False
    text = line.strip()[:_LONGEST_CHARS]
    if text.startswith(("## ", "### ", "#### ", "**", "> ")) or (text.startswith("|") and text.endswith("|")):
        return True
    return _reads_as_prose(_CODE_SPAN.sub("it", _BOLD.sub("", _MARKUP.sub("", text, count=1))), following)


def _reads_as_prose(text: str, following: str) -> bool:
    words = text.split()
    plain = sum(bool(_WORD.match(word)) for word in words)
    signs = len(_CODE_SIGNS.findall(text))
    common = sum(word.lower().strip(".,:;!?()\"'") in _COMMON_WORDS for word in words)
    ends = text.endswith(_STOPS)
    if _KEYWORDS.match(text) and not (common > _FEW_WORDS and ends):
        return False
    if not text.isascii() and not signs and 2 * plain >= len(words):
        return True
    if len(words) <= _FEW_WORDS:  # `Then:`, not `services:`
        return not signs and plain == len(words) and ends and text[0].isupper() and not following.strip()
    if plain < _MOSTLY * len(words) or signs > _FEW_SIGNS * len(words):
        return False
    return common > 1 or ends or (common > 0 and text[0].isupper())
