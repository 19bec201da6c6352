"""Every error of this package, one tree.

    CodegenError
    ├── RequestError            what the caller asked for cannot be done as asked; also a ValueError
    │   ├── ArgumentTypeError   an argument is of another type than is asked for; also a TypeError
    │   ├── InterfaceError      a name or a type among the inputs and outputs
    │   ├── EncodingError       a function that has no name to write it by
    │   ├── DecodingError       a text that names no function that may be read
    │   ├── SampleError         a sample that is missing, empty or not what its name says
    │   ├── DataError           data that break their schema or a constraint
    │   └── SettingsError       a setting of the agent
    ├── ModelError              talking to a model
    │   ├── UnknownModelError   no provider knows the name; also a ValueError
    │   ├── MissingKeyError     the key's variable is not set
    │   ├── ProviderError       the provider answered with an error, or not at all
    │   │   └── DeadlineError   no complete reply before the deadline; also a TimeoutError
    │   ├── ReplyError          a reply came, and it cannot be used
    │   │   ├── TruncatedReplyError   it was cut off
    │   │   ├── RefusedReplyError     the model declined
    │   │   └── InvalidReplyError     it does not hold what was asked for
    │   ├── ReplayMissError     the recording holds no reply to this request
    │   └── BudgetSpentError    the budget does not allow one call more
    ├── EnvironmentBuildError   an environment could not be built
    │   ├── PackageError        by fault of the candidate: an unknown, forbidden or conflicting package
    │   ├── IndexUnavailableError     by fault of the machine: no index, no disk, no uv
    │   └── ImageBuildError     a container image could not be built or pushed; not by fault of a package
    ├── SandboxError            the sandbox itself failed; never the program's fault
    │   ├── SandboxUnavailableError   this machine offers no isolation
    │   └── MissingInterpreterError   the machine or the image has nothing that runs a language
    ├── RemoteError             a Flyte control plane could not be reached, or refused
    └── SolutionError           a solution did not do what it declares
        ├── SolutionFailedError       it ended with an error, ran out of time or memory
        ├── OutputError               an output is missing or not of its type
        ├── NotSuccessfulError        the result is of a failed run, there is nothing to run
        └── NotApprovedError          a new version waits for a human, or was refused

Catch by layer: `except ModelError` covers every way in which a model can fail.
"""

from __future__ import annotations

from typing import Any


class CodegenError(Exception):
    """Base of every error that this package raises on purpose."""


class RequestError(CodegenError, ValueError):
    """What the caller asked for cannot be done as asked."""


class ArgumentTypeError(RequestError, TypeError):
    """An argument is of another type than is asked for."""


class InterfaceError(RequestError):
    """A name or a type among the inputs and outputs is not possible."""


class EncodingError(RequestError):
    """A function cannot be written as text, because no module holds it by name."""


class DecodingError(RequestError):
    """A text names no function that may be read, or its function failed where it was opened."""


class SampleError(RequestError):
    """A sample is missing, empty, or unreadable as what its name says."""


class DataError(RequestError):
    """A file breaks its schema, or a sample a constraint; the message has column, check, count and first rows."""


class SettingsError(RequestError):
    """A setting of the agent is not possible."""


class ModelError(CodegenError):
    """Talking to a model failed.

    `calls` are the `ModelCall`s that brought a reply before it failed, so that what they cost is not lost.
    """

    calls: tuple[Any, ...] = ()


class UnknownModelError(ModelError, ValueError):
    """No provider knows this model name."""


class MissingKeyError(ModelError):
    """The environment variable or secret that holds the provider's key is not set."""


class ProviderError(ModelError):
    """The provider could not be reached, or answered with an error.

    `status` is the HTTP status, or None when no answer came. `usage` is the `Usage` of replies that broke off.
    """

    def __init__(self, message: str, status: int | None = None, usage: Any = None) -> None:
        super().__init__(message)
        self.status = status
        self.usage = usage


class DeadlineError(ProviderError, TimeoutError):
    """No complete reply came before the call's deadline."""


class ReplyError(ModelError):
    """A reply came, was paid for, and cannot be used."""


class TruncatedReplyError(ReplyError):
    """The reply was cut off by the length limit or by a broken stream."""


class RefusedReplyError(ReplyError):
    """The model or a content filter declined to answer."""


class InvalidReplyError(ReplyError):
    """The reply does not hold what was asked for, after one re-ask."""


class ReplayMissError(ModelError):
    """A recording holds no reply to this request."""


class BudgetSpentError(ModelError):
    """The budget does not allow one call more; nothing was sent. `spent` is the `Spending` by then."""

    def __init__(self, message: str, spent: Any = None) -> None:
        super().__init__(message)
        self.spent = spent


class EnvironmentBuildError(CodegenError):
    """An environment for a solution could not be built."""


class PackageError(EnvironmentBuildError):
    """A package that the candidate asked for does not exist, is forbidden, or conflicts.

    `package` is the name as the candidate wrote it, or "" when no single package is to blame.
    """

    def __init__(self, message: str, package: str = "") -> None:
        super().__init__(message)
        self.package = package


class IndexUnavailableError(EnvironmentBuildError):
    """The package index, the disk or uv failed; the candidate is not to blame."""


class ImageBuildError(EnvironmentBuildError):
    """A container image could not be built or pushed, and no package is to blame; the message ends with the log."""


class SandboxError(CodegenError):
    """The sandbox itself failed. Never the fault of the program that ran in it."""


class SandboxUnavailableError(SandboxError):
    """This machine offers no isolation; the message names what to install."""


class MissingInterpreterError(SandboxError):
    """The machine or the image has nothing that runs a language; the message names what to install."""


class RemoteError(CodegenError):
    """A Flyte control plane could not be reached, or refused; the message has its words and the remedy."""


class SolutionError(CodegenError):
    """A solution did not do what it declares."""


class SolutionFailedError(SolutionError):
    """The script ended with an error, or ran out of time, memory or room for its output."""


class OutputError(SolutionError):
    """A declared output is missing, or is not of its type."""


class NotSuccessfulError(SolutionError):
    """The result is of a run that failed: there is no solution to run."""


class NotApprovedError(SolutionError):
    """A new version of a solution waits for a human's approval, or was refused; the old one stays."""
