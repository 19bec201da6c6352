"""Stage `build_environment`: the packages of the next candidate, resolved to exact distributions and installed."""

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
from flyteplugins_codegen.stages.lineage import pending_attempt, pending_attempts
from flyteplugins_codegen.telemetry import stage


def build_environment(
    run: Run, on_image: Callable[[BuiltImage], object] | None = None, *, installs: bool = True
) -> Run:
    """Resolve the candidate's packages and third-party imports, and install them and the test runner's packages.

    An earlier candidate with the same requirements has the same environment. A package that is unknown, forbidden or in
    conflict fails the candidate; its report has the cause. `on_image` is called with the environment's image, if the
    settings ask to build it here. Without `installs` the environment is resolved only.

    Raises:
        IndexUnavailableError: the index, the disk or uv failed; the candidate is not to blame.
        ImageBuildError: the image could not be built; the candidate is not to blame.
        SettingsError: a package in the agent's `base_packages` is not available.
    """
    attempt = pending_attempt(run)
    if attempt is None:
        return run
    with stage("build environment") as note:
        try:
            lock = known_environment(run, attempt) or _resolved(run, attempt)
            if installs:
                install_for_tests(lock)
            image = _try_image(run, lock)
        except PackageError as error:
            _check_base_packages(run, error)
            note.detail = f"no such environment: {error.package or 'conflict'}"
            cause = Cause(kind="package_unavailable", subject=error.package, message=str(error), is_certain=True)
            return with_changed(run, attempt.number, report=TestReport(build_cause=cause), cause=cause)
        if image is not None and on_image is not None:
            on_image(image)
        note.detail = _lock_text(lock)
        return with_changed(run, attempt.number, environment=lock)


def _check_base_packages(run: Run, error: PackageError) -> None:
    """Raise SettingsError if the agent's own settings asked for the package: no candidate can change that."""
    if error.package and error.package in run.settings.base_packages:
        raise SettingsError(f"base_packages: {error}") from error


def _try_image(run: Run, lock: EnvironmentLock) -> BuiltImage | None:
    """The environment's image, if the settings ask for it. Raises PackageError for packages that fail only in it."""
    return build_environment_image(run.settings, lock) if builds_image(run.settings) else None


def builds_image(settings: Settings) -> bool:
    """Whether each candidate's environment is built as an image before the candidate runs."""
    return settings.image_config is not None and settings.image_config.build_while_generating


def known_environment(run: Run, attempt: Attempt) -> EnvironmentLock | None:
    """The environment of another attempt of the run that needs the same packages."""
    wanted = _requirements(run, attempt)
    same = (other for other in run.attempts if other.environment is not None and _requirements(run, other) == wanted)
    return next((other.environment for other in same), None)


def with_known_environments(run: Run) -> Run:
    """The run with the environment of each pending attempt that another attempt has already."""
    for attempt in pending_attempts(run):
        if attempt.environment is None and (lock := known_environment(run, attempt)) is not None:
            run = with_changed(run, attempt.number, environment=lock)
    return run


def _requirements(run: Run, attempt: Attempt) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The distributions and the Debian packages that an attempt needs."""
    solution = attempt.candidate.solution
    try:
        imported = third_party_names(solution.code)
    except SyntaxError:
        # `run_tests` reports the error; only the packages that the reply names are known.
        imported = ()
    return requirements_of(imported, solution.packages, run.settings.base_packages), solution.system_packages


def _resolved(run: Run, attempt: Attempt) -> EnvironmentLock:
    return resolve_packages(run.settings, *_requirements(run, attempt))


def resolve_packages(settings: Settings, wanted: Iterable[str], system_packages: Iterable[str] = ()) -> EnvironmentLock:
    """Lock an environment with these packages, for the Python version in the settings. Raises as `resolve`."""
    image = settings.image_config
    return resolve(wanted, system_packages=system_packages, python=image.python_version if image is not None else None)


def install_for_tests(lock: EnvironmentLock) -> tuple[InstalledEnvironment, InstalledEnvironment]:
    """Install the solution's environment and the test runner's at the same time; return both.

    Raises PackageError, IndexUnavailableError.
    """
    with ThreadPoolExecutor(1) as pool:
        runner = pool.submit(lambda: install(resolve(RUNNER_REQUIREMENTS, python=lock.python)))
        return install(lock), runner.result()


def _lock_text(lock: EnvironmentLock) -> str:
    packages = ", ".join(lock.packages) if lock.packages else "standard library only"
    absent = missing_system_packages(lock)
    return f"{packages}; in the image only: {', '.join(absent)}" if absent else packages
