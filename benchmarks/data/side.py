"""What runs inside a measured process: `python -m benchmarks.data.side WHO FILE`; prints seconds and memory as JSON.

Memory is the highest resident set above that after all imports.
"""

from __future__ import annotations

import importlib
import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

_SMALL_RUNS = 30
_IMPORTED = (
    "duckdb",
    "numpy",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.parquet",
    "flyteplugins_codegen.data.readers",
    "flyteplugins_codegen.data.summary",
)


def ours() -> Callable[[str], None]:
    """This project's profile; everything that it imports is imported before it is measured."""
    for name in _IMPORTED:
        importlib.import_module(name)
    from flyteplugins_codegen.data import profile_sample

    return lambda path: _ask(profile_sample(path, "orders").row_count)


def summarize() -> Callable[[str], None]:
    """DuckDB's own summary, with its defaults."""
    import duckdb

    connection = duckdb.connect()
    return lambda path: _ask(len(connection.execute("SUMMARIZE FROM read_csv(?)", [path]).fetchall()))


def pandas() -> Callable[[str], None]:
    """What pandas tells of a file that it reads whole."""
    import pandas as pd

    return lambda path: _ask(len(pd.read_csv(path).describe(include="all")))


def _ask(told: int | None) -> None:
    assert told


def main() -> None:
    """Measure once; a small file as often as makes its time worth telling: the first time, and the median."""
    who, path, *more = sys.argv[1:]
    profile = {"ours": ours, "summarize": summarize, "pandas": pandas}[who]()
    before = _highest_kib()
    seconds = [_timed(profile, path) for _ in range(_SMALL_RUNS if "small" in more else 1)]
    above = _highest_kib() - before
    print(json.dumps({"first_s": seconds[0], "median_s": statistics.median(seconds), "above_mib": above / 1024}))


def _highest_kib() -> int:
    """The highest resident set so far. Not by `getrusage`, which counts what the parent held before it forked."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1])


def _timed(profile: Callable[[str], None], path: str) -> float:
    started = time.perf_counter()
    profile(path)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
