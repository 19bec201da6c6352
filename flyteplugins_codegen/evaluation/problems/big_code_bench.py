"""BigCodeBench (Zhuo et al. 2024): unittest suites for functions that use many libraries."""

from __future__ import annotations

from flyteplugins_codegen.evaluation.json_lines import Record
from flyteplugins_codegen.evaluation.problems.fields import task_id_of, text_of
from flyteplugins_codegen.evaluation.values import Problem, UnittestTests


def is_big_code_bench(record: Record) -> bool:
    """Whether the record is of this form."""
    return {"complete_prompt", "test", "entry_point"} <= record.fields.keys()


def big_code_bench_problem(record: Record) -> Problem:
    """The problem of one record; a completion continues `complete_prompt`.

    The libraries that it names are to be in the environment that samples run in. Raises RequestError for a field that
    is missing or of another type.
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
