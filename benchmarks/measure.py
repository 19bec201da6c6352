"""Runs a side in a process of its own against a scripted model server, and notes what it did."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_server import ModelServer

from benchmarks.scenarios import KILLED, Scenario, SideName, script

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 180.0
# From the last reply's arrival to the kill: the reply is read, the solution still runs.
KILL_AFTER_S = 0.3
# A rule of thumb for English and code, the same for both sides: no model's own count can be had here.
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class Side:
    """One of the two: the command that drives it, and the whole environment that its process gets."""

    name: SideName
    command: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Generation:
    """One `generate()`."""

    wall_s: float
    success: bool
    attempts: int
    error: str


@dataclass(frozen=True)
class ProcessRun:
    """One process. `start_to_result_s` reaches from its start to its first result; `calls` counts them all."""

    generations: tuple[Generation, ...]
    start_to_result_s: float
    calls: int
    tokens_sent: int
    bytes_sent: int
    peak_memory_mib: float


class Bench:
    """Both sides in turn. Gives every request a number of its own, so that no run finds what an earlier one stored."""

    def __init__(self, peer: Side, ours: Side) -> None:
        self.peer = peer
        self.ours = ours
        self._next_number = 0

    def run_both(self, scenario: Scenario, count: int = 1, *, preload: bool = False) -> tuple[ProcessRun, ProcessRun]:
        """The peer, then this project."""
        peer = self.run_process(self.peer, scenario, count, preload=preload)
        return peer, self.run_process(self.ours, scenario, count, preload=preload)

    def run_process(self, side: Side, scenario: Scenario, count: int = 1, *, preload: bool = False) -> ProcessRun:
        """Let a side generate `count` times in one process. `preload` imports its libraries before it is timed.

        Raises CalledProcessError with the end of its log when it fails.
        """
        numbers = self._take_numbers(count)
        with _serve(side, scenario, numbers) as server:
            started = time.perf_counter()
            with _start(side, server.url, numbers, options=scenario.options, preload=preload) as process:
                events = [(time.perf_counter() - started, json.loads(line)) for line in process.stdout or ()]
        return _summarize(events, server)

    def calls_repeated_after_kill(self, side: Side, calls: int) -> int:
        """Kill a side when its `calls` calls are answered and the solution runs; count the calls of a second run."""
        numbers = self._take_numbers(1)
        with _serve(side, KILLED, numbers) as server:
            with _start(side, server.url, numbers, is_killed=True) as process:
                _wait_for_calls(server, calls, process)
                time.sleep(KILL_AFTER_S)
                assert process.poll() is None, f"{side.name} ended before it could be killed"
                process.kill()
            server.rewind()
            with _start(side, server.url, numbers) as process:
                events = [json.loads(line) for line in process.stdout or ()]
            assert events[0]["success"], f"{side.name} failed after the kill: {events[0]['error']}"
            return len(server.calls)

    def _take_numbers(self, count: int) -> range:
        first, self._next_number = self._next_number, self._next_number + count
        return range(first, self._next_number)


def _summarize(events: Sequence[tuple[float, dict[str, Any]]], server: ModelServer) -> ProcessRun:
    generated = [(at, event) for at, event in events if event["event"] == "generated"]
    return ProcessRun(
        generations=tuple(Generation(e["wall_s"], e["success"], e["attempts"], e["error"]) for _, e in generated),
        start_to_result_s=generated[0][0],
        calls=len(server.calls),
        tokens_sent=sum(len(json.dumps(call.body["messages"])) for call in server.calls) // _CHARACTERS_PER_TOKEN,
        bytes_sent=server.size_bytes,
        peak_memory_mib=events[-1][1]["peak_memory_mib"],
    )


def import_seconds(side: Side, statement: str, runs: int, *, before: str = "pass") -> float:
    """The median time that the statement takes in a fresh interpreter, after one run that warms the disk's cache.

    `before` runs first, and is not timed.
    """
    program = f"{before}; import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    command = [side.command[0], "-c", program]
    return statistics.median([_number_printed(command, side.environment) for _ in range(runs + 1)][1:])


def _number_printed(command: Sequence[str], environment: Mapping[str, str]) -> float:
    finished = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return float(finished.stdout)


@contextmanager
def _serve(side: Side, scenario: Scenario, numbers: range) -> Iterator[ModelServer]:
    with ModelServer(script(side.name, scenario, numbers), repeat_last=True) as server:
        yield server


@contextmanager
def _start(
    side: Side,
    url: str,
    numbers: range,
    *,
    options: Sequence[str] = (),
    preload: bool = False,
    is_killed: bool = False,
) -> Iterator[subprocess.Popen[str]]:
    told = ["--url", url, "--first", str(numbers.start), "--count", str(len(numbers)), *options]
    command = [*side.command, *told, *(["--preload"] if preload else [])]
    environment = dict(side.environment)
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield process
            process.wait(TIMEOUT_S)
        finally:
            process.kill()
        if process.returncode and not is_killed:
            log.seek(0)
            raise subprocess.CalledProcessError(process.returncode, command, stderr=log.read()[-2000:])


def _wait_for_calls(server: ModelServer, calls: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while len(server.calls) < calls:
        assert process.poll() is None, "the process ended before its calls"
        assert time.monotonic() < deadline, f"{len(server.calls)} of {calls} calls came in {TIMEOUT_S} s"
        time.sleep(0.002)


def machine() -> dict[str, Any]:
    """What the figures depend on: cores, load, and the orchestrator's own memory."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cores": os.cpu_count(), "load": os.getloadavg()[0], "own_memory_mib": own}
