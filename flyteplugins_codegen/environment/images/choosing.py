"""Which builder a name stands for."""

from __future__ import annotations

from flyteplugins_codegen.environment.images.buildkit import ADDRESS_VARIABLE, find_buildkit
from flyteplugins_codegen.environment.images.contract import ImageBuilder
from flyteplugins_codegen.environment.images.engines import ENGINES, find_engine
from flyteplugins_codegen.environment.images.registered import RegisteredBuilder, registered_builders
from flyteplugins_codegen.errors import SettingsError

NO_BUILDER = "none"
_BUILDKIT = "buildkit"
_PREFERRED = ("podman", "docker", "buildah")


def open_builder(name: str) -> ImageBuilder | None:
    """The builder of that name; None for `none`.

    `auto` is the first of podman, docker, buildah that is installed, else the buildkitd at `BUILDKIT_HOST`; where that
    is set, someone means it, and it comes first.

    Raises SettingsError for a name that none has, and for one that is not there; the message lists what is.
    """
    if name == NO_BUILDER:
        return None
    found = _automatic() if name == "auto" else _named(name)
    if found is None:
        raise SettingsError(
            f"image_config: builder={name!r} is not there. Here are: {', '.join(_present()) or 'none'}. Install "
            f"podman, docker or buildah; or set {ADDRESS_VARIABLE} to the address of a buildkitd and install buildctl; "
            "or choose 'none' and build the image by the Containerfile of the solution folder"
        )
    return found


def _automatic() -> ImageBuilder | None:
    return find_buildkit() or next((found for found in map(find_engine, _PREFERRED) if found), None)


def _named(name: str) -> ImageBuilder | None:
    if name in ENGINES:
        return find_engine(name)
    if name == _BUILDKIT or "://" in name:
        return find_buildkit(name if "://" in name else None)
    return RegisteredBuilder(name) if name in registered_builders() else None


def _present() -> list[str]:
    engines = [name for name in ENGINES if find_engine(name)]
    return [*engines, *([_BUILDKIT] if find_buildkit() else []), *registered_builders()]
