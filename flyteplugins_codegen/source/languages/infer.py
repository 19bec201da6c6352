"""The language of a piece of code, inferred from its content alone: certain signs first, then weighted evidence."""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.source.languages import patterns_compiled, patterns_data, patterns_scripts, patterns_web
from flyteplugins_codegen.source.languages.evidence import (
    CodeSample,
    LanguageEvidence,
    Scores,
    gather_evidence,
    samples_of,
)
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

UNKNOWN: Final = "unknown"
"""The language of text that is not code, and of code whose language cannot be inferred."""

# The second language extends the first: once it has enough evidence of its own, evidence for the first counts too.
_EXTENDED_BY: Final = {"javascript": "typescript", "c": "cpp"}
_OWN_ENOUGH: Final = 2.0
# Leads that neither the line counts nor the parser could still reverse.
_BEYOND_LINES: Final = 11.0
_BEYOND_PARSER: Final = 4.0

_TABLES: Final = (patterns_scripts, patterns_web, patterns_compiled, patterns_data)
_WORDS: Final = tuple(chain.from_iterable(module.WORDS for module in _TABLES))
_PATTERNS: Final = tuple(chain.from_iterable(module.PATTERNS for module in _TABLES))
EVIDENCE: Final = gather_evidence(_WORDS, _PATTERNS)
_LEAST_SCORE: Final = 2.0
_CLEAR_SCORE: Final = 8.0
_CLEAR_LEAD: Final = 5.0
_BASH_CHARS: Final = 4_000

