"""What the runner told of a suite, read from its marked lines: data to be judged, never yet a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast, get_args

from flyteplugins_codegen.models.report import Outcome, TestOutcome
from flyteplugins_codegen.sandbox.failure_text import failure_text

_OUTCOMES: Final = frozenset(get_args(Outcome))


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception as the runner described it. `missing` is the module that an import did not find."""

    type: str = ""
    message: str = ""
    missing: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that the runner told.

    `ended` is the status that pytest ended with, by the judged process; `exit_status` is how that process really ended,
    by its parent (a signal negative), None where the parent itself did not live to tell. `has_begun`: the parent
    told so, before the solution was imported; `no_pytest` and `unprepared` are why pytest could not be, or why the
    tests could not be made ready, which come before that too.

    By test, `ended_functions` are those that confirmed while it ran that they came to their end, `failed_assertions`
    how many of its assertions told that they failed. `unconfirmed` are the tests told to have passed that did not.
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


def read_evidence(stdout: bytes, nonce: str) -> Evidence:
    """The evidence in the lines that carry the nonce; anything else on stdout is nobody's word and is left out."""
    return gather_evidence(_records(stdout.decode(errors="replace").splitlines(), nonce))


def gather_evidence(records: Iterable[Mapping[str, Any]]) -> Evidence:
    """The evidence of records in the order in which they were told."""
    told = list(records)
    finished = {_name(record): record for record in told if record["kind"] == "finished"}
    started = [_name(record) for record in told if record["kind"] == "started"]
    suspicious = [record for record in told if record["kind"] in {"tampered", "forged"}]
    return Evidence(
        tests=tuple(_outcome(name, record) for name, record in finished.items()),
        failures={name: _failure(record) for name, record in finished.items()},
        ended_functions={name: tuple(record.get("confirmed", ())) for name, record in finished.items()},
        failed_assertions={name: int(record.get("failed_assertions", 0)) for name, record in finished.items()},
        running=next((name for name in reversed(started) if name not in finished), ""),
        import_failure=_first_failure(told, "import_failed"),
        collect_failure=_first_failure(told, "collect_failed"),
        suspicions=tuple(dict.fromkeys(_suspicion(record) for record in suspicious)),
        has_begun=any(record["kind"] == "begun" for record in told),
        no_pytest=_last(told, "no_pytest", "message", ""),
        unprepared=_last(told, "unprepared", "message", ""),
        broken=_last(told, "broken", "message", ""),
        ended=_status(_last(told, "end", "status", None)),
        exit_status=_status(_last(told, "exit", "status", None)),
        output=str(_last(told, "exit", "output", "")),
    )


def _records(lines: Iterable[str], nonce: str) -> Iterable[dict[str, Any]]:
    for line in lines:
        mark, _, text = line.partition(" ")
        if mark == nonce and (record := _parsed(text)) is not None:
            yield record


def _parsed(text: str) -> dict[str, Any] | None:
    """A record; None for a line that was cut, so that what it said, such as the end, was not said."""
    try:
        record = json.loads(text)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "kind" in record else None


def _name(record: Mapping[str, Any]) -> str:
    """`TestA::test_b[1]` of `test_solution.py::TestA::test_b[1]`."""
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


def _first_failure(told: Iterable[Mapping[str, Any]], kind: str) -> Failure | None:
    return next((_failure(record) for record in told if record["kind"] == kind), None)


def _last(told: list[Mapping[str, Any]], kind: str, key: str, default: Any) -> Any:
    return next((record.get(key, default) for record in reversed(told) if record["kind"] == kind), default)


def _status(value: Any) -> int | None:
    return None if value is None else int(value)


def _suspicion(record: Mapping[str, Any]) -> str:
    if record["kind"] == "forged":
        return "something other than the runner wrote to its channel"
    return failure_text(str(record.get("text", "")), 200)
