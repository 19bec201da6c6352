"""Stage `measure_strength`: tests are tested by mutants of the solution that passed them.

The idea is DeMillo, Lipton and Sayward's ("Hints on test data selection", 1978): tests that cannot tell a program from
one with a small mistake would not have found that mistake.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import CodegenError, EnvironmentBuildError, ModelError, SandboxError
from flyteplugins_codegen.judging.mutants.run import Fate, MutationJob, run_mutants
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.llm.prompts import stronger_messages
from flyteplugins_codegen.llm.replies import StrongerTestsReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.run import Attempt, Run, TestStrength
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS
from flyteplugins_codegen.source.extraction.blocks import unfence
from flyteplugins_codegen.source.mutants import Mutant, make_mutants
from flyteplugins_codegen.source.python import imported_names
from flyteplugins_codegen.source.test_edits import merge_tests
from flyteplugins_codegen.source.tests import asserts_something, declared_tests
from flyteplugins_codegen.stages.attempts import with_calls, with_changed, with_next
from flyteplugins_codegen.stages.draft import Question, ask_within, brief_of
from flyteplugins_codegen.stages.lineage import base_attempt, pending_attempt
from flyteplugins_codegen.stages.loop import StrengthenTests, next_action
from flyteplugins_codegen.stages.privacy import without_keys
from flyteplugins_codegen.stages.sandboxes import Sandboxes
from flyteplugins_codegen.stages.stage_cache import Shelf, remember
from flyteplugins_codegen.stages.test import run_tests
from flyteplugins_codegen.telemetry import stage

WALL_S: Final = 5.0
"""After which no mutant is begun: a suite that takes seconds is measured by fewer, or in parts."""
MOST_PARTS: Final = 8
_STRENGTHS: Final = Shelf("strengths", ("judging", "packages", "portable", "sandbox", "solution", "source"))
_UNMEASURED: Final = TestStrength()
_WHOLE: Final = slice(None)


def measure_strength(run: Run, sandboxes: Sandboxes | None = None) -> Run:
    """The run with the strength of the tests which the attempt that it goes on from has passed.

    Measuring decides about no candidate: where the sandbox fails, or is none that holds what a mutant does, nothing is
    measured.
    """
    attempt = base_attempt(run)
    with stage("measure strength") as note:
        strength = strength_of(run, attempt, sandboxes)
        note.detail = describe_strength(strength)
    return with_changed(run, attempt.number, strength=strength)


def parts_of(run: Run) -> int:
    """In how many parts to measure where each has a machine of its own: as many as try all mutants in `WALL_S`.

    A part runs the tests for each of its mutants, and once more for the solution itself.
    """
    attempt = base_attempt(run)
    suites = attempt.report.suites if attempt.report else ()
    suite_s = sum(test.duration_s for suite in suites for test in suite.tests)
    together = max(1, int(WALL_S / suite_s) - 1) if suite_s else sys.maxsize
    return max(1, min(MOST_PARTS, math.ceil(len(_mutants(attempt, _suites(run, attempt))) / together)))


def measure_part(run: Run, part: int, parts: int) -> TestStrength:
    """The strength by every `parts`-th mutant alone, from number `part` on, counted from 0."""
    with stage("measure strength") as note:
        strength = strength_of(run, base_attempt(run), chosen=slice(part, None, parts))
        note.detail = describe_strength(strength)
    return strength


def with_parts(run: Run, found: Sequence[TestStrength]) -> Run:
    """As `measure_strength`, from the parts that were measured."""
    killed, total = sum(part.killed for part in found), sum(part.total for part in found)
    strength = TestStrength(
        share=killed / total if total else None,
        killed=killed,
        total=total,
        made=sum(part.made for part in found),
        survivors=tuple(survivor for part in found for survivor in part.survivors),
        wall_s=max((part.wall_s for part in found), default=0.0),
    )
    return with_changed(run, base_attempt(run).number, strength=strength)


async def judge_and_measure(run: Run, samples: Mapping[str, Path], sandboxes: Sandboxes) -> Run:
    """`run_tests`, and beside it `measure_strength` of the same candidate, for what it is worth if that passes.

    Judging leaves a processor idle for most of its time, as the suite takes longer than the script. Of a candidate that
    fails its tests the measuring ends with its first step, which is to run them. Raises as `run_tests`.
    """
    attempt = pending_attempt(run)
    if attempt is None:
        return run
    tested, strength = await asyncio.gather(
        asyncio.to_thread(run_tests, run, samples, sandboxes), asyncio.to_thread(strength_of, run, attempt, sandboxes)
    )
    report = tested.attempts[attempt.number - 1].report
    if report is None or not report.passed:
        return tested
    with stage("measure strength") as note:
        note.detail = describe_strength(strength)
    return with_changed(tested, attempt.number, strength=strength)


def describe_strength(strength: TestStrength) -> str:
    """The strength in a few words."""
    if strength.share is None:
        return "nothing to measure by"
    return f"{strength.killed} of {strength.total} mutants killed" if strength.total else "no test asserts anything"


def strength_of(run: Run, attempt: Attempt, sandboxes: Sandboxes | None = None, chosen: slice = _WHOLE) -> TestStrength:
    """The strength of an attempt's generated tests, together with the user's, remembered by content.

    `chosen` are the mutants that are tried.
    """
    tests = attempt.candidate.tests
    if tests is None or run.settings.skip_tests or run.settings.sandbox == "none":
        return _UNMEASURED
    try:
        if not asserts_something(tests):
            return TestStrength(share=0.0)
    except SyntaxError:
        return _UNMEASURED
    suites = _suites(run, attempt)
    mutants = _mutants(attempt, suites)[chosen]
    return _remembered(run, attempt, suites, mutants, sandboxes) if mutants else _UNMEASURED


def _suites(run: Run, attempt: Attempt) -> list[str]:
    return [suite for suite in (attempt.candidate.tests, run.request.tests) if suite is not None]


def _mutants(attempt: Attempt, suites: Sequence[str]) -> tuple[Mutant, ...]:
    try:
        return tuple(make_mutants(attempt.candidate.solution.code, suites))
    except SyntaxError:
        return ()


def _remembered(
    run: Run, attempt: Attempt, suites: Sequence[str], mutants: Sequence[Mutant], sandboxes: Sandboxes | None
) -> TestStrength:
    """Only what was measured: why nothing was may have passed by the next time."""
    assert attempt.environment is not None  # noqa: S101 - `build_environment` comes before all that runs a candidate
    settings = run.settings.model_dump(mode="json", include={"sandbox", "timeout_s", "resources", "env_vars"})
    tried = [mutant.code for mutant in mutants]
    key = [attempt.candidate.solution.code, suites, tried, attempt.environment.digest, *RUNNER_REQUIREMENTS, settings]
    try:
        with ExitStack() as stack:
            own = sandboxes or stack.enter_context(closing(Sandboxes()))
            return remember(
                run.settings, _STRENGTHS, key, TestStrength, lambda: _measured(run, attempt, suites, mutants, own)
            )
    except (SandboxError, EnvironmentBuildError):
        return _UNMEASURED


def _measured(
    run: Run, attempt: Attempt, suites: Sequence[str], mutants: Sequence[Mutant], sandboxes: Sandboxes
) -> TestStrength:
    assert attempt.environment is not None  # noqa: S101 - as above
    bench = sandboxes.bench(run, attempt.candidate, attempt.environment)
    solution = attempt.candidate.solution.code
    began = time.perf_counter()
    job = MutationJob(
        solution=solution,
        suites=suites,
        mutants=[mutant.code for mutant in mutants],
        wall_s=WALL_S,
        modules=sorted({name for text in (solution, *suites) for name in _modules(text)}),
        limits=bench.limits,
        env=run.settings.env_vars,
    )
    fates = run_mutants(bench.suites, job)
    if fates is None:
        raise SandboxError("the tests that passed did not pass again")
    return _strength(mutants, fates, time.perf_counter() - began)


def _modules(text: str) -> set[str]:
    """What a text imports at its top level or below, by the names of modules: all but the solution itself."""
    return {name.partition(".")[0] for name in imported_names(text)} - {"solution", "__future__"}


def _strength(mutants: Sequence[Mutant], fates: dict[int, Fate], wall_s: float) -> TestStrength:
    tried = {number: fate for number, fate in sorted(fates.items()) if fate != "invalid" and number < len(mutants)}
    survivors = tuple(mutants[number].told for number, fate in tried.items() if fate == "survived")
    killed = len(tried) - len(survivors)
    return TestStrength(
        share=killed / len(tried) if tried else None,
        killed=killed,
        total=len(tried),
        made=len(mutants),
        survivors=survivors,
        wall_s=wall_s,
    )


# Stage `strengthen_tests`: one call for tests that fail for what survived, added to those that are there.


class Strengthened(Value):
    """The run with the same solution under more tests as its next attempt, and the calls with their messages."""

    run: Run
    calls: tuple[ModelCall, ...]


async def strengthen_tests(run: Run, samples: Mapping[str, Path], account: BudgetAccount) -> Strengthened:
    """Ask once. Where no usable reply comes the run is stopped, and ends with the candidate that has passed."""
    del samples  # of the stages that ask a model, this one tells nothing of them beyond the profile
    action, base = next_action(run), base_attempt(run)
    if not isinstance(action, StrengthenTests):
        raise CodegenError(f"no stronger tests come next, but {type(action).__name__}")
    with stage("strengthen tests") as note:
        brief = brief_of(run.settings, run.request, run.context)
        question = Question(
            purpose="stronger_tests",
            messages=without_keys(stronger_messages(brief, base.candidate, action.survivors), run.request),
            reply_type=StrongerTestsReply,
            check=lambda reply: merged_tests(base, reply),
            keeps_unusable=True,
        )
        try:
            answer = await ask_within(account, run.settings, question)
        except ModelError as error:
            note.detail = str(error)
            stopped = with_calls(run, error.calls).model_copy(update={"stopped": f"no stronger tests: {error}"})
            return Strengthened(run=stopped, calls=error.calls)
        tests = merged_tests(base, answer.value)
        note.detail = f"{len(declared_tests(tests)) - len(declared_tests(base.candidate.tests or ''))} tests more"
        candidate = base.candidate.model_copy(update={"tests": tests})
        made = with_calls(run, answer.calls)
        stronger = with_next(made, "strengthen_tests", action.reason, candidate, parent=base.number)
        return Strengthened(run=stronger, calls=answer.calls)


def merged_tests(base: Attempt, reply: StrongerTestsReply) -> str:
    """The attempt's tests with those of a reply. Raises ValueError where these are none."""
    tests, added = base.candidate.tests or "", unfence(reply.test_code)
    try:
        if not (declared_tests(added) and asserts_something(added)):
            raise ValueError("test_code has no test that asserts anything")
        merged = merge_tests(tests, added)
    except SyntaxError as error:
        raise ValueError(f"test_code is not Python: {error}") from error
    if len(declared_tests(merged)) <= len(declared_tests(tests)):
        raise ValueError("test_code has no test that is not there already")
    return merged
