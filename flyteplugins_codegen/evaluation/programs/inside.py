"""Builds a program and runs it on one text of stdin after the other: a program for the sandbox.

One file, standard library only. On stdin comes a JSON object: `ways`, each with `check`, `build` and `run`, of which
the first that works is taken; `inputs`, the texts; `cpu_s` (or null) and `wall_s`, for all runs together. What happened
is written to the output `report`, a JSON object a line: `missing`, `rejected` (with what the compiler said), or a
`case` for each run, up to the first that fails. What is expected is nowhere in here.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

FOLDER = "/tmp/program"  # noqa: S108 - inside the sandbox
MOST_OUTPUT_BYTES = 16 << 20
MOST_SAID_BYTES = 4_000
BUILD_S = 120


def main() -> None:
    """Read the job, build, run."""
    job = json.load(sys.stdin)
    outputs = os.environ.get("FLYTE_CODEGEN_OUTPUTS", "/var/outputs")
    os.makedirs(FOLDER, exist_ok=True)  # noqa: PTH103 - as small as it gets
    os.chdir(FOLDER)
    with open(f"{outputs}/report", "w") as report:  # noqa: PTH123 - the same
        way = found(report, job["ways"])
        if way is not None and built(report, way["build"]):
            run_all(report, way["run"], job)


def tell(report: TextIO, kind: str, **fields: Any) -> None:
    """Write a line that stays whatever happens next."""
    report.write(json.dumps({"kind": kind, **fields}) + "\n")
    report.flush()


def found(report: TextIO, ways: list[dict[str, list[str]]]) -> dict[str, list[str]] | None:
    """The first way that works here."""
    said = []
    for way in ways:
        try:
            check = subprocess.run(way["check"], capture_output=True, stdin=subprocess.DEVNULL, check=False)
        except OSError as error:
            said.append(f"{way['check'][0]}: {error.strerror}")
            continue
        if check.returncode == 0:
            return way
        said.append(f"{way['check'][0]}: {text(check.stderr[-200:])}")
    tell(report, "missing", said="; ".join(said))
    return None


def built(report: TextIO, command: list[str]) -> bool:
    """Build the program; False where its text is refused."""
    if not command:
        return True
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=BUILD_S, check=False)
    except subprocess.TimeoutExpired:
        tell(report, "rejected", said=f"the compiler had not ended after {BUILD_S} s")
        return False
    if done.returncode != 0:
        tell(report, "rejected", said=text((done.stderr or done.stdout)[:MOST_SAID_BYTES]))
    return done.returncode == 0


def run_all(report: TextIO, command: list[str], job: dict[str, Any]) -> None:
    """Run the program on each text, until a run fails or the time of all is up."""
    cpu_left, wall_left = job["cpu_s"], job["wall_s"]
    for given in job["inputs"]:
        case = run(command, given.encode(errors="surrogateescape"), cpu_left, wall_left)
        cpu_left = None if cpu_left is None else cpu_left - case["cpu_s"]
        wall_left -= case["wall_s"]
        if wall_left <= 0 or (cpu_left is not None and cpu_left <= 0):
            case["why"] = case["why"] or "timed_out"
        tell(report, "case", **case)
        if case["why"] or case["status"] != 0:
            return


def run(command: list[str], given: bytes, cpu_s: float | None, wall_s: float) -> dict[str, Any]:
    """One run, and everything that it started ended."""
    write("stdin", given)
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with open("stdin", "rb") as stdin, open("stdout", "wb") as stdout, open("stderr", "wb") as stderr:  # noqa: PTH123 - the same
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=lambda: limit(cpu_s),  # noqa: PLW1509 - there are no threads
        )
        why = waited(process, wall_s)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = read("stdout")
    return {
        "status": process.returncode,
        "why": why or reason(process.returncode, len(said)),
        "stdout": base64.b64encode(said[:MOST_OUTPUT_BYTES]).decode(),
        "stderr": text(read("stderr")[-MOST_SAID_BYTES:]),
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "wall_s": time.monotonic() - began,
    }


def limit(cpu_s: float | None) -> None:
    """What a run may use: whole seconds are as fine as the kernel counts."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MOST_OUTPUT_BYTES, 2 * MOST_OUTPUT_BYTES))
    if cpu_s is not None:
        seconds = int(cpu_s) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def waited(process: subprocess.Popen[bytes], wall_s: float) -> str:
    """Wait for a run, and end what it leaves behind; "timed_out" where it has not ended."""
    try:
        process.wait(timeout=wall_s)
        why = ""
    except subprocess.TimeoutExpired:
        why = "timed_out"
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return why


def reason(status: int, size: int) -> str:
    """Which limit ended a run; "" for none."""
    if status == -signal.SIGXCPU:
        return "timed_out"
    return "output_limit" if status == -signal.SIGXFSZ or size > MOST_OUTPUT_BYTES else ""


def text(data: bytes) -> str:
    """What a program said, for a message."""
    return data.decode(errors="replace").strip()


def write(name: str, data: bytes) -> None:
    """A file of the run's."""
    with open(name, "wb") as file:  # noqa: PTH123 - the same
        file.write(data)


def read(name: str) -> bytes:
    """As much of a file as could matter; nothing where the program took it away."""
    try:
        with open(name, "rb") as file:  # noqa: PTH123 - the same
            return file.read(MOST_OUTPUT_BYTES + 1)
    except OSError:
        return b""


if __name__ == "__main__":
    main()
