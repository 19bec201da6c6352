"""The verdict on a suite: its report, compared with the declared tests and with how the processes ended.

A suite passes if every declared test reported and passed, nothing else failed, and the exit status that pytest
announced agrees with the one that the parent process saw. Anything else has a cause. A skipped test did not pass: in
the user's own tests a skip that their text mentions is the user's choice, and is allowed beside at least one test that
passed; in generated tests it is a failure, or a suite could pass by omission.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast, get_args

from flyteplugins_codegen.judging.causes import missing_module_cause, signal_name
from flyteplugins_codegen.models.run import Cause, Outcome, SuiteOrigin, TestOutcome
from flyteplugins_codegen.source.python import parse_python
from flyteplugins_codegen.text import failure_text, shorten_middle

_OUTCOMES: Final = frozenset(get_args(Outcome))
_ALL_PASSED: Final = 0
_FIXTURE_MISSING: Final = "FixtureLookupError"
_NAMES_SHOWN: Final = 10
_SKIPPING: Final = frozenset(
    {"skip", "skipif", "skipIf", "skipUnless", "skipTest", "SkipTest", "importorskip", "xfail", "expectedFailure"}
)
_UNCONFIRMED: Final = "it is reported as passed, but its body never came to its end"
_SWALLOWED: Final = (
    "an assertion of the test failed, but something took the exception that the test's own text does not show "
    "(a context manager of the solution's, or a caller of a function of the test's)"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception as the runner described it. `missing` is the module that an import did not find."""

    type: str = ""
    message: str = ""
    missing: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteEvidence:
    """Everything that the runner reported.

    `ended` is pytest's exit status as the candidate's process reported it; `exit_status` is that process's real status
    as its parent saw it (negative for a signal), None if the parent itself did not survive. `has_begun`: the parent
    reported its start, before the solution was imported. `no_pytest` and `unprepared` say why pytest could not be
    imported, or why the tests could not be prepared; both come before the import of the solution too.

    For each test, `ended_functions` are the functions that confirmed their end while it ran, and `failed_assertions` is
    the number of its assertions that reported a failure. `unconfirmed` are tests that were reported as passed without a
    confirmation.
    """

    tests: tuple[TestOutcome, ...] = ()
    failures: Mapping[str, Failure] = field(default_factory=dict)
    ended_functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed_assertions: Mapping[str, int] = field(default_factory=dict)
    unconfirmed: tuple[str, ...] = ()
    running: str = ""
    import_failure: Failure | None = None
    collect_failure: Failure | None = None
    suspicions: tuple[str, ...] = ()
    has_begun: bool = False
    no_pytest: str = ""
    unprepared: str = ""
    broken: str = ""
    ended: int | None = None
    exit_status: int | None = None
    output: str = ""


def read_evidence(stdout: bytes, nonce: str) -> SuiteEvidence:
    """The evidence in the lines that begin with the nonce; all other lines on stdout are ignored."""
    return gather_evidence(_records(stdout.decode(errors="replace").splitlines(), nonce))


def gather_evidence(records: Iterable[Mapping[str, Any]]) -> SuiteEvidence:
    """The evidence in a report's records, in their order."""
    records = list(records)
    finished = {_name(record): record for record in records if record["kind"] == "finished"}
    started = [_name(record) for record in records if record["kind"] == "started"]
    suspicious = [record for record in records if record["kind"] in {"tampered", "forged"}]
    return SuiteEvidence(
        tests=tuple(_outcome(name, record) for name, record in finished.items()),
        failures={name: _failure(record) for name, record in finished.items()},
        ended_functions={name: tuple(record.get("confirmed", ())) for name, record in finished.items()},
        failed_assertions={name: int(record.get("failed_assertions", 0)) for name, record in finished.items()},
        running=next((name for name in reversed(started) if name not in finished), ""),
        import_failure=_first_failure(records, "import_failed"),
        collect_failure=_first_failure(records, "collect_failed"),
        suspicions=tuple(dict.fromkeys(_suspicion(record) for record in suspicious)),
        has_begun=any(record["kind"] == "begun" for record in records),
        no_pytest=_last(records, "no_pytest", "message", ""),
        unprepared=_last(records, "unprepared", "message", ""),
        broken=_last(records, "broken", "message", ""),
        ended=_status(_last(records, "end", "status", None)),
        exit_status=_status(_last(records, "exit", "status", None)),
        output=str(_last(records, "exit", "output", "")),
    )


