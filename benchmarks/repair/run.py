"""Forty seeded bugs in ten small jobs, repaired by recorded replies of a competent model; `make eval-repair`.

Prints which causes are repaired in how many calls. With a model of your own it asks that one:

    make eval-repair ARGS='--model openai/gpt-6-luna --only revenue rain'
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from statistics import mean

from benchmarks.repair.study import RECORDING, Repaired, repair_bug, seeded_bugs
from flyteplugins_codegen.errors import CodegenError

HEADINGS = ("kind of bug", "found as", "repaired", "without a call", "calls, mean", "calls, most", "input tokens, mean")


def main(words: Sequence[str] | None = None) -> int:
    """Repair and print; 0 when every bug was found and repaired."""
    parser = argparse.ArgumentParser(prog="eval-repair", description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default=f"replay:{RECORDING}", help="a model of your own instead of the recording")
    parser.add_argument("--only", nargs="*", default=(), help="names of tasks")
    parser.add_argument("--json", action="store_true", help="print each bug as JSON")
    arguments = parser.parse_args(words)
    repaired = []
    try:
        for task, bug in seeded_bugs(frozenset(arguments.only)):
            repaired.append(repair_bug(task, bug, model=arguments.model))
            print(f"{task.name}, {bug.kind}: {_told(repaired[-1])}", file=sys.stderr, flush=True)
    except CodegenError as error:
        sys.exit(f"eval-repair: {error}")
    print(json.dumps([asdict(each) for each in repaired], indent=2) if arguments.json else render(repaired))
    return int(not all(each.is_repaired and each.found_as for each in repaired))


def render(repaired: Sequence[Repaired]) -> str:
    """A line for each kind of bug, and one for all."""
    kinds = dict.fromkeys(each.kind for each in repaired)
    rows = [_row(kind, [each for each in repaired if each.kind == kind]) for kind in kinds]
    table = [HEADINGS, ("---",) * len(HEADINGS), *rows, _row("all", repaired)]
    return "\n".join("| " + " | ".join(row) + " |" for row in table)


def _row(name: str, bugs: Sequence[Repaired]) -> tuple[str, ...]:
    found = ", ".join(sorted({bug.found_as.replace("_", " ") or "nothing" for bug in bugs}))
    return (
        name,
        "" if name == "all" else found,
        f"{sum(bug.is_repaired for bug in bugs)} of {len(bugs)}",
        str(sum(bug.is_repaired and not bug.calls for bug in bugs)),
        f"{mean(bug.calls for bug in bugs):.2f}",
        str(max(bug.calls for bug in bugs)),
        f"{mean(bug.input_tokens for bug in bugs):.0f}",
    )


def _told(repaired: Repaired) -> str:
    found = repaired.found_as.replace("_", " ") or "nothing found"
    calls = f"{repaired.calls} call{'' if repaired.calls == 1 else 's'}"
    return f"{found}; repaired in {calls}" if repaired.is_repaired else f"{found}; not repaired: {repaired.error}"


if __name__ == "__main__":
    sys.exit(main())
