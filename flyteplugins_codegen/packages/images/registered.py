"""A builder that is registered with flytekit's `ImageBuildEngine`, by its name there."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flyteplugins_codegen.errors import ImageBuildError
from flyteplugins_codegen.packages.images.builder import RECIPE, BuildOrder, explain_build

_REQUIREMENTS = "requirements.txt"
_APP = "/app"


@dataclass(frozen=True, slots=True)
class RegisteredBuilder:
    """`ImageBuilder` by a builder of flytekit's, which knows an image as an `ImageSpec`, and pushes what it builds.

    The files of the context go into the image as commands, for where an `ImageSpec` copies files to is each builder's
    own affair; whether flytekit is installed beside them is so, too. The whole context is offered to a builder that can
    use a recipe as it is: `builder_options={"context": ..., "containerfile": ...}`.
    """

    kind: str

    def has(self, name: str) -> bool:
        """Never known: the builder looks for itself."""
        del name
        return False

    def build(self, order: BuildOrder) -> str:
        """As the contract says; what the builder prints, it prints itself."""
        builder = registered_builders()[self.kind]
        spec = _specify(order)
        try:
            called = builder.build_image(spec) if builder.should_build(spec) else None
        except Exception as error:
            raise explain_build(str(error), f"flytekit's builder {self.kind!r} failed: {error}") from error
        if called not in {None, order.name}:
            raise ImageBuildError(
                f"flytekit's builder {self.kind!r} named the image {called!r}, and a solution's is named by its "
                f"content, {order.name!r}; use a builder that keeps the name"
            )
        return f"built by flytekit's builder {self.kind!r}\n"

    def push(self, order: BuildOrder) -> str:
        """Nothing is left to do: it was pushed when it was built."""
        del order
        return ""


def registered_builders() -> dict[str, Any]:
    """What is registered with flytekit, by name; the packages that bring them are found as flytekit finds them."""
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
        commands=list(_copying(order)),
        env={"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp"},  # noqa: S108 - in the image
        entrypoint=[],
        builder_options={"context": str(order.context), "containerfile": str(order.context / RECIPE)},
    )


def _copying(order: BuildOrder) -> Iterator[str]:
    yield f"mkdir -p {_APP} /var/inputs /var/outputs && chown 1000:1000 /var/outputs"
    for path in sorted(order.context.iterdir()):
        if path.suffix in {".py", ".json"}:
            encoded = base64.b64encode(path.read_bytes()).decode()
            yield f"echo {json.dumps(encoded)} | base64 -d > {_APP}/{path.name}"
