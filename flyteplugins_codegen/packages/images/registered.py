"""Builders that are registered with flytekit's `ImageBuildEngine`, by their names there."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flyteplugins_codegen.errors import ImageBuildError
from flyteplugins_codegen.packages.images.builder import RECIPE, BuildOrder
from flyteplugins_codegen.packages.images.diagnosis import explain_build

_REQUIREMENTS = "requirements.txt"
_APP = "/app"


@dataclass(frozen=True, slots=True)
class RegisteredBuilder:
    """An `ImageBuilder` that calls a builder of flytekit's, which takes an `ImageSpec` and pushes what it builds.

    The files of the context go into the image as commands, because each builder decides for itself where an `ImageSpec`
    copies files to, and whether it installs flytekit too. A builder that can use a Containerfile gets the context and
    its path: `builder_options={"context": ..., "containerfile": ...}`.
    """

    kind: str

    def has(self, name: str) -> bool:
        """Always False: flytekit's builder looks for the image itself."""
        del name
        return False

    def build(self, order: BuildOrder) -> str:
        """See `ImageBuilder`. The builder prints its output itself."""
        builder = registered_builders()[self.kind]
        spec = _specify(order)
        try:
            built_name = builder.build_image(spec) if builder.should_build(spec) else None
        except Exception as error:
            raise explain_build(str(error), f"flytekit's builder {self.kind!r} failed: {error}") from error
        if built_name not in {None, order.name}:
            raise ImageBuildError(
                f"flytekit's builder {self.kind!r} named the image {built_name!r}, and a solution's is named by its "
                f"content, {order.name!r}; use a builder that keeps the name"
            )
        return f"built by flytekit's builder {self.kind!r}\n"

    def push(self, order: BuildOrder) -> str:
        """Does nothing: flytekit's builder pushed the image when it built it."""
        del order
        return ""


def registered_builders() -> dict[str, Any]:
    """The builders that are registered with flytekit, by name, including those of installed plugins."""
    from flytekit.image_spec.image_spec import ImageBuildEngine

    return {name: builder for name, (builder, _) in ImageBuildEngine.get_registry().items()}


def _specify(order: BuildOrder) -> Any:
    from flytekit import ImageSpec

    path, _, tag = order.name.rpartition(":")
    registry, _, repository = path.rpartition("/")
    requirements = order.context / _REQUIREMENTS
    return ImageSpec(
        name=repository,
        registry=registry or None,
        tag_format=tag,
        base_image=order.base_image or None,
        python_version=order.python_version or None,
        requirements=str(requirements) if requirements.exists() else None,
        apt_packages=list(order.system_packages) or None,
        platform=order.platform,
        commands=list(_copy_commands(order)),
        env={"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp"},  # noqa: S108 - in the image
        entrypoint=[],
        builder_options={"context": str(order.context), "containerfile": str(order.context / RECIPE)},
    )


def _copy_commands(order: BuildOrder) -> Iterator[str]:
    yield f"mkdir -p {_APP} /var/inputs /var/outputs && chown 1000:1000 /var/outputs"
    for path in sorted(order.context.iterdir()):
        if path.suffix in {".py", ".json"}:
            encoded = base64.b64encode(path.read_bytes()).decode()
            yield f"echo {json.dumps(encoded)} | base64 -d > {_APP}/{path.name}"
