"""Loads problems by the name of a benchmark or from a file: known benchmarks' forms, or records of one's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ConfigDict, Field, ValidationError

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record, read_records
from flyteplugins_codegen.evaluation.problems.evalplus import evalplus_problems, is_evalplus
from flyteplugins_codegen.evaluation.problems.records import (
    big_code_bench_problem,
    human_eval_file,
    human_eval_problem,
    is_big_code_bench,
    is_human_eval,
    is_mbpp,
    mbpp_problem,
    task_id_of,
)
from flyteplugins_codegen.evaluation.programs.languages import LANGUAGES_OF_PROGRAMS
from flyteplugins_codegen.evaluation.samples import continued
from flyteplugins_codegen.evaluation.values import (
    AssertTests,
    CheckTests,
    Pair,
    PairTests,
    Problem,
    ProgramTests,
    PytestTests,
    StdinPair,
    StdinTests,
    Tests,
    UnittestTests,
)
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.source.languages.names import language_of

_KINDS: Final = ("check", "asserts", "pairs", "unittest", "pytest", "stdin", "program")
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
    """Load the problems of a benchmark or of a file, in its order; with `only`, those with these ids.

    `humaneval` is HumanEval from the package human-eval. A file is JSON Lines or a JSON array, gzipped or not, with
    records of HumanEval, evalplus (HumanEval+, MBPP+), MBPP or BigCodeBench, or one's own (see `OwnProblem`). The
    expected values for evalplus's files are computed by running their canonical solutions in the `sandbox`, once, and
    kept.

    Raises:
        RequestError: there is no such file or name, or a record is malformed; with file and line.
        SandboxError: the sandbox failed; its subclass SandboxUnavailableError if this machine offers none.
    """
    path = problem_file(path_or_name)
    records = _unique(read_records(path))
    if not records:
        raise RequestError(f"{path} holds no problem; give one JSON object a line")
    chosen = records if only is None else _chosen(records, only, path)
    plus = [record for record in chosen.values() if is_evalplus(record)]
    plus_problems = {problem.task_id: problem for problem in evalplus_problems(plus, sandbox)}
    return tuple(plus_problems.get(task_id) or _problem(record) for task_id, record in chosen.items())


def problem_file(path_or_name: str | Path) -> Path:
    """The file that a name stands for, or the file itself. Raises RequestError if there is none."""
    packaged = _PACKAGED.get(str(path_or_name).lower())
    path = Path(path_or_name)
    if packaged is not None and not path.is_file():
        return packaged()
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is neither a file nor a name"
        raise RequestError(f"problems {str(path_or_name)!r}: this {what}; give a JSON Lines file, or 'humaneval'")
    return path


def _unique(records: Iterable[Record]) -> dict[str, Record]:
    unique: dict[str, Record] = {}
    for record in records:
        task_id = task_id_of(record, _MBPP_PREFIX if is_mbpp(record) else "")
        if task_id in unique:
            raise RequestError(f"{record.place}: the problem {task_id!r} stands at {unique[task_id].place} already")
        unique[task_id] = record
    return unique


def _chosen(records: Mapping[str, Record], only: Collection[str], path: Path) -> dict[str, Record]:
    unknown = sorted(set(only) - records.keys())
    if unknown:
        raise RequestError(f"{path} has no problem {unknown[0]!r}; its ids are like {next(iter(records))!r}")
    return {task_id: record for task_id, record in records.items() if task_id in set(only)}


def _problem(record: Record) -> Problem:
    make = next((make for is_form, make in _FORMS if is_form(record)), own_problem)
    return make(record)


# --- a file of one's own problems ---


class OwnPair(Value):
    """One call and the value that it returns. JSON has no tuples: an expected list may stand for a tuple."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = Field(default_factory=dict)
    expected: Any


class OwnStdin(Value):
    """What a program reads on stdin, and what it must print."""

    stdin: str = ""
    stdout: str


class OwnLimits(Value):
    """The limits of one sample; a limit that is left out is the evaluation's."""

    wall_s: float | None = Field(default=None, gt=0)
    cpu_s: float | None = Field(default=None, gt=0)
    memory_mib: int | None = Field(default=None, gt=0)


