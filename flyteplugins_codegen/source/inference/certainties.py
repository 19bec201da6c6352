"""What leaves no doubt: JSON that parses, a shebang, a prompt, the head of a diff, what programs print."""

from __future__ import annotations

import json
import re
from typing import Final

from flyteplugins_codegen.source.inference.commands import is_prompt, weigh_commands
from flyteplugins_codegen.source.inference.prose import weigh_prose
from flyteplugins_codegen.source.inference.samples import Sample

_SHEBANG: Final = re.compile(
    r"#![^\n]*?\b(python|bash|zsh|ksh|dash|ash|sh|node|deno|ruby|php|pwsh|Rscript|make|perl|lua)"
)
_RUN_BY: Final = {
    "zsh": "bash",
    "ksh": "bash",
    "dash": "sh",
    "ash": "sh",
    "node": "javascript",
    "deno": "typescript",
    "pwsh": "powershell",
    "Rscript": "r",
    "make": "makefile",
}
_SESSIONS: Final = (
    ("python", re.compile(r"\s*(?:>>> |In \[\d*\]: )")),
    ("ruby", re.compile(r"\s*(?:irb(?:\([^)\n]*\))?[:\d]*[>*] |\[\d+\] pry\()")),
    ("powershell", re.compile(r"\s*PS(?: [A-Za-z]:\\[^\n>]*| /[^\n>]*)?> ")),
)
_DIFF: Final = re.compile(
    r"^diff (?:--git|-)|"
    r"^From [0-9a-f]{40} |"
    r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|"
    r"^--- [^\n]+\n\+\+\+ |"
    r"^\*{15}$|"
    r"^\d+(?:,\d+)?[acd]\d+(?:,\d+)?\n[<>] ",
    re.MULTILINE,
)
_OUTPUT: Final = re.compile(
    r"Traceback \(most recent call last\):|"
    r"Exception in thread \"|"
    r"[A-Z]\w*(?:Error|Exception|Warning): |"
    r"(?:error|warning|fatal)(?:\[E\d+\])?: [a-z`'][^\n]*(?: |\Z)|"
    r"(?:\w+: )+(?:line \d+: )?[^\n:]+: (?:command not found|No such file|Permission denied)|"
    r"npm (?:ERR!|WARN|error|warn) |"
    r"[\[(]?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|"
    r"(?:GET|POST|PUT|DELETE|PATCH|HEAD) /\S* HTTP/\d|"
    r"HTTP/\d(?:\.\d)? \d{3}|"
    r"https?://\S+\s*$|"
    r"total \d+\n[-dl][r-]|"
    r"={3,} |"
    r"==\d+== "
)
_SENTENCE: Final = 4.0
_JSON_CHARS: Final = 10_000


def infer_certainly(sample: Sample) -> str:
    """The language where there is no doubt, `unknown` for what is no code, "" where evidence must be weighed."""
    text = sample.text
    if text.isidentifier() or text.isdecimal():
        return "sh" if weigh_commands((text,)) else "unknown"
    shebang = _SHEBANG.match(text)
    if shebang:
        return _RUN_BY.get(shebang[1], shebang[1])
    if "<?php" in text or "<?=" in text:
        return "php"
    return _infer_session(sample) or ("unknown" if _OUTPUT.match(text) else "") or _infer_diff(sample)


def _infer_session(sample: Sample) -> str:
    """The language of an interpreter's prompt that the text begins with."""
    for language, prompt in _SESSIONS:
        if prompt.match(sample.text):
            return language
    told = next((line for line in sample.lines if not line.lstrip().startswith("# ")), "")
    return "sh" if is_prompt(told) and weigh_prose(told) < _SENTENCE else ""


def _infer_diff(sample: Sample) -> str:
    return "diff" if _DIFF.search(sample.text) or _is_bare_diff(sample.lines) else ""


def _is_bare_diff(lines: tuple[str, ...]) -> bool:
    """Whether these are lines taken out and put in, without the head of a diff; a list of YAML's is none."""
    if not all(line[0] in "+- " for line in lines) or lines[0].startswith("---"):
        return False
    removed = [line for line in lines if line[0] == "-"]
    if any(line[0] == "+" for line in lines):
        return bool(removed)
    is_list = all(line.startswith("- ") and line[2:3] != " " for line in removed)
    is_indented = any(line.startswith("-  ") for line in removed)
    return is_indented or (0 < len(removed) < len(lines) and not is_list)


def is_json(text: str) -> bool:
    """Whether the text is an object or an array of JSON, or several, one a line.

    A lone number or string is JSON too, and tells nothing. What is longer than 10,000 characters is not parsed.
    """
    start = text[: _JSON_CHARS + 1].strip()
    if not start.startswith(("{", "[")):
        return False
    first_lines = start.split("\n", 2)[:2]
    return _is_parsed(start) or (len(first_lines) > 1 and all(_is_parsed(line) for line in first_lines))


def _is_parsed(text: str) -> bool:
    if len(text) > _JSON_CHARS or not text.rstrip().endswith(("}", "]")):
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False
