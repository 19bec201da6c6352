"""Stage `run_tests`: everything that can judge a candidate, in a sandbox, two at a time."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from flyteplugins_codegen.errors import CodegenError, PackageError
from flyteplugins_codegen.judging.causes import syntax_cause
from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import Candidate, Example
from flyteplugins_codegen.models.run import (
    SAMPLES_CASE,
    Attempt,
    Cause,
    Run,
    ScriptRun,
    SuiteOrigin,
    SuiteReport,
    TestReport,
    TestStrength,
)
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS
from flyteplugins_codegen.packages.system import missing_system_packages
from flyteplugins_codegen.sandbox.contract import Output
from flyteplugins_codegen.solution.execute import with_retries
from flyteplugins_codegen.solution.expectations import expect_outputs
from flyteplugins_codegen.solution.script import ScriptJob, run_script
from flyteplugins_codegen.solution.validate import schema_cause, schemas_text
from flyteplugins_codegen.source.tests import asserts_something, declared_tests
from flyteplugins_codegen.stages.attempts import with_changed
from flyteplugins_codegen.stages.lineage import count_tests, pending_attempt
from flyteplugins_codegen.stages.sandboxes import WORKERS, Bench, Sandboxes
from flyteplugins_codegen.stages.stage_cache import Shelf, remember
from flyteplugins_codegen.telemetry import stage

_REPORTS = Shelf("reports", ("judging", "packages", "portable", "sandbox", "solution", "source"))


def run_tests(run: Run, samples: Mapping[str, Path], sandboxes: Sandboxes | None = None) -> Run:
    """Judge the first candidate that is not judged yet, on `benches` where others of the run are judged too.

    By the examples, the user's tests, the script on the samples, and the generated tests.

    Raises:
        SandboxError: the sandbox failed more often than `sandbox_retries` allows, or this machine offers none.
        IndexUnavailableError: what the tests need could not be installed by fault of the machine.
    """
    attempt = pending_attempt(run)
    if attempt is None:
        return run  # its environment could not be built, and that is what the report says
    report = judge_attempt(run, attempt, samples, sandboxes)
    asserts_nothing = any(suite.cause == _ASSERTS_NOTHING for suite in report.suites)
    return with_changed(
        run,
        attempt.number,
        report=report,
        cause=report.causes[0] if report.causes else None,
        strength=TestStrength(share=0.0) if asserts_nothing else None,
    )


def judge_attempt(
    run: Run, attempt: Attempt, samples: Mapping[str, Path], sandboxes: Sandboxes | None = None
) -> TestReport:
    """Everything that ran for one attempt. Raises as `run_tests`."""
    if attempt.environment is None:
        raise CodegenError(f"attempt {attempt.number} has no environment; build_environment comes first")
    with stage("run tests") as note, ExitStack() as stack:
        sandboxes = sandboxes or stack.enter_context(closing(Sandboxes()))
        try:
            key = _key(run, attempt.candidate, attempt.environment)
            report = remember(run.settings, _REPORTS, key, TestReport, lambda: _judge(run, attempt, samples, sandboxes))
        except PackageError as error:
            # Of a test's import. Not remembered: the index may hold it tomorrow.
            cause = Cause(kind="package_unavailable", subject=error.package, message=str(error), is_certain=True)
            report = TestReport(build_cause=cause)
        note.detail = _told(report)
        return report


def _key(run: Run, candidate: Candidate, lock: EnvironmentLock) -> list[Any]:
    """All that a verdict depends on: the candidate, what judges it, and what it runs in."""
    settings, request = run.settings, run.request
    return [
        candidate.solution.code,
        candidate.tests,
        request.model_dump(mode="json", exclude={"prompt", "constraints", "schema_text"}),
        [lock.digest, *RUNNER_REQUIREMENTS, *missing_system_packages(lock)],
        schemas_text(run.schemas),
        settings.model_dump(
            mode="json", include={"sandbox", "skip_tests", "timeout_s", "resources", "env_vars", "validation"}
        ),
    ]


def _told(report: TestReport) -> str:
    passed, expected = count_tests(report)
    scripts = f"script on {len(report.runs)} case{'' if len(report.runs) == 1 else 's'}"
    told = f"{passed} of {expected} tests passed" if expected else scripts
    return told if report.passed else f"{told}; {report.causes[0].kind.replace('_', ' ')}" if report.causes else told


@dataclass(frozen=True, slots=True)
class _Place:
    """What is judged, where, and on what; `folder` is for the files of examples."""

    candidate: Candidate
    bench: Bench
    samples: Mapping[str, Path]
    folder: Path


def _judge(run: Run, attempt: Attempt, samples: Mapping[str, Path], sandboxes: Sandboxes) -> TestReport:
    assert attempt.environment is not None  # noqa: S101 - judge_attempt has looked
    flaw = syntax_cause(attempt.candidate.solution.code, "solution.py")
    if flaw is not None:
        return TestReport(build_cause=flaw)
    bench = sandboxes.bench(run, attempt.candidate, attempt.environment)
    with tempfile.TemporaryDirectory(prefix="codegen-examples-") as folder, ThreadPoolExecutor(WORKERS) as pool:
        place = _Place(attempt.candidate, bench, samples, Path(folder))
        scripts = [pool.submit(case) for case in _script_cases(run, place)]
        suites = [pool.submit(case) for case in _suite_cases(run, place)]
        return TestReport(runs=tuple(case.result() for case in scripts), suites=tuple(case.result() for case in suites))


def _script_cases(run: Run, place: _Place) -> list[Callable[[], ScriptRun]]:
    """The user's examples, then the contract run on the samples where these are all the inputs there are."""
    request = run.request
    cases = [
        _script_case(run, place, f"example {number}", example) for number, example in enumerate(request.examples, 1)
    ]
    if set(request.inputs) <= set(place.samples):
        cases.append(_script_case(run, place, SAMPLES_CASE, None))
    return cases


