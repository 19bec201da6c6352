"""The one place where the loop is decided. The local driver and the Flyte workflow both ask `next_action`."""

from __future__ import annotations

import re
from typing import TypeAlias

from packaging.utils import canonicalize_name

from flyteplugins_codegen.environment.packages import distribution_for
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.report import Cause
from flyteplugins_codegen.models.run import Attempt, Run


class FirstDraft(Value):
    """Ask for a solution and, side by side, for tests."""


class BuildEnvironment(Value):
    """Resolve what the newest candidate needs."""


class RunTests(Value):
    """Run the newest candidate."""


class AddPackages(Value):
    """Try the same code with more packages: the cause is certain, no model is asked."""

    packages: tuple[str, ...]
    reason: str


class Repair(Value):
    """Ask the model once for the cause and the change."""

    reason: str


class Finish(Value):
    """Stop here; `reason` says what decided."""

    success: bool
    reason: str


class Driven(Value):
    """A run that came to its end, how, and every call with its messages."""

    run: Run
    finish: Finish
    calls: tuple[ModelCall, ...]


Action: TypeAlias = FirstDraft | BuildEnvironment | RunTests | AddPackages | Repair | Finish


def next_action(run: Run) -> Action:
    """What to do next with a run as it stands. Pure: the same run always gets the same answer."""
    if not run.attempts:
        return Finish(success=False, reason=run.stopped) if run.stopped else FirstDraft()
    last = run.attempts[-1]
    if last.report is None:
        return BuildEnvironment() if last.environment is None else RunTests()
    return _after_success(run) if last.report.passed else _after_failure(run, last)


def _after_success(run: Run) -> Finish:
    number = run.attempts[-1].number
    if not _is_unjudged(run):
        return Finish(success=True, reason=f"attempt {number} passed")
    return Finish(success=False, reason=f"attempt {number} ran, and there are no tests to judge it: {run.stopped}")


def _after_failure(run: Run, last: Attempt) -> Action:
    cause = last.report.causes[0] if last.report and last.report.causes else _NOTHING_RAN
    if len(run.attempts) >= run.settings.max_iterations:
        tried = f"{len(run.attempts)} attempt{'s' if len(run.attempts) > 1 else ''}"
        return Finish(success=False, reason=f"no success after {tried}; the last failed with {_told(cause)}")
    packages = _certain_packages(last)
    if packages:
        return AddPackages(packages=packages, reason=_told(cause))
    if run.stopped:
        return Finish(success=False, reason=f"{run.stopped}; attempt {last.number} failed with {_told(cause)}")
    return Repair(reason=_told(cause))


def _is_unjudged(run: Run) -> bool:
    """Whether tests were asked for, the budget was spent before they were written, and nothing of the user's judges."""
    wanted = not run.settings.skip_tests and run.attempts[-1].candidate.tests is None
    return bool(run.stopped) and wanted and not (run.request.examples or run.request.tests)


_NOTHING_RAN = Cause(kind="nothing_ran", message="nothing ran: no sample, no example and no test could judge the code")


def _told(cause: Cause) -> str:
    kind = cause.kind.replace("_", " ")
    first_line = cause.message.strip().partition("\n")[0][:200]
    # Most messages name what they are about themselves.
    about = f" ({cause.subject})" if cause.subject and cause.subject not in first_line else ""
    return f"{kind}{about}: {first_line}"


# pandas and others ask for an engine in these words, by an ImportError that names no module.
_OPTIONAL_DEPENDENCY = re.compile(r"Missing optional dependency '([A-Za-z0-9_.\-]+)'")


_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)


def _certain_packages(attempt: Attempt) -> tuple[str, ...]:
    """The distributions whose absence explains a failure, where they are not installed already."""
    assert attempt.report is not None  # noqa: S101 - next_action has looked
    causes = attempt.report.causes
    modules = [cause.subject for cause in causes if cause.kind == "missing_module" and cause.is_certain]
    for cause in causes:
        modules += _OPTIONAL_DEPENDENCY.findall(cause.message)
    wanted = {distribution_for(module) for module in modules if module and module != "solution"}
    return tuple(sorted(wanted - _installed(attempt)))


def _installed(attempt: Attempt) -> set[str]:
    """The names of all distributions that the attempt ran with, those that came with others included."""
    if attempt.environment is None:
        return set()
    return {canonicalize_name(name) for name in _PINNED.findall(attempt.environment.requirements)}
