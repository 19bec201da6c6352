"""The figures of profiles with their targets; ratios of what one run measured, each side in turn."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data.orders import ROWS, make_orders
from benchmarks.measure import ROOT
from benchmarks.sandbox.figures import Measurement

MOST_OVER_SUMMARIZE = 1.3
MOST_MIB = 300
MOST_OF_CSV = 0.5
MOST_SMALL_MS = 60
SMALL = ROOT / "workflows" / "data" / "seattle-weather.csv"
_TIMEOUT_S = 600


@dataclass(frozen=True)
class DataEffort:
    """How much is run: rounds of all sides, the rows of the file, and whether pandas is shown beside them."""

    rounds: int = 3
    rows: int = ROWS
    pandas: bool = False


@dataclass(frozen=True)
class Run:
    """One measured process."""

    first_s: float
    median_s: float
    above_mib: float


def measure_data(folder: Path, effort: DataEffort, tell: Callable[[str], None]) -> Iterator[Measurement]:
    """All figures; the file is made in the folder if it is not there."""
    tell("The file of orders")
    csv, parquet = make_orders(folder, effort.rows)
    tell("The first look at it, which is not counted: it fills the page cache")
    _run("ours", csv)
    runs: dict[str, list[Run]] = {"summarize": [], "csv": [], "parquet": []}
    for number in range(effort.rounds):
        tell(f"Round {number + 1} of {effort.rounds}")
        runs["summarize"].append(_run("summarize", csv))
        runs["csv"].append(_run("ours", csv))
        runs["parquet"].append(_run("ours", parquet))
    yield from _large(csv, runs)
    if effort.pandas:
        tell("pandas")
        pandas = _run("pandas", csv)
        yield Measurement("the same by pandas", f"{pandas.first_s:.1f} s, {pandas.above_mib:.0f} MiB")
    small = _run("ours", SMALL, "small")
    yield Measurement(
        "file of 1,461 rows, libraries imported",
        f"first {small.first_s * 1000:.0f} ms, then {small.median_s * 1000:.0f} ms",
        f"<= {MOST_SMALL_MS} ms",
        small.first_s * 1000 <= MOST_SMALL_MS,
    )


def _large(csv: Path, runs: dict[str, list[Run]]) -> Iterator[Measurement]:
    seconds = {side: statistics.median(run.first_s for run in found) for side, found in runs.items()}
    summarize, ours, parquet = (seconds[side] for side in ("summarize", "csv", "parquet"))
    yield Measurement(f"DuckDB's SUMMARIZE, {csv.stat().st_size / 1e6:.0f} MB of CSV", f"{summarize:.2f} s")
    yield Measurement(
        "profile of it, over SUMMARIZE",
        f"{ours / summarize:.2f} ({ours:.2f} s)",
        f"<= {MOST_OVER_SUMMARIZE}",
        ours <= MOST_OVER_SUMMARIZE * summarize,
    )
    memory = max(run.above_mib for run in (*runs["csv"], *runs["parquet"]))
    yield Measurement("memory above import", f"{memory:.0f} MiB", f"<= {MOST_MIB} MiB", memory <= MOST_MIB)
    yield Measurement(
        "the same as Parquet, over CSV",
        f"{parquet / ours:.2f} ({parquet:.2f} s)",
        f"<= {MOST_OF_CSV}",
        parquet <= MOST_OF_CSV * ours,
    )


def _run(who: str, path: Path, *more: str) -> Run:
    command = [sys.executable, "-m", "benchmarks.data.side", who, str(path), *more]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    if finished.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{finished.stderr}")
    return Run(**json.loads(finished.stdout))
