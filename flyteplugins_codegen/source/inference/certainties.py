"""What leaves no doubt: a shebang, a prompt, the head of a diff, text that a parser of JSON takes."""

from __future__ import annotations

import json
import re
from typing import Final

from flyteplugins_codegen.source.inference.commands import is_prompt, weigh_commands
from flyteplugins_codegen.source.inference.samples import Sample

_SHEBANG: Final = re.compile(r"#![^\n]*?\b(python|bash|zsh|ksh|dash|ash|sh|node|deno|ruby|php|pwsh|Rscript|make|perl|lua)")
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
_PYTHON_SESSION: Final = re.compile(r"\s*(?:>>> |In \[\d*\]: )")
_RUBY_SESSION: Final = re.compile(r"\s*(?:irb(?:\([^)\n]*\))?[:\d]*[>*] |\[\d+\] pry\()")
_POWERSHELL_SESSION: Final = re.compile(r"\s*PS(?: [A-Za-z]:\\[^\n>]*| /[^\n>]*)?> ")
_DIFF: Final = re.compile(
    r"^diff (?:--git|-)|^From [0-9a-f]{40} |^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|^--- [^\n]+\n\+\+\+ |^\*{15}$|^\d+(?:,\d+)?[acd]\d+(?:,\d+)?\n[<>] ",
    re.MULTILINE,
)
_OUTPUT: Final = re.compile(
    r"Traceback \(most recent call last\):|Exception in thread \"|[\[(]?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|"
    r"(?:GET|POST|PUT|DELETE|PATCH|HEAD) /\S* HTTP/\d|HTTP/\d(?:\.\d)? \d{3}|https?://\S+\s*$|total \d+\n[-dl][r-]|={3,} |[A-Z]\w*(?:Error|Exception|Warning): |(?:error|warning|fatal)(?:\[E\d+\])?: [a-z`'][^\n]* |==\d+== "
)
_JSON_CHARS: Final = 4_000


def infer_certainly(sample: Sample) -> str:
    """The language where there is no doubt, `unknown` for output that is no code, "" where evidence must be weighed."""
    text = sample.text
    if text.isidentifier() or text.isdecimal():
        return "sh" if weigh_commands((text,)) else "unknown"
    shebang = _SHEBANG.match(text)
    if shebang:
        return _RUN_BY.get(shebang[1], shebang[1])
    if "<?php" in text or "<?=" in text:
        return "php"
    return _session(sample) or ("unknown" if _OUTPUT.match(text) else "") or _diff(sample) or _json(sample)


def _session(sample: Sample) -> str:
    if _PYTHON_SESSION.match(sample.text):
        return "python"
    if _RUBY_SESSION.match(sample.text):
        return "ruby"
    if _POWERSHELL_SESSION.match(sample.text):
        return "powershell"
    told = (line for line in sample.lines if not line.lstrip().startswith("# "))
    return "sh" if is_prompt(next(told, "")) else ""


def _diff(sample: Sample) -> str:
    if _DIFF.search(sample.text):
        return "diff"
    if not all(line[0] in "+- " for line in sample.lines):
        return ""
    removed = sum(line[0] == "-" for line in sample.lines)
    added = sum(line[0] == "+" for line in sample.lines)
    is_list = all(line.startswith("- ") and line[2:3] != " " for line in sample.lines if line[0] == "-")
    return "diff" if removed and added or removed < len(sample.lines) and removed and not is_list else ""


def _json(sample: Sample) -> str:
    """JSON's objects and arrays, whole or one a line. A lone number or string is JSON too, and tells nothing."""
    start, first = sample.text.lstrip()[:1], sample.lines[0]
    if not start or start not in "{[" or not sample.text.rstrip().endswith(("}", "]")):
        return ""
    if _is_json(sample.text) or (len(sample.lines) > 1 and _is_json(first) and _is_json(sample.lines[1])):
        return "json"
    return ""


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text[:_JSON_CHARS]), dict | list)
    except (ValueError, RecursionError):
        return False
