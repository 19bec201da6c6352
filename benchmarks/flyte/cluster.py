"""Jobs on a real control plane, counted in empty pods: `python -m benchmarks.flyte.cluster --image RUNNER`.

Takes a control plane that flytekit's configuration names and whose pods reach this machine's loopback, and the runner
image of this checkout. The model is a server on loopback that answers at once, so its time is not taken off. An empty
pod is a task of flytekit's own defaults that returns its input; five in a row are timed before each job.
"""

from __future__ import annotations

import argparse
import re
import secrets
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from flytekit.configuration import Config, Image, ImageConfig, SerializationSettings
from flytekit.remote import FlyteRemote, FlyteWorkflowExecution
from flytekit.types.file import FlyteFile
from model_server import ModelServer
from weather_job import REPLIES

from benchmarks.flyte.job import OUTPUTS, PROMPT, SEATTLE
from benchmarks.measure import ROOT
from benchmarks.sandbox.figures import Measurement
from benchmarks.sandbox.run import render
from flyteplugins_codegen.flyte.workflow import generate

MOST_OF_A_FIRST_DRAFT, MOST_WITH_A_REPAIR = 13, 18
_WRONG, _CORRECT = '["precipitation"] > 1.0', '["precipitation"] >= 1.0'
_PLACE = ("flytesnacks", "development")
_WAIT_S = 900


class ControlPlane:
    """The control plane of flytekit's configuration, with this checkout's workflow registered for an image."""

    def __init__(self, image: str) -> None:
        self._remote = FlyteRemote(Config.auto(), *_PLACE)
        self._image = image
        version = f"bench-{secrets.token_hex(4)}"
        name, _, tag = image.rpartition(":")
        settings = SerializationSettings(ImageConfig(Image("default", name, tag)), *_PLACE, version=version)
        self._workflow = self._remote.register_workflow(generate, settings, version=version)

    def empty_pod_s(self) -> float:
        """Seconds of one empty pod, from its creation to that of the next one in a row."""
        script = Path(__file__).with_name("empty_pods.py")
        pyflyte = (str(Path(sys.executable).with_name("pyflyte")), "run", "--remote", "--image", self._image)
        command = (*pyflyte, "--destination-dir", "/srv/flyte", str(script), "in_a_row")
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        (name,) = set(re.findall(r"executions/([a-z0-9]+)", done.stdout))
        created = sorted(_created(self._finished(self._remote.fetch_execution(name=name))))
        return statistics.mean((later - sooner).total_seconds() for sooner, later in pairwise(created))

    def job_s(self, script: Mapping[str, Sequence[Any]]) -> float:
        """Seconds of the weather job, as the control plane counts them."""
        inputs = {
            name: default
            for name, (_, default) in generate.python_interface.inputs_with_defaults.items()
            if default is not None
        }
        with ModelServer(script) as server:
            inputs |= {"prompt": PROMPT, "model": "openai/any", "api_base": server.url, "outputs": OUTPUTS}
            inputs["samples"] = {"weather": FlyteFile(str(ROOT / SEATTLE))}
            execution = self._remote.execute(self._workflow, inputs=inputs, wait=False)
            return float(self._finished(execution).closure.duration.total_seconds())

    def _finished(self, execution: FlyteWorkflowExecution) -> FlyteWorkflowExecution:
        finished = self._remote.wait(execution, timeout=_WAIT_S, poll_interval=1, sync_nodes=True)
        if finished.error is not None:
            raise RuntimeError(f"execution {finished.id.name} failed: {finished.error.message}")
        return finished


def _created(execution: FlyteWorkflowExecution) -> Iterator[datetime]:
    for name, node in execution.node_executions.items():
        if name not in {"start-node", "end-node"}:
            yield node.closure.created_at


def measure_cluster(image: str) -> Iterator[Measurement]:
    """The weather job with a right first draft, and with one repair, in empty pods."""
    plane = ControlPlane(image)
    for name, script, most in (
        ("a right first draft", _right(), MOST_OF_A_FIRST_DRAFT),
        ("a first draft with one repair", REPLIES, MOST_WITH_A_REPAIR),
    ):
        empty_s = plane.empty_pod_s()
        job_s = plane.job_s(script)
        pods = job_s / empty_s
        measured = f"{pods:.1f} ({job_s:.0f} s, an empty pod {empty_s:.1f} s)"
        yield Measurement(f"{name}, in empty pods", measured, f"at most {most}", pods <= most)


def _right() -> Mapping[str, Sequence[Any]]:
    (draft,) = REPLIES["SolutionReply"]
    return {**REPLIES, "SolutionReply": [{**draft, "code": draft["code"].replace(_WRONG, _CORRECT)}]}


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 0 when both targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flyte.cluster", description=__doc__)
    parser.add_argument("--image", required=True, help="the runner image of this checkout, as the cluster knows it")
    measurements = list(measure_cluster(parser.parse_args(words).image))
    print(render(measurements))
    return int(any(one.is_met is False for one in measurements))


if __name__ == "__main__":
    sys.exit(main())
