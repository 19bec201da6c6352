"""What a cascade achieves on HumanEval, and what it costs, held against each of its models alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flyteplugins_codegen import eval_function_completions, implement
from flyteplugins_codegen.evaluation.values import CheckTests, Problem

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One problem: whether the code passes the problem's own test, its cost, and the configuration it is from."""

    task_id: str
    is_right: bool
    cost_usd: float | None
    config_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to have all problems implemented."""

    name: str
    attempts: tuple[Attempt, ...]

    @property
    def right_share(self) -> float:
        """The share of the problems whose test passes."""
        return sum(attempt.is_right for attempt in self.attempts) / len(self.attempts)

    @property
    def cost_usd(self) -> float | None:
        """What all of it cost, assertions included; None where a price is unknown."""
        costs = [attempt.cost_usd for attempt in self.attempts if attempt.cost_usd is not None]
        return sum(costs) if len(costs) == len(self.attempts) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How the problems are worked on: seconds for each run of a response, and how many problems at a time."""

    timeout_s: float = 3.0
    at_once: int = 4


def compare(
    problems: Sequence[Problem], configs: Sequence[Config], terms: Terms, say: Callable[[str], None]
) -> tuple[Way, ...]:
    """The cheapest model alone, the strongest alone, and the cascade of all: in this order, one after the other.

    Nothing is taken from earlier runs, for a reply that is reused costs nothing, which would falsify the costs.
    """
    fresh = [{**config, "cache": "disable"} for config in configs]
    chosen: dict[str, list[Config]] = {
        "cheapest alone": [{**fresh[0], "n": 1}],
        "strongest alone": [{**fresh[-1], "n": 1}],
        "cascade": [*fresh],
    }
    ways = []
    for name, own in chosen.items():
        say(f"{name}: {len(problems)} problems")
        ways.append(Way(name=name, attempts=tuple(asyncio.run(_attempt_all(problems, own, terms)))))
    return tuple(ways)


async def _attempt_all(problems: Sequence[Problem], configs: Sequence[Config], terms: Terms) -> list[Attempt]:
    free = asyncio.Semaphore(terms.at_once)

    async def attempt(problem: Problem) -> Attempt:
        async with free:
            return await _attempt(problem, configs, terms.timeout_s)

    return await asyncio.gather(*map(attempt, problems))


async def _attempt(problem: Problem, configs: Sequence[Config], timeout_s: float) -> Attempt:
    assert isinstance(problem.tests, CheckTests), f"{problem.task_id} is not of HumanEval's kind"
    made = await implement.aio(problem.prompt, configs, timeout=timeout_s)
    judged = await eval_function_completions.aio(
        [made.code], problem.prompt, problem.tests.source, problem.entry_point, timeout=timeout_s
    )
    return Attempt(
        task_id=problem.task_id, is_right=judged["success"], cost_usd=made.cost, config_index=made.config_index
    )
