"""What the model answers, by side and scenario: replies by the name of the schema that a side asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from benchmarks.job import (
    CONSTRAINTS,
    ENDS_EARLY,
    IMPORTS_FIRST,
    IMPORTS_LATE,
    MAX_ITERATIONS,
    MISSING_PACKAGE,
    RIGHT,
    RIGHT_LINE,
    SLOW,
    TESTS,
    TESTS_WITHOUT_ASSERTIONS,
    WRONG,
    WRONG_LINE,
    draft,
    wrong,
)

SideName: TypeAlias = Literal["peer", "ours"]
Script: TypeAlias = dict[str, list[Any]]
PLAN = {"description": "Sums the revenue of the sales.", "approach": "Reads the CSV row by row and adds up."}


@dataclass(frozen=True)
class Scenario:
    """One way that a run can go. `drafts` are the solutions that the model gives, `error_type` what ails the first."""

    name: str
    drafts: tuple[str, ...]
    error_type: Literal["none", "logic", "environment"] = "none"
    tests: str = TESTS
    iterations: int = MAX_ITERATIONS
    samples: int = 1
    constraints: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        """What the driver of a side is told about the job."""
        asked = [word for constraint in self.constraints for word in ("--constraint", constraint)]
        return ["--iterations", str(self.iterations), "--samples", str(self.samples), *asked]


RIGHT_FIRST_TIME = Scenario("right first time", (RIGHT,))
LOGIC_REPAIR = Scenario("one logic repair", (WRONG, RIGHT), "logic")
MISSING_LATE = Scenario("one missing package, imported late", (IMPORTS_LATE,), "environment")
MISSING_FIRST = Scenario("one missing package, imported at the top", (IMPORTS_FIRST,), "environment")
KILLED = Scenario("killed after all calls", (SLOW,))
DEFAULT_ITERATIONS = 10
NEVER_RIGHT = Scenario(
    "never right, default settings", tuple(map(wrong, range(1, 21))), "logic", iterations=DEFAULT_ITERATIONS
)
TEN_REPAIRS = Scenario(
    "never right, ten repairs", tuple(map(wrong, range(1, 21))), "logic", iterations=DEFAULT_ITERATIONS + 1
)
CONSTRAINED = Scenario("5 constraints on 3 samples", (RIGHT,), samples=3, constraints=CONSTRAINTS)
ENDED_EARLY = Scenario("os._exit(0) in the solution", (ENDS_EARLY,), iterations=1)
UNASSERTED = Scenario("wrong, by tests that assert nothing", (WRONG,), tests=TESTS_WITHOUT_ASSERTIONS, iterations=1)


def script(side: SideName, scenario: Scenario, numbers: Iterable[int]) -> Script:
    """The replies for these requests, one after the other. The last of each kind may be repeated."""
    write = _peer_replies if side == "peer" else _our_replies
    return _merge(write(scenario, number) for number in numbers)


def _merge(scripts: Iterable[Script]) -> Script:
    merged: Script = {}
    for one in scripts:
        for name, replies in one.items():
            merged.setdefault(name, []).extend(replies)
    return merged


def _our_replies(scenario: Scenario, number: int) -> Script:
    codes = [draft(code, number) for code in scenario.drafts]
    replies: Script = {
        "SolutionReply": [_our_solution(codes[0])],
        "TestsReply": [{"test_code": draft(scenario.tests, number)}],
        "ConstraintsReply": [{"rules": []}],
    }
    if scenario is LOGIC_REPAIR:
        replies["RepairReply"] = [_our_repair(edits=[{"search": WRONG_LINE, "replace": RIGHT_LINE}])]
    elif scenario.error_type == "logic":
        # Which of the two is asked for is the loop's own affair: every one of them is another wrong solution.
        replies["SolutionReply"] = [_our_solution(code) for code in codes[::2]]
        replies["RepairReply"] = [_our_repair(code=code) for code in codes[1::2]]
    return replies


def _our_solution(code: str) -> dict[str, Any]:
    return {**PLAN, "code": code, "packages": [], "system_packages": []}


def _our_repair(**change: Any) -> dict[str, Any]:
    return {
        "cause": "The line adds quantity and price instead of multiplying them.",
        "error_type": "logic",
        "edits": [],
        "code": None,
        "test_code": None,
        "packages": [],
        "system_packages": [],
        **change,
    }


def _peer_replies(scenario: Scenario, number: int) -> Script:
    solutions = [{"language": "python", "code": draft(code, number), "system_packages": []} for code in scenario.drafts]
    replies: Script = {
        "CodePlan": [PLAN],
        "CodeSolution": solutions,
        "_PackageDetectionResponse": [{"packages": []} for _ in solutions],
        # Its tests are asked for as plain text, under no schema.
        "*": [draft(scenario.tests, number)],
        "_ConstraintParse": [_PEER_CONSTRAINT],
    }
    if scenario.error_type != "none":
        replies["ErrorDiagnosis"] = [_PEER_DIAGNOSES[scenario.error_type]()]
        replies["FixVerification"] = [_PEER_VERIFICATION]
    return replies


_PEER_CONSTRAINT = {
    "column_name": "quantity",
    "check_type": "none",
    "parameters": {"value": None, "min": None, "max": None, "pattern": None, "values": None},
    "explanation": "no condition on one column",
}
_PEER_VERIFICATION = {
    "all_fixes_applied": True,
    "applied_fixes": ["test_the_total_is_quantity_times_price"],
    "missing_fixes": [],
    "explanation": "The line multiplies now.",
}


def _logic_diagnosis() -> dict[str, Any]:
    tests = ("test_the_total_is_quantity_times_price", "test_the_outputs_are_written")
    failures = [_peer_failure(test, "logic", "assert", "Replace `+` by `*`.") for test in tests]
    return _peer_diagnosis(failures, [])


def _environment_diagnosis() -> dict[str, Any]:
    message = f"ModuleNotFoundError: No module named '{MISSING_PACKAGE}'"
    failure = _peer_failure("test_the_total_is_quantity_times_price", "environment", message, "Install the package.")
    return _peer_diagnosis([failure], [MISSING_PACKAGE])


def _peer_failure(test: str, error_type: str, message: str, fix: str) -> dict[str, str]:
    return {
        "test_name": test,
        "error_message": message,
        "expected_behavior": "8.0",
        "actual_behavior": "another value",
        "root_cause": "The line adds quantity and price.",
        "suggested_fix": fix,
        "error_type": error_type,
    }


def _peer_diagnosis(failures: list[dict[str, str]], packages: list[str]) -> dict[str, Any]:
    return {
        "failures": failures,
        "needs_system_packages": [],
        "needs_language_packages": packages,
        "needs_additional_commands": [],
    }


_PEER_DIAGNOSES: dict[str, Callable[[], dict[str, Any]]] = {
    "logic": _logic_diagnosis,
    "environment": _environment_diagnosis,
}
