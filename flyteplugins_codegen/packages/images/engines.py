"""Builders that run a program: podman, buildah or docker on this machine, or `buildctl` with a remote buildkitd.

The first three are for laptops and continuous integration, with or without root. A buildkitd builds inside a cluster,
where a pod has neither an engine nor privileges.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from flyteplugins_codegen.packages.images.builder import (
    RECIPE,
    BuildOrder,
    ProgramError,
    login_variables,
    run_program,
    secret_options,
)
from flyteplugins_codegen.packages.images.diagnosis import explain_build
from flyteplugins_codegen.packages.images.registry import is_loopback

ADDRESS_VARIABLE = "BUILDKIT_HOST"
ENGINES: Final = ("podman", "buildah", "docker")
_RUNTIMES = ("crun", "runc")
# What buildah prints when the runtime failed, and not a step of the Containerfile.
_RUNTIMES_FAULT = ("creating container for", "did not get container create message")
# Sets the times of files and of the image to the epoch, so that the same content always has the same digest.
_REPRODUCIBLE = ("--timestamp", "0")


@dataclass(frozen=True, slots=True)
class EngineBuilder:
    """An `ImageBuilder` that runs podman, buildah or docker; `runtime` runs the steps, None is the program's choice."""

    kind: str
    program: str
    runtime: str | None = None

    def has(self, name: str) -> bool:
        """See `ImageBuilder`."""
        command = {
            "podman": ("image", "exists", name),
            "buildah": ("inspect", "--type", "image", name),
            "docker": ("image", "inspect", name),
        }
        try:
            run_program([self.program, *command[self.kind]])
        except ProgramError:
            return False
        return True

    def build(self, order: BuildOrder) -> str:
        """See `ImageBuilder`. If the runtime does not work on this machine, the others are tried."""
        try:
            return self._build(order)
        except ProgramError as error:
            working = next(self._other_runtimes(error), None)
            if working is None:
                raise explain_build(error.log, str(error)) from error
        return working.build(order)

    def push(self, order: BuildOrder) -> str:
        """See `ImageBuilder`."""
        insecure = ["--tls-verify=false"] if self.kind != "docker" and is_loopback(order.name) else []
        return run_program([self.program, "push", *insecure, order.name], login_variables(order))

    def _build(self, order: BuildOrder) -> str:
        variables = {"DOCKER_BUILDKIT": "1", "BUILDKIT_PROGRESS": "plain"} if self.kind == "docker" else {}
        return run_program([*self._command(), *_arguments(order)], {**login_variables(order), **variables})

    def _command(self) -> list[str]:
        runtime = ["--runtime", self.runtime] if self.runtime else []
        return {
            "podman": [self.program, *runtime, "build", "--format", "oci", *_REPRODUCIBLE],
            "buildah": [self.program, "build", *runtime, "--layers", "--format", "oci", *_REPRODUCIBLE],
            "docker": [self.program, "build"],
        }[self.kind]

    def _other_runtimes(self, error: ProgramError) -> Iterator[EngineBuilder]:
        """The other runtimes to try; none where the runtime did not cause the error, or this is already another one."""
        if self.runtime or self.kind == "docker" or not any(phrase in error.log for phrase in _RUNTIMES_FAULT):
            return
        failed = next((name for name in _RUNTIMES if f"/{name}" in error.log), _RUNTIMES[0])
        yield from (replace(self, runtime=name) for name in _RUNTIMES if name != failed and shutil.which(name))


def _arguments(order: BuildOrder) -> list[str]:
    platform = ["--platform", order.platform] if order.platform else []
    recipe = ["--file", str(order.context / RECIPE), "--tag", order.name]
    return [*recipe, *platform, *secret_options(order), str(order.context)]


def find_engine(kind: str) -> EngineBuilder | None:
    """The builder that runs this program, None where it is not installed."""
    program = shutil.which(kind)
    return EngineBuilder(kind, program) if program else None


@dataclass(frozen=True, slots=True)
class BuildkitBuilder:
    """An `ImageBuilder` that uses a buildkitd at an address such as `tcp://buildkitd:1234`."""

    program: str
    address: str

    def has(self, name: str) -> bool:
        """Always False: the daemon keeps layers, but no image names."""
        del name
        return False

    def build(self, order: BuildOrder) -> str:
        """See `ImageBuilder`. The layers stay in the daemon."""
        return self._solve(order, f"type=image,name={order.name},push=false")

    def push(self, order: BuildOrder) -> str:
        """See `ImageBuilder`. The daemon has every layer already, so this only sends them."""
        insecure = ",registry.insecure=true" if is_loopback(order.name) else ""
        return self._solve(order, f"type=image,name={order.name},push=true,rewrite-timestamp=true{insecure}")

    def _solve(self, order: BuildOrder, output: str) -> str:
        platform = ["--opt", f"platform={order.platform}"] if order.platform else []
        command = [
            *(self.program, "--addr", self.address, "build", "--progress", "plain", "--frontend", "dockerfile.v0"),
            *("--local", f"context={order.context}", "--local", f"dockerfile={order.context}"),
            *("--opt", f"filename={RECIPE}", "--opt", "build-arg:SOURCE_DATE_EPOCH=0"),
            *platform,
            *secret_options(order),
            *("--output", output),
        ]
        try:
            return run_program(command, login_variables(order))
        except ProgramError as error:
            raise explain_build(error.log, str(error)) from error


def find_buildkit(address: str | None = None) -> BuildkitBuilder | None:
    """The builder at this address, by default at `BUILDKIT_HOST`; None without an address or without `buildctl`."""
    program, address = shutil.which("buildctl"), address or os.environ.get(ADDRESS_VARIABLE)
    return BuildkitBuilder(program, address) if program and address else None
