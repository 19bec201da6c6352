"""Stage `run_tests`: runs every check of a candidate in a sandbox, two at a time."""

from __future__ import annotations

import base64
import functools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from flyteplugins_codegen.errors import CodegenError, PackageError
from flyteplugins_codegen.judging.causes import syntax_cause
from flyteplugins_codegen.judging.suites.run import SuiteJob, run_suite
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import Candidate, Example, Request
from flyteplugins_codegen.models.reference import ReferenceReport
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
from flyteplugins_codegen.stages.arguments import is_run_by_example, known_arguments
from flyteplugins_codegen.stages.attempts import with_changed
from flyteplugins_codegen.stages.lineage import count_tests, differs_from_reference, lineage_of, pending_attempt
from flyteplugins_codegen.stages.reference import (
    Comparison,
    agreeing_programs,
    computed_outputs,
    start_comparison,
)
from flyteplugins_codegen.stages.sandboxes import WORKERS, CandidateSandboxes, RunSandboxes
from flyteplugins_codegen.stages.stage_cache import StageCache
from flyteplugins_codegen.telemetry import stage

_REPORTS: Final = StageCache(
    "reports", TestReport, ("judging", "packages", "portable", "sandbox", "solution", "source")
)
_ASSERTS_NOTHING: Final = Cause(
    kind="broken_tests",
    subject="test_solution.py",
    message="no test asserts anything, so none can fail; assert the results that the description promises",
    is_certain=True,
)


def run_tests(run: Run, samples: Mapping[str, Path], sandboxes: RunSandboxes | None = None) -> Run:
    """Judge the first pending candidate by the examples, the user's tests, the samples and the generated tests.

    `sandboxes` are those of the run, if it keeps them open.

    Raises:
        SandboxError: the sandbox failed more often than `sandbox_retries` allows, or this machine has none.
        IndexUnavailableError: the index, the disk or uv failed while the tests' packages were installed.
    """
    attempt = pending_attempt(run)
    if attempt is None:
        return run  # its environment could not be built, as its report says
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
    run: Run, attempt: Attempt, samples: Mapping[str, Path], sandboxes: RunSandboxes | None = None
) -> TestReport:
    """Run all checks of one attempt; return the report. Raises as `run_tests`."""
    if attempt.environment is None:
        raise CodegenError(f"attempt {attempt.number} has no environment; build_environment comes first")
    with stage("run tests") as note, ExitStack() as stack:
        sandboxes = sandboxes or stack.enter_context(closing(RunSandboxes()))
        try:
            key = _key(run, attempt.candidate, attempt.environment) + _reference_key(run, attempt.candidate)
            report = _REPORTS.get_or_compute(run.settings, key, lambda: _judge(run, attempt, samples, sandboxes))
        except PackageError as error:
            # A test imports it. Not cached: the index may have it tomorrow.
            cause = Cause(kind="package_unavailable", subject=error.package, message=str(error), is_certain=True)
            report = TestReport(build_cause=cause)
        note.detail = _report_text(report)
        return report


def _key(run: Run, candidate: Candidate, lock: EnvironmentLock) -> list[Any]:
    """Everything that a report depends on: the candidate, its checks, and its environment."""
    settings, request = run.settings, run.request
    proposed = [candidate.arguments] if candidate.arguments else []
    return [
        candidate.solution.code,
        candidate.tests,
        request.model_dump(mode="json", exclude={"prompt", "constraints", "schema_text"}),
        [lock.digest, *RUNNER_REQUIREMENTS, *missing_system_packages(lock)],
        schemas_text(run.schemas),
        settings.model_dump(
            mode="json", include={"sandbox", "skip_tests", "timeout_s", "resources", "env_vars", "validation"}
        ),
        *proposed,
    ]


def _reference_key(run: Run, candidate: Candidate) -> list[Any]:
    """What the comparison with the reference depends on besides; nothing where there is none."""
    if candidate.reference is None or not run.settings.reference:
        return []
    request = run.request
    return [candidate.reference, request.prompt, request.constraints, request.schema_text, _rivals(run, candidate)]


def _report_text(report: TestReport) -> str:
    passed, expected = count_tests(report)
    scripts = f"script on {len(report.runs)} case{'' if len(report.runs) == 1 else 's'}"
    counts = f"{passed} of {expected} tests passed" if expected else scripts
    failure = "" if report.passed or not report.causes else f"; {report.causes[0].kind.replace('_', ' ')}"
    return counts + failure


