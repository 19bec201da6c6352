"""Judges a model's responses for one function: by a test, by assertions that choose among them, or by both.

`eval_function_completions` and `PassAssertionFilter` are those of AutoGen 0.2 and FLAML.
"""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from flyteplugins_codegen.autogen.arguments import read_timeout
from flyteplugins_codegen.autogen.sandbox_choice import SandboxChoice, open_chosen_sandbox, read_sandbox_choice
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError, SandboxError
from flyteplugins_codegen.judging.values.run import ValuesJob, run_many
from flyteplugins_codegen.judging.values.tests import AssertTests, CheckTests, ValuesTests, can_fail
from flyteplugins_codegen.llm.budget import add_costs
from flyteplugins_codegen.llm.protocol import ModelReply
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.models.run import ValuesReport
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.names import requirements_of
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.source.completions import complete_definition
from flyteplugins_codegen.source.extraction.blocks import content_str
from flyteplugins_codegen.source.python import FunctionDefinition, read_definition, third_party_names
from flyteplugins_codegen.source.test_edits import assertion_cases, require_check
from flyteplugins_codegen.sync import BothWays, BoundMethod, in_daemon_thread

Assertions: TypeAlias = str | Callable[[str], Any]

_log = logging.getLogger(__name__)
# Far more than processors: a program that never ends mostly waits for its time-out.
_MAX_WORKERS: Final = 16
_PROCESSORS: Final = os.cpu_count() or 1
_IDLE_SHARE: Final = 0.05  # of the wall time: a program that sleeps uses less
_BUSY_SHARE: Final = 0.8
_MEMORY_MIB: Final = 512  # for each program, because all that run at once may use it
_CHECK_FAULTS: Final = frozenset({"broken_tests", "not_by_values"})


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

    All responses run at once in a sandbox, and are judged by their values from another process. A response is the whole
    function, its body alone, or a chat's reply that contains one of them; it can use the imports and helper functions
    of the definition. The imports of the definition, of the test and of assertions as text are installed; those of a
    response are not. No argument is changed. Also `.aio`.

    Args:
        responses: The texts of models' answers.
        definition: Signature and docstring, after the imports and functions that the function may use.
        test: Source of a function `check(candidate)`, as HumanEval has it.
        entry_point: The function's name; by default the definition's last one.
        assertions: Python source of asserts that call the function; or a function such as `generate_assertions` that
            makes `(source, cost)` from the definition, called once if there are responses.
        timeout: Seconds that each response has for the assertions, and again for the test; None is 600.
        use_docker: None takes the best isolation of this machine, False bubblewrap, True a container, a str or a list
            a container of that image.

    Returns:
        Without assertions `expected_success` (the chance that at least one of as many new responses passes, at the rate
        of these) and `success` (whether any passed). With assertions `index_selected` (the first that passes all of
        them, else the last of those that pass most, None without responses), `succeed_assertions`, `gen_cost` (the cost
        of making them in USD, None where a price is unknown), `assertions` (their source), and with a test `success` of
        the selected response.

    Raises:
        RequestError: an argument is not possible, such as a definition without a function; nothing has run.
        ModelError: the assertions could not be made.
        EnvironmentBuildError: what the definition or the test imports cannot be installed.
        SandboxError: the sandbox failed, which says nothing about the responses.
    """
    function = read_definition(definition, entry_point)
    programs = [complete_definition(function, response) for response in _read_responses(responses)]
    if test is not None:
        require_check(test)
    sources = tuple(text for text in (function.source, test, assertions) if isinstance(text, str))
    judge = replace(read_judge(timeout, use_docker), sources=sources)
    if assertions is None:
        return _success_of_all(await _test(judge, programs, function, test))
    source, cost = await source_of(assertions, definition) if programs or not callable(assertions) else (None, 0.0)
    selected, succeeded = await _select(judge, programs, function, source)
    chosen = [] if selected is None else [programs[selected]]
    tested = {} if test is None else {"success": any(await _test(judge, chosen, function, test))}
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


async def _test(
    judge: ProgramJudge, programs: Sequence[str], function: FunctionDefinition, test: str | None
) -> list[bool]:
    if test is None:
        raise RequestError("there is nothing to judge the responses by; pass a test, or assertions")
    reports = await in_daemon_thread(judge.judge, programs, function.name, CheckTests(test), function.source)
    return [report.passed for report in reports]


def _success_of_all(passed: Sequence[bool]) -> dict[str, Any]:
    chance = 1 - (1 - sum(passed) / len(passed)) ** len(passed) if passed else 0.0
    return {"expected_success": chance, "success": any(passed)}


async def source_of(assertions: Assertions, definition: str) -> tuple[str, float | None]:
    """The source of the assertions, made from the definition if they are a function, and the cost of that.

    Raises RequestError for source that checks nothing, ArgumentTypeError for a function that returns none; and what the
    function raises.
    """
    if not callable(assertions):
        if not can_fail(AssertTests(assertion_cases(assertions))):
            raise RequestError("the assertions check nothing; write asserts, or pass None to choose by the test alone")
        return assertions, 0.0
    made = getattr(assertions, "aio", assertions)(definition)
    made = await made if inspect.isawaitable(made) else made
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], str)):  # noqa: PLR2004 - source, cost
        raise ArgumentTypeError(f"what makes the assertions returned {made!r:.100}; it is to return (source, cost)")
    return made


async def _select(
    judge: ProgramJudge, programs: Sequence[str], function: FunctionDefinition, source: str | None
) -> tuple[int | None, bool]:
    """The index of the program that the assertions select, and whether it passes all of them."""
    cases = assertion_cases(source or "")
    if not programs:
        return None, False
    reports = await in_daemon_thread(judge.judge, programs, function.name, AssertTests(cases), function.source)
    passing = next((number for number, report in enumerate(reports) if report.passed), None)
    if passing is not None:
        return passing, True
    return max(range(len(reports)), key=lambda number: (_passed_cases(reports[number]), number)), False


def _passed_cases(report: ValuesReport) -> int:
    return sum(case.outcome == "passed" for case in report.cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramJudge:
    """Judges programs by checks, all at once on warm workers of a sandbox, with a time limit for each program.

    The imports of `sources`, the caller's own texts, are installed. Those of a program are not: untrusted code does not
    decide what is installed. The values that decide are compared in the judge's own process.
    """

    sandbox: SandboxChoice
    timeout_s: float
    sources: tuple[str, ...] = ()

    def judge(self, programs: Sequence[str], entry_point: str, tests: ValuesTests, context: str) -> list[ValuesReport]:
        """A report for each program, in order. Without programs no sandbox is opened.

        `context` is source that the tests may use.

        Raises:
            SandboxError: the sandbox failed for one of them, which says nothing about the program.
            RequestError: the tests are too long to be sent.
            EnvironmentBuildError: what the sources import cannot be installed.
        """
        limits = Limits(wall_s=self.timeout_s, memory_mib=_MEMORY_MIB)
        jobs = [
            ValuesJob(solution=program, entry_point=entry_point, tests=tests, context=context, limits=limits)
            for program in programs
        ]
        return self._run(jobs) if jobs else []

    def _run(self, jobs: Sequence[ValuesJob]) -> list[ValuesReport]:
        """Run all at once; then, a few at a time, those again that timed out because they had no processor."""
        with open_chosen_sandbox(self.sandbox, _environment(self.sources)) as opened:
            results = run_many(opened.sandbox, jobs, workers=min(len(jobs), _MAX_WORKERS))
            starved = [number for number, result in enumerate(results) if was_starved(result)]
            if len(jobs) > _PROCESSORS and starved:
                again = run_many(opened.sandbox, [jobs[number] for number in starved], workers=_PROCESSORS)
                results = [*results]
                for number, result in zip(starved, again, strict=True):
                    results[number] = result
        return [_verdict(number, result) for number, result in enumerate(results)]


def was_starved(result: ValuesReport | SandboxError) -> bool:
    """Whether a program timed out while it computed and others had the processor, so that the result says nothing."""
    if isinstance(result, SandboxError) or result.cause is None or result.cause.kind != "timed_out":
        return False
    return _IDLE_SHARE < result.cpu_s / result.wall_s < _BUSY_SHARE


def _environment(sources: Sequence[str]) -> InstalledEnvironment | None:
    imported = {name for source in sources for name in third_party_names(source)}
    requirements = requirements_of(tuple(sorted(imported)), ())
    return install(resolve(requirements)) if requirements else None


def read_judge(timeout: Any, use_docker: Any) -> ProgramJudge:
    """The judge for AutoGen's two arguments: seconds, None for its 600; and the sandbox, see `read_sandbox_choice`.

    Raises ArgumentTypeError, RequestError.
    """
    return ProgramJudge(
        sandbox=read_sandbox_choice(use_docker=use_docker, sandbox=None), timeout_s=read_timeout(timeout)
    )


def _verdict(number: int, result: ValuesReport | SandboxError) -> ValuesReport:
    if isinstance(result, SandboxError):
        raise result
    if result.cause and result.cause.kind in _CHECK_FAULTS:
        _log.warning("response %d fails by what checks it, not by itself: %s", number, result.cause.message)
    return result


class PassAssertionFilter:
    """Tells whether a response passes the assertions; if `assertions` is a function, the first response calls it.

    `metrics` is the result of `eval_function_completions` for the last response, and `responses` its texts, both None
    before the first; `cost` is that of making the assertions in USD, None where a price is unknown.
    """

    def __init__(self, assertions: Assertions, *, timeout: float | None = 3, use_docker: Any = None) -> None:
        self._assertions = assertions
        self._options = {"timeout": timeout, "use_docker": use_docker}
        self.cost: float | None = 0.0
        self.metrics: dict[str, Any] | None = None
        self.responses: list[str] | None = None

    @BothWays
    async def pass_assertions(self, /, context: Mapping[str, Any], response: Any, **_: Any) -> bool:
        """Whether one of the response's texts passes all assertions; also `await ....pass_assertions.aio(...)`.

        `context` has the `definition`. `response` is a response of OpenAI's API for chats or completions, as an object
        or a dict; or a text, or a list of texts. Other keywords are ignored, as in AutoGen.

        Raises as `eval_function_completions`, and RequestError for a response without texts.
        """
        definition = _field(context, "definition")
        if definition is None:
            raise RequestError("the context holds no definition; pass {'definition': 'def add(a, b): ...'}")
        texts = response_texts(response)
        metrics = await eval_function_completions.aio(texts, definition, assertions=self._assertions, **self._options)
        if callable(self._assertions) and metrics["assertions"] is not None:
            source = metrics["assertions"]
            self._assertions = lambda _: (source, 0.0)  # also where it is empty, so that it is paid for only once
        self.cost = add_costs(self.cost, metrics["gen_cost"])
        self.metrics, self.responses = metrics, texts
        return bool(metrics["succeed_assertions"])


def response_texts(response: Any) -> list[str]:
    """The texts of a model's response: one text, a list of them, or the choices of OpenAI's response.

    Raises ArgumentTypeError for anything else.
    """
    if isinstance(response, str):
        return [response]
    if isinstance(response, ModelReply):
        return [response.text]
    choices = _field(response, "choices")
    if choices is None and isinstance(response, Sequence) and all(isinstance(text, str) for text in response):
        return list(response)
    if not isinstance(choices, Sequence):
        raise ArgumentTypeError(f"the response is {type(response).__name__}; pass OpenAI's response, or its texts")
    return [_choice_text(choice) for choice in choices]


def _choice_text(choice: Any) -> str:
    text = _field(choice, "text")
    return text if isinstance(text, str) else content_str(_field(_field(choice, "message"), "content"))


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
