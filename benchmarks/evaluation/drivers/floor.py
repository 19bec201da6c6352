"""The least that running samples can cost: a warm interpreter forks, and nothing holds the child that runs them.

No verdict of it can be trusted; it is what isolation is measured against. In a process of its own, because forking a
large one takes longer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

WORKERS = 2


def forks_per_s(programs: Sequence[str]) -> float:
    """Programs a second, `WORKERS` children at a time."""
    started = time.perf_counter()
    waiting, running = list(programs), 0
    while waiting or running:
        if waiting and running < WORKERS:
            _fork(waiting.pop())
            running += 1
        else:
            os.wait()
            running -= 1
    return len(programs) / (time.perf_counter() - started)


def _fork(program: str) -> None:
    if os.fork():
        return
    status = 1
    try:
        exec(compile(program, "program", "exec"), {"__name__": "program"})  # noqa: S102 - canonical solutions only
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    print(forks_per_s(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
