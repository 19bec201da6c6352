"""Compares a candidate with a second, independent computation of the same outputs: the reference.

Two programs that were written apart from each other make different mistakes (Avizienis, "The N-version approach to
fault-tolerant software", 1985), so where they agree on real data, both are probably right. They run on the samples and
on files derived from them. Where they differ, the file is reduced to the fewest rows that still show it.
"""

from __future__ import annotations

import ast
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from flyteplugins_codegen.data.derived.derive import DerivedCase, derive_cases
from flyteplugins_codegen.data.derived.heads import take_head
from flyteplugins_codegen.data.derived.tables import SampleTable, read_table
from flyteplugins_codegen.judging.agreement.compare import OutputDifference, difference
from flyteplugins_codegen.judging.agreement.order import is_rounding_fixed, order_asked
from flyteplugins_codegen.judging.agreement.reduce import fewest_rows
from flyteplugins_codegen.judging.agreement.run import MAX_BYTES, ComputationJob, Computed, OutputValue, compute_cases
from flyteplugins_codegen.models.job import Request, TypeName
from flyteplugins_codegen.models.reference import OutputsDiffer, ReferenceReport
from flyteplugins_codegen.models.run import SAMPLES_CASE
from flyteplugins_codegen.portable.launcher import format_value
from flyteplugins_codegen.sandbox.contract import Limits, Output, Sandbox
from flyteplugins_codegen.solution.outputs import read_value
from flyteplugins_codegen.source.python import imported_names
from flyteplugins_codegen.text import short_repr, shorten_middle