def _script_case(run: Run, place: _Place, case: str, example: Example | None) -> Callable[[], ScriptRun]:
    request = run.request
    values: dict[str, Any] = dict(place.samples)
    for name, value in (example.inputs if example else {}).items():
        values[name] = _as_value(place.folder / case.replace(" ", "-"), name, request.inputs[name], value)
    job = ScriptJob(
        solution=place.candidate.solution.code,
        inputs=request.inputs,
        outputs=request.outputs,
        values=values,
        case=case,
        limits=place.bench.limits,
        env=run.settings.env_vars,
        tells_variables=True,
    )

    def judged() -> ScriptRun:
        ran, outputs = with_retries(lambda: run_script(place.bench.scripts, job), run.settings.sandbox_retries)
        if ran.cause is None:
            ran = ran.model_copy(update={"cause": _schema_cause(run, outputs)})
        if ran.cause is not None or example is None:
            return ran
        return ran.model_copy(update={"cause": expect_outputs(outputs, example.outputs, request.outputs)})

    return judged


def _schema_cause(run: Run, outputs: Mapping[str, Output]) -> Cause | None:
    """What breaks the schemas that constraints gave to outputs."""
    names = [name for name in outputs if name in run.schemas and name not in run.request.inputs]
    if not names or run.settings.validation != "strict":
        return None
    with tempfile.TemporaryDirectory(prefix="codegen-outputs-") as folder:
        for name in names:
            outputs[name].copy_to(Path(folder) / name)
        return schema_cause(run.schemas, {name: Path(folder) / name for name in names})


def _as_value(folder: Path, name: str, kind: str, value: JsonValue) -> Any:
    """An example's value as the script gets it: files and directories are written out."""
    if kind == "file":
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(_content(value))
        return folder / name
    if kind == "directory" and isinstance(value, dict):
        (folder / name).mkdir(parents=True)
        for file_name, content in value.items():
            (folder / name / Path(file_name).name).write_bytes(_content(content))
        return folder / name
    return value


def _content(value: JsonValue) -> bytes:
    if isinstance(value, dict):
        return base64.b64decode(str(value["base64"]))
    return str(value).encode()


def _suite_cases(run: Run, place: _Place) -> list[Callable[[], SuiteReport]]:
    sources: list[tuple[SuiteOrigin, str | None]] = [("user", run.request.tests)]
    if not run.settings.skip_tests:
        sources.append(("generated", place.candidate.tests))
    return [_suite_case(run, place, origin, source) for origin, source in sources if source is not None]


_ASSERTS_NOTHING = Cause(
    kind="broken_tests",
    subject="test_solution.py",
    message="no test asserts anything, so none can fail; assert the results that the description promises",
    is_certain=True,
)


def _suite_case(run: Run, place: _Place, origin: SuiteOrigin, source: str) -> Callable[[], SuiteReport]:
    expected = declared_tests(source) if syntax_cause(source, "test_solution.py") is None else ()

    job = SuiteJob(
        solution=place.candidate.solution.code,
        tests=source,
        expected=expected,
        origin=origin,
        limits=place.bench.limits,
        env=run.settings.env_vars,
    )

    def judged() -> SuiteReport:
        if origin == "generated" and expected and not asserts_something(source):
            return SuiteReport(origin=origin, expected=expected, cause=_ASSERTS_NOTHING)
        return with_retries(
            lambda: run_suite(place.bench.suites, job),
            run.settings.sandbox_retries,
        )

    return judged
