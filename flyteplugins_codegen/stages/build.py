"""Stage `build_environment`: what the newest candidate needs, resolved to exact distributions."""

from __future__ import annotations

from flyteplugins_codegen.environment.lock import resolve
from flyteplugins_codegen.environment.packages import requirements_of
from flyteplugins_codegen.errors import PackageError
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.report import Cause, TestReport
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.stages.attempts import with_last
from flyteplugins_codegen.stages.progress import stage


def build_environment(run: Run) -> Run:
    """Resolve the candidate's packages and third-party imports; nothing is installed yet.

    A package that is unknown, forbidden or in conflict fails the candidate, and is told in its report.

    Raises:
        IndexUnavailableError: the index, the disk or uv failed; the candidate is not to blame.
    """
    last = run.attempts[-1]
    with stage("build environment") as note:
        try:
            lock = _resolved(run, last)
        except PackageError as error:
            note.detail = f"no such environment: {error.package or 'conflict'}"
            cause = Cause(kind="package_unavailable", subject=error.package, message=str(error), is_certain=True)
            return with_last(run, report=TestReport(build_cause=cause), cause=cause)
        note.detail = _told(lock)
        return with_last(run, environment=lock)


def _resolved(run: Run, last: Attempt) -> EnvironmentLock:
    solution = last.candidate.solution
    try:
        wanted = requirements_of(solution.code, solution.packages, run.settings.base_packages)
    except SyntaxError:
        # Told by the stage that runs it; the packages that the reply names are all there is to know.
        wanted = requirements_of("", solution.packages, run.settings.base_packages)
    return resolve(wanted, system_packages=solution.system_packages)


def _told(lock: EnvironmentLock) -> str:
    return ", ".join(lock.packages) if lock.packages else "standard library only"
