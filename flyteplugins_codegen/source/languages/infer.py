"""What leaves no doubt: JSON that parses, a shebang, a prompt, the head of a diff, what programs print."""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.source.languages import patterns_compiled, patterns_data, patterns_scripts, patterns_web
from flyteplugins_codegen.source.languages.evidence import Evidence, Sample, Scores, gathered, samples_of
from flyteplugins_codegen.source.languages.lines import (
    infer_markup,
    is_prompt,
    weigh_commands,
    weigh_prose,
    weigh_python,
    weigh_sections,
    weigh_yaml,
)
from flyteplugins_codegen.source.languages.patterns_scripts import needs_bash

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


# All that speaks for each language, brought together in one score apiece.

UNKNOWN: Final = "unknown"
"""What text is that is no code, or code of no language that can be told."""

# The second language is the first with more: what speaks for the first speaks for it too, once enough is its own.
EXTENDED: Final = {"javascript": "typescript", "c": "cpp"}
_OWN_ENOUGH: Final = 2.0
# A lead that no count of lines, and one that no parser, could still turn.
_BEYOND_LINES: Final = 11.0
_BEYOND_PARSER: Final = 4.0

_PATTERNS: Final = (patterns_scripts, patterns_web, patterns_compiled, patterns_data)
_WORDS: Final = tuple(chain.from_iterable(module.WORDS for module in _PATTERNS))
_MARKS: Final = tuple(chain.from_iterable(module.MARKS for module in _PATTERNS))
EVIDENCE: Final = gathered(_WORDS, _MARKS)


def _only(language: str) -> Evidence:
    """The evidence that speaks for one language."""
    tables = ({word: weights for word, weights in table.items() if language in dict(weights)} for table in _WORDS)
    return gathered(tables, (mark for mark in _MARKS if language in dict(mark.weights)))


_OF_EXTENSIONS: Final = {extension: _only(extension) for extension in EXTENDED.values()}


def weigh(sample: Sample) -> Scores:
    """How much speaks for each language, and for none of them under `unknown`."""
    scores = EVIDENCE.weigh(sample)
    for base, extension in EXTENDED.items():
        if scores.get(extension, 0.0) >= _OWN_ENOUGH:
            scores[extension] += scores.get(base, 0.0)
    if lead(scores) < _BEYOND_LINES:
        _weigh_lines(sample, scores)
    if _is_doubtful(sample, scores):
        _add(scores, "python", weigh_python(sample.text))
    return scores


def with_extension(language: str, sample: Sample) -> str:
    """The language that extends this one where the sample uses enough of it, else this one."""
    extension = EXTENDED[language]
    own = _OF_EXTENSIONS[extension].weigh(sample).get(extension, 0.0)
    return extension if own >= _OWN_ENOUGH else language


def lead(scores: Scores) -> float:
    """By how much the highest score exceeds the next."""
    first, second = sorted((*scores.values(), 0.0, 0.0), reverse=True)[:2]
    return first - second


def _weigh_lines(sample: Sample, scores: Scores) -> None:
    lines = tuple(line for line in sample.code.split("\n") if line and not line.isspace())
    yaml, prose = weigh_yaml(lines), weigh_prose(sample.code)
    _add(scores, "sh", weigh_commands(lines))
    _add(scores, "yaml", yaml)
    _add(scores, UNKNOWN, prose / 2 if yaml else prose)  # settings describe things in words
    for language, weight in weigh_sections(lines).items():
        _add(scores, language, weight)


def _is_doubtful(sample: Sample, scores: Scores) -> bool:
    """Whether the parser's word on Python may decide: it costs more than all the rest."""
    python = scores.get("python", 0.0)
    other = max((score for language, score in scores.items() if language != "python"), default=0.0)
    is_display = sample.text.lstrip().startswith(("{", "["))
    return is_display or max(python, other) < _BEYOND_PARSER + 2.0 or abs(python - other) < _BEYOND_PARSER


def _add(scores: Scores, language: str, weight: float) -> None:
    scores[language] = scores.get(language, 0.0) + weight


# Which language a piece of code is written in.

_LEAST: Final = 2.0
_CLEAR: Final = 8.0
_CLEAR_LEAD: Final = 5.0
_BASH_CHARS: Final = 4_000


def infer_lang(code: str) -> str:
    """The language of a piece of code by its content, as people and models write it; never runs any of it.

    Gives `python`, `sh`, `bash`, `powershell`, `javascript`, `typescript`, `html`, `css`, `json`, `yaml`, `toml`,
    `ini`, `xml`, `sql`, `c`, `cpp`, `csharp`, `rust`, `go`, `java`, `kotlin`, `swift`, `ruby`, `php`, `r`,
    `dockerfile`, `makefile`, `diff`, and for a shebang also `perl` and `lua`: names of `language_names.LANGUAGES`.

    As in AutoGen 0.2, Python is `python`, shell commands are `sh`, and what no language can be told of is `unknown`:
    plain text, what programs print, a lone word. A script is `bash` only if its shebang says so, or if it needs bash:
    `[[ ]]`, arrays, `source`, `pipefail`. A session (`>>> 1 + 1`, `$ ls`) is in the language typed at its prompt.
    TypeScript that uses none of its own syntax is `javascript`, and C++ likewise is `c`.

    Method: certainties first (JSON that parses, a shebang, a prompt, the head of a diff, tags). Then words and patterns
    with hand-set weights for each language, how much the lines read as commands, settings or prose, and, where Python
    is in doubt, its parser. Of a long text the first 400 characters past a banner of comments are weighed, and 1,000
    where those leave a doubt, so that its length costs nothing. Of snippets that it was not made by, written by hand
    for it and mostly a few lines long, 98 in 100 are told (tests/source/languages).

    Raises:
        RequestError: `code` is not a str.
    """
    if not isinstance(code, str):
        raise RequestError(f"the code whose language is asked for is to be a str, not {type(code).__name__}; pass text")
    if is_json(code):
        return "json"
    language, is_clear = UNKNOWN, False
    for sample in samples_of(code):
        if is_clear:
            language = with_extension(language, sample)
            break
        language, is_clear = _judge(sample)
        if is_clear and language not in EXTENDED:
            break
    return "bash" if language == "sh" and needs_bash(code[:_BASH_CHARS]) else language


def _judge(sample: Sample) -> tuple[str, bool]:
    """The language of a sample, and whether it is so clear that more of the text would not change it."""
    certain = infer_certainly(sample) or infer_markup(sample.text)
    return (certain, True) if certain else _best(weigh(sample))


def _best(scores: Scores) -> tuple[str, bool]:
    best = min(scores, key=lambda language: (-scores[language], language), default=UNKNOWN)
    score = scores.get(best, 0.0)
    if score < _LEAST:
        return UNKNOWN, False
    return best, score >= _CLEAR and lead(scores) >= _CLEAR_LEAD
