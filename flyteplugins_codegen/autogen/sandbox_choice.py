"""Which sandbox code runs in: what AutoGen's `use_docker` and our `sandbox` ask for, and opening it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import get_args

from flyteplugins_codegen.autogen.arguments import require_texts
from flyteplugins_codegen.errors import RequestError, SandboxUnavailableError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.packages.uv import python_version
from flyteplugins_codegen.sandbox.container.engine import image_name
from flyteplugins_codegen.sandbox.contract import Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox

_USE_DOCKER = "pass None, a bool, the name of an image, or a list of names"
_LONGEST_NAME = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxChoice:
    """A kind of sandbox, and for a container the images to try; the first that works is used."""

    kind: SandboxKind
    images: tuple[str | None, ...] = (None,)


@dataclass(frozen=True, slots=True)
class OpenSandbox:
    """An open sandbox; `image` is its container image, None where it is no container."""

    sandbox: Sandbox
    image: str | None


def read_sandbox_choice(*, use_docker: bool | str | Sequence[str] | None, sandbox: str | None) -> SandboxChoice:
    """Read the arguments `use_docker` and `sandbox`, of which only one may be set.

    Of `use_docker`, None takes the best isolation of this machine, False bubblewrap, True a container, and a name or a
    list of names a container of that image.

    Raises ArgumentTypeError; RequestError for an unknown kind, an empty list of images, or both arguments.
    """
    if sandbox is not None and use_docker is not None:
        raise RequestError(
            f"sandbox={sandbox!r:.100} and use_docker={use_docker!r:.100} both say where to run; pass one of them"
        )
    if sandbox is not None:
        return SandboxChoice(kind=_read_kind(sandbox))
    if use_docker is None:
        return SandboxChoice(kind="auto")
    if isinstance(use_docker, bool):
        return SandboxChoice(kind="container" if use_docker else "bubblewrap")
    return SandboxChoice(kind="container", images=_read_images(use_docker))


def _read_kind(sandbox: str) -> SandboxKind:
    for kind in get_args(SandboxKind):
        if sandbox == kind:
            known: SandboxKind = kind
            return known
    raise RequestError(f"sandbox={sandbox!r:.100} is unknown; choose one of {', '.join(get_args(SandboxKind))}")


def _read_images(use_docker: str | Sequence[str]) -> tuple[str, ...]:
    names = require_texts("use_docker", [use_docker] if isinstance(use_docker, str) else use_docker, _USE_DOCKER)
    if not names or not all(name and name.isprintable() and len(name) <= _LONGEST_NAME for name in names):
        raise RequestError(f"use_docker={use_docker!r:.100} names no image; {_USE_DOCKER}")
    return names


@contextmanager
def open_chosen_sandbox(choice: SandboxChoice, environment: InstalledEnvironment | None) -> Iterator[OpenSandbox]:
    """Open the sandbox. Raises SandboxUnavailableError, with the reason for each image, where none works."""
    with ExitStack() as stack:
        reasons = []
        for image in choice.images:
            name = image_name(image, python_version())
            try:
                sandbox = stack.enter_context(open_sandbox(choice.kind, environment=environment, image=name))
            except SandboxUnavailableError as error:
                reasons.append(error)
            else:
                yield OpenSandbox(sandbox, name if sandbox.kind == "container" else None)
                return
        raise SandboxUnavailableError("; ".join(map(str, reasons))) from reasons[-1]