@dataclass(frozen=True, slots=True)
class _JudgingContext:
    """The candidate, its sandboxes and the samples; the files of examples are written to `folder`.

    `arguments` are the values of the run on the samples, None if one is not known.
    """

    candidate: Candidate
    sandboxes: CandidateSandboxes
    samples: Mapping[str, Path]
    folder: Path
    arguments: Mapping[str, JsonValue] | None


class _CheckedScript(NamedTuple):
    """A run of the script, and what it left."""

    run: ScriptRun
    outputs: Mapping[str, Output]


def _judge(run: Run, attempt: Attempt, samples: Mapping[str, Path], sandboxes: RunSandboxes) -> TestReport:
    assert attempt.environment is not None  # noqa: S101 - judge_attempt has checked it
    flaw = syntax_cause(attempt.candidate.solution.code, "solution.py")
    if flaw is not None:
        return TestReport(build_cause=flaw)
    opened = sandboxes.for_candidate(run, attempt.candidate, attempt.environment)
    with tempfile.TemporaryDirectory(prefix="codegen-examples-") as folder, ThreadPoolExecutor(WORKERS) as pool:
        tests = None if run.settings.skip_tests else attempt.candidate.tests
        arguments = known_arguments(run.request, tests, samples, attempt.candidate.arguments)
        context = _JudgingContext(attempt.candidate, opened, samples, Path(folder), arguments)
        scripts = [pool.submit(check) for check in _script_checks(run, context)]
        suites = [pool.submit(check) for check in _suite_checks(run, context)]
        compared = _start_comparison(run, context, pool)
        checked = [future.result() for future in scripts]
        return TestReport(
            runs=tuple(script.run for script in checked),
            suites=tuple(future.result() for future in suites),
            reference=compared(checked) if compared else None,
        )


def _script_checks(run: Run, context: _JudgingContext) -> list[Callable[[], _CheckedScript]]:
    """The user's examples, then the run on the samples, if every other input has a value that is known."""
    checks = _example_checks(run, context)
    if context.arguments is not None and not is_run_by_example(run.request, dict(context.arguments)):
        example = Example(inputs=dict(context.arguments), outputs={})
        checks.append(_script_check(run, context, SAMPLES_CASE, example))
    return checks


def _example_checks(run: Run, context: _JudgingContext) -> list[Callable[[], _CheckedScript]]:
    numbered = enumerate(run.request.examples, 1)
    return [_script_check(run, context, f"example {number}", example) for number, example in numbered]


def _script_check(run: Run, context: _JudgingContext, case: str, example: Example) -> Callable[[], _CheckedScript]:
    request = run.request
    values: dict[str, Any] = dict(context.samples)
    for name, value in example.inputs.items():
        values[name] = _argument(context.folder / case.replace(" ", "-"), name, request.inputs[name], value)
    job = ScriptJob(
        solution=context.candidate.solution.code,
        inputs=request.inputs,
        outputs=request.outputs,
        values=values,
        case=case,
        limits=context.sandboxes.limits,
        env=run.settings.env_vars,
        tells_variables=True,
    )

    def check() -> _CheckedScript:
        script_run, outputs = with_retries(
            lambda: run_script(context.sandboxes.scripts, job), run.settings.sandbox_retries
        )
        cause = script_run.cause or _schema_cause(run, outputs)
        if cause is None and example.outputs:
            cause = expect_outputs(outputs, example.outputs, request.outputs)
        arguments = example.inputs if case == SAMPLES_CASE else {}
        return _CheckedScript(script_run.model_copy(update={"cause": cause, "arguments": arguments}), outputs)

    return check


def _schema_cause(run: Run, outputs: Mapping[str, Output]) -> Cause | None:
    """How the outputs break the schemas that constraints gave them; None if they do not."""
    names = [name for name in outputs if name in run.schemas and name not in run.request.inputs]
    if not names or run.settings.validation != "strict":
        return None
    with tempfile.TemporaryDirectory(prefix="codegen-outputs-") as folder:
        for name in names:
            outputs[name].copy_to(Path(folder) / name)
        return schema_cause(run.schemas, {name: Path(folder) / name for name in names})


def _argument(folder: Path, name: str, kind: str, value: JsonValue) -> Any:
    """An example's value as the script's argument: files and directories are written to `folder`."""
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


def _suite_checks(run: Run, context: _JudgingContext) -> list[Callable[[], SuiteReport]]:
    sources: list[tuple[SuiteOrigin, str | None]] = [("user", run.request.tests)]
    if not run.settings.skip_tests:
        sources.append(("generated", context.candidate.tests))
    return [_suite_check(run, context, origin, source) for origin, source in sources if source is not None]


