"""What Flyte costs as a table in Markdown; `python -m benchmarks.flyte.run` measures it alone.

`benchmarks.flyte.cluster` measures on a real control plane.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.flyte.figures import Place, measure_flyte
from benchmarks.flyte.rows import count_rows
from benchmarks.sandbox.run import render


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 0 when every target is met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flyte.run", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind that are timed")
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), arguments.rounds)
        measurements = list(measure_flyte(place, lambda what: print(f"{what} ...", file=sys.stderr, flush=True)))
    measurements += count_rows()
    print(render(measurements))
    return int(any(one.is_met is False for one in measurements))


if __name__ == "__main__":
    sys.exit(main())
