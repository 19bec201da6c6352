"""AutoGen's `use_docker`, as a choice of sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from flyteplugins_codegen.errors import ArgumentTypeError, SandboxUnavailableError
from flyteplugins_codegen.sandbox import Sandbox, open_sandbox


@contextmanager
def open_by_docker_choice(use_docker: Any) -> Iterator[Sandbox]:
    """The sandbox that `use_docker` asks for, closed at the end of the `with` block.

    None is the first kind that this machine offers, False is bubblewrap, True a container of the default image, a str
    one of this image, a list one of the first image of which one can be had. Never is code run without a sandbox.

    Raises:
        ArgumentTypeError: `use_docker` is none of these.
        SandboxUnavailableError: this machine does not offer it; the message names the remedy.
    """
    with ExitStack() as stack:
        yield _open(stack, use_docker)


def _open(stack: ExitStack, use_docker: Any) -> Sandbox:
    if use_docker is None:
        return stack.enter_context(open_sandbox("auto"))
    if use_docker is False:
        return stack.enter_context(open_sandbox("bubblewrap"))
    *others, last = read_images(use_docker)
    for image in others:
        with suppress(SandboxUnavailableError):
            return stack.enter_context(open_sandbox("container", image=image))
    return stack.enter_context(open_sandbox("container", image=last))


def read_images(use_docker: Any) -> Sequence[str | None]:
    """The images to try in turn, None being the default one; none of them where no container is asked for.

    Raises ArgumentTypeError.
    """
    if use_docker is None or use_docker is False:
        return []
    if use_docker is True:
        return [None]
    images = [use_docker] if isinstance(use_docker, str) else use_docker
    if isinstance(images, list | tuple) and images and all(isinstance(image, str) and image for image in images):
        return images
    raise ArgumentTypeError(
        f"use_docker={use_docker!r:.200}; pass None for what this machine offers, False for bubblewrap, True for a "
        "container, or the name of its image, or a list of such names"
    )
