"""Runs solutions with their tests in the sandbox, as eval-framework's function does.

Solution and tests come merged into one program. It is split again, so that the tests run as a counted suite; a program
that cannot be split is judged by what it prints.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from flyteplugins_codegen.errors import CodegenError, IndexUnavailableError, RequestError, SandboxError
from flyteplugins_codegen.evaluation.eval_framework.snippets import ExecutionResult, render_unittest_output
from flyteplugins_codegen.judging.causes import limit_cause
from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.packages.install import combine, install
from flyteplugins_codegen.packages.names import requirements_of
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.packages.uv import find_python, python_version
from flyteplugins_codegen.sandbox.contract import Job, Limits, Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.source.python import bound_names, parse_module, parse_python, third_party_modules
from flyteplugins_codegen.source.tests import asserts_something, declared_tests

# `python`, `python:3`, `python:3.12-slim`, from any registry.
_PYTHON: Final = re.compile(r"(?:\S+/)?python(?::(?:(?P<version>3\.\d{1,2})(?:\.\d+)?\b)?\S*)?\Z")
_BUILTINS: Final = frozenset(dir(builtins))
_ONE_TEST: Final = "test_all_of_it"
_WORKERS: Final = 2
_NO_TIMEOUT_S: Final = 7 * 24 * 3600.0

# --- the sandbox for an image ---


@contextmanager
def open_image(image: str | None, packages: Sequence[str]) -> Iterator[Sandbox]:
    """A sandbox with the Python of this image, pytest and the packages.

    A plain Python image stands for its version, which runs on this machine's interpreter if there is one. Any other
    image is started as a container, which must have all that is needed. Raises PackageError, IndexUnavailableError,
    SandboxUnavailableError.
    """
    version = _local_version(image)
    if version is None:
        with open_sandbox("container", image=image) as sandbox:
            yield sandbox
    else:
        with open_sandbox(environment=_environment(packages, version)) as sandbox:
            yield sandbox


def _local_version(image: str | None) -> str | None:
    """The version of this machine's Python to use for an image, None if it needs a container."""
    match = _PYTHON.match(image or "python")
    if match is None:
        return None
    version = python_version(match["version"])
    try:
        find_python(version)
    except IndexUnavailableError:
        return None
    return version


def _environment(packages: Sequence[str], version: str) -> InstalledEnvironment:
    """The runner's packages before the others, so that none of the others can replace one of them."""
    runner = install(resolve(RUNNER_REQUIREMENTS, python=version))
    return combine(runner, install(resolve(requirements_of((), packages), python=version)))


# --- splitting a merged program ---


@dataclass(frozen=True, slots=True)
class SuiteProgram:
    """A solution and a suite as two modules; `expected` are the tests that the suite declares."""

    solution: str
    tests: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrintingProgram:
    """A program whose output says whether it is correct."""

    source: str


Program: TypeAlias = SuiteProgram | PrintingProgram


def plan_program(merged: str, ending: str) -> Program:
    """Split a merged text; `ending` is the result of `find_ending`. Raises SyntaxError as that does."""
    if not ending or not merged.endswith(ending) or not _begins_a_line(ending, merged):
        return PrintingProgram(merged)
    solution = merged.removesuffix(ending)
    if declared_tests(ending):
        return _as_suite(solution, ending)
    if asserts_something(ending) or _raises(ending):
        return _as_suite(solution, _in_one_test(ending))
    return PrintingProgram(merged)


def find_ending(frame: str, test_code: str) -> str:
    """The tests and what follows them in `frame`, the program that is merged of an empty solution.

    "" if these are not statements of their own. Raises SyntaxError for tests that are not Python.
    """
    parse_module(test_code)
    tests = test_code.strip()
    start = frame.rfind(tests) if tests else -1
    ending = frame[start:] if start >= 0 else ""
    try:
        parse_module(ending)
    except SyntaxError:
        return ""
    return ending


def _begins_a_line(ending: str, merged: str) -> bool:
    """Whether the ending begins at the start of a line, so that it is neither quoted nor indented."""
    return not merged.removesuffix(ending).rpartition("\n")[2]


def _as_suite(solution: str, tests: str) -> SuiteProgram:
    with_names = _with_names_of(solution, tests)
    return SuiteProgram(solution, with_names, declared_tests(with_names))


