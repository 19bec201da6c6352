"""Whether a line of a reply is a sentence to its reader rather than a line of code."""

from __future__ import annotations

import re

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
