"""What is measured, figure by figure, with its target."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.measure import Bench, ProcessRun, import_seconds
from benchmarks.scenarios import (
    CONSTRAINED,
    ENDED_EARLY,
    LOGIC_REPAIR,
    MISSING_FIRST,
    MISSING_LATE,
    NEVER_RIGHT,
    RIGHT_FIRST_TIME,
    TEN_REPAIRS,
    UNASSERTED,
)
from flyteplugins_codegen.models.spending import DEFAULT_BUDGET

_SLOW_RUNS = 3
# What "faster" means here: at most this share of the peer's time, in the same run.
SHARE_OF_PEER = 0.7


@dataclass(frozen=True)
class Effort:
    """How often a time is taken: in this many processes of each side, this many times after the first in each."""

    processes: int
    generations: int


@dataclass(frozen=True)
class Target:
    """At most `limit`, of the figure itself or of its ratio to the peer's. `text` says so, and where it comes from."""

    text: str
    limit: float
    of: Literal["ours", "ratio"] = "ours"


@dataclass(frozen=True)
class Figure:
    """One line of the table. `target` is None where the figure only informs."""

    name: str
    unit: str
    peer: float
    ours: float
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        """Ours by the peer's, None where the peer's is zero."""
        return self.ours / self.peer if self.peer else None

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        value = self.ours if self.target.of == "ours" else self.ratio
        return value is not None and value <= self.target.limit


def measure_figures(bench: Bench, effort: Effort, tell: Callable[[str], None]) -> list[Figure]:
    """Every figure, in the order of the table. `tell` hears what is being measured."""
    tell("one run of each scenario, not timed: warms both sides' environments")
    for scenario in (RIGHT_FIRST_TIME, MISSING_LATE):
        bench.run_both(scenario)
    found: list[Figure] = []
    for measure in (
        _calls,
        _worst_case,
        _constraints,
        _verdicts,
        _ten_repairs,
        _after_kill,
        _times,
        _repair_times,
        _imports,
    ):
        tell(str(measure.__doc__))
        found += measure(bench, effort)
    return found


def _calls(bench: Bench, _effort: Effort) -> list[Figure]:
    """Model calls and bytes of each scenario."""
    figures = []
    for scenario, limit in ((RIGHT_FIRST_TIME, 2), (LOGIC_REPAIR, 3), (MISSING_LATE, 2), (MISSING_FIRST, 2)):
        peer, ours = bench.run_both(scenario)
        less = Target("less than the peer", 1.0, "ratio") if scenario is RIGHT_FIRST_TIME else None
        figures += [
            Figure(f"model calls, {scenario.name}", "", peer.calls, ours.calls, Target(f"at most {limit}", limit)),
            Figure(f"failed, {scenario.name}", "", _failures(peer), _failures(ours), Target("none", 0)),
            Figure(f"bytes sent, {scenario.name}", "B", peer.bytes_sent, ours.bytes_sent, less),
        ]
        if scenario is LOGIC_REPAIR:
            half = Target("at most half", 0.5, "ratio")
            figures.append(Figure(f"tokens in, {scenario.name}", "", peer.tokens_sent, ours.tokens_sent, half))
    return figures


def _worst_case(bench: Bench, _effort: Effort) -> list[Figure]:
    """Model calls and tokens where no candidate is ever right, at default settings."""
    peer, ours = bench.run_both(NEVER_RIGHT)
    bound = Target("the default budget", DEFAULT_BUDGET.max_calls or 0)
    return [
        Figure(f"model calls, {NEVER_RIGHT.name}", "", peer.calls, ours.calls, bound),
        Figure(f"tokens in, {NEVER_RIGHT.name}", "", peer.tokens_sent, ours.tokens_sent),
    ]


def _constraints(bench: Bench, _effort: Effort) -> list[Figure]:
    """Model calls for constraints that take a model to read."""
    plain, constrained = bench.run_both(RIGHT_FIRST_TIME), bench.run_both(CONSTRAINED)
    peer, ours = (after.calls - before.calls for before, after in zip(plain, constrained, strict=True))
    return [Figure(f"model calls for {CONSTRAINED.name}", "", peer, ours, Target("at most 1", 1))]