class OwnProblem(Value):
    """One line of a file of one's own problems.

    Exactly one of `check`, `asserts`, `pairs`, `unittest`, `pytest`, `stdin` and `program` has the tests; `setup` goes
    with `asserts`, `tolerance` with `pairs` and `stdin`. `canonical_solution` is a whole program, or completes the
    prompt. Other fields are an error, so that a misspelt one is noticed; `metadata` takes anything.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    task_id: str = Field(min_length=1)
    prompt: str = ""
    entry_point: str = ""
    canonical_solution: str | None = None
    category: str = ""
    language: str = "python"
    limits: OwnLimits | None = None
    check: str | None = None
    asserts: tuple[str, ...] | None = Field(default=None, min_length=1)
    setup: str = ""
    pairs: tuple[OwnPair, ...] | None = Field(default=None, min_length=1)
    tolerance: float = Field(default=0.0, ge=0)
    unittest: str | None = None
    pytest: str | None = None
    stdin: tuple[OwnStdin, ...] | None = Field(default=None, min_length=1)
    program: str | None = None
    metadata: Any = None


def own_problem(record: Record) -> Problem:
    """The problem of one record. Raises RequestError that names a field that is missing, unknown or of another type."""
    try:
        own = OwnProblem.model_validate(record.fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        known = f"the fields are {', '.join(OwnProblem.model_fields)}"
        raise RequestError(f"{record.place}: the problem's {field!r}: {first['msg']}; {known}") from None
    tests, language = _tests(record, own), language_of(own.language) or "python"
    _check_entry_point(record, own, tests)
    _check_language(record, language, tests)
    return Problem(
        task_id=own.task_id,
        tests=tests,
        entry_point=own.entry_point,
        prompt=own.prompt,
        canonical_solution=_canonical(own),
        category=own.category,
        language=language,
        limits=_limits(own.limits),
    )


def _tests(record: Record, own: OwnProblem) -> Tests:
    kinds = [kind for kind in _KINDS if getattr(own, kind) is not None]
    if len(kinds) != 1:
        problem = f"has {' and '.join(kinds)}" if kinds else "has no tests"
        raise RequestError(f"{record.place}: the problem {problem}; give one of {', '.join(_KINDS)}")
    return _tests_of_kind(own, kinds[0])


def _tests_of_kind(own: OwnProblem, kind: str) -> Tests:
    pairs = tuple(Pair(pair.args, pair.kwargs, pair.expected) for pair in own.pairs or ())
    makers: Mapping[str, Tests] = {
        "check": CheckTests(own.check or ""),
        "asserts": AssertTests(own.asserts or (), own.setup),
        "pairs": PairTests(pairs, own.tolerance, from_json=True),
        "unittest": UnittestTests(own.unittest or ""),
        "pytest": PytestTests(own.pytest or ""),
        "stdin": StdinTests(tuple(StdinPair(pair.stdin, pair.stdout) for pair in own.stdin or ()), own.tolerance),
        "program": ProgramTests(own.program or ""),
    }
    return makers[kind]


def _check_entry_point(record: Record, own: OwnProblem, tests: Tests) -> None:
    if isinstance(tests, CheckTests | AssertTests | PairTests) and not own.entry_point:
        raise RequestError(f"{record.place}: the problem has no 'entry_point'; name the function that its tests call")


def _check_language(record: Record, language: str, tests: Tests) -> None:
    if language != "python" and language not in LANGUAGES_OF_PROGRAMS:
        known = ", ".join(("python", *LANGUAGES_OF_PROGRAMS))
        raise RequestError(f"{record.place}: the language {language!r} is not judged here; these are: {known}")
    if language != "python" and not isinstance(tests, ProgramTests | StdinTests):
        raise RequestError(
            f"{record.place}: a problem in {language!r} is judged by 'stdin' or 'program'; give one of them"
        )
    if language == "python" and isinstance(tests, ProgramTests):
        raise RequestError(
            f"{record.place}: 'program' is for other languages; give a Python problem 'asserts' or 'check'"
        )


def _canonical(own: OwnProblem) -> str | None:
    if own.canonical_solution is None:
        return None
    return continued(own.prompt, own.canonical_solution, own.entry_point, language_of(own.language))


def _limits(own: OwnLimits | None) -> Limits | None:
    return None if own is None else Limits(**own.model_dump(exclude_none=True))
