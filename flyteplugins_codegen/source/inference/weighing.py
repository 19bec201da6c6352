"""All that speaks for each language, brought together in one score apiece."""

from __future__ import annotations

from itertools import chain
from typing import Final

from flyteplugins_codegen.source.inference import (
    data_marks,
    managed_marks,
    native_marks,
    script_marks,
    shell_marks,
    web_marks,
)
from flyteplugins_codegen.source.inference.commands import weigh_commands
from flyteplugins_codegen.source.inference.evidence import Evidence, Scores, gathered
from flyteplugins_codegen.source.inference.prose import weigh_prose
from flyteplugins_codegen.source.inference.python_syntax import weigh_python
from flyteplugins_codegen.source.inference.samples import Sample
from flyteplugins_codegen.source.inference.settings import weigh_sections, weigh_yaml

UNKNOWN: Final = "unknown"
"""What text is that is no code, or code of no language that can be told."""

# The second language is the first with more: what speaks for the first speaks for it too, once enough is its own.
EXTENDED: Final = {"javascript": "typescript", "c": "cpp"}
_OWN_ENOUGH: Final = 2.0
# A lead that no count of lines, and one that no parser, could still turn.
_BEYOND_LINES: Final = 11.0
_BEYOND_PARSER: Final = 4.0

_MODULES: Final = (script_marks, web_marks, native_marks, managed_marks, data_marks, shell_marks)
_WORDS: Final = tuple(chain.from_iterable(module.WORDS for module in _MODULES))
_MARKS: Final = tuple(chain.from_iterable(module.MARKS for module in _MODULES))
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