_SHEBANG: Final = re.compile(
    r"#![^\n]*?\b(python|bash|zsh|ksh|dash|ash|sh|node|deno|ruby|php|pwsh|Rscript|make|perl|lua)"
)
_LANGUAGE_OF_PROGRAM: Final = {
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
_SENTENCE_WEIGHT: Final = 4.0
_JSON_CHARS: Final = 10_000


def infer_lang(code: str) -> str:
    """The language of a piece of code as people and models write it, inferred from its content without running it.

    One of `python`, `sh`, `bash`, `powershell`, `javascript`, `typescript`, `html`, `css`, `json`, `yaml`, `toml`,
    `ini`, `xml`, `sql`, `c`, `cpp`, `csharp`, `rust`, `go`, `java`, `kotlin`, `swift`, `ruby`, `php`, `r`,
    `dockerfile`, `makefile`, `diff`, and for a shebang also `perl` and `lua`, as in `languages.names.LANGUAGES`; or
    `unknown`.

    As in AutoGen 0.2, Python is `python` and shell commands are `sh`. Plain text, the output of programs and a single
    word are `unknown`. A script is `bash` only if its shebang says so or it needs bash (`[[ ]]`, arrays, `source`,
    `pipefail`). A session (`>>> 1 + 1`, `$ ls`) has the language that is typed at its prompt. TypeScript without any
    syntax of its own is `javascript`, and such C++ is `c`.

    Certain signs decide first: JSON that parses, a shebang, a prompt, the header of a diff, tags. Then words and
    patterns are weighed, with weights set by hand, and whether the lines read as commands, settings or prose; in doubt,
    Python's parser is asked. Only the first 400 characters after a banner of comments are weighed, and the first 1,000
    in doubt, so the length of the text does not matter. Of handwritten snippets that the rules were not tuned on, most
    of them a few lines long, 98 % are recognised (tests/source/languages).

    Raises:
        RequestError: `code` is not a str.
    """
    if not isinstance(code, str):
        raise RequestError(f"the code whose language is asked for is to be a str, not {type(code).__name__}; pass text")
    if _is_json(code):
        return "json"
    language, is_clear = UNKNOWN, False
    for sample in samples_of(code):
        if is_clear:
            language = _with_extension(language, sample)
            break
        certain = _infer_certainly(sample) or infer_markup(sample.text)
        language, is_clear = (certain, True) if certain else _best(_weigh(sample))
        if is_clear and language not in _EXTENDED_BY:
            break
    return "bash" if language == "sh" and needs_bash(code[:_BASH_CHARS]) else language


def _best(scores: Scores) -> tuple[str, bool]:
    """The language with the highest score, and whether it is so clear that more text would not change it."""
    best = min(scores, key=lambda language: (-scores[language], language), default=UNKNOWN)
    score = scores.get(best, 0.0)
    if score < _LEAST_SCORE:
        return UNKNOWN, False
    return best, score >= _CLEAR_SCORE and _lead(scores) >= _CLEAR_LEAD


# --- certain signs ----------------------------------------------------------------------------------------------------


def _infer_certainly(sample: CodeSample) -> str:
    """The language if it is certain, `unknown` for text that is not code, "" if evidence must be weighed."""
    text = sample.text
    if text.isidentifier() or text.isdecimal():
        return "sh" if weigh_commands((text,)) else UNKNOWN
    shebang = _SHEBANG.match(text)
    if shebang:
        return _LANGUAGE_OF_PROGRAM.get(shebang[1], shebang[1])
    if "<?php" in text or "<?=" in text:
        return "php"
    session = _infer_session(sample)
    if session or _OUTPUT.match(text):
        return session or UNKNOWN
    return "diff" if _DIFF.search(text) or _is_bare_diff(sample.lines) else ""


def _infer_session(sample: CodeSample) -> str:
    """The language of the interactive prompt that the text begins with, "" if there is none."""
    for language, prompt in _SESSIONS:
        if prompt.match(sample.text):
            return language
    first = next((line for line in sample.lines if not line.lstrip().startswith("# ")), "")
    return "sh" if is_prompt(first) and weigh_prose(first) < _SENTENCE_WEIGHT else ""


def _is_bare_diff(lines: tuple[str, ...]) -> bool:
    """Whether the lines are a diff without a header: lines removed and added, but not a list of YAML."""
    if not all(line[0] in "+- " for line in lines) or lines[0].startswith("---"):
        return False
    removed = [line for line in lines if line[0] == "-"]
    if any(line[0] == "+" for line in lines):
        return bool(removed)
    is_list = all(line.startswith("- ") and line[2:3] != " " for line in removed)
    is_indented = any(line.startswith("-  ") for line in removed)
    return is_indented or (0 < len(removed) < len(lines) and not is_list)


def _is_json(text: str) -> bool:
    """Whether the text is a JSON object or array, or begins with two of them on lines of their own.

    A single number or string is JSON too, but is no evidence. More than 10,000 characters are not parsed.
    """
    start = text[: _JSON_CHARS + 1].strip()
    if not start.startswith(("{", "[")):
        return False
    first_lines = start.split("\n", 2)[:2]
    return _is_json_container(start) or (len(first_lines) > 1 and all(_is_json_container(line) for line in first_lines))


def _is_json_container(text: str) -> bool:
    if len(text) > _JSON_CHARS or not text.rstrip().endswith(("}", "]")):
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


# --- weighted evidence ------------------------------------------------------------------------------------------------


def _evidence_for(language: str) -> LanguageEvidence:
    """The words and patterns with a weight for one language."""
    tables = ({word: weights for word, weights in table.items() if language in dict(weights)} for table in _WORDS)
    return gather_evidence(tables, (item for item in _PATTERNS if language in dict(item.weights)))


_EVIDENCE_FOR_EXTENSIONS: Final = {extension: _evidence_for(extension) for extension in _EXTENDED_BY.values()}


def _weigh(sample: CodeSample) -> Scores:
    """The score of each language, and of text that is not code under `unknown`."""
    scores = EVIDENCE.weigh(sample)
    for base, extension in _EXTENDED_BY.items():
        if scores.get(extension, 0.0) >= _OWN_ENOUGH:
            scores[extension] += scores.get(base, 0.0)
    if _lead(scores) < _BEYOND_LINES:
        _weigh_lines(sample, scores)
    if _is_doubtful(sample, scores):
        _add(scores, "python", weigh_python(sample.text))
    return scores


def _with_extension(language: str, sample: CodeSample) -> str:
    """The language that extends this one if the sample uses enough of it, else this one."""
    extension = _EXTENDED_BY[language]
    own = _EVIDENCE_FOR_EXTENSIONS[extension].weigh(sample).get(extension, 0.0)
    return extension if own >= _OWN_ENOUGH else language


def _lead(scores: Scores) -> float:
    """By how much the highest score exceeds the next."""
    first, second = sorted((*scores.values(), 0.0, 0.0), reverse=True)[:2]
    return first - second


def _weigh_lines(sample: CodeSample, scores: Scores) -> None:
    lines = tuple(line for line in sample.code.split("\n") if line and not line.isspace())
    yaml, prose = weigh_yaml(lines), weigh_prose(sample.code)
    _add(scores, "sh", weigh_commands(lines))
    _add(scores, "yaml", yaml)
    _add(scores, UNKNOWN, prose / 2 if yaml else prose)  # settings contain prose too
    for language, weight in weigh_sections(lines).items():
        _add(scores, language, weight)


def _is_doubtful(sample: CodeSample, scores: Scores) -> bool:
    """Whether Python's parser, which costs more than all the rest, could change the result."""
    python = scores.get("python", 0.0)
    other = max((score for language, score in scores.items() if language != "python"), default=0.0)
    is_display = sample.text.lstrip().startswith(("{", "["))
    return is_display or max(python, other) < _BEYOND_PARSER + 2.0 or abs(python - other) < _BEYOND_PARSER


def _add(scores: Scores, language: str, weight: float) -> None:
    scores[language] = scores.get(language, 0.0) + weight
