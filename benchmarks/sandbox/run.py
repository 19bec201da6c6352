"""The sandbox's figures as a table in Markdown; `python -m benchmarks.sandbox.run` measures them alone."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.sandbox.figures import Measurement, SandboxEffort, measure_sandbox

HEADINGS = ("", "measured", "target", "met")


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 0 when every target is met."""
    arguments = _read_arguments(words)
    effort = SandboxEffort(arguments.rounds, arguments.jobs, arguments.long_run)
    measurements = list(measure_sandbox(effort, lambda what: print(f"{what} ...", file=sys.stderr, flush=True)))
    print(json.dumps([asdict(one) for one in measurements], indent=2) if arguments.json else render(measurements))
    return int(any(one.is_met is False for one in measurements))


def render(measurements: Sequence[Measurement]) -> str:
    """One line a figure."""
    met = {None: "", True: "yes", False: "NO"}
    rows = [HEADINGS, ("---",) * 4, *((m.name, m.measured, m.target, met[m.is_met]) for m in measurements)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _read_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    default = SandboxEffort()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sandbox.run", description=__doc__)
    parser.add_argument("--rounds", type=int, default=default.rounds, help="rounds of single jobs")
    parser.add_argument("--jobs", type=int, default=default.jobs, help="jobs of one map")
    parser.add_argument("--long-run", type=int, default=default.long_run, help="jobs of the long run")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