def _suite_check(run: Run, context: _JudgingContext, origin: SuiteOrigin, source: str) -> Callable[[], SuiteReport]:
    expected = declared_tests(source) if syntax_cause(source, "test_solution.py") is None else ()
    job = SuiteJob(
        solution=context.candidate.solution.code,
        tests=source,
        expected=expected,
        origin=origin,
        limits=context.sandboxes.limits,
        env=run.settings.env_vars,
    )

    def check() -> SuiteReport:
        if origin == "generated" and expected and not asserts_something(source):
            return SuiteReport(origin=origin, expected=expected, cause=_ASSERTS_NOTHING)
        return with_retries(lambda: run_suite(context.sandboxes.suites, job), run.settings.sandbox_retries)

    return check


# --- the reference ---


def _start_comparison(
    run: Run, context: _JudgingContext, pool: Executor
) -> Callable[[Sequence[_CheckedScript]], ReferenceReport | None] | None:
    """Start to compare the candidate with its reference; the function returned ends it. None if there is nothing to."""
    candidate, arguments = context.candidate, context.arguments
    if candidate.reference is None or arguments is None or not run.settings.reference:
        return None
    comparison = Comparison(
        request=run.request,
        samples=context.samples,
        arguments=arguments,
        folder=context.folder,
        sandbox=context.sandboxes.suites,
        limits=context.sandboxes.limits,
        env=run.settings.env_vars,
    )
    checks = [pool.submit(check) for check in _checks_of_reference(run, context, candidate.reference)]
    running = start_comparison(pool, comparison, candidate.solution.code, candidate.reference)

    def finish(scripts: Sequence[_CheckedScript]) -> ReferenceReport | None:
        broken = next((flaw for check in checks if (flaw := check.result())), "")
        if broken:
            return ReferenceReport(dropped=broken)
        on_samples = _run_on_samples(run.request, scripts, arguments)
        if on_samples is None or on_samples.run.cause is not None:
            return None
        report = running.finish(computed_outputs(on_samples.outputs, run.request.outputs))
        rivals = {} if report.difference is None else _rivals(run, candidate)
        witnesses = agreeing_programs(comparison, candidate.solution.code, rivals)
        return report.model_copy(update={"witnesses": witnesses})

    return finish


def _checks_of_reference(run: Run, context: _JudgingContext, reference: str) -> list[Callable[[], str]]:
    """The user's own checks of the reference; each says what it broke, "" if nothing."""
    script = context.candidate.solution.model_copy(update={"code": reference})
    sandboxes = replace(context.sandboxes, scripts=context.sandboxes.suites)
    candidate = context.candidate.model_copy(update={"solution": script})
    own = replace(context, candidate=candidate, sandboxes=sandboxes, folder=context.folder / "reference")
    own.folder.mkdir()
    tests = [] if run.request.tests is None else [_suite_check(run, own, "user", run.request.tests)]

    def of_example(check: Callable[[], _CheckedScript]) -> str:
        checked = check().run
        return f"it breaks {checked.case}: {checked.cause.summary}" if checked.cause else ""

    def of_tests(check: Callable[[], SuiteReport]) -> str:
        cause = check().cause
        return f"it breaks the user's tests: {cause.summary}" if cause else ""

    examples = [functools.partial(of_example, check) for check in _example_checks(run, own)]
    return [*examples, *(functools.partial(of_tests, check) for check in tests)]


def _run_on_samples(
    request: Request, scripts: Sequence[_CheckedScript], arguments: Mapping[str, JsonValue]
) -> _CheckedScript | None:
    """The run on the samples with these values, which an example may have made."""
    cases = {f"example {number}" for number, case in enumerate(request.examples, 1) if case.inputs == arguments}
    return next((script for script in scripts if script.run.case in {SAMPLES_CASE, *cases}), None)


def _rivals(run: Run, candidate: Candidate) -> dict[int, str]:
    """The newest candidates of other drafts that fail by nothing but the reference, by their numbers."""
    mine = next((attempt for attempt in run.attempts if attempt.candidate == candidate), None)
    root = lineage_of(run, mine)[0].number if mine else 0
    newest = {lineage_of(run, other)[0].number: other for other in run.attempts if differs_from_reference(other.report)}
    return {other.number: other.candidate.solution.code for number, other in newest.items() if number != root}
