"""MBPP (Austin et al. 2021, "Program Synthesis with Large Language Models"): mbpp.jsonl and sanitized-mbpp.json."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record
from flyteplugins_codegen.evaluation.problems.fields import task_id_of, text_of, texts_of
from flyteplugins_codegen.evaluation.values import AssertTests, Problem
from flyteplugins_codegen.parsing import parse_python


def is_mbpp(record: Record) -> bool:
    """Whether the record is of this form: asserts, and the code that passes them."""
    return {"test_list", "code"} <= record.fields.keys()


def mbpp_problem(record: Record) -> Problem:
    """The problem of one record, called `Mbpp/<number>`; its challenge tests are no part of it.

    A record of MBPP+ as data set hubs have it holds a `test` with all inputs, which is then the one case. The prompt
    is a docstring of the text and the first assert, as code models are asked with. Raises RequestError for a field that
    is missing or of another type.
    """
    asserts, code = texts_of(record, "test_list"), text_of(record, "code")
    if not asserts:
        raise RequestError(f"{record.place}: 'test_list' is empty; a problem needs an assert")
    setup = [text_of(record, "test_setup_code", ""), *texts_of(record, "test_imports", ())]
    more = text_of(record, "test", "")
    return Problem(
        task_id=task_id_of(record, "Mbpp/"),
        tests=AssertTests((more,) if more.strip() else asserts, "\n".join(part for part in setup if part)),
        entry_point=_entry_point(record, asserts, code),
        prompt=_prompt(text_of(record, "text" if "text" in record.fields else "prompt"), asserts[0]),
        canonical_solution=code,
    )


def _prompt(text: str, example: str) -> str:
    said = f"{text.strip()}\n{example.strip()}".replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{said}\n"""\n'


def _entry_point(record: Record, asserts: Sequence[str], code: str) -> str:
    """What every assert calls of what the code defines: first the call that stands furthest out."""
    try:
        defined = {name for node in parse_python(code).body for name in _names(node)}
        called = [list(_calls(parse_python(text.strip()))) for text in asserts]
    except (SyntaxError, ValueError) as error:
        raise RequestError(f"{record.place}: 'code' or 'test_list' is no Python: {error}") from None
    common = [name for name in called[0] if name in defined and all(name in names for names in called)]
    if not common:
        raise RequestError(f"{record.place}: the asserts call nothing that 'code' defines; {asserts[0]!r:.80}")
    return common[0]


def _names(node: ast.stmt) -> list[str]:
    """The names that a statement of a module gives a meaning, a lambda's too."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _calls(tree: ast.AST) -> Iterator[str]:
    """The names that are called, from the outside in (`ast.walk` goes by levels)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