def _verdicts(bench: Bench, _effort: Effort) -> list[Figure]:
    """Wrong solutions that are taken for right ones."""
    figures = []
    for scenario in (ENDED_EARLY, UNASSERTED):
        peer, ours = (1 - _failures(run) for run in bench.run_both(scenario))
        figures.append(Figure(f"taken for right: {scenario.name}", "", peer, ours, Target("none", 0)))
    return figures


def _ten_repairs(bench: Bench, _effort: Effort) -> list[Figure]:
    """Seconds of ten repairs that do not help."""
    runs = [bench.run_both(TEN_REPAIRS, preload=True) for _ in range(_SLOW_RUNS)]
    half = Target("at most half", 0.5, "ratio")
    return [Figure(f"generate(), {TEN_REPAIRS.name}", "s", *_medians(runs, _first), half)]


def _failures(run: ProcessRun) -> int:
    return sum(not generation.success for generation in run.generations)


def _after_kill(bench: Bench, _effort: Effort) -> list[Figure]:
    """Model calls repeated after a kill."""
    runs = zip((bench.peer, bench.ours), bench.run_both(RIGHT_FIRST_TIME), strict=True)
    peer, ours = (bench.calls_repeated_after_kill(side, run.calls) for side, run in runs)
    return [Figure("model calls repeated after kill -9", "", peer, ours, Target("none", 0))]


def _times(bench: Bench, effort: Effort) -> list[Figure]:
    """Seconds and memory, right first time."""
    # Turn by turn, so that a busy minute of the machine falls on both.
    cold = [bench.run_both(RIGHT_FIRST_TIME) for _ in range(effort.processes)]
    warm = [bench.run_both(RIGHT_FIRST_TIME, 1 + effort.generations, preload=True) for _ in range(effort.processes)]
    share = Target(f"at most {SHARE_OF_PEER} of the peer", SHARE_OF_PEER, "ratio")
    return [
        Figure("start of the process to its result", "s", *_medians(cold, _start_to_result), share),
        Figure("generate(), first of its process, libraries imported", "s", *_medians(warm, _first), share),
        Figure("generate(), later ones of the same process", "s", *_medians(warm, _later)),
        Figure("peak memory of the process", "MiB", *_medians(cold, _peak), Target("under 250", 250)),
    ]


def _repair_times(bench: Bench, effort: Effort) -> list[Figure]:
    """Seconds of a run with one repair."""
    figures = []
    for scenario in (LOGIC_REPAIR, MISSING_LATE):
        runs = [bench.run_both(scenario, 1 + effort.generations, preload=True)]
        figures.append(Figure(f"generate(), later ones, {scenario.name}", "s", *_medians(runs, _later)))
    return figures


def _medians(
    runs: Sequence[tuple[ProcessRun, ProcessRun]], values: Callable[[ProcessRun], Sequence[float]]
) -> tuple[float, float]:
    """The peer's and ours, over every value of every process."""
    peer = statistics.median(value for run, _ in runs for value in values(run))
    ours = statistics.median(value for _, run in runs for value in values(run))
    return peer, ours


def _start_to_result(run: ProcessRun) -> list[float]:
    return [run.start_to_result_s]


def _first(run: ProcessRun) -> list[float]:
    return [run.generations[0].wall_s]


def _later(run: ProcessRun) -> list[float]:
    return [generation.wall_s for generation in run.generations[1:]]


def _peak(run: ProcessRun) -> list[float]:
    return [run.peak_memory_mib]


def _imports(bench: Bench, effort: Effort) -> list[Figure]:
    """Seconds of the import."""
    peer = import_seconds(bench.peer, "from flyteplugins.codegen import AutoCoderAgent", effort.processes)
    alone = import_seconds(bench.ours, "from flyteplugins_codegen import AutoCoderAgent", effort.processes)
    result = "from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult"
    beyond = import_seconds(bench.ours, result, effort.processes, before="import flytekit")
    return [
        Figure("import of the package", "s", peer, alone, Target("under 0.15 s", 0.15)),
        Figure("import of all public names, beyond flytekit's own", "s", peer, beyond, Target("at most 0.1 s", 0.1)),
    ]


_MEASURES = (
    *(_calls, _worst_case, _constraints, _verdicts, _ten_repairs),
    *(_after_kill, _times, _repair_times, _imports),
)
