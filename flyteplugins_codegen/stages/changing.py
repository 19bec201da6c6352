"""A repair's reply applied to a candidate: whole or not at all, and never against what is right by definition."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from flyteplugins_codegen.llm.replies import RepairReply
from flyteplugins_codegen.models.candidate import Candidate, CodeSolution
from flyteplugins_codegen.models.run import Attempt, Blame
from flyteplugins_codegen.source.blocks import unfence
from flyteplugins_codegen.source.edits import apply_edits
from flyteplugins_codegen.source.test_functions import find_test_functions
from flyteplugins_codegen.stages.blame import failed_beyond_blame, flaw_of_tests


def apply_repair(attempt: Attempt, reply: RepairReply) -> Candidate:
    """The attempt's candidate with the reply's change, whole. Nothing need change where only the data did.

    Raises ValueError where an edit does not apply or nothing changes.
    """
    candidate = attempt.candidate
    code, tests = candidate.solution.code, candidate.tests
    edits = [(edit.search, edit.replace) for edit in reply.edits]
    of_tests = edits if reply.error_type == "test_error" else []
    if tests is not None:  # where none were asked for, none are taken: nothing would run them
        tests = _changed(tests, reply.test_code, of_tests)
    solution = CodeSolution(
        language=candidate.solution.language,
        code=_changed(code, reply.code, [] if of_tests else edits),
        packages=_repaired_names(attempt, candidate.solution.packages, reply.packages),
        system_packages=_repaired_names(attempt, candidate.solution.system_packages, reply.system_packages),
    )
    repaired = candidate.model_copy(update={"solution": solution, "tests": tests})
    if repaired == candidate and not _only_drifted(attempt):
        raise ValueError("the reply changes nothing: give edits, code, test_code or packages")
    failed = failed_beyond_blame(attempt.report)
    if failed and changed_part(candidate, repaired) == "tests":
        raise ValueError(f"{failed} failed, which is right by definition: change solution.py, not the generated tests")
    flawed = flaw_of_tests(attempt.report)
    if flawed and not failed and repaired.tests == candidate.tests:
        raise ValueError(f"whatever solution.py does, {flawed}: give test_code, or edits with error_type test_error")
    return repaired


def _only_drifted(attempt: Attempt) -> bool:
    return attempt.cause is not None and attempt.cause.kind == "data_drift"


def changed_part(before: Candidate, after: Candidate) -> Blame:
    """What a repair took to be wrong, by what it changed: the solution where it changed that among others."""
    if before.solution.code != after.solution.code:
        return "solution"
    return "tests" if before.tests != after.tests else "environment"


def tests_left_out(before: Candidate, after: Candidate) -> tuple[str, ...]:
    """The test functions that a change took away; none of tests that are not Python."""
    kept = _test_names(after.tests)
    return tuple(name for name in _test_names(before.tests) if name not in kept)


def _test_names(tests: str | None) -> tuple[str, ...]:
    try:
        return tuple(function.name for function in find_test_functions(tests or ""))
    except SyntaxError:
        return ()


def _changed(text: str, whole: str | None, edits: list[tuple[str, str]]) -> str:
    if whole and whole.strip():
        return unfence(whole)
    return apply_edits(text, edits) if edits else text


def _repaired_names(attempt: Attempt, have: tuple[str, ...], wanted: list[str]) -> tuple[str, ...]:
    """The packages as the reply has them: a name that it gives replaces the same one, and what was to blame goes.

    Where packages conflict no single one is to blame: then those that the reply gives take the place of all.
    """
    cause = attempt.cause
    unavailable = cause is not None and cause.kind == "package_unavailable"
    if cause is not None and unavailable and not cause.subject and wanted:
        return tuple(dict.fromkeys(wanted))
    gone = {_name(package) for package in wanted}
    if cause is not None and unavailable:
        gone.add(_name(cause.subject))
    return (*(package for package in have if _name(package) not in gone), *dict.fromkeys(wanted))


def _name(requirement: str) -> str:
    """The normalised name of a requirement; what is none stands for itself."""
    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return requirement.strip()
