"""Runs of a job in processes that die: forked from one that has everything imported, each with its own cache.

    with RunServer() as runs:
        (end,) = runs.run(Job(...), Death(at_event=17))

A death at an event is a kill -9 of itself, just before it opens a file of its cache for writing, renames, makes or
removes one, or connects to a server: what it has done by then is done, and nothing more. The code is the real one; the
interpreter tells of these events (PEP 578). A death `after_s` comes from outside, at any instruction.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from typing_extensions import Self

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_PATHS_OF = {"os.rename": 2, "os.link": 2, "os.mkdir": 1, "os.remove": 1, "os.rmdir": 1}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What a run does, and where. `key` is what it tells the model's server as its key: by that its calls are known."""

    cache: str
    key: str
    sample: str
    settings: dict[str, Any]
    examples: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    prompt: str = "Count the rows of the table."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Death:
    """When a run dies; never, where nothing is given. `full_disk`: it lives, and its cache takes no file."""

    at_event: int | None = None
    after_s: float | None = None
    full_disk: bool = False


@dataclasses.dataclass(frozen=True)
class End:
    """How a run ended. `events` are those that it could have died at, `wall_s` what it took; no result if it died."""

    was_killed: bool
    events: int
    wall_s: float
    result: dict[str, Any] | None
    said: str


class RunServer:
    """The process that has everything imported, in the environment that it was started in."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def run(self, *jobs: Job, death: Death = Death()) -> list[End]:
        """Run the jobs side by side, until all have ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"jobs": [dataclasses.asdict(job) for job in jobs], "death": dataclasses.asdict(death)}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return [End(**end) for end in json.loads(self._process.stdout.readline())]


def _serve() -> None:
    _import_all()
    for line in sys.stdin:
        order = json.loads(line)
        jobs, death = [Job(**job) for job in order["jobs"]], Death(**order["death"])
        running = [_start(job, death) for job in jobs]
        if death.after_s is not None:
            time.sleep(death.after_s)
            for pid in running:
                os.kill(pid, signal.SIGKILL)  # one that has ended is still to be waited for
        ends = [_ended(job, pid) for job, pid in zip(jobs, running, strict=True)]
        sys.stdout.write(json.dumps(ends) + "\n")
        sys.stdout.flush()


def _import_all() -> None:
    import threading

    import openai  # noqa: F401 - so that no child has to

    import flyteplugins_codegen.result
    import flyteplugins_codegen.stages.drive
    import flyteplugins_codegen.stages.prepare  # noqa: F401 - as above
    from flyteplugins_codegen.llm.endpoint import tls_context

    tls_context()
    assert threading.active_count() == 1, "a thread would not come along into a child"


def _start(job: Job, death: Death) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        _do(job, death)
        status = 0
    except BaseException:  # noqa: BLE001 - nothing of it may go on in this copy of the server
        traceback.print_exc()
    finally:
        os._exit(status)


def _notes(job: Job, kind: str) -> Path:
    return Path(f"{job.cache}.{job.key}.{kind}")


def _do(job: Job, death: Death) -> None:
    said = os.open(_notes(job, "said"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.environ.update(FLYTE_CODEGEN_CACHE=job.cache, OPENAI_API_KEY=job.key)
    from flyteplugins_codegen import AutoCoderAgent

    count, started = _watch(job.cache, death), time.monotonic()
    result = AutoCoderAgent(**job.settings).generate(
        job.prompt, samples={"table": job.sample}, outputs={"row_count": "int"}, examples=job.examples
    )
    told = {
        "success": result.success,
        "code": result.solution and result.solution.code,
        "reused": [call.is_reused for call in result.calls],
    }
    _notes(job, "end").write_text(json.dumps({"events": count(), "wall_s": time.monotonic() - started, "result": told}))


def _watch(cache: str, death: Death) -> Callable[[], int]:
    """Have this process die at its event, or find its disk full; what is returned tells the events by now."""
    events = 0

    def on_event(name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal events
        is_write = _is_write(name, arguments, cache)
        if is_write and death.full_disk:
            raise OSError(28, "No space left on device")
        if is_write or name == "socket.connect":
            events += 1
            if events == death.at_event:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(on_event)
    return lambda: events


def _is_write(name: str, arguments: tuple[Any, ...], cache: str) -> bool:
    if name == "open":
        path, _, flags = arguments
        paths = (path,) if flags & _WRITES else ()
    else:
        paths = arguments[: _PATHS_OF.get(name, 0)]
    return any(isinstance(path, str | os.PathLike) and os.fspath(path).startswith(f"{cache}/") for path in paths)


def _ended(job: Job, pid: int) -> dict[str, Any]:
    _, status = os.waitpid(pid, 0)
    note = _notes(job, "end")
    end = {"events": 0, "wall_s": 0.0, "result": None, **(json.loads(note.read_text()) if note.exists() else {})}
    return {"was_killed": os.WIFSIGNALED(status), "said": _notes(job, "said").read_text(), **end}


if __name__ == "__main__":
    _serve()
