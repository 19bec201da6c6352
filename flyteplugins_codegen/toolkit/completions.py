"""Responses for one function, judged: by a test, by assertions that choose among them, or both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.models.report import ValuesReport
from flyteplugins_codegen.sandbox.values.checks import AssertList, CheckFunction, can_fail
from flyteplugins_codegen.source.check_texts import assertion_cases, require_check
from flyteplugins_codegen.source.completions import complete_definition
from flyteplugins_codegen.source.definitions import FunctionDefinition, read_definition
from flyteplugins_codegen.syncing import BoundMethod, in_daemon_thread
from flyteplugins_codegen.toolkit.judging import Bench, read_bench

Assertions: TypeAlias = str | Callable[[str], Any]


@BoundMethod
async def eval_function_completions(  # noqa: PLR0913, PLR0917 - the signature of AutoGen 0.2
    responses: Sequence[str],
    definition: str,
    test: str | None = None,
    entry_point: str | None = None,
    assertions: Assertions | None = None,
    timeout: float | None = 3,
    use_docker: Any = None,
) -> dict[str, Any]:
    """Judge the responses for a function, or choose the one that passes the assertions, as AutoGen 0.2 and FLAML do.

    Each response runs in a sandbox, all at once, and is judged there by values from another process. A response is the
    whole function, its body alone, or a chat's reply that holds one of them; the definition's imports and helper
    functions are there for it. What the definition, the test and assertions given as text import is installed; what a
    response alone imports is not. No argument is changed. Also `.aio`.

    Args:
        responses: What models answered.
        definition: Signature and docstring, after the imports and functions that the function may use.
        test: Source of a function `check(candidate)`, as HumanEval has it.
        entry_point: The function's name; by default the definition's last one.
        assertions: Python source of asserts that call the function; or what makes such source of the definition, as
            `generate_assertions` does: a function that returns `(source, cost)`, called once where there is a response.
        timeout: Seconds that each response has for the assertions, and again for the test; None is 600.
        use_docker: None takes what isolation this machine offers, False bubblewrap, True a container, a str or a list
            the image of one.

    Returns:
        Without assertions `expected_success` (the chance that of as many responses, drawn anew at the rate of those
        that passed, one passes) and `success` (whether any passed). With assertions `index_selected` (the first that
        passes them all, else the last of those that pass most, None of no responses), `succeed_assertions`,
        `gen_cost` (USD that making them took, None where a price is unknown), `assertions` (their source), and
        `success` of the selected one where there is a test.

    Raises:
        RequestError: an argument is not possible, such as a definition without a function; nothing has run.
        ModelError: the assertions could not be made.
        EnvironmentBuildError: what the definition or the test imports cannot be installed.
        SandboxError: the sandbox failed, which is no verdict on any response.
    """
    function = read_definition(definition, entry_point)
    programs = [complete_definition(function, response) for response in _read_responses(responses)]
    if test is not None:
        require_check(test)
    given = [text for text in (function.source, test, assertions) if isinstance(text, str)]
    bench = replace(read_bench(timeout, use_docker), sources=tuple(given))
    if assertions is None:
        return _success_of_all(await _test(bench, programs, function, test))
    source, cost = await source_of(assertions, definition) if programs or not callable(assertions) else (None, 0.0)
    selected, succeeded = await _select(bench, programs, function, source)
    chosen = [] if selected is None else [programs[selected]]
    tested = {} if test is None else {"success": any(await _test(bench, chosen, function, test))}
    return {
        "index_selected": selected,
        "succeed_assertions": succeeded,
        **tested,
        "gen_cost": cost,
        "assertions": source,
    }


def _read_responses(responses: Any) -> Sequence[str]:
    if isinstance(responses, str | bytes) or not isinstance(responses, Sequence):
        raise ArgumentTypeError(f"the responses are {type(responses).__name__}; pass a list of str")
    for number, response in enumerate(responses):
        if not isinstance(response, str):
            raise ArgumentTypeError(f"response {number} is {type(response).__name__}; pass its text as a str")
    return responses


async def _test(bench: Bench, programs: Sequence[str], function: FunctionDefinition, test: str | None) -> list[bool]:
    if test is None:
        raise RequestError("there is nothing to judge the responses by; pass a test, or assertions")
    checks = CheckFunction(test, context=function.source)
    reports = await in_daemon_thread(bench.judge, programs, function.name, checks)
    return [report.passed for report in reports]


def _success_of_all(passed: Sequence[bool]) -> dict[str, Any]:
    chance = 1 - (1 - sum(passed) / len(passed)) ** len(passed) if passed else 0.0
    return {"expected_success": chance, "success": any(passed)}


async def source_of(assertions: Assertions, definition: str) -> tuple[str, float | None]:
    """The assertions' source, made of the definition where they are what makes it, and what that cost.

    Raises RequestError for source that checks nothing, or for what makes none; and what making it raises.
    """
    if not callable(assertions):
        if not can_fail(AssertList(assertion_cases(assertions))):
            raise RequestError("the assertions check nothing; write asserts, or pass None to choose by the test alone")
        return assertions, 0.0
    made = getattr(assertions, "aio", assertions)(definition)
    made = await made if inspect.isawaitable(made) else made
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], str)):  # noqa: PLR2004 - source, cost
        raise ArgumentTypeError(f"what makes the assertions returned {made!r:.100}; it is to return (source, cost)")
    return made


async def _select(
    bench: Bench, programs: Sequence[str], function: FunctionDefinition, source: str | None
) -> tuple[int | None, bool]:
    """Which program the assertions choose, and whether it passes all of them."""
    cases = assertion_cases(source or "")
    if not programs:
        return None, False
    checks = AssertList(cases, context=function.source)
    reports = await in_daemon_thread(bench.judge, programs, function.name, checks)
    passing = next((number for number, report in enumerate(reports) if report.passed), None)
    if passing is not None:
        return passing, True
    return max(range(len(reports)), key=lambda number: (_passed_cases(reports[number]), number)), False


def _passed_cases(report: ValuesReport) -> int:
    return sum(case.outcome == "passed" for case in report.cases)