def _records(lines: Iterable[str], nonce: str) -> Iterable[dict[str, Any]]:
    for line in lines:
        mark, _, text = line.partition(" ")
        if mark == nonce and (record := _parsed(text)) is not None:
            yield record


def _parsed(text: str) -> dict[str, Any] | None:
    """The record of a line; None for one that was cut off: it then counts as not reported."""
    try:
        record = json.loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "kind" in record else None


def _name(record: Mapping[str, Any]) -> str:
    """`TestA::test_b[1]` for `test_solution.py::TestA::test_b[1]`."""
    return str(record["name"]).partition("::")[2]


def _outcome(name: str, record: Mapping[str, Any]) -> TestOutcome:
    outcome = str(record.get("outcome"))
    return TestOutcome(
        name=name,
        outcome=cast("Outcome", outcome) if outcome in _OUTCOMES else "error",
        message=failure_text(str(record.get("message", ""))),
        traceback=failure_text(str(record.get("traceback", ""))),
        variables=failure_text(str(record.get("variables", ""))),
        duration_s=float(record.get("seconds", 0.0)),
    )


def _failure(record: Mapping[str, Any]) -> Failure:
    texts = {name: str(record.get(name, "")) for name in ("type", "message", "missing", "traceback")}
    return Failure(
        type=texts["type"],
        message=failure_text(texts["message"]),
        missing=texts["missing"],
        traceback=failure_text(texts["traceback"]),
    )


def _first_failure(records: Iterable[Mapping[str, Any]], kind: str) -> Failure | None:
    return next((_failure(record) for record in records if record["kind"] == kind), None)


def _last(records: list[Mapping[str, Any]], kind: str, key: str, default: Any) -> Any:
    return next((record.get(key, default) for record in reversed(records) if record["kind"] == kind), default)


def _status(value: Any) -> int | None:
    return None if value is None else int(value)


def _suspicion(record: Mapping[str, Any]) -> str:
    if record["kind"] == "forged":
        return "something other than the runner wrote to its channel"
    return failure_text(str(record.get("text", "")), 200)


# --- the verdict ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Charge:
    """The evidence to judge. `expected` are the tests that the source declares; `may_skip`: its text mentions skips."""

    evidence: SuiteEvidence
    expected: tuple[str, ...]
    origin: SuiteOrigin
    may_skip: bool


def judge_suite(charge: Charge) -> Cause | None:
    """The first cause of the suite's failure, or None if it passed."""
    return next((cause for judge in _JUDGES if (cause := judge(charge)) is not None), None)


def missing_tests(evidence: SuiteEvidence, expected: Sequence[str]) -> tuple[TestOutcome, ...]:
    """An outcome `missing` for each declared test that did not report; cases of one test are matched by count."""
    reported = Counter(_base(test.name) for test in evidence.tests)
    declared: dict[str, list[str]] = {}
    for name in expected:
        declared.setdefault(_base(name), []).append(name)
    absent = [name for base, names in declared.items() for name in names[reported[base] :]]
    return tuple(TestOutcome(name=name, outcome="missing", message="it did not report") for name in absent)


def _base(name: str) -> str:
    return name.partition("[")[0]


def _untrusted(message: str, subject: str = "") -> Cause:
    return Cause(kind="untrusted_report", subject=subject, message=message)


def _parent_ended(charge: Charge) -> Cause | None:
    if charge.evidence.exit_status is not None:
        return None
    where = f" while {charge.evidence.running} was running" if charge.evidence.running else ""
    return _untrusted(
        f"the process that watches the tests was ended from within{where}; the solution must not end other processes",
        charge.evidence.running,
    )


def _tampered(charge: Charge) -> Cause | None:
    if not charge.evidence.suspicions:
        return None
    found = "; ".join(charge.evidence.suspicions)
    return _untrusted(
        f"the tests cannot be trusted: {found}; the solution must leave the tests, the test libraries and the frames "
        "of its callers alone (traceback.format_exc() gives the text of an exception)"
    )


