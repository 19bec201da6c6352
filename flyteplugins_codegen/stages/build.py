"""Stage `build_environment`: what the next candidate needs, resolved to exact distributions and installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from flyteplugins_codegen.errors import PackageError, SettingsError
from flyteplugins_codegen.models.environment import EnvironmentLock, InstalledEnvironment
from flyteplugins_codegen.models.run import Attempt, Cause, Run, TestReport
from flyteplugins_codegen.models.settings import BuiltImage, Settings
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.names import requirements_of
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.packages.system import missing_system_packages
from flyteplugins_codegen.solution.image import build_environment_image
from flyteplugins_codegen.source.python import third_party_names
from flyteplugins_codegen.stages.attempts import with_changed
from flyteplugins_codegen.stages.lineage import pending_attempt
from flyteplugins_codegen.telemetry import stage


def build_environment(run: Run, tell_image: Callable[[BuiltImage], object] | None = None) -> Run:
    """Resolve the candidate's packages and third-party imports, and install them beside the test runner's own.

    A package that is unknown, forbidden or in conflict fails the candidate, and is told in its report. `tell_image`
    hears of the environment's image where that is built here.

    Raises:
        IndexUnavailableError: the index, the disk or uv failed; the candidate is not to blame.
        ImageBuildError: so did the builder of its image, where that is built here.
    """
    attempt = pending_attempt(run)
    if attempt is None:
        return run
    with stage("build environment") as note:
        try:
            lock = _resolved(run, attempt)
            install_for_tests(lock)
            image = _try_image(run, lock)
        except PackageError as error:
            _blame_settings(run, error)
            note.detail = f"no such environment: {error.package or 'conflict'}"
            cause = Cause(kind="package_unavailable", subject=error.package, message=str(error), is_certain=True)
            return with_changed(run, attempt.number, report=TestReport(build_cause=cause), cause=cause)
        if image is not None and tell_image is not None:
            tell_image(image)
        note.detail = _told(lock)
        return with_changed(run, attempt.number, environment=lock)


def _blame_settings(run: Run, error: PackageError) -> None:
    """No candidate can mend what the agent's own settings ask for. Raises SettingsError where that is to blame."""
    if error.package and error.package in run.settings.base_packages:
        raise SettingsError(f"base_packages: {error}") from error


def _try_image(run: Run, lock: EnvironmentLock) -> BuiltImage | None:
    """The environment's image where that is asked for. Raises PackageError for what only an image can tell."""
    config = run.settings.image_config
    is_asked_for = config is not None and config.build_while_generating
    return build_environment_image(run.settings, lock) if is_asked_for else None


def _resolved(run: Run, attempt: Attempt) -> EnvironmentLock:
    solution = attempt.candidate.solution
    try:
        imported = third_party_names(solution.code)
    except SyntaxError:
        # Told by the stage that runs it; the packages that the reply names are all there is to know.
        imported = ()
    wanted = requirements_of(imported, solution.packages, run.settings.base_packages)
    return resolve_packages(run.settings, wanted, solution.system_packages)


def resolve_packages(settings: Settings, wanted: Iterable[str], system_packages: Iterable[str] = ()) -> EnvironmentLock:
    """The environment with these packages, for the Python that the settings ask for. Raises as `resolve`."""
    image = settings.image_config
    return resolve(wanted, system_packages=system_packages, python=image.python_version if image is not None else None)


def install_for_tests(lock: EnvironmentLock) -> tuple[InstalledEnvironment, InstalledEnvironment]:
    """The solution's environment and the test runner's, both made at once where they are not there yet.

    Raises PackageError, IndexUnavailableError.
    """
    with ThreadPoolExecutor(1) as pool:
        runner = pool.submit(lambda: install(resolve(RUNNER_REQUIREMENTS, python=lock.python)))
        return install(lock), runner.result()


def _told(lock: EnvironmentLock) -> str:
    told = ", ".join(lock.packages) if lock.packages else "standard library only"
    absent = missing_system_packages(lock)
    return f"{told}; in the image only: {', '.join(absent)}" if absent else told
