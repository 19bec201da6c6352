"""How much memory a process and all that it started hold together, looked at again and again."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

_EVERY_S = 0.1


def peak_mib_while(pid: int) -> Callable[[], float]:
    """Look until the returned function is called; it gives the most that was seen, in MiB.

    Shared pages count once (the proportional set size of Linux), so forked children are not counted anew.
    """
    seen, stop = [0.0], threading.Event()

    def watch() -> None:
        while not stop.wait(_EVERY_S):
            seen[0] = max(seen[0], sum(map(_pss_mib, _family(pid))))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()

    def peak() -> float:
        stop.set()
        thread.join()
        return seen[0]

    return peak


def _family(pid: int) -> Iterator[int]:
    children: dict[int, list[int]] = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended in the meantime
            continue
        children[int(fields[1])].append(int(path.parent.name))
    waiting = [pid]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += children[each]


def _pss_mib(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:")), 0.0)