CASE_S: Final = 20.0
"""The wall time of a computation on one case."""
_ALL_CASES_S: Final = 40.0
_REDUCTION_S: Final = 5.0
_MOST_REDUCED_ROWS: Final = 4_000
_MOST_REDUCED_BYTES: Final = 4 << 20
_ROWS_CHARS: Final = 1_500
_ONLY_ORDER: Final = frozenset({"shuffled", "columns_reordered"})
_ANSWER_CHARS: Final = 200
_Outputs: TypeAlias = Mapping[str, OutputValue | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What two programs are compared on: the samples, and for every other input a value.

    `folder` takes the derived files.
    """

    request: Request
    samples: Mapping[str, Path]
    arguments: Mapping[str, Any]
    folder: Path
    sandbox: Sandbox
    limits: Limits
    env: Mapping[str, str]

    @property
    def description(self) -> str:
        """All that the user said of the job."""
        return "\n".join([self.request.prompt, *self.request.constraints, self.request.schema_text or ""])

    def derived(self) -> tuple[DerivedCase, ...]:
        """The cases derived from the samples; of large ones, from their first rows.

        Of several samples of which one was cut, no rows are left out or changed: what they refer to may be in the rest.
        """
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        heads = {name: take_head(path, folder) for name, path in self.samples.items()}
        known = {name: head for name, head in heads.items() if head is not None}
        cases = derive_cases(known, self.description, folder, values=self.arguments) if known else ()
        is_whole = len(self.samples) == 1 or known == dict(self.samples)
        return tuple(
            replace(case, samples={**self.samples, **_changed(case, known)})
            for case in cases
            if is_whole or case.kind in _ONLY_ORDER
        )

    def values(self, case: DerivedCase | None) -> dict[str, Any]:
        """A value for each input, in a derived case or on the samples."""
        return {**self.samples, **(case.samples if case else {}), **self.arguments}

    def compute(self, program: str, cases: Sequence[Mapping[str, Any]]) -> list[Computed]:
        """The outputs of a program on these cases. Raises SandboxError."""
        job = ComputationJob(
            program=program,
            inputs=self.request.inputs,
            outputs=self.request.outputs,
            cases=cases,
            modules=_modules(program),
            case_s=min(CASE_S, self.limits.wall_s),
            wall_s=min(_ALL_CASES_S, max(self.limits.wall_s, CASE_S)),
            limits=self.limits,
            env=self.env,
        )
        return compute_cases(self.sandbox, job)

    def differ(self, one: _Outputs, other: _Outputs) -> OutputDifference | None:
        """The first output that differs by its meaning; outputs that are too large are not compared."""
        names = [name for name, value in one.items() if value is not None and other.get(name) is not None]
        return difference(
            {name: value for name in names if (value := one[name]) is not None},
            {name: value for name in names if (value := other[name]) is not None},
            self.request.outputs,
            order_asked(self.description, self.request.outputs),
            is_rounding_fixed=is_rounding_fixed(self.description),
        )


def _changed(case: DerivedCase, originals: Mapping[str, Path]) -> dict[str, Path]:
    return {name: path for name, path in case.samples.items() if path != originals[name]}


def _modules(program: str) -> list[str]:
    try:
        return sorted({name.partition(".")[0] for name in imported_names(program)} - {"__future__"})
    except SyntaxError:
        return []


@dataclass(frozen=True, slots=True)
class _Case:
    """A case with the endings of both programs on it."""

    derived: DerivedCase | None
    solution: Computed
    reference: Computed

    @property
    def label(self) -> str:
        return self.derived.label if self.derived else SAMPLES_CASE

    @property
    def is_settled(self) -> bool:
        """Whether a difference is a fault of one of the two. So is a crash on a single row, which no rule asks for."""
        if self.derived is None or self.derived.is_settled:
            return True
        return self.derived.kind == "one_row" and self.solution.ending == "failed"


@dataclass(frozen=True, slots=True)
class RunningComparison:
    """Both programs while they run: the reference on the samples and the derived files, the solution on the latter."""

    comparison: Comparison
    solution: str
    reference: str
    derived: tuple[DerivedCase, ...]
    theirs: Future[list[Computed]]
    ours: Future[list[Computed]]

    def finish(self, on_samples: Computed) -> ReferenceReport:
        """The report, once both have ended; `on_samples` are the solution's outputs on them. Raises SandboxError."""
        theirs, ours = self.theirs.result(), [on_samples, *self.ours.result()]
        if theirs[0].ending != "finished":
            reason = f"it could not be run on the samples: {theirs[0].error or theirs[0].ending}"
            return ReferenceReport(dropped=reason)
        cases = [_Case(*case) for case in zip((None, *self.derived), ours, theirs, strict=True)]
        report, differing = _compared(self.comparison, cases)
        if report.difference is not None:
            tried = (_reduced(self.comparison, case, self.solution, self.reference) for case in differing[:2])
            reduced = next(filter(None, tried), report.difference)
            report = report.model_copy(update={"difference": reduced})
        return report


def start_comparison(pool: Executor, comparison: Comparison, solution: str, reference: str) -> RunningComparison:
    """Start both programs; `RunningComparison.finish` compares what they left."""
    derived = comparison.derived()
    values = [comparison.values(case) for case in derived]
    theirs = pool.submit(comparison.compute, reference, [comparison.values(None), *values])
    ours = pool.submit(comparison.compute, solution, values)
    return RunningComparison(comparison, solution, reference, derived, theirs, ours)


def computed_outputs(outputs: Mapping[str, Output], types: Mapping[str, TypeName]) -> Computed:
    """The outputs of a script that has passed its checks, as they are compared."""
    return Computed(ending="finished", outputs={name: _value_of(outputs[name], kind) for name, kind in types.items()})


def _value_of(output: Output, kind: TypeName) -> OutputValue | None:
    if output.size_bytes > MAX_BYTES:
        return None
    if kind == "directory":
        return {name: path.read_bytes() for name, path in output.files.items()}
    if kind == "file":
        return output.read_bytes(MAX_BYTES)
    value = read_value(output, kind)
    return value if isinstance(value, str | int | float | bool) else format_value(value, kind)


def agreeing_programs(comparison: Comparison, solution: str, others: Mapping[int, str]) -> tuple[int, ...]:
    """The numbers of those programs that have the same outputs as the solution on all cases.

    The same program again, even with other comments, is no second computation. Raises SandboxError.
    """
    values = [comparison.values(case) for case in (None, *comparison.derived())]
    different = {number: code for number, code in others.items() if _tree(code) != _tree(solution)}
    if not different:
        return ()
    ours = comparison.compute(solution, values)

    def agrees(code: str) -> bool:
        theirs = comparison.compute(code, values)
        return all(_ends_alike(comparison, *pair) for pair in zip(ours, theirs, strict=True))

    return tuple(number for number, code in different.items() if agrees(code))


def _ends_alike(comparison: Comparison, one: Computed, other: Computed) -> bool:
    if one.ending != "finished" or other.ending != "finished":
        return one.ending == other.ending
    return comparison.differ(one.outputs, other.outputs) is None


def _tree(code: str) -> str:
    try:
        return ast.dump(ast.parse(code))
    except SyntaxError:
        return code


# --- comparing ---


def _compared(comparison: Comparison, cases: Sequence[_Case]) -> tuple[ReferenceReport, list[_Case]]:
    """The report, and the cases with a settled difference."""
    agreed: list[str] = []
    settled: list[tuple[OutputsDiffer, _Case]] = []
    unsettled: list[OutputsDiffer] = []
    for case in cases:
        if case.reference.ending != "finished" or case.solution.ending == "not_run":
            continue  # the plain computation has no answer: nothing to compare with
        found = _difference_on(comparison, case)
        if found is None:
            agreed.append(case.label)
        elif case.is_settled and found.is_settled:
            settled.append((found.told, case))
        else:
            unsettled.append(found.told)
    first = settled[0][0] if settled else None
    report = ReferenceReport(agreed=tuple(agreed), difference=first, unsettled=tuple(unsettled[:5]))
    return report, [case for _, case in settled]


class _Found(NamedTuple):
    """A difference. Not settled are data that the solution refuses, the last digit of a rounded number, and an order.

    The order of rows is settled where there is one table.
    """

    told: OutputsDiffer
    is_settled: bool


def _difference_on(comparison: Comparison, case: _Case) -> _Found | None:
    """How the two differ on a case on which the reference has finished."""
    arguments = ", ".join(f"{name} = {short_repr(value)}" for name, value in comparison.arguments.items())
    if case.solution.ending != "finished":
        crash = OutputsDiffer(
            case=case.label,
            output_name=", ".join(comparison.request.outputs),
            solution_answer=f"ended with {case.solution.error}",
            reference_answer=_outputs_text(case.reference.outputs),
            arguments=arguments,
        )
        return _Found(crash, is_settled=not case.solution.is_refusal)
    found = comparison.differ(case.solution.outputs, case.reference.outputs)
    if found is None:
        return None
    told = OutputsDiffer(
        case=case.label,
        output_name=found.output,
        where=found.where,
        solution_answer=found.one,
        reference_answer=found.other,
        arguments=arguments,
    )
    # Which of several tables is sorted, is not read from the description.
    tables = sum(kind in {"file", "directory"} for kind in comparison.request.outputs.values())
    is_order_open = found.is_order_only and tables > 1
    return _Found(told, is_settled=not (found.is_last_digit or is_order_open))


def _outputs_text(outputs: Mapping[str, OutputValue | None]) -> str:
    shown = {
        name: value.decode(errors="replace") if isinstance(value, bytes) else value
        for name, value in outputs.items()
        if not isinstance(value, dict)
    }
    return shorten_middle(", ".join(f"{name} = {value}" for name, value in shown.items()), _ANSWER_CHARS)


# --- reducing ---


def _reduced(comparison: Comparison, case: _Case, solution: str, reference: str) -> OutputsDiffer | None:
    """The difference on the fewest rows that still show it; None if no sample of the case can be taken apart."""
    samples = dict(case.derived.samples if case.derived else comparison.samples)
    until = time.monotonic() + _REDUCTION_S
    for name, table in _tables(samples):
        reduction = _Reduction(comparison, case, solution, reference, name, table)
        found = reduction.difference_on(fewest_rows(len(table.rows), reduction.differs, until=until))
        if found is not None:
            return found
    return None


def _tables(samples: Mapping[str, Path]) -> Iterator[tuple[str, SampleTable]]:
    """The samples that consist of rows, the one with the most rows first."""
    small = {name: path for name, path in samples.items() if path.stat().st_size <= _MOST_REDUCED_BYTES}
    read = {name: table for name, path in small.items() if (table := read_table(path)) is not None}
    few = {name: table for name, table in read.items() if 1 < len(table.rows) <= _MOST_REDUCED_ROWS}
    yield from sorted(few.items(), key=lambda item: -len(item[1].rows))


@dataclass(frozen=True, slots=True)
class _Reduction:
    """A case whose sample `name` is replaced by some of its rows."""

    comparison: Comparison
    case: _Case
    solution: str
    reference: str
    name: str
    table: SampleTable

    def differs(self, subsets: Sequence[tuple[int, ...]]) -> list[bool]:
        return [found is not None for found in self._differences(subsets)]

    def difference_on(self, rows: tuple[int, ...]) -> OutputsDiffer | None:
        found = self._differences([rows])[0]
        if found is None:
            return None
        with tempfile.TemporaryDirectory(dir=self.comparison.folder) as folder:
            path = Path(folder) / "rows"
            self.table.write(path, [self.table.rows[row] for row in rows])
            text = path.read_bytes().decode(errors="replace")
        changes = {"sample": self.name, "rows": shorten_middle(text, _ROWS_CHARS), "row_count": len(rows)}
        return found.model_copy(update=changes)

    def _differences(self, subsets: Sequence[tuple[int, ...]]) -> list[OutputsDiffer | None]:
        with tempfile.TemporaryDirectory(dir=self.comparison.folder) as folder:
            cases = [self._written(Path(folder) / str(number), rows) for number, rows in enumerate(subsets)]
            compute = partial(self.comparison.compute, cases=cases)
            pairs = zip(compute(self.solution), compute(self.reference), strict=True)
            return [self._difference(*pair) for pair in pairs]

    def _written(self, path: Path, rows: tuple[int, ...]) -> dict[str, Any]:
        self.table.write(path, [self.table.rows[row] for row in rows])
        return {**self.comparison.values(self.case.derived), self.name: path}

    def _difference(self, solution: Computed, reference: Computed) -> OutputsDiffer | None:
        """The difference if it is of the kind that is reduced: of outputs, or a crash."""
        is_crash = self.case.solution.ending != "finished"
        if reference.ending != "finished" or (solution.ending != "finished") != is_crash:
            return None
        found = _difference_on(self.comparison, replace(self.case, solution=solution, reference=reference))
        return found.told if found is not None and found.is_settled else None
