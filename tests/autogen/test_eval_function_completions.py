"""Judging responses and choosing one, in real sandboxes."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from flyteplugins_codegen.autogen import completions
from flyteplugins_codegen.autogen.completions import eval_function_completions, was_starved
from flyteplugins_codegen.errors import ArgumentTypeError, PackageError, RequestError, SandboxError
from flyteplugins_codegen.judging.values.run import ValuesJob
from flyteplugins_codegen.models.run import Cause, ValuesReport
from flyteplugins_codegen.sandbox.bubblewrap import Bubblewrap
from flyteplugins_codegen.sandbox.contract import Execution, Job

DEFINITION = (
    "from typing import List\n\n\ndef double(x):\n    return x * 2\n\n\n"
    'def total(xs: List[int]):\n    """The sum of the doubled values.\n\n    >>> total([1, 2])\n    6\n    """\n'
)
TEST = (
    "def check(candidate):\n    assert candidate([]) == 0\n    assert candidate([1, 2]) == 6\n"
    "    assert candidate([4]) == double(4)\n"
)
ASSERTIONS = "assert total([]) == 0\nassert total([1, 2]) == 6"
RIGHT = "    return sum(double(x) for x in xs)\n"
WHOLE = "def total(xs):\n    return sum(double(x) for x in xs)"
CHAT = f"Sure!\n\n```python\n{WHOLE}\n```\n\nIt sums."
UNDOUBLED = "    return sum(xs)\n"
NEVER = "    while True:\n        pass\n"
FORGED = "    import os\n    os._exit(0)\n"


def test_without_assertions_the_share_that_passes_is_told_as_autogen_does() -> None:
    responses = [RIGHT, UNDOUBLED, CHAT, NEVER]
    metrics = eval_function_completions(responses, DEFINITION, TEST, "total", timeout=1)
    assert metrics == {"expected_success": 1 - 0.5**4, "success": True}
    assert responses == [RIGHT, UNDOUBLED, CHAT, NEVER]


def test_none_that_passes_is_no_success_and_no_chance_of_any() -> None:
    responses = [UNDOUBLED, FORGED, "I am sorry.", "\0", "\ud800", "    return ("]
    assert eval_function_completions(responses, DEFINITION, TEST) == {"expected_success": 0.0, "success": False}


@pytest.mark.parametrize("response", [RIGHT, WHOLE, CHAT], ids=["body", "whole", "chat"])
def test_one_response_is_judged_by_the_assertions_too(response: str) -> None:
    chosen = {"index_selected": 0, "gen_cost": 0.0, "assertions": ASSERTIONS}
    metrics = eval_function_completions([response], DEFINITION, assertions=ASSERTIONS)
    assert metrics == {**chosen, "succeed_assertions": True}
    wrong = eval_function_completions([UNDOUBLED], DEFINITION, TEST, assertions=ASSERTIONS)
    assert wrong == {**chosen, "succeed_assertions": False, "success": False}


def test_the_first_that_passes_the_assertions_is_selected_and_it_alone_is_tested() -> None:
    fits_the_assertions = "    return {0: 0, 2: 6}.get(len(xs), 1)\n"
    metrics = eval_function_completions(
        [UNDOUBLED, fits_the_assertions, RIGHT], DEFINITION, TEST, "total", assertions=ASSERTIONS
    )
    assert (metrics["index_selected"], metrics["succeed_assertions"], metrics["success"]) == (1, True, False)


@pytest.mark.parametrize(
    ("responses", "selected"),
    [([FORGED, UNDOUBLED, FORGED], 1), ([UNDOUBLED, UNDOUBLED], 1)],
    ids=["most assertions passed", "the last among equals"],
)
def test_of_those_that_all_fail_the_best_is_selected(responses: list[str], selected: int) -> None:
    metrics = eval_function_completions(responses, DEFINITION, assertions=ASSERTIONS)
    assert (metrics["index_selected"], metrics["succeed_assertions"]) == (selected, False)


def test_of_no_responses_none_is_selected_and_nothing_is_generated() -> None:
    def generate(_: str) -> tuple[str, float]:
        raise AssertionError("nobody needs assertions")

    assert eval_function_completions([], DEFINITION, TEST) == {"expected_success": 0.0, "success": False}
    assert eval_function_completions([], DEFINITION, TEST, assertions=generate) == {
        "index_selected": None,
        "succeed_assertions": False,
        "success": False,
        "gen_cost": 0.0,
        "assertions": None,
    }


@pytest.mark.parametrize("cost", [0.25, None])
def test_assertions_are_generated_of_the_definition_once(cost: float | None) -> None:
    asked: list[str] = []

    def generate(definition: str) -> tuple[str, float | None]:
        asked.append(definition)
        return ASSERTIONS, cost

    metrics = eval_function_completions([UNDOUBLED, RIGHT], DEFINITION, assertions=generate)
    assert asked == [DEFINITION]
    assert metrics == {"index_selected": 1, "succeed_assertions": True, "gen_cost": cost, "assertions": ASSERTIONS}


async def test_it_can_be_awaited_with_a_generator_that_is_awaited() -> None:
    async def generate(_: str) -> tuple[str, float]:
        return ASSERTIONS, 0.0

    metrics = await eval_function_completions.aio([RIGHT], DEFINITION, assertions=generate)
    assert metrics["succeed_assertions"]
    assert eval_function_completions([RIGHT], DEFINITION, assertions=ASSERTIONS)["succeed_assertions"]


def test_no_generated_assertion_is_nothing_to_pass() -> None:
    metrics = eval_function_completions([RIGHT], DEFINITION, assertions=lambda _: ("", 0.0))
    assert (metrics["index_selected"], metrics["succeed_assertions"]) == (0, False)


def test_what_the_definition_imports_is_installed_and_what_a_response_alone_imports_is_not() -> None:
    definition = "from packaging.version import Version\n\n\ndef newer(a, b):\n    pass\n"
    assertions = "assert newer('1.10', '1.9')\nassert not newer('1.9', '1.10')"
    right = "    return Version(a) > Version(b)"
    unknown = "    import wheel\n    return Version(a) > Version(b)"
    metrics = eval_function_completions([unknown, right], definition, assertions=assertions)
    assert (metrics["index_selected"], metrics["succeed_assertions"]) == (1, True)
    with pytest.raises(PackageError, match="no-such"):
        eval_function_completions([right], f"import no_such_package_anywhere\n{definition}", assertions=assertions)


def test_responses_run_side_by_side() -> None:
    responses = ["    import time\n    time.sleep(20)\n"] * 8 + [RIGHT]
    started = time.perf_counter()
    assert eval_function_completions(responses, DEFINITION, TEST, timeout=1)["success"]
    assert time.perf_counter() - started < 6


def timed_out(cpu_s: float, wall_s: float = 1.0, kind: Any = "timed_out") -> ValuesReport:
    return ValuesReport(cause=Cause(kind=kind, message="it had not ended"), cpu_s=cpu_s, wall_s=wall_s)


def test_what_says_that_others_took_a_response_s_time() -> None:
    assert was_starved(timed_out(0.2))
    assert not was_starved(timed_out(0.99))  # it had all of its time
    assert not was_starved(timed_out(0.01))  # it waited for something
    assert not was_starved(timed_out(0.2, kind="test_failed"))
    assert not was_starved(ValuesReport(cpu_s=0.2, wall_s=1.0))
    assert not was_starved(SandboxError("no verdict"))


def test_a_response_whose_time_the_others_took_is_judged_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def run(_: Any, jobs: Sequence[ValuesJob], *, workers: int) -> list[ValuesReport]:
        asked.append((len(jobs), workers))
        return [timed_out(0.2), timed_out(0.99), ValuesReport()] if len(jobs) == 3 else [ValuesReport()]

    monkeypatch.setattr(completions, "run_many", run)
    monkeypatch.setattr(completions, "_PROCESSORS", 2)
    assert eval_function_completions([RIGHT, NEVER, WHOLE], DEFINITION, TEST)["expected_success"] == pytest.approx(
        1 - (1 / 3) ** 3
    )
    assert asked == [(3, 3), (1, 2)]


def test_a_response_of_ten_megabytes_fails_and_takes_no_time() -> None:
    started = time.perf_counter()
    responses = ["    xs = []\n" * 1_000_000, RIGHT, "x" * 10_000_000]
    assert eval_function_completions(responses, DEFINITION, TEST)["expected_success"] == pytest.approx(1 - (2 / 3) ** 3)
    assert time.perf_counter() - started < 10


def test_a_fault_of_the_sandbox_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Bubblewrap, jobs: Iterable[Job], *, on_result: Any, **__: Any) -> None:
        for number, _job in enumerate(jobs):
            on_result(number, Execution(status="sandbox_error", message="the disk is full"))

    monkeypatch.setattr(Bubblewrap, "map", fail)
    with pytest.raises(SandboxError, match="the disk is full"):
        eval_function_completions([RIGHT], DEFINITION, TEST, use_docker=False)


@pytest.mark.parametrize(
    "test",
    [
        "def check(candidate):\n    assert candidate(object()) == 0\n",
        "ZERO = nowhere\n\n\ndef check(candidate):\n    assert candidate([]) == ZERO\n",
    ],
    ids=["no plain data", "a broken test"],
)
def test_what_a_test_is_to_blame_for_fails_and_is_told_in_the_log(test: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "flyteplugins_codegen"):
        assert not eval_function_completions([RIGHT], DEFINITION, test)["success"]
    assert "response 0 fails by what checks it, not by itself" in caplog.text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"responses": RIGHT}, "the responses are str; pass a list"),
        ({"responses": None}, "the responses are NoneType"),
        ({"responses": [RIGHT, None]}, "response 1 is NoneType"),
        ({"definition": "x = 1"}, "holds no function"),
        ({"definition": None}, "the definition is NoneType"),
        ({"entry_point": "sum"}, "no function 'sum'"),
        ({"test": None}, "nothing to judge the responses by"),
        ({"test": "assert total([])"}, "defines no function check"),
        ({"test": 3}, "the test: int"),
        ({"assertions": ""}, "check nothing"),
        ({"assertions": "total([])"}, "check nothing"),
        ({"assertions": "assert total(["}, "the assertions, line 1"),
        ({"assertions": 3}, "the assertions: int"),
        ({"assertions": lambda _: "assert total([])"}, r"return \(source, cost\)"),
        ({"timeout": 0}, "seconds above 0"),
        ({"timeout": float("nan")}, "seconds above 0"),
        ({"timeout": "3"}, "timeout is str"),
        ({"timeout": True}, "timeout is bool"),
        ({"use_docker": 1.5}, "use_docker is 1.5"),
        ({"use_docker": []}, r"use_docker=\[\]"),
    ],
)
def test_what_is_not_possible_is_refused(changes: dict[str, Any], said: str) -> None:
    arguments = {"responses": [RIGHT], "definition": DEFINITION, "test": TEST}
    with pytest.raises(RequestError, match=said):
        eval_function_completions(**{**arguments, **changes})


@pytest.mark.parametrize(
    "name", ["responses", "definition", "entry_point", "test", "assertions", "timeout", "use_docker"]
)
def test_what_is_of_a_wrong_type_is_a_type_error(name: str) -> None:
    def generate(_: str) -> tuple[str, float]:
        raise AssertionError("nothing is spent on a call that is not possible")

    arguments = {"responses": [RIGHT], "definition": DEFINITION, "test": TEST, "assertions": generate}
    with pytest.raises(ArgumentTypeError):
        eval_function_completions(**{**arguments, name: {}})
