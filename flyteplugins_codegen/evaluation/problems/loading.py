"""Problems by the name of a benchmark or from a file, whatever form its records have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record, read_records
from flyteplugins_codegen.evaluation.problems.big_code_bench import big_code_bench_problem, is_big_code_bench
from flyteplugins_codegen.evaluation.problems.evalplus import evalplus_problems, is_evalplus
from flyteplugins_codegen.evaluation.problems.fields import task_id_of
from flyteplugins_codegen.evaluation.problems.human_eval import human_eval_file, human_eval_problem, is_human_eval
from flyteplugins_codegen.evaluation.problems.mbpp import is_mbpp, mbpp_problem
from flyteplugins_codegen.evaluation.problems.own import own_problem
from flyteplugins_codegen.evaluation.values import Problem
from flyteplugins_codegen.models.settings import SandboxKind

_PACKAGED: Final[Mapping[str, Callable[[], Path]]] = {"humaneval": human_eval_file, "human-eval": human_eval_file}
_Form = tuple[Callable[[Record], bool], Callable[[Record], Problem]]
_FORMS: Final[tuple[_Form, ...]] = (
    (is_mbpp, mbpp_problem),
    (is_big_code_bench, big_code_bench_problem),
    (is_human_eval, human_eval_problem),
)
_MBPP_PREFIX: Final = "Mbpp/"


def load_problems(
    path_or_name: str | Path, *, only: Collection[str] | None = None, sandbox: SandboxKind = "auto"
) -> tuple[Problem, ...]:
    """The problems of a benchmark or of a file, in its order; `only` those with these ids.

    `humaneval` is HumanEval as the package human-eval has it. A file is JSON Lines or a JSON array, gzipped or not, of
    HumanEval's records, evalplus's (HumanEval+, MBPP+), MBPP's, BigCodeBench's, or one's own (see `own.OwnProblem`).
    What evalplus's files expect is computed by running their canonical solutions in the `sandbox`, once, and kept.

    Raises:
        RequestError: there is no such file or name, or a record is not as it should be; with file and line.
        SandboxError: the sandbox failed, or, as its subclass, this machine offers none.
    """
    path = problem_file(path_or_name)
    records = _unique(read_records(path))
    if not records:
        raise RequestError(f"{path} holds no problem; give one JSON object a line")
    chosen = records if only is None else _chosen(records, only, path)
    plus = [record for record in chosen.values() if is_evalplus(record)]
    found = {problem.task_id: problem for problem in evalplus_problems(plus, sandbox)}
    return tuple(found.get(task_id) or _problem(record) for task_id, record in chosen.items())


def problem_file(path_or_name: str | Path) -> Path:
    """The file that a name stands for, or the file itself. Raises RequestError where there is none."""
    packaged = _PACKAGED.get(str(path_or_name).lower())
    path = Path(path_or_name)
    if packaged is not None and not path.is_file():
        return packaged()
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is neither a file nor a name"
        raise RequestError(f"problems {str(path_or_name)!r}: this {what}; give a JSON Lines file, or 'humaneval'")
    return path


def _unique(records: Iterable[Record]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for record in records:
        task_id = task_id_of(record, _MBPP_PREFIX if is_mbpp(record) else "")
        if task_id in found:
            raise RequestError(f"{record.place}: the problem {task_id!r} stands at {found[task_id].place} already")
        found[task_id] = record
    return found


def _chosen(records: Mapping[str, Record], only: Collection[str], path: Path) -> dict[str, Record]:
    unknown = sorted(set(only) - records.keys())
    if unknown:
        raise RequestError(f"{path} has no problem {unknown[0]!r}; its ids are like {next(iter(records))!r}")
    return {task_id: record for task_id, record in records.items() if task_id in set(only)}


def _problem(record: Record) -> Problem:
    make = next((make for is_form, make in _FORMS if is_form(record)), own_problem)
    return make(record)
