"""Stage `infer_schemas`: what must stay true of the data, as the samples show it and as the user says it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from flyteplugins_codegen.data.constraints.grammar import read_constraint
from flyteplugins_codegen.data.constraints.subjects import Vocabulary
from flyteplugins_codegen.data.privacy.detection import find_personal
from flyteplugins_codegen.data.schemas import infer_schema
from flyteplugins_codegen.errors import BudgetSpentError, DataError, ReplyError
from flyteplugins_codegen.llm.budgeted import Account
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.profile import DataContext
from flyteplugins_codegen.models.rules import AppliedConstraint, TableSchema
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.sandbox.validator import UnreadableError, check_table, describe
from flyteplugins_codegen.stages.attempts import with_calls
from flyteplugins_codegen.stages.constraint_reading import ask_for_rules
from flyteplugins_codegen.stages.privacy import shown_profiles
from flyteplugins_codegen.stages.progress import stage

_log = logging.getLogger("flyteplugins_codegen.stages")


class WithSchemas(Value):
    """The run with its schemas and what became of its constraints, and the calls that it took, with their messages."""

    run: Run
    calls: tuple[ModelCall, ...] = ()


async def with_schemas(run: Run, samples: Mapping[str, Path], account: Account) -> WithSchemas:
    """Infer the schemas, read the constraints, and hold the samples against them.

    Of the profiles that schemas come from, what a person may be shown goes round the loop with the run.

    Raises:
        DataError: a sample itself breaks a constraint, and the settings say `validation="strict"`.
        ModelError: the model that is asked for constraints beyond our grammar could not be reached.
    """
    with stage("infer schemas") as note:
        inferred = infer_schemas(run.context) | run.request.schemas
        constraints, calls = await _read(run, account)
        schemas = _with_rules(inferred, constraints)
        broken = await asyncio.to_thread(lambda: [*_against(run, samples), *_broken(constraints, samples)])
        _report(run, broken)
        note.detail = _told(schemas, constraints)
        shown = shown_profiles(run.settings, run.request, run.context.samples)
        context = run.context.model_copy(update={"samples": shown})
        changed = run.model_copy(update={"schemas": schemas, "constraints": constraints, "context": context})
        return WithSchemas(run=with_calls(changed, calls), calls=calls)


def infer_schemas(context: DataContext) -> dict[str, TableSchema]:
    """Schemas by sample name; samples without columns have none."""
    found = {name: infer_schema(sample) for name, sample in context.samples.items()}
    return {name: schema for name, schema in found.items() if schema}


async def _read(run: Run, account: Account) -> tuple[tuple[AppliedConstraint, ...], tuple[ModelCall, ...]]:
    """What every constraint says, by our grammar, and of the rest by the model in one call."""
    vocabulary = Vocabulary(_tables(run))
    read = [read_constraint(text, vocabulary) for text in run.request.constraints]
    rest = [constraint.text for constraint in read if not constraint.rules and not constraint.reason]
    asked, calls = await _ask(run, rest, account)
    answers = iter(asked)
    return tuple(each if each.rules or each.reason else next(answers) for each in read), calls


def _tables(run: Run) -> dict[str, Sequence[str] | None]:
    """The columns that a constraint can speak of: of an output file any, for it is not written yet."""
    outputs = {name: None for name, kind in run.request.outputs.items() if kind in {"file", "directory"}}
    return {**outputs, **{name: tuple(sample.columns) for name, sample in run.context.samples.items()}}


async def _ask(run: Run, rest: list[str], account: Account) -> tuple[list[AppliedConstraint], tuple[ModelCall, ...]]:
    if not rest:
        return [], ()
    columns = {
        # Of a file without a header the names are its first row.
        name: {each.name: each.arrow_type for each in sample.columns.values() if not find_personal(each.name)}
        for name, sample in run.context.samples.items()
        if sample.columns
    }
    if not columns:
        return [
            AppliedConstraint(text=text, reason="there is no table that it could be checked on") for text in rest
        ], ()
    try:
        return await ask_for_rules(run, rest, columns, account)
    except (ReplyError, BudgetSpentError) as error:
        reason = f"there is no usable reading of it by the model: {str(error).partition(chr(10))[0]}"
        return [AppliedConstraint(text=text, reason=reason) for text in rest], error.calls


def _with_rules(
    inferred: Mapping[str, TableSchema], constraints: Iterable[AppliedConstraint]
) -> dict[str, TableSchema]:
    schemas = dict(inferred)
    for constraint in constraints:
        if constraint.rules:
            table = schemas.get(constraint.table, TableSchema())
            rules = tuple(dict.fromkeys((*table.rules, *constraint.rules)))
            schemas[constraint.table] = table.model_copy(update={"rules": rules})
    return schemas


def _broken(constraints: Sequence[AppliedConstraint], samples: Mapping[str, Path]) -> Iterator[str]:
    """A sentence for every constraint that its sample breaks, with the rows."""
    for constraint in constraints:
        path = samples.get(constraint.table)
        if path is None or not constraint.rules:
            continue
        try:
            flaws = check_table(path, TableSchema(rules=constraint.rules).for_validator())
        except UnreadableError as error:
            _log.warning("the constraint %r is not checked on the sample: %s", constraint.text, error)
            continue
        reading = ", as the model reads it" if constraint.read_by == "model" else ""
        yield from (
            f"{constraint.text!r}{reading}: {describe(constraint.table, flaw)}" for flaw in flaws if flaw.column
        )


def _against(run: Run, samples: Mapping[str, Path]) -> Iterator[str]:
    """What the samples break of the user's own schemas."""
    for name, table in run.request.schemas.items():
        if name in samples:
            yield from (describe(name, flaw) for flaw in check_table(samples[name], table.for_validator()))


def _report(run: Run, broken: list[str]) -> None:
    if broken and run.settings.validation == "strict":
        raise DataError(
            "the samples break what is to hold for them:\n"
            + "\n".join(f"- {sentence}" for sentence in broken)
            + "\nMend the data, or the constraint or schema, or pass validation='warn' to generate all the same."
        )
    if run.settings.validation == "warn":
        for sentence in broken:
            _log.warning("the sample breaks a constraint: %s", sentence)


def _told(schemas: Mapping[str, TableSchema], constraints: Sequence[AppliedConstraint]) -> str:
    told = f"{len(schemas)} schema{'' if len(schemas) == 1 else 's'}"
    applied = sum(bool(constraint.rules) for constraint in constraints)
    return f"{told}, {applied} of {len(constraints)} constraints applied" if constraints else told