def _import_failed(charge: Charge) -> Cause | None:
    failure = charge.evidence.import_failure
    if failure is None:
        return None
    if failure.type in {"SystemExit", "KeyboardInterrupt"}:
        message = (
            f"importing solution.py ended the process ({failure.message}); keep what runs the script behind "
            "`if __name__ == '__main__':`, so that tests can import its functions"
        )
        return Cause(kind="exception", subject=failure.type, message=_with_lines(message, failure))
    message = _with_lines(f"importing solution.py failed: {failure.message}", failure)
    return missing_module_cause(failure.missing, message) or Cause(
        kind="exception", subject=failure.type, message=message
    )


def _collect_failed(charge: Charge) -> Cause | None:
    failure = charge.evidence.collect_failure
    if failure is None:
        return None
    message = _with_lines(f"importing test_solution.py failed: {failure.message}", failure)
    found = missing_module_cause(failure.missing, message)
    if found is not None:
        return found
    # Names that the user's own tests import are part of what was asked for; those of generated tests were guessed.
    lacks_name = failure.type == "ImportError" and "from 'solution'" in failure.message
    if lacks_name and charge.origin == "user":
        return Cause(kind="exception", subject="ImportError", message=message)
    return Cause(kind="broken_tests", subject=failure.type, message=message)


def _ended_early(charge: Charge) -> Cause | None:
    evidence = charge.evidence
    if evidence.ended is not None and evidence.ended == evidence.exit_status:
        return None
    where = f"while {evidence.running} was running" if evidence.running else "before the tests had ended"
    if evidence.exit_status is not None and evidence.exit_status < 0:
        ended = f"the process was ended by {signal_name(-evidence.exit_status)} {where}"
        return Cause(kind="exception", subject=evidence.running, message=f"{ended}\n{evidence.output[-500:]}".strip())
    if evidence.ended is None:
        return _untrusted(
            f"the process ended with status {evidence.exit_status} {where}, without reporting; "
            f"the solution must not end the process itself\n{evidence.broken}".strip(),
            evidence.running,
        )
    return _untrusted(f"the tests ended with status {evidence.ended}, their process with {evidence.exit_status}")


def _unconfirmed(charge: Charge) -> Cause | None:
    if not charge.evidence.unconfirmed:
        return None
    first = charge.evidence.unconfirmed[0]
    names = ", ".join(charge.evidence.unconfirmed[:_NAMES_SHOWN])
    return _untrusted(f"reported as passed, though their bodies never came to their ends: {names}", first)


def _nothing_ran(charge: Charge) -> Cause | None:
    ran = [test for test in charge.evidence.tests if test.outcome not in {"skipped", "missing"}]
    if ran:
        return None
    skipped = [test.message for test in charge.evidence.tests if test.outcome == "skipped"]
    why = f"every test was skipped: {skipped[0]}" if skipped else "no test of test_solution.py ran"
    return Cause(kind="nothing_ran", message=why)


def _some_failed(charge: Charge) -> Cause | None:
    accepted = {"passed", "skipped"} if charge.origin == "user" and charge.may_skip else {"passed"}
    failed = [test for test in charge.evidence.tests if test.outcome not in accepted]
    if not failed:
        return None
    first = failed[0]
    failure = charge.evidence.failures.get(first.name, Failure())
    message = _with_lines(f"{first.name}: {first.message or first.outcome}", failure)
    others = ", ".join(test.name for test in failed[1 : _NAMES_SHOWN + 1])
    if others:
        message += f"\n{len(failed) - 1} more did not pass: {others}"
    if failure.type == _FIXTURE_MISSING:
        return Cause(kind="broken_tests", subject=first.name, message=message)
    missing = [test for test in failed if charge.evidence.failures.get(test.name, Failure()).missing]
    found = missing_module_cause(charge.evidence.failures[missing[0].name].missing, message) if missing else None
    return found or Cause(kind="test_failed", subject=first.name, message=message)


def _not_all_reported(charge: Charge) -> Cause | None:
    absent = missing_tests(charge.evidence, charge.expected)
    if not absent:
        return None
    names = ", ".join(test.name for test in absent[:_NAMES_SHOWN])
    return _untrusted(
        f"{len(absent)} of {len(charge.expected)} declared tests did not report: {names}; "
        "a test must not be removed, replaced or hidden by a condition",
        absent[0].name,
    )


