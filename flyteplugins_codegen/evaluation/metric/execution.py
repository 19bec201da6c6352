"""Runs solutions with their tests in the sandbox, and says of each whether its tests passed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from flyteplugins_codegen.errors import CodegenError, RequestError, SandboxError
from flyteplugins_codegen.evaluation.metric.machines import open_machine
from flyteplugins_codegen.evaluation.metric.programs import Program, SuiteProgram, find_ending, plan_program
from flyteplugins_codegen.evaluation.metric.snippets import ExecutionResult, render_unittest_output
from flyteplugins_codegen.sandbox.contract import Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.limit_causes import limit_cause
from flyteplugins_codegen.sandbox.suites.suite import SuiteJob, run_suite
from flyteplugins_codegen.source.imports import third_party_modules

_WORKERS: Final = 2
_NO_TIMEOUT_S: Final = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Testing:
    """How the solutions of one problem are tested; see `execute_python_code_with_tests` for its fields.

    Raises RequestError for a time below 0.
    """

    test_code: str
    package_mapping: Mapping[str, str | None]
    merge_code_fn: Callable[[str, str], str]
    parse_output_fn: Callable[[str], ExecutionResult]
    image: str | None = None
    timeout: int = 60

    def __post_init__(self) -> None:
        if self.timeout < 0:
            raise RequestError(f"timeout={self.timeout}: it is wall seconds of one run; give 0 for no limit")


def execute_python_code_with_tests(  # noqa: PLR0913, PLR0917 - the signature is eval-framework's
    code: str,
    test_code: str,
    dockerfile: str | None,
    package_mapping: Mapping[str, str | None],
    merge_code_fn: Callable[[str, str], str],
    image: str | None,
    timeout: int,
    parse_output_fn: Callable[[str], ExecutionResult],
) -> ExecutionResult:
    """Run a solution with its tests in a sandbox, as eval-framework's function of this name does.

    Args:
        code: the solution
        test_code: its tests: test cases of unittest, pytest functions, or statements that assert
        dockerfile: not built here; give None, and the name of the image that was built from it as `image`
        package_mapping: import name to requirement on the package index; what is imported and not in here, or None in
            here, is not installed
        merge_code_fn: makes one program out of the two; `programs.py` says how it is told apart again
        image: `python:3.12` and the like is that Python, of this machine where it has it; any other name is an
            image that holds all that is needed, pytest too; None or "" is the running Python
        timeout: wall seconds for the whole run, 0 for no limit
        parse_output_fn: reads what the run gave: unittest's words, written from the tests that were counted, or what
            the program printed where there was nothing to count. It cannot turn counted failures into a success.

    A solution that takes too long, or that ends its process, is one that failed.

    Raises:
        RequestError: the tests are not Python, a `dockerfile` is given, or the time is below 0.
        PackageError: a package of the mapping does not exist or conflicts.
        IndexUnavailableError: the packages cannot be installed by fault of the machine.
        SandboxError: the sandbox failed, or this machine has none.
    """
    if dockerfile is not None:
        raise RequestError(f"dockerfile={dockerfile!r} is not built here; build it, and give the image's name as image")
    testing = Testing(
        test_code=test_code,
        package_mapping=package_mapping,
        merge_code_fn=merge_code_fn,
        parse_output_fn=parse_output_fn,
        image=image,
        timeout=timeout,
    )
    (result,) = execute_all([code], testing)
    if isinstance(result, CodegenError):
        raise result
    return result


def execute_all(codes: Sequence[str], testing: Testing) -> list[ExecutionResult | CodegenError]:
    """The same for several solutions of one problem, in one environment; what the machine failed is its error.

    Raises RequestError, PackageError, IndexUnavailableError, and SandboxError where there is no sandbox at all.
    """
    merged = [testing.merge_code_fn(code, testing.test_code) for code in codes]
    ending = _ending(testing)
    programs = [plan_program(text, ending) for text in merged]
    with open_machine(testing.image, _packages(merged, testing.package_mapping)) as sandbox:

        def execute(program: Program) -> ExecutionResult | CodegenError:
            try:
                return _execute(sandbox, program, testing)
            except CodegenError as error:
                return error

        with ThreadPoolExecutor(_WORKERS) as pool:
            return list(pool.map(execute, programs))


def _ending(testing: Testing) -> str:
    try:
        return find_ending(testing.merge_code_fn("", testing.test_code), testing.test_code)
    except SyntaxError as error:
        raise RequestError(f"test_code is not Python: {error}; mend the benchmark's tests") from error


def _packages(merged: Sequence[str], mapping: Mapping[str, str | None]) -> tuple[str, ...]:
    """The mapped requirements of everything that is imported, sorted; code that does not parse imports nothing."""
    imported = {name for text in merged for name in _imported(text)}
    return tuple(sorted({requirement for name in imported if (requirement := mapping.get(name))}))


def _imported(text: str) -> tuple[str, ...]:
    try:
        return third_party_modules(text, own=())
    except SyntaxError:
        return ()


def _execute(sandbox: Sandbox, program: Program, testing: Testing) -> ExecutionResult:
    limits = Limits(wall_s=testing.timeout or _NO_TIMEOUT_S)
    if not isinstance(program, SuiteProgram):
        return _execute_printing(sandbox, program.source, limits, testing.parse_output_fn)
    job = SuiteJob(
        solution=program.solution, tests=program.tests, expected=program.expected, origin="user", limits=limits
    )
    report = run_suite(sandbox, job)
    told = testing.parse_output_fn(render_unittest_output(report))
    # The cause is the verdict; the other's words are kept.
    return ExecutionResult(told.success and report.passed, told.output)


def _execute_printing(
    sandbox: Sandbox, source: str, limits: Limits, parse: Callable[[str], ExecutionResult]
) -> ExecutionResult:
    done = sandbox.run(Job(command=("python", "/app/main.py"), program={"main.py": source.encode()}, limits=limits))
    if done.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran a solution with its tests: {done.message}")
    printed = (done.stderr + done.stdout).decode(errors="replace").strip()
    cause = limit_cause(done, limits)
    if cause is not None:
        return ExecutionResult(success=False, output=f"{cause.message}\n{printed}".strip())
    told = parse(printed)
    return ExecutionResult(told.success and done.exit_code == 0, told.output)
