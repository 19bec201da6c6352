"""Which language a piece of code is written in."""

from __future__ import annotations

from typing import Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.source.inference.certainties import infer_certainly, is_json
from flyteplugins_codegen.source.inference.evidence import Scores
from flyteplugins_codegen.source.inference.markup import infer_markup
from flyteplugins_codegen.source.inference.samples import Sample, samples_of
from flyteplugins_codegen.source.inference.shell_marks import needs_bash
from flyteplugins_codegen.source.inference.weighing import EXTENDED, UNKNOWN, lead, weigh, with_extension

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
