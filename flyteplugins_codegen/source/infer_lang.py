"""Which language a piece of code is written in."""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.source.inference import data_marks, managed_marks, native_marks, script_marks, web_marks
from flyteplugins_codegen.source.inference.certainties import infer_certainly
from flyteplugins_codegen.source.inference.commands import weigh_commands
from flyteplugins_codegen.source.inference.evidence import Scores, gathered
from flyteplugins_codegen.source.inference.markup import infer_markup
from flyteplugins_codegen.source.inference.prose import weigh_prose
from flyteplugins_codegen.source.inference.samples import Sample, samples_of
from flyteplugins_codegen.source.inference.settings import weigh_sections, weigh_yaml
from flyteplugins_codegen.source.inference.shell_marks import POWERSHELL_MARKS, SH_MARKS, needs_bash

UNKNOWN: Final = "unknown"
_EVIDENCE: Final = gathered(
    (
        *script_marks.SCRIPT_WORDS,
        *web_marks.WEB_WORDS,
        *native_marks.NATIVE_WORDS,
        *managed_marks.MANAGED_WORDS,
        *data_marks.DATA_WORDS,
    ),
    (
        *script_marks.PYTHON_MARKS,
        *script_marks.RUBY_MARKS,
        *script_marks.PHP_MARKS,
        *script_marks.R_MARKS,
        *web_marks.JAVASCRIPT_MARKS,
        *web_marks.TYPESCRIPT_MARKS,
        *web_marks.CSS_MARKS,
        *native_marks.C_MARKS,
        *native_marks.CPP_MARKS,
        *native_marks.RUST_MARKS,
        *managed_marks.GO_MARKS,
        *managed_marks.JAVA_MARKS,
        *managed_marks.CSHARP_MARKS,
        *managed_marks.KOTLIN_MARKS,
        *managed_marks.SWIFT_MARKS,
        *data_marks.SQL_MARKS,
        *data_marks.SETTINGS_MARKS,
        *data_marks.RECIPE_MARKS,
        *SH_MARKS,
        *POWERSHELL_MARKS,
    ),
)
# The second is the first with more: what speaks for the first speaks for the second, once enough is the second's own.
_EXTENDED: Final = {"javascript": "typescript", "c": "cpp"}
_OWN_ENOUGH: Final = 2.0
_LEAST: Final = 2.0
_CLEAR, _CLEAR_LEAD = 8.0, 5.0
# No count of lines adds more than this, and no parser.
_LINES_SAY: Final = 11.0
_PARSER_SAYS: Final = 4.0
_PARSED_CHARS: Final = 1_000
_BASH_CHARS: Final = 4_000
_CUT_OFF: Final = re.compile(r"never closed|expected an indented block|unterminated triple|unexpected EOF")



def infer_lang(code: str) -> str:
    if not isinstance(code, str):
        raise RequestError(f"the code whose language is asked for is to be a str, not {type(code).__name__}; pass text")
    language = UNKNOWN
    for sample in samples_of(code):
        language, is_clear = _judge(sample)
        if is_clear:
            break
    return "bash" if language == "sh" and needs_bash(code[:_BASH_CHARS]) else language


def _judge(sample: Sample) -> tuple[str, bool]:
    certain = infer_certainly(sample) or infer_markup(sample.text)
    if certain:
        return certain, True
    return _best(weigh(sample))


def weigh(sample: Sample) -> Scores:
    scores = _EVIDENCE.weigh(sample)
    for base, extension in _EXTENDED.items():
        if scores.get(extension, 0.0) >= _OWN_ENOUGH:
            scores[extension] += scores.get(base, 0.0)
    if _lead(scores) < _LINES_SAY:
        _weigh_lines(sample, scores)
    python = scores.get("python", 0.0)
    other = max((score for language, score in scores.items() if language != "python"), default=0.0)
    if len(sample.text) > _PARSED_CHARS:
        return scores
    if max(python, other) < _PARSER_SAYS + 2.0 or abs(python - other) < _PARSER_SAYS:
        scores["python"] = python + _python_weight(sample)
    return scores


def _weigh_lines(sample: Sample, scores: Scores) -> None:
    lines = tuple(line for line in sample.code.split("\n") if line and not line.isspace())
    yaml, prose = weigh_yaml(lines), weigh_prose(sample.code)
    for language, weight in (
        ("sh", weigh_commands(lines)),
        ("yaml", yaml),
        (UNKNOWN, prose * 0.5 if yaml else prose),
        *weigh_sections(lines).items(),
    ):
        scores[language] = scores.get(language, 0.0) + weight


def _best(scores: Scores) -> tuple[str, bool]:
    """The language with the highest score, and whether more of the text would hardly change it."""
    best = min(scores, key=lambda language: (-round(scores[language], 3), language), default=UNKNOWN)
    if scores.get(best, 0.0) < _LEAST:
        return UNKNOWN, False
    return best, scores[best] >= _CLEAR and _lead(scores) >= _CLEAR_LEAD and best not in _EXTENDED


def _lead(scores: Scores) -> float:
    first, second = sorted((*scores.values(), 0.0, 0.0), reverse=True)[:2]
    return first - second


def _python_weight(sample: Sample) -> float:
    try:
        module = ast.parse(textwrap.dedent(sample.text))
    except SyntaxError as error:
        return 1.0 if _CUT_OFF.search(str(error)) else -1.5
    except (ValueError, RecursionError, MemoryError):
        return -1.5
    if sample.code.rstrip().endswith(";"):
        return 0.0
    return max((_statement_weight(node) for node in module.body), default=0.0)


def _statement_weight(node: ast.stmt) -> float:
    if isinstance(node, ast.AnnAssign):
        return 2.0 if node.value else 0.0
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Dict) and any(isinstance(key, ast.Name) for key in node.value.keys):
            return 0.0
        return 2.0 if isinstance(node.value, ast.Call | ast.ListComp | ast.Lambda | ast.Dict | ast.List | ast.Set | ast.Subscript) else 0.0
    return 2.0
