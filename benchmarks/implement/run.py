r"""HumanEval by a cascade of models from cheap to strong, held against the strongest alone; `make eval-implement`.

Without options it replays recorded replies to twenty problems. With models of your own it asks them, all 164 problems:

    make eval-implement ARGS='--configs "[\"openai/gpt-6-luna\", \"openai/gpt-6.1-sol\"]"'
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.implement.recorded import CONFIGS, TASK_IDS
from benchmarks.implement.study import Terms, Way, compare
from flyteplugins_codegen.errors import CodegenError
from flyteplugins_codegen.evaluation.problems.load import load_problems

HEADINGS = ("", "right", "share", "cost in USD", "against the strongest")


def main(words: Sequence[str] | None = None) -> int:
    """Compare and print; 0 when the cascade is right at least as often as the strongest model alone, for less."""
    arguments = _read_arguments(words)
    try:
        ways = _compare(arguments)
    except CodegenError as error:
        sys.exit(f"eval-implement: {error}")
    print(json.dumps([asdict(way) for way in ways], indent=2) if arguments.json else render(ways))
    _, strongest, cascade = ways
    return int(cascade.right_share < strongest.right_share or not _is_cheaper(cascade, strongest))


def _compare(arguments: argparse.Namespace) -> tuple[Way, ...]:
    configs = arguments.configs or CONFIGS
    problems = load_problems("humaneval", only=None if arguments.configs else TASK_IDS)[: arguments.problems]
    terms = Terms(timeout_s=arguments.timeout, at_once=arguments.at_once)
    return compare(problems, configs, terms, lambda what: print(f"{what} ...", file=sys.stderr, flush=True))


def render(ways: Sequence[Way]) -> str:
    """One line a way, and for the cascade how many problems each of its configurations did."""
    strongest, cascade = ways[1], ways[2]
    rows = [HEADINGS, ("---",) * len(HEADINGS), *(_row(way, strongest) for way in ways)]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    indexes = [attempt.config_index for attempt in cascade.attempts]
    steps = ", ".join(f"configuration {index + 1}: {indexes.count(index)}" for index in sorted(set(indexes)))
    wrong = ", ".join(attempt.task_id for attempt in cascade.attempts if not attempt.is_right)
    return f"{table}\n\nThe cascade's code is of {steps}. Wrong: {wrong or 'none'}."


def _row(way: Way, strongest: Way) -> tuple[str, ...]:
    right = sum(attempt.is_right for attempt in way.attempts)
    cost = "unknown" if way.cost_usd is None else f"{way.cost_usd:.6f}"
    against = "" if way.cost_usd is None or not strongest.cost_usd else f"{way.cost_usd / strongest.cost_usd - 1:+.0%}"
    return way.name, f"{right} of {len(way.attempts)}", f"{way.right_share:.0%}", cost, against


def _is_cheaper(cascade: Way, strongest: Way) -> bool:
    return cascade.cost_usd is not None and strongest.cost_usd is not None and cascade.cost_usd < strongest.cost_usd


def _read_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    default = Terms()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.implement.run", description=__doc__)
    parser.add_argument("--configs", type=_read_configs, help="JSON list of models, the cheapest first")
    parser.add_argument("--problems", type=_read_count, help="how many problems at most")
    parser.add_argument("--timeout", type=float, default=default.timeout_s, help="seconds for each run of a response")
    parser.add_argument("--at-once", type=_read_count, default=default.at_once, help="problems worked on at a time")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args(words)


def _read_count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _read_configs(text: str) -> list[dict[str, Any]]:
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    is_list = isinstance(given, list) and all(isinstance(entry, str | dict) for entry in given)
    if not is_list or len(given) < 2:  # noqa: PLR2004 - a cheap and a strong one
        raise argparse.ArgumentTypeError('a JSON list of at least two models, such as \'["gpt-a", "gpt-b"]\'')
    return [{"model": entry} if isinstance(entry, str) else entry for entry in given]


if __name__ == "__main__":
    sys.exit(main())
