"""Whether a line of a reply is a sentence to its reader rather than a line of code."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARKUP = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?")
_CODE_SPAN = re.compile(r"`[^`]+`")
_BOLD = re.compile(r"\*\*|__")
_WORD = re.compile(r"[(\"'\u2018\u201c]*[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[)\"'\u2019\u201d]*[.,:;!?\u2026]*\Z")
_CODE_MARKS = re.compile(r"[=<>{}\[\];|\\$@&^~]|\w\(|\w\.\w|\(\)|::|--|\w/\w|/\w")
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
_LONGEST = 2_000
_FEW_WORDS = 2
_FEW_MARKS = 0.3
_MOSTLY = 0.6


def is_prose(line: str, following: str = "") -> bool:
    """Whether a line, with the line that follows it, is prose: a sentence, a heading, an item, a row of a table.

    In doubt it is not: what is no sentence may still be no code either.
    """
    if line.startswith(("    ", "\t")) or not line.strip() or _COMMENT.match(line):
        return False
    text = line.strip()[:_LONGEST]
    if text.startswith(("## ", "### ", "#### ", "**", "> ")) or (text.startswith("|") and text.endswith("|")):
        return True
    return _reads_as_prose(_CODE_SPAN.sub("it", _BOLD.sub("", _MARKUP.sub("", text, count=1))), following)


def _reads_as_prose(text: str, following: str) -> bool:
    words = text.split()
    plain = sum(bool(_WORD.match(word)) for word in words)
    marks = len(_CODE_MARKS.findall(text))
    common = sum(word.lower().strip(".,:;!?()\"'") in _COMMON_WORDS for word in words)
    ends = text.endswith(_STOPS)
    if _KEYWORDS.match(text) and not (common > _FEW_WORDS and ends):
        return False
    if not text.isascii() and not marks and 2 * plain >= len(words):
        return True
    if len(words) <= _FEW_WORDS:  # `Then:`, not `services:`
        return not marks and plain == len(words) and ends and text[0].isupper() and not following.strip()
    if plain < _MOSTLY * len(words) or marks > _FEW_MARKS * len(words):
        return False
    return common > 1 or ends or (common > 0 and text[0].isupper())


# Lines and their indentation as CommonMark counts them.

_TAB = 4
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")


def split_lines(text: str) -> list[str]:
    """The lines of a text; only LF, CRLF and CR end one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def columns(prefix: str) -> int:
    """How far a prefix of a line reaches, tabs in it being stops of four columns."""
    return len(prefix.expandtabs(_TAB)) if "\t" in prefix else len(prefix)


def indentation(line: str) -> int:
    """The columns of blanks that a line begins with."""
    return columns(line[: len(line) - len(line.lstrip(" \t"))])


def item_width(line: str) -> int:
    """How far the content of a list item is moved in, if a line begins one; else 0."""
    item = _ITEM.match(line)
    return columns(item[0]) if item else 0


def is_in_item(lines: Sequence[str], number: int, column: int) -> bool:
    """Whether a line at a column belongs to a list item, by the line over it or the one over a blank line."""
    above = next((line for line in reversed(lines[max(0, number - 2) : number]) if line.strip()), "")
    is_fence = above.lstrip(" \t").startswith(("```", "~~~"))
    return not is_fence and 0 < column <= max(item_width(above), indentation(above))


def without_containers(line: str, quotes: int, column: int) -> str | None:
    """A line without its quote marks and up to as many columns of blanks; None if it is not that deep in quotes."""
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


# Whether a line lies within a string that spans lines, so that a fence in it is text of the program.

_PYTHON_TOKEN = re.compile(r"""#.*|\"{3}|'{3}|"[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?""")
_HEREDOC = re.compile(r"""(?<!<)<<-?[ \t]*(['"]?)([A-Za-z_]\w*)\1""")
_TRIPLE = ('"""', "'''")
PYTHON = frozenset({"python", ""})
SHELLS = frozenset({"sh", "bash"})


def open_literal(language: str, line: str, literal: str) -> str:
    """What ends the literal that is open after the line; "" if none is. `literal` is the same for before the line.

    Known are Python's triple quotes (for text without a language too) and the here-documents of shells.
    """
    if language in PYTHON:
        return _open_triple_quote(line, literal) if '"""' in line or "'''" in line else literal
    if language not in SHELLS:
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
