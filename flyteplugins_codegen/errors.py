"""All errors of this package, in one tree.

    CodegenError
    ├── RequestError            what the caller asked for cannot be done as asked; also a ValueError
    │   ├── ArgumentTypeError   an argument has the wrong type; also a TypeError
    │   ├── InterfaceError      a name or a type of an input or output is not allowed
    │   ├── EncodingError       a function that cannot be written as text
    │   ├── DecodingError       a text that names no function that may be loaded
    │   ├── SampleError         a sample is missing, empty or not what its name says
    │   ├── DataError           data violate their schema or a constraint
    │   └── SettingsError       a setting of the agent is not allowed
    ├── ModelError              a call of a model failed
    │   ├── UnknownModelError   no provider knows the name; also a ValueError
    │   ├── MissingKeyError     the API key's variable is not set
    │   ├── ProviderError       the provider answered with an error, or not at all
    │   │   └── DeadlineError   no complete reply before the deadline; also a TimeoutError
    │   ├── ReplyError          a reply came, but it cannot be used
    │   │   ├── TruncatedReplyError   it was cut off
    │   │   ├── RefusedReplyError     the model declined
    │   │   └── InvalidReplyError     it does not contain what was asked for
    │   ├── ReplayMissError     the recording has no reply to this request
    │   └── BudgetSpentError    the budget does not allow another call
    ├── EnvironmentBuildError   an environment could not be built
    │   ├── PackageError        the candidate's fault: an unknown, forbidden or conflicting package
    │   ├── IndexUnavailableError     the machine's fault: no index, no disk space
    │   │   └── MissingProgramError   it has no uv, or no Python of the version
    │   └── ImageBuildError     a container image could not be built or pushed; no package is at fault
    ├── SandboxError            the sandbox itself failed; never the program's fault
    │   ├── SandboxUnavailableError   this machine has no isolation
    │   └── MissingInterpreterError   the machine or the image cannot run a language
    ├── RemoteError             a Flyte control plane could not be reached, or refused the request
    └── SolutionError           a solution does not do what it declares
        ├── SolutionFailedError       it ended with an error, or ran out of time or memory
        ├── OutputError               an output is missing or not of its type
        ├── NotSuccessfulError        the run failed, so there is no solution to run
        └── NotApprovedError          a new version awaits a human's approval, or was refused

Catch by layer: `except ModelError` covers every failure of a model. `is_transient` says of an error whether another try
may help; only then does a cluster retry the task (`solution/flytekit.py`).
"""

from __future__ import annotations

from typing import Any

# Of the answers that refuse a request, those that may be another the next time (RFC 9110, section 15.5).
_PASSING_STATUSES = frozenset({408, 409, 425, 429})


class CodegenError(Exception):
    """Base of every error that this package raises on purpose.

    `is_transient` says whether the same may succeed at another time or on another machine.
    """

    is_transient: bool = False


class RequestError(CodegenError, ValueError):
    """What the caller asked for cannot be done as asked."""


class ArgumentTypeError(RequestError, TypeError):
    """An argument has the wrong type."""


class InterfaceError(RequestError):
    """A name or a type of an input or output is not allowed."""


class EncodingError(RequestError):
    """A function cannot be written as text, because no module has it under its name."""


class DecodingError(RequestError):
    """A text names no function that may be loaded, or loading it failed."""


class SampleError(RequestError):
    """A sample is missing, empty, or cannot be read as the format that its name says."""


class DataError(RequestError):
    """A file violates its schema, or a sample a constraint; the message has column, check, count and first rows."""


class SettingsError(RequestError):
    """A setting of the agent is not allowed."""


class ModelError(CodegenError):
    """A call of a model failed.

    `calls` are the `ModelCall`s that were answered before the failure, so that their cost is known.
    """

    calls: tuple[Any, ...] = ()


class UnknownModelError(ModelError, ValueError):
    """No provider knows this model name."""


class MissingKeyError(ModelError):
    """The environment variable or secret with the provider's API key is not set."""


class ProviderError(ModelError):
    """The provider could not be reached, or answered with an error.

    `status` is the HTTP status, or None if no answer came. `usage` is the `Usage` of replies that broke off. A key, a
    model or a request that was refused will be refused again; all other failures are transient.
    """

    def __init__(self, message: str, status: int | None = None, usage: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.usage = usage
        self.is_transient = status is None or not 400 <= status < 500 or status in _PASSING_STATUSES  # noqa: PLR2004 - HTTP


class DeadlineError(ProviderError, TimeoutError):
    """No complete reply came before the call's deadline."""


class ReplyError(ModelError):
    """A reply came and was paid for, but cannot be used."""


class TruncatedReplyError(ReplyError):
    """The reply was cut off by the length limit or by a broken stream."""


class RefusedReplyError(ReplyError):
    """The model or a content filter declined to answer."""


class InvalidReplyError(ReplyError):
    """The reply does not contain what was asked for, even after one repeated request."""


class ReplayMissError(ModelError):
    """The recording has no reply to this request."""


class BudgetSpentError(ModelError):
    """The budget does not allow another call, and nothing was sent. `spent` is the `Spending` so far."""

    def __init__(self, message: str, spent: Any = None) -> None:
        super().__init__(message)
        self.spent = spent


class EnvironmentBuildError(CodegenError):
    """An environment for a solution could not be built."""


class PackageError(EnvironmentBuildError):
    """A package that the candidate asked for does not exist, is forbidden, or conflicts.

    `package` is the name as the candidate wrote it, or "" if no single package is at fault.
    """

    def __init__(self, message: str, package: str = "") -> None:
        super().__init__(message)
        self.package = package


class IndexUnavailableError(EnvironmentBuildError):
    """The package index, the disk or uv failed; the candidate is not at fault."""

    is_transient = True


class MissingProgramError(IndexUnavailableError):
    """This machine has no uv, or no Python of the wanted version; the message names what to install."""

    is_transient = False


class ImageBuildError(EnvironmentBuildError):
    """A container image could not be built or pushed, and no package is at fault; the message ends with the log."""


class SandboxError(CodegenError):
    """The sandbox itself failed; never the fault of the program that ran in it."""

    is_transient = True


class SandboxUnavailableError(SandboxError):
    """This machine has no isolation; the message names what to install."""

    is_transient = False  # the next pod is made as this one


class MissingInterpreterError(SandboxError):
    """The machine or the image cannot run a language; the message names what to install."""

    is_transient = False


class RemoteError(CodegenError):
    """A Flyte control plane could not be reached or refused the request; the message has its reason and the remedy.

    It is transient if no answer came.
    """

    def __init__(self, message: str, *, is_transient: bool = False) -> None:
        super().__init__(message)
        self.is_transient = is_transient


class SolutionError(CodegenError):
    """A solution does not do what it declares."""


class SolutionFailedError(SolutionError):
    """The script ended with an error, or exceeded its time, memory or output limit."""


class OutputError(SolutionError):
    """A declared output is missing, or does not have its type."""


class NotSuccessfulError(SolutionError):
    """The run failed, so the result has no solution to run."""


class NotApprovedError(SolutionError):
    """A new version of a solution awaits a human's approval or was refused; the old one stays in use."""
