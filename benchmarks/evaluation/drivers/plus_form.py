"""Runs in evalplus's environment: HumanEval in evalplus's form, for where evalplus's own file is not at hand.

The base inputs are the calls that HumanEval's tests make. The extra ones are made from these by evalplus's own mutation
by types (`TypedMutGen`; Liu et al. 2023), and kept where the canonical solution answers soon. They are not HumanEval+'s
inputs, which contracts hold to what a problem is about, and some of which are very large.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import json
import random
import signal
import sys
from pathlib import Path
from typing import Any

LONGEST_S = 2.0  # to make the inputs of one problem
ANSWER_S = 0.05
MOST_CHARS = 20_000  # of one answer


class TooSlowError(Exception):
    """The canonical solution takes long for an input."""


def main(given: str, target: str, inputs: str) -> None:
    """Read HumanEval, write the same problems with about so many inputs each."""
    signal.signal(signal.SIGALRM, _too_slow)
    with gzip.open(given, "rt", encoding="utf-8") as file:
        problems = [json.loads(line) for line in file]
    lines = [json.dumps(_plus(problem, int(inputs))) + "\n" for problem in problems]
    Path(target).write_text("".join(lines), encoding="utf-8")


def _plus(problem: dict[str, Any], inputs: int) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(problem["prompt"] + problem["canonical_solution"] + "\n" + problem["test"], namespace)  # noqa: S102 - the package's
    function = namespace[problem["entry_point"]]
    base = _calls_of(namespace["check"], function)
    return {
        "task_id": problem["task_id"],
        "prompt": problem["prompt"],
        "contract": "",
        "canonical_solution": problem["canonical_solution"],
        "entry_point": problem["entry_point"],
        "base_input": base,
        "plus_input": _mutants(problem, base, function, inputs - len(base)) if base else [],
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


def _mutants(problem: dict[str, Any], base: list[list[Any]], function: Any, count: int) -> list[list[Any]]:
    from evalplus.gen import mut_gen, type_mut

    # Its own runs the whole program anew for each input, in a folder of its own.
    type_mut.trusted_check_exec = mut_gen.trusted_check_exec = lambda _, calls, __: _is_answered(function, calls[0])
    random.seed(problem["task_id"])  # the same at every run
    maker = type_mut.TypedMutGen(base, problem["entry_point"], "")
    maker.timeout = LONGEST_S
    with contextlib.redirect_stdout(sys.stderr):
        made: list[list[Any]] = maker.generate(count)
    return made


def _is_answered(function: Any, call: list[Any]) -> bool:
    try:
        signal.setitimer(signal.ITIMER_REAL, ANSWER_S)
        try:
            # No number that is none: a polynomial without a root has infinity as its zero.
            answer = json.dumps(function(*copy.deepcopy(call)), allow_nan=False)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Exception:  # noqa: BLE001 - whatever it is, the input is none that the problem is about
        return False
    return len(answer) <= MOST_CHARS and json.loads(json.dumps(call)) == call


def _too_slow(*_: object) -> None:
    raise TooSlowError


if __name__ == "__main__":
    main(*sys.argv[1:])
