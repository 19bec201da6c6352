"""What runs inside a measured process: several generations, one line of JSON for each, one for the whole process."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.job import MAX_ITERATIONS

# Takes the number of a request; gives whether it succeeded, in how many attempts, and the error where it did not.
Generate: TypeAlias = Callable[[int], Awaitable[dict[str, Any]]]


def read_arguments() -> argparse.Namespace:
    """`--url` of the model server, and `--first` and `--count` of the numbered requests."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=MAX_ITERATIONS, help="what the agent's max_iterations is")
    parser.add_argument("--samples", type=int, default=1, help="how many samples it is given, of one content")
    parser.add_argument("--constraint", action="append", default=[], help="a constraint of the job; may be repeated")
    parser.add_argument("--preload", action="store_true", help="import what is imported late before anything is timed")
    return parser.parse_args()


def sample_names(arguments: argparse.Namespace) -> list[str]:
    """The names of the job's samples."""
    return ["sales", *(f"sales_{number}" for number in range(2, arguments.samples + 1))]


async def generate_all(generate: Generate, first: int, count: int) -> None:
    """Generate one after the other and report each."""
    for number in range(first, first + count):
        started = time.perf_counter()
        facts = await generate(number)
        report("generated", number=number, wall_s=time.perf_counter() - started, **facts)


def report(event: str, **facts: Any) -> None:
    """Write one line to the measuring process. Past `print`, which a library may have replaced."""
    sys.__stdout__.write(json.dumps({"event": event, **facts}) + "\n")  # type: ignore[union-attr]  # None in GUIs only
    sys.__stdout__.flush()  # type: ignore[union-attr]  # the same


def peak_memory_mib() -> float:
    """The most memory that this process has held. Not `getrusage`: that counts its parent's pages until the exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
