"""Stages `measure_strength` and `strengthen_tests`: tests are tested by mutants of the solution that passed them.

The idea is DeMillo, Lipton and Sayward's ("Hints on test data selection", 1978): tests that cannot tell a program from
one with a small mistake would not have found that mistake. For mutants that survive, the model is asked once for tests
that fail for them.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import zip_longest
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import CodegenError, EnvironmentBuildError, ModelError, SandboxError
from flyteplugins_codegen.judging.mutants.run import Fate, MutationJob, run_mutants
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.llm.prompts import stronger_messages
from flyteplugins_codegen.llm.replies import StrongerTestsReply
from flyteplugins_codegen.models.run import Attempt, Run, TestStrength
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS
from flyteplugins_codegen.source.extraction.blocks import unfence
from flyteplugins_codegen.source.mutants import Mutant, make_mutants
from flyteplugins_codegen.source.python import imported_names
from flyteplugins_codegen.source.test_edits import merge_tests
from flyteplugins_codegen.source.tests import asserts_something, declared_tests
from flyteplugins_codegen.source.vacuity import unasserted_outputs
from flyteplugins_codegen.stages.actions import StrengthenTests
from flyteplugins_codegen.stages.attempts import StageResult, with_calls, with_changed, with_next
from flyteplugins_codegen.stages.lineage import base_attempt, pending_attempt
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.stages.model_calls import Question, ask_within, brief_of
from flyteplugins_codegen.stages.privacy import without_keys
from flyteplugins_codegen.stages.sandboxes import RunSandboxes
from flyteplugins_codegen.stages.stage_cache import StageCache
from flyteplugins_codegen.stages.test import run_tests
from flyteplugins_codegen.telemetry import stage

WALL_S: Final = 5.0
"""No mutant is started after this time: slow suites are measured by fewer mutants, or in parts."""
MOST_PARTS: Final = 8
_STRENGTHS: Final = StageCache(
    "strengths", TestStrength, ("judging", "packages", "portable", "sandbox", "solution", "source")
)
_UNMEASURED: Final = TestStrength()
_ALL: Final = slice(None)
_NO_ASSERTION: Final = "no test asserts anything"


def measure_strength(run: Run, sandboxes: RunSandboxes | None = None) -> Run:
    """The run with the strength of the tests that its base attempt has passed.

    The strength never fails a candidate: nothing is measured if the sandbox fails, or if `sandbox` is "none", which
    could not contain a mutant.
    """
    attempt = base_attempt(run)
    with stage("measure strength") as note:
        strength = strength_of(run, attempt, sandboxes)
        note.detail = describe_strength(strength)
    return with_changed(run, attempt.number, strength=strength)


def parts_of(run: Run) -> int:
    """The number of parts, each on its own machine, that is needed to try all mutants within `WALL_S`.

    A part runs the tests for each of its mutants, and once for the solution itself.
    """
    attempt = base_attempt(run)
    suites = attempt.report.suites if attempt.report else ()
    suite_s = sum(test.duration_s for suite in suites for test in suite.tests)
    mutants_a_part = max(1, int(WALL_S / suite_s) - 1) if suite_s else sys.maxsize
    return max(1, min(MOST_PARTS, math.ceil(len(_mutants(attempt, _suites(run, attempt))) / mutants_a_part)))


def measure_part(run: Run, part: int, parts: int) -> TestStrength:
    """The strength by every `parts`-th mutant, starting from number `part`, counted from 0."""
    with stage("measure strength") as note:
        strength = strength_of(run, base_attempt(run), chosen=slice(part, None, parts))
        note.detail = describe_strength(strength)
    return strength


def with_parts(run: Run, measured: Sequence[TestStrength]) -> Run:
    """The run with the strength that results from all measured parts."""
    killed, total = sum(part.killed for part in measured), sum(part.total for part in measured)
    strength = TestStrength(
        share=killed / total if total else None,
        killed=killed,
        total=total,
        made=sum(part.made for part in measured),
        survivors=tuple(survivor for part in measured for survivor in part.survivors),
        wall_s=max((part.wall_s for part in measured), default=0.0),
        diffs=tuple(diff for part in measured for diff in part.diffs),
    )
    reason = next((part.reason for part in measured if part.reason), "")
    return with_changed(run, base_attempt(run).number, strength=_vacuous(strength, reason) if reason else strength)


async def judge_and_measure(run: Run, samples: Mapping[str, Path], sandboxes: RunSandboxes) -> Run:
    """Run the tests of the pending candidate and measure their strength at the same time; keep it only if they pass.

    While a suite runs, a processor is mostly idle, as the suite takes longer than the script. If the candidate fails
    its tests, measuring ends with its first step, which is to run them. Raises as `run_tests`.
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


