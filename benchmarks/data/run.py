"""The figures of profiles as a table in Markdown; `python -m benchmarks.data.run --help` measures them alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.data.figures import DataEffort, measure_data
from benchmarks.measure import ROOT
from benchmarks.sandbox.run import render

FOLDER = ROOT / "benchmarks" / ".peer" / "data"


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 0 when every target is met."""
    effort = _read_effort(words)
    measurements = list(measure_data(FOLDER, effort, lambda what: print(f"{what} ...", file=sys.stderr, flush=True)))
    print(render(measurements))
    return int(any(one.is_met is False for one in measurements))


def _read_effort(words: Sequence[str] | None) -> DataEffort:
    default = DataEffort()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data.run", description=__doc__)
    parser.add_argument("--rounds", type=int, default=default.rounds, help="rounds in which all sides take turns")
    parser.add_argument("--rows", type=int, default=default.rows, help="rows of the file")
    parser.add_argument("--pandas", action="store_true", help="show pandas too, which needs 4 GB of memory")
    return DataEffort(**vars(parser.parse_args(words)))


if __name__ == "__main__":
    sys.exit(main())
