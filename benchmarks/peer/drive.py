"""The peer's side, run by the interpreter of its own environment: `python -m benchmarks.peer.drive --url ...`.

Two of its parts cannot work without a registry and Docker, and are replaced by what costs it less: building an image
gives a name at once, and a container is a private mount namespace in which its own command runs on its own volumes.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import shlex
import subprocess
import types
from pathlib import Path
from typing import Any

import flyte
import pandas as pd
from flyte import storage
from flyte.extras import ContainerTask
from flyteplugins.codegen import AutoCoderAgent

from benchmarks.job import MISSING_PACKAGE, OUTPUTS, SALES, prompt
from benchmarks.side import generate_all, peak_memory_mib, read_arguments, report, sample_names


class LocalMachine:
    """Stands in for the registry and for Docker. `image_is_full` once an image with the missing package is built."""

    def __init__(self) -> None:
        self.image_is_full = False

    async def aio(self, image: Any, **_options: Any) -> types.SimpleNamespace:
        """Stand in for `flyte.build.aio`: name the image without building it."""
        layers = image._layers  # noqa: SLF001 - an image has no public list of its packages
        listed = [package for layer in layers for package in getattr(layer, "packages", None) or ()]
        self.image_is_full = MISSING_PACKAGE in listed
        return types.SimpleNamespace(uri="peer:1")

    def run(self, task: Any, outputs: Path, inputs: dict[str, Any]) -> None:
        """Stand in for a container: its own command on its own volumes, in a mount namespace."""
        outputs.mkdir(parents=True, exist_ok=True)
        command, volumes = task._prepare_execution_volumes(outputs, **inputs)  # noqa: SLF001 - as its `execute` does
        script = _mount_script({str(host): volume["bind"] for host, volume in volumes.items()})
        sandbox = os.environ["PEER_FULL_SANDBOX_BIN" if self.image_is_full else "PEER_SANDBOX_BIN"]
        environment = {"PATH": f"{sandbox}:/usr/bin:/bin", "HOME": "/", "PYTHONDONTWRITEBYTECODE": "1"}
        isolated = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script, "sh", *command]
        subprocess.run(isolated, env=environment, capture_output=True, check=False)


def _mount_script(binds: dict[str, str]) -> str:
    lines = ["set -e", "mount -t tmpfs none /var", "mkdir -p /var/inputs /var/outputs /var/tmp"]
    for host, inside in sorted(binds.items(), key=lambda bind: bind[1]):
        target = shlex.quote(inside)
        lines.append(f"mkdir -p {target}" if Path(host).is_dir() else f"touch {target}")
        lines.append(f"mount --bind {shlex.quote(host)} {target}")
    return "\n".join([*lines, "cd /var/tmp", 'exec "$@"'])


def replace_execution(machine: LocalMachine) -> None:
    """Let the peer build and run on this machine."""

    async def execute(task: Any, **inputs: Any) -> Any:
        outputs = Path(storage.get_random_local_directory())
        machine.run(task, outputs, inputs)  # it blocks as the peer's own wait for Docker does
        return await task._get_output(outputs)  # noqa: SLF001 - as its `execute` does

    flyte.build = machine
    ContainerTask.execute = execute


async def generate(arguments: argparse.Namespace, number: int) -> dict[str, Any]:
    """One generation, as a fresh agent would do it."""
    agent = AutoCoderAgent(
        name="peer",
        model="openai/gpt-4.1",
        max_iterations=arguments.iterations,
        litellm_params={"api_base": arguments.url, "api_key": "none"},
    )
    samples = {name: pd.DataFrame(SALES) for name in sample_names(arguments)}
    constraints = arguments.constraint or None
    result = await agent.generate.aio(prompt=prompt(number), samples=samples, outputs=OUTPUTS, constraints=constraints)
    return {"success": result.success, "attempts": result.attempts, "error": (result.error or "")[:200]}


def main() -> None:
    """Do the requests that the command line numbers, inside a task of the peer's local mode."""
    logging.disable(logging.CRITICAL)
    arguments = read_arguments()
    replace_execution(LocalMachine())
    environment = flyte.TaskEnvironment(name="bench", depends_on=[flyte.sandbox.sandbox_environment])

    async def bench() -> int:
        gc.collect()  # as on our side
        await generate_all(lambda number: generate(arguments, number), arguments.first, arguments.count)
        return 0

    flyte.init()
    flyte.with_runcontext(mode="local").run(environment.task(bench))
    report("ended", peak_memory_mib=peak_memory_mib())


if __name__ == "__main__":
    main()