def without_partial_strength(run: Run) -> Run:
    """The run without a strength that time allowed to measure by some mutants only, if parts can measure by all."""
    attempt = base_attempt(run)
    strength = attempt.strength
    if strength is None or strength.total >= strength.made or parts_of(run) == 1:
        return run
    return with_changed(run, attempt.number, strength=None)


def describe_strength(strength: TestStrength) -> str:
    """The strength in a few words."""
    if strength.reason:
        return strength.reason
    if strength.share is None:
        return "nothing to measure by"
    return f"{strength.killed} of {strength.total} mutants killed" if strength.total else _NO_ASSERTION


def strength_of(
    run: Run, attempt: Attempt, sandboxes: RunSandboxes | None = None, chosen: slice = _ALL
) -> TestStrength:
    """The strength of an attempt's generated tests together with the user's, cached by content.

    `chosen` selects the mutants that are tried. Tests that assert no value of some output have the share 0, whatever
    mutants they detect; the survivors are told all the same, to be shown to the author of stronger tests.
    """
    tests = attempt.candidate.tests
    if tests is None or run.settings.skip_tests or run.settings.sandbox == "none":
        return _UNMEASURED
    suites = _suites(run, attempt)
    try:
        if not asserts_something(tests):
            return TestStrength(share=0.0, reason=_NO_ASSERTION)
        unasserted = unasserted_outputs(suites, tuple(run.request.outputs), attempt.candidate.solution.code)
    except SyntaxError:
        return _UNMEASURED
    mutants = _mutants(attempt, suites)[chosen]
    strength = _cached_strength(run, attempt, suites, mutants, sandboxes) if mutants else _UNMEASURED
    return _vacuous(strength, describe_unasserted(unasserted)) if unasserted else strength


def describe_unasserted(outputs: Sequence[str]) -> str:
    """What tests lack that assert no value of these outputs."""
    kind = "output" if len(outputs) == 1 else "outputs"
    return f"no test asserts a value of the {kind} {', '.join(outputs)}"


def _vacuous(strength: TestStrength, reason: str) -> TestStrength:
    return strength.model_copy(update={"share": 0.0, "reason": reason})


def _suites(run: Run, attempt: Attempt) -> list[str]:
    return [suite for suite in (attempt.candidate.tests, run.request.tests) if suite is not None]


def _mutants(attempt: Attempt, suites: Sequence[str]) -> tuple[Mutant, ...]:
    try:
        return tuple(make_mutants(attempt.candidate.solution.code, suites))
    except SyntaxError:
        return ()


def _cached_strength(
    run: Run, attempt: Attempt, suites: Sequence[str], mutants: Sequence[Mutant], sandboxes: RunSandboxes | None
) -> TestStrength:
    # Failures are not cached: the next run may succeed.
    assert attempt.environment is not None  # noqa: S101 - `build_environment` comes before every run of a candidate
    settings = run.settings.model_dump(mode="json", include={"sandbox", "timeout_s", "resources", "env_vars"})
    tried = [mutant.code for mutant in mutants]
    key = [attempt.candidate.solution.code, suites, tried, attempt.environment.digest, *RUNNER_REQUIREMENTS, settings]
    try:
        with ExitStack() as stack:
            own = sandboxes or stack.enter_context(closing(RunSandboxes()))
            return _STRENGTHS.get_or_compute(run.settings, key, lambda: _measure(run, attempt, suites, mutants, own))
    except (SandboxError, EnvironmentBuildError):
        return _UNMEASURED


