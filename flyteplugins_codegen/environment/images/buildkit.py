"""A remote buildkitd, through `buildctl`: what builds inside a cluster, where a pod has no engine and no privileges.

The context travels to the daemon, and the daemon pushes; only pushed images can be had from it.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from flyteplugins_codegen.environment.images.contract import RECIPE, BuildOrder
from flyteplugins_codegen.environment.images.diagnosis import explain_build
from flyteplugins_codegen.environment.images.programs import (
    ProgramError,
    login_variables,
    run_program,
    secret_options,
)
from flyteplugins_codegen.environment.images.registry import is_loopback

ADDRESS_VARIABLE = "BUILDKIT_HOST"


@dataclass(frozen=True, slots=True)
class BuildkitBuilder:
    """`ImageBuilder` by a buildkitd at an address such as `tcp://buildkitd:1234`."""

    program: str
    address: str

    def has(self, name: str) -> bool:
        """Never: the daemon keeps layers, and no names that could be asked for."""
        del name
        return False

    def build(self, order: BuildOrder) -> str:
        """As the contract says. The layers stay in the daemon."""
        return self._solve(order, f"type=image,name={order.name},push=false")

    def push(self, order: BuildOrder) -> str:
        """As the contract says. Every layer is in the daemon by now: this takes no more than sending them."""
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
    """The builder at that address, by default at `BUILDKIT_HOST`; None without one, or without `buildctl`."""
    program, reached = shutil.which("buildctl"), address or os.environ.get(ADDRESS_VARIABLE)
    return BuildkitBuilder(program, reached) if program and reached else None