def _status_disagrees(charge: Charge) -> Cause | None:
    if charge.evidence.exit_status == _ALL_PASSED:
        return None
    return _untrusted(f"every test is reported as passed, and yet the tests ended with {charge.evidence.exit_status}")


def _with_lines(message: str, failure: Failure) -> str:
    return shorten_middle(f"{message}\n{failure.traceback}" if failure.traceback else message)


_JUDGES: Final[tuple[Callable[[Charge], Cause | None], ...]] = (
    _parent_ended,
    _tampered,
    _import_failed,
    _collect_failed,
    _ended_early,
    _unconfirmed,
    _nothing_ran,
    _some_failed,
    _not_all_reported,
    _status_disagrees,
)


# --- the suite's source -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSource:
    """`functions` are the test functions, as `test_a` and `TestB::test_c`; `bases` the base classes of each class."""

    functions: frozenset[str] = frozenset()
    bases: Mapping[str, tuple[str, ...]]
    may_skip: bool = False

    def functions_of(self, test: str) -> frozenset[str]:
        """The functions that a test may run: its own, or one that its class inherits.

        Empty if the text shows none, for a test that was made while the tests were imported.
        """
        folder, _, name = test.partition("[")[0].rpartition("::")
        classes = self._lineage(folder)
        own = (f"{each}::{name}" if each else name for each in classes)
        return self.functions.intersection(own)

    def _lineage(self, name: str) -> tuple[str, ...]:
        """The class and all its bases, as far as the module defines them."""
        found: dict[str, None] = {}
        waiting = [name]
        while waiting:
            each = waiting.pop()
            if each not in found:
                found[each] = None
                waiting += self.bases.get(each, ())
        return tuple(found)


def read_suite(source: str) -> SuiteSource:
    """What the source declares. Raises SyntaxError, but the source has been compiled before."""
    module = parse_python(source)
    bases = {name: _base_names(node) for name, node in _classes(module.body)}
    names = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(module)}
    imported = {alias.name for node in ast.walk(module) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return SuiteSource(
        functions=frozenset(_functions(module.body)),
        bases=bases,
        may_skip=not _SKIPPING.isdisjoint(names | imported),
    )


def _functions(body: Iterable[ast.AST], prefix: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test"):
                yield prefix + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}::")
        else:
            yield from _functions(ast.iter_child_nodes(node), prefix)


def _classes(body: Iterable[ast.AST], prefix: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from _classes(node.body, f"{prefix}{node.name}::")
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _classes(ast.iter_child_nodes(node), prefix)


def _base_names(node: ast.ClassDef) -> tuple[str, ...]:
    return tuple(ast.unparse(base).replace(".", "::") for base in node.bases)


# --- cross-check of reported results ----------------------------------------------------------------------------------


def cross_check(evidence: SuiteEvidence, source: SuiteSource) -> SuiteEvidence:
    """The evidence with corrected outcomes, and with the names of passed tests that did not confirm their end."""
    unconfirmed = tuple(test.name for test in evidence.tests if _is_unconfirmed(test, evidence, source))
    tests = tuple(_settled(test, evidence, frozenset(unconfirmed)) for test in evidence.tests)
    return replace(evidence, tests=tests, unconfirmed=unconfirmed)


def _is_unconfirmed(test: TestOutcome, evidence: SuiteEvidence, source: SuiteSource) -> bool:
    """Whether a test is reported as passed although none of the functions that it may run confirmed its end."""
    functions = source.functions_of(test.name) if test.outcome == "passed" else frozenset[str]()
    return bool(functions) and functions.isdisjoint(evidence.ended_functions.get(test.name, ()))


def _settled(test: TestOutcome, evidence: SuiteEvidence, unconfirmed: frozenset[str]) -> TestOutcome:
    if test.name in unconfirmed:
        return test.model_copy(update={"outcome": "error", "message": _UNCONFIRMED})
    if test.outcome == "passed" and evidence.failed_assertions.get(test.name):
        return test.model_copy(update={"outcome": "failed", "message": _SWALLOWED})
    return test
