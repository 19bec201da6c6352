"""Samples from a model: it is asked for a program several times for each problem, and each reply is paid for once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import Field

from flyteplugins_codegen.autogen.ask import ask_for
from flyteplugins_codegen.autogen.model_config import ModelConfig
from flyteplugins_codegen.errors import ReplyError, RequestError
from flyteplugins_codegen.evaluation.values import Problem, Sample
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.llm.replies import Reply
from flyteplugins_codegen.models.spending import Message
from flyteplugins_codegen.store import write_file

MOST_TRIES: Final = 1_000
_SYSTEM: Final = """\
You solve programming problems. Answer with `code`: the whole program in {language}, with its imports, without tests, \
examples or output of its own. It is judged by tests that you do not see."""


class ProgramReply(Reply):
    """A program."""

    code: str = Field(description="The whole program, not in a fence")


async def sample_model(
    problems: Sequence[Problem],
    config: ModelConfig,
    *,
    tries: range,
    account: BudgetAccount | None = None,
    at_once: int = 8,
) -> list[Sample]:
    """A sample for each problem and each number in `tries`, problem by problem; `at_once` calls are made at a time.

    If two replies cannot be used, the sample is an empty program, which fails. Replies are remembered: after an error
    or a kill only the missing ones are asked for. Each number in `tries` has its own reply.

    Raises:
        RequestError: tries beyond `MOST_TRIES`, or `at_once` below 1.
        BudgetSpentError: the account allows no more calls; replies that were paid for are remembered.
        ModelError: the model cannot be reached.
    """
    if at_once < 1 or not tries or tries[0] < 0 or tries[-1] >= MOST_TRIES:
        numbers = f"tries {tries.start} to {tries.stop}, at_once={at_once}"
        raise RequestError(f"{numbers}: a model is tried 1 to {MOST_TRIES} times, with one call or more at a time")
    slots = asyncio.Semaphore(at_once)

    async def ask(problem: Problem, number: int) -> Sample:
        async with slots:
            return await _sample(problem, number, config, account)

    tasks = [asyncio.ensure_future(ask(problem, number)) for problem in problems for number in tries]
    try:
        return await asyncio.gather(*tasks)
    finally:
        # If one call fails, the others are not paid for.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def write_samples(samples: Sequence[Sample], path: Path) -> Path:
    """Write the samples as JSON Lines of {task_id, solution, sample_id}, whole or not at all. Raises OSError."""
    rows = [
        {"task_id": sample.task_id, "solution": sample.solution, "sample_id": sample.sample_id or None}
        for sample in samples
    ]
    write_file(path, b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return path


async def _sample(problem: Problem, number: int, config: ModelConfig, account: BudgetAccount | None) -> Sample:
    asking = config.model_copy(update={"attempt": config.attempt + number})
    try:
        answer = await ask_for(ProgramReply, _messages(problem), config=asking, purpose="solution", account=account)
    except ReplyError:
        return Sample(task_id=problem.task_id, solution="", sample_id=str(number))
    return Sample(task_id=problem.task_id, solution=answer.value.code, sample_id=str(number))


def _messages(problem: Problem) -> tuple[Message, ...]:
    named = f"\n\nThe tests call `{problem.entry_point}`." if problem.entry_point else ""
    system = _SYSTEM.format(language=problem.language)
    return Message(role="system", content=system), Message(role="user", content=f"{problem.prompt}{named}")