def _raises(tests: str) -> bool:
    return any(isinstance(node, ast.Raise) for node in ast.walk(parse_module(tests)))


def _in_one_test(script: str) -> str:
    """A script that asserts as it runs, as the body of one test."""
    module = parse_module(script)
    futures = [node for node in module.body if _is_future(node)]
    body = [node for node in module.body if not _is_future(node)]
    test = parse_python(f"def {_ONE_TEST}(): pass")
    function = test.body[0]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - as the source above says
    function.body = body
    return ast.unparse(ast.Module(body=[*futures, function], type_ignores=[]))


def _with_names_of(solution: str, tests: str) -> str:
    """The tests with an import, from `solution`, of each name that they use and it binds, but for the builtins.

    Otherwise a solution that defines `len` or `abs` would decide what the tests compare with.
    """
    wanted = sorted((_used_names(tests) & _bound_names(solution)) - _BUILTINS)
    if not wanted:
        return tests
    lines = tests.splitlines(keepends=True)
    start = max((node.end_lineno or 0 for node in parse_module(tests).body if _is_future(node)), default=0)
    return "".join([*lines[:start], f"from solution import {', '.join(wanted)}\n", *lines[start:]])


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _used_names(tests: str) -> frozenset[str]:
    tree = parse_module(tests)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(names - set(bound_names(tree.body)))


def _bound_names(solution: str) -> frozenset[str]:
    try:
        return frozenset(bound_names(parse_module(solution).body))
    except SyntaxError:
        # The run reports the syntax error.
        return frozenset()


# --- running ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Testing:
    """How the solutions of one problem are tested; `execute_python_code_with_tests` describes the fields.

    Raises RequestError for a timeout below 0.
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
        dockerfile: not supported; pass None, and the name of the image that was built from it as `image`
        package_mapping: import name to requirement on the package index; a module that is imported and not in the
            mapping, or None in it, is not installed
        merge_code_fn: makes one program of solution and tests; `find_ending` splits it again
        image: `python:3.12` and the like stand for that version of Python, on this machine if it has it; any other
            name is an image that has all that is needed, with pytest; None or "" is the running Python
        timeout: wall seconds for the whole run, 0 for no limit
        parse_output_fn: reads the output of the run: unittest's words, written from the counted tests, or what the
            program printed if there was nothing to count. It cannot turn counted failures into a success.

    A solution that takes too long, or that ends its process, has failed.

    Raises:
        RequestError: the tests are not Python, there is a `dockerfile`, or the timeout is below 0.
        PackageError: a package of the mapping does not exist or conflicts.
        IndexUnavailableError: the machine failed to install the packages.
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
    """Run several solutions of one problem in one environment; the error if the machine failed to run one.

    Raises RequestError, PackageError, IndexUnavailableError, and SandboxError if there is no sandbox at all.
    """
    merged = [testing.merge_code_fn(code, testing.test_code) for code in codes]
    ending = _ending(testing)
    programs = [plan_program(text, ending) for text in merged]
    with open_image(testing.image, _packages(merged, testing.package_mapping)) as sandbox:

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
    """The requirements of all mapped modules that are imported, sorted; code that does not parse imports nothing."""
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
    parsed = testing.parse_output_fn(render_unittest_output(report))
    # The counted suite decides; the parser's text is kept.
    return ExecutionResult(parsed.success and report.passed, parsed.output)


def _execute_printing(
    sandbox: Sandbox, source: str, limits: Limits, parse: Callable[[str], ExecutionResult]
) -> ExecutionResult:
    job = Job(command=("python", "/app/main.py"), program={"main.py": source.encode()}, limits=limits)
    execution = sandbox.run(job)
    if execution.status == "sandbox_error":
        raise SandboxError(f"the sandbox failed while it ran a solution with its tests: {execution.message}")
    printed = (execution.stderr + execution.stdout).decode(errors="replace").strip()
    cause = limit_cause(execution, limits)
    if cause is not None:
        return ExecutionResult(success=False, output=f"{cause.message}\n{printed}".strip())
    parsed = parse(printed)
    return ExecutionResult(parsed.success and execution.exit_code == 0, parsed.output)
