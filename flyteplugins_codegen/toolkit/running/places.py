"""Where code is run: which sandbox, and which container image, as AutoGen's `use_docker` and our `sandbox` say it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import get_args

from flyteplugins_codegen.environment.interpreter import python_version
from flyteplugins_codegen.errors import RequestError, SandboxUnavailableError
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.sandbox.container.image import image_name
from flyteplugins_codegen.sandbox.contract import Sandbox
from flyteplugins_codegen.sandbox.opening import open_sandbox
from flyteplugins_codegen.toolkit.texts import require_texts

_USE_DOCKER = "pass None, a bool, the name of an image, or a list of names"
_LONGEST_NAME = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A kind of sandbox, and the images of which the first that works is taken, where it is a container."""

    kind: SandboxKind
    images: tuple[str | None, ...] = (None,)


@dataclass(frozen=True, slots=True)
class OpenPlace:
    """An open sandbox; `image` is its container image, None where it is no container."""

    sandbox: Sandbox
    image: str | None


def read_place(*, use_docker: bool | str | Sequence[str] | None, sandbox: str | None) -> Place:
    """None lets this machine choose, False is bubblewrap, True a container, names are those of its image.

    Raises ArgumentTypeError, and RequestError for an unknown kind, no image at all, or two answers to one question.
    """
    if sandbox is not None and use_docker is not None:
        raise RequestError(
            f"sandbox={sandbox!r:.100} and use_docker={use_docker!r:.100} both say where to run; pass one of them"
        )
    if sandbox is not None:
        return Place(kind=_read_kind(sandbox))
    if use_docker is None:
        return Place(kind="auto")
    if isinstance(use_docker, bool):
        return Place(kind="container" if use_docker else "bubblewrap")
    return Place(kind="container", images=_read_images(use_docker))


def _read_kind(sandbox: str) -> SandboxKind:
    for kind in get_args(SandboxKind):
        if sandbox == kind:
            found: SandboxKind = kind
            return found
    raise RequestError(f"sandbox={sandbox!r:.100} is unknown; choose one of {', '.join(get_args(SandboxKind))}")


def _read_images(use_docker: str | Sequence[str]) -> tuple[str, ...]:
    names = require_texts("use_docker", [use_docker] if isinstance(use_docker, str) else use_docker, _USE_DOCKER)
    if not names or not all(name and name.isprintable() and len(name) <= _LONGEST_NAME for name in names):
        raise RequestError(f"use_docker={use_docker!r:.100} names no image; {_USE_DOCKER}")
    return names


@contextmanager
def open_place(place: Place, environment: InstalledEnvironment | None) -> Iterator[OpenPlace]:
    """The sandbox, open. Raises SandboxUnavailableError, with the reason for each image, where none works."""
    with ExitStack() as stack:
        reasons = []
        for image in place.images:
            name = image_name(image, python_version())
            try:
                sandbox = stack.enter_context(open_sandbox(place.kind, environment=environment, image=name))
            except SandboxUnavailableError as error:
                reasons.append(error)
            else:
                yield OpenPlace(sandbox, name if sandbox.kind == "container" else None)
                return
        raise SandboxUnavailableError("; ".join(map(str, reasons))) from reasons[-1]
