"""Choosing a builder by its name, and making an image with it."""

from __future__ import annotations

import time

from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.models.settings import BuiltImage
from flyteplugins_codegen.packages.images.builder import BuildOrder, ImageBuilder
from flyteplugins_codegen.packages.images.engines import ADDRESS_VARIABLE, ENGINES, find_buildkit, find_engine
from flyteplugins_codegen.packages.images.registered import RegisteredBuilder, registered_builders
from flyteplugins_codegen.packages.images.registry import find_digest

NO_BUILDER = "none"
_BUILDKIT = "buildkit"
_PREFERRED = ("podman", "docker", "buildah")


def open_builder(name: str) -> ImageBuilder | None:
    """The builder of this name; None for `none`.

    `auto` is the buildkitd at `BUILDKIT_HOST` where that variable is set, else the first of podman, docker and buildah
    that is installed.

    Raises SettingsError for an unknown name and for a builder that is not available; the message lists those that are.
    """
    if name == NO_BUILDER:
        return None
    builder = _automatic() if name == "auto" else _named(name)
    if builder is None:
        raise SettingsError(
            f"image_config: builder={name!r} is not there. Here are: {', '.join(_available()) or 'none'}. Install "
            f"podman, docker or buildah; or set {ADDRESS_VARIABLE} to the address of a buildkitd and install buildctl; "
            "or choose 'none' and build the image by the Containerfile of the solution folder"
        )
    return builder


def _automatic() -> ImageBuilder | None:
    return find_buildkit() or next((engine for engine in map(find_engine, _PREFERRED) if engine), None)


def _named(name: str) -> ImageBuilder | None:
    if name in ENGINES:
        return find_engine(name)
    if name == _BUILDKIT or "://" in name:
        return find_buildkit(name if "://" in name else None)
    return RegisteredBuilder(name) if name in registered_builders() else None


def _available() -> list[str]:
    engines = [name for name in ENGINES if find_engine(name)]
    return [*engines, *([_BUILDKIT] if find_buildkit() else []), *registered_builders()]


def make_image(order: BuildOrder, builder: ImageBuilder, *, should_push: bool) -> BuiltImage:
    """Build the image, and push it if `should_push`, unless it exists already.

    The name of an image is a digest of its content, so one that has the name is the same image. Raises what the builder
    raises.
    """
    started = time.monotonic()
    if should_push and (pushed := find_digest(order.name, order.login)):
        return BuiltImage(name=order.name, digest=pushed, was_there=True)
    was_there = builder.has(order.name)
    log = "" if was_there else builder.build(order)
    digest = None
    if should_push:
        log += builder.push(order)
        digest = find_digest(order.name, order.login)
    return BuiltImage(
        name=order.name,
        digest=digest,
        log=log,
        was_there=was_there and not should_push,
        seconds=time.monotonic() - started,
    )