def _measure(
    run: Run, attempt: Attempt, suites: Sequence[str], mutants: Sequence[Mutant], sandboxes: RunSandboxes
) -> TestStrength:
    assert attempt.environment is not None  # noqa: S101 - as above
    opened = sandboxes.for_candidate(run, attempt.candidate, attempt.environment)
    solution = attempt.candidate.solution.code
    began = time.perf_counter()
    job = MutationJob(
        solution=solution,
        suites=suites,
        mutants=[mutant.code for mutant in mutants],
        wall_s=WALL_S,
        modules=sorted({name for text in (solution, *suites) for name in _modules(text)}),
        limits=opened.limits,
        env=run.settings.env_vars,
    )
    fates = run_mutants(opened.suites, job)
    if fates is None:
        raise SandboxError("the tests that passed did not pass again")
    return _strength(mutants, fates, time.perf_counter() - began)


def _modules(text: str) -> set[str]:
    """The top-level names of all modules that a source imports, anywhere in it, except the solution."""
    return {name.partition(".")[0] for name in imported_names(text)} - {"solution", "__future__"}


def _strength(mutants: Sequence[Mutant], fates: dict[int, Fate], wall_s: float) -> TestStrength:
    tried = {number: fate for number, fate in sorted(fates.items()) if fate != "invalid" and number < len(mutants)}
    survivors = [mutants[number] for number, fate in tried.items() if fate == "survived"]
    killed = len(tried) - len(survivors)
    return TestStrength(
        share=killed / len(tried) if tried else None,
        killed=killed,
        total=len(tried),
        made=len(mutants),
        survivors=tuple(mutant.summary for mutant in survivors),
        wall_s=wall_s,
        diffs=tuple(mutant.diff for mutant in survivors),
    )


# --- stronger tests ---


async def strengthen_tests(run: Run, samples: Mapping[str, Path], account: BudgetAccount) -> StageResult:
    """Ask once for more tests; return the run with the same solution under all tests as its next attempt.

    Without a usable reply the run is stopped, and ends with the candidate that has passed.
    """
    del samples  # all stages that ask a model take them; this prompt quotes no failure that could have their values
    action, base = next_action(run), base_attempt(run)
    if not isinstance(action, StrengthenTests):
        raise CodegenError(f"no stronger tests come next, but {type(action).__name__}")
    with stage("strengthen tests") as note:
        brief = brief_of(run.settings, run.request, run.context)
        strength = base.strength or TestStrength(survivors=action.survivors)
        messages = stronger_messages(brief, base.candidate, _survivors(strength), strength.reason)
        question = Question(
            purpose="stronger_tests",
            messages=without_keys(messages, run.request),
            reply_type=StrongerTestsReply,
            check=lambda reply: _merged_tests(base, reply),
            keeps_unusable=True,
        )
        try:
            answer = await ask_within(account, run.settings, question)
        except ModelError as error:
            note.detail = str(error)
            stopped = with_calls(run, error.calls).model_copy(update={"stopped": f"no stronger tests: {error}"})
            return StageResult(run=stopped, calls=error.calls)
        tests = _merged_tests(base, answer.value)
        note.detail = f"{len(declared_tests(tests)) - len(declared_tests(base.candidate.tests or ''))} tests more"
        candidate = base.candidate.model_copy(update={"tests": tests})
        charged = with_calls(run, answer.calls)
        stronger = with_next(charged, "strengthen_tests", action.reason, candidate, parent=base.number)
        return StageResult(run=stronger, calls=answer.calls)


def _survivors(strength: TestStrength) -> list[str]:
    """Each mutant that survived, with the lines that it changes as far as they are known."""
    pairs = zip_longest(strength.survivors, strength.diffs, fillvalue="")
    return ["\n".join(filter(None, pair)) for pair in pairs]


def _merged_tests(base: Attempt, reply: StrongerTestsReply) -> str:
    """The attempt's tests with those of the reply. Raises ValueError if the reply adds no test that asserts."""
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
