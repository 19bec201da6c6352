"""A program for the sandbox: builds another program, and runs it with each of several texts on stdin.

One file, standard library only. Stdin has a JSON object: `ways`, the toolchains with their commands `check`, `build`
and `run`, of which the first that works is used; `inputs`, the texts; `cpu_s` (or null) and `wall_s`, for all runs
together. The output `report` gets a JSON object a line: `missing`; `rejected`, with the compiler's message; or a `case`
for each run, up to the first that fails. The expected outputs do not enter the sandbox.
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
MOST_MESSAGE_BYTES = 4_000
BUILD_S = 120


def main() -> None:
    """Read the job, build, run."""
    job = json.load(sys.stdin)
    outputs = os.environ.get("FLYTE_CODEGEN_OUTPUTS", "/var/outputs")
    os.makedirs(FOLDER, exist_ok=True)  # noqa: PTH103 - pathlib would slow down the start
    os.chdir(FOLDER)
    with open(f"{outputs}/report", "w") as report:  # noqa: PTH123 - as above
        toolchain = find_toolchain(report, job["ways"])
        if toolchain is not None and build(report, toolchain["build"]):
            run_all(report, toolchain["run"], job)


def write_line(report: TextIO, kind: str, **fields: Any) -> None:
    """Write a line of the report at once, so that it stays if this process is killed."""
    report.write(json.dumps({"kind": kind, **fields}) + "\n")
    report.flush()


def find_toolchain(report: TextIO, toolchains: list[dict[str, list[str]]]) -> dict[str, list[str]] | None:
    """The first toolchain whose check succeeds, None if there is none."""
    messages = []
    for toolchain in toolchains:
        program = toolchain["check"][0]
        try:
            check = subprocess.run(toolchain["check"], capture_output=True, stdin=subprocess.DEVNULL, check=False)
        except OSError as error:
            messages.append(f"{program}: {error.strerror}")
            continue
        if check.returncode == 0:
            return toolchain
        messages.append(f"{program}: {text(check.stderr[-200:])}")
    write_line(report, "missing", said="; ".join(messages))
    return None


def build(report: TextIO, command: list[str]) -> bool:
    """Build the program; returns False if the compiler rejects it."""
    if not command:
        return True
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=BUILD_S, check=False)
    except subprocess.TimeoutExpired:
        write_line(report, "rejected", said=f"the compiler had not ended after {BUILD_S} s")
        return False
    if done.returncode != 0:
        write_line(report, "rejected", said=text((done.stderr or done.stdout)[:MOST_MESSAGE_BYTES]))
    return done.returncode == 0


def run_all(report: TextIO, command: list[str], job: dict[str, Any]) -> None:
    """Run the program on each text, until a run fails or the time for all runs is up."""
    cpu_left, wall_left = job["cpu_s"], job["wall_s"]
    for stdin in job["inputs"]:
        case = run(command, stdin.encode(errors="surrogateescape"), cpu_left, wall_left)
        cpu_left = None if cpu_left is None else cpu_left - case["cpu_s"]
        wall_left -= case["wall_s"]
        if wall_left <= 0 or (cpu_left is not None and cpu_left <= 0):
            case["why"] = case["why"] or "timed_out"
        write_line(report, "case", **case)
        if case["why"] or case["status"] != 0:
            return


def run(command: list[str], text_in: bytes, cpu_s: float | None, wall_s: float) -> dict[str, Any]:
    """Run the program once, and end every process that it started."""
    with open("stdin", "wb") as file:  # noqa: PTH123 - as above
        file.write(text_in)
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with open("stdin", "rb") as stdin, open("stdout", "wb") as stdout, open("stderr", "wb") as stderr:  # noqa: PTH123 - as above
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=lambda: limit(cpu_s),  # noqa: PLW1509 - there are no threads
        )
        why = wait(process, wall_s)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = read("stdout")
    return {
        "status": process.returncode,
        "why": why or exceeded_limit(process.returncode, len(printed)),
        "stdout": base64.b64encode(printed[:MOST_OUTPUT_BYTES]).decode(),
        "stderr": text(read("stderr")[-MOST_MESSAGE_BYTES:]),
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "wall_s": time.monotonic() - started,
    }


def limit(cpu_s: float | None) -> None:
    """Set the limits of a run; the kernel limits processor time in whole seconds."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MOST_OUTPUT_BYTES, 2 * MOST_OUTPUT_BYTES))
    if cpu_s is not None:
        seconds = int(cpu_s) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def wait(process: subprocess.Popen[bytes], wall_s: float) -> str:
    """Wait for a run, and kill the processes that it leaves; returns "timed_out" if it does not end, "" if it does."""
    try:
        process.wait(timeout=wall_s)
        why = ""
    except subprocess.TimeoutExpired:
        why = "timed_out"
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return why


def exceeded_limit(status: int, size: int) -> str:
    """The limit that a run exceeded, "" for none."""
    if status == -signal.SIGXCPU:
        return "timed_out"
    return "output_limit" if status == -signal.SIGXFSZ or size > MOST_OUTPUT_BYTES else ""


def text(data: bytes) -> str:
    """Output of a program, for a message."""
    return data.decode(errors="replace").strip()


def read(name: str) -> bytes:
    """The file up to one byte more than the limit; nothing if the program removed it."""
    try:
        with open(name, "rb") as file:  # noqa: PTH123 - as above
            return file.read(MOST_OUTPUT_BYTES + 1)
    except OSError:
        return b""


if __name__ == "__main__":
    main()
