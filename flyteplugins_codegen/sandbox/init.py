"""The init process of a job: it holds the job until its release, sets its limits, starts it, and reports how it ended.

It runs inside the sandbox under the job's interpreter, as `-I -S -c SOURCE REPORT HOLD ENTRIES LIMITS -- COMMAND...`.
Every job waits for it to start, so it imports next to nothing, not even `os`. If it is process 1 of a namespace, the
kernel kills everything that the job left behind as soon as it exits. As the parent it sees the raw wait status, which
distinguishes a job that exits 137 from one that was killed; bubblewrap and a shell report both as 137.

REPORT and HOLD are descriptors. To REPORT go `ready` or `unstartable`, then one line `STATUS CPU_SECONDS PEAK_KIB`.
ENTRIES are descriptors of control groups, separated by commas: writing a `0` puts this process, and so the job, inside.
LIMITS are `NAME=SOFT:HARD` pairs of `resource.RLIMIT_*`, separated by commas.

The init processes of containers (`container.init`) and of warm workers (`warm.zygote`) use its functions too.
"""

from __future__ import annotations

import posix
import resource
import sys

CANNOT_EXECUTE = 126  # as shells do
# Python ignores both, and an ignored signal stays ignored in the job. The numbers hold on x86 and Arm.
_RESTORED_SIGNALS = (13, 25)  # SIGPIPE, SIGXFSZ


def main(arguments: list[str]) -> int:
    """Run one job; the exit code is the job's, or 128 and its signal's number."""
    report, hold = int(arguments[0]), int(arguments[1])
    command = arguments[5:]
    for descriptor in (report, hold):
        posix.set_inheritable(descriptor, False)
    for entry in arguments[2].split(",") if arguments[2] else ():
        posix.write(int(entry), b"0")
        posix.close(int(entry))
    if not can_start(command[0], posix.environ[b"PATH"].decode(errors="surrogateescape")):
        posix.write(report, b"unstartable\n")
        return CANNOT_EXECUTE
    posix.write(report, b"ready\n")
    if not posix.read(hold, 1):  # the supervisor is gone
        return CANNOT_EXECUTE
    apply_limits(arguments[3])
    return _run(command, report)


def can_start(name: str, search_path: str) -> bool:
    """Whether there is a program of that name."""
    folders = [""] if "/" in name else [f"{folder}/" for folder in search_path.split(":")]
    return any(posix.access(folder + name, posix.X_OK) for folder in folders)


def apply_limits(limits: str) -> None:
    """Set the resource limits of this process, `NAME=SOFT:HARD,...`, but none above what it may have."""
    for limit in limits.split(","):
        name, _, values = limit.partition("=")
        kind = getattr(resource, f"RLIMIT_{name}")
        ceiling = resource.getrlimit(kind)[1]
        soft, hard = (int(value) for value in values.split(":"))
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


def _run(command: list[str], report: int) -> int:
    try:
        job = posix.posix_spawnp(command[0], command, posix.environ, setsigdef=_RESTORED_SIGNALS)
    except OSError as error:
        posix.write(2, f"{command[0]}: {error.strerror}\n".encode(errors="replace"))
        return CANNOT_EXECUTE
    for stream in range(3):  # else the job could read its input again, and others' output, through this process
        posix.close(stream)
    status, line = wait_for(job)
    posix.write(report, f"{line}\n".encode())
    code = posix.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def wait_for(job: int) -> tuple[int, str]:
    """Reap whatever ends until the job itself does; return its wait status and the line that reports its end."""
    while True:
        try:
            ended, status, usage = posix.wait4(-1, 0)
        except KeyboardInterrupt:
            continue  # the only signal that the job can send to process 1: Python has a handler for it
        if ended == job:
            return status, f"{status} {usage.ru_utime + usage.ru_stime:.6f} {usage.ru_maxrss}"


if __name__ == "__main__":
    posix._exit(main(sys.argv[1:]))  # noqa: SLF001 - `os` calls it by this name, too
