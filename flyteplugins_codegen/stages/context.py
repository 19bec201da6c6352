"""Stage `extract_context`: what the data looks like."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from flyteplugins_codegen.data.constraints.grammar import read_constraint
from flyteplugins_codegen.data.constraints.terms import Vocabulary, checked_pattern, read_bound
from flyteplugins_codegen.data.context import extract_data_context
from flyteplugins_codegen.data.privacy.detection import find_personal
from flyteplugins_codegen.data.schemas import infer_schema
from flyteplugins_codegen.errors import BudgetSpentError, DataError, ReplyError
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.llm.prompts import constraints_messages
from flyteplugins_codegen.llm.replies import ConstraintsReply, RuleReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import AppliedConstraint, Bound, DataContext, Rule, TableSchema
from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.portable.validator import UnreadableError, check_table, describe
from flyteplugins_codegen.stages.attempts import with_calls
from flyteplugins_codegen.stages.draft import Question, ask_within
from flyteplugins_codegen.stages.privacy import fakes_key, shown_profiles, without_keys
from flyteplugins_codegen.stages.stage_cache import Shelf, remember
from flyteplugins_codegen.telemetry import stage

_CONTEXTS = Shelf("contexts", ("data",))


def extract_context(settings: Settings, request: Request, samples: Mapping[str, Path]) -> DataContext:
    """Profile every sample. Kept by the samples' content, so that an unchanged sample is never read twice.

    Raises:
        SampleError: a sample that cannot be read as what its name says.
    """
    with stage("extract context") as note:
        content = [
            [sample.model_dump() for sample in request.samples],
            settings.max_sample_rows,
            settings.privacy_rules.model_dump(),
        ]

        def profile() -> DataContext:
            rules, key = settings.privacy_rules, fakes_key(request)
            return extract_data_context(samples, settings.max_sample_rows, rules, key=key)

        context = remember(settings, _CONTEXTS, content, DataContext, profile)
        note.detail = (
            ", ".join(_rows_text(sample.name, sample.row_count) for sample in context.samples.values()) or "no samples"
        )
        return context


def _rows_text(name: str, row_count: int | None) -> str:
    return f"{name}: {row_count:,} rows" if row_count is not None else name


# Constraints that our grammar does not know, read by the model: all of them in one call, nothing taken unchecked.

Columns = Mapping[str, Mapping[str, str]]
"""Column types by column, by table."""


async def ask_for_rules(
    run: Run, texts: Sequence[str], columns: Columns, account: BudgetAccount
) -> tuple[list[AppliedConstraint], tuple[ModelCall, ...]]:
    """What the model reads in every text; a text in which it sees no rule is not applied.

    Raises ModelError; a rule about a column that is not there, or without its parts, is asked for once more.
    """
    messages = without_keys(constraints_messages(texts, columns, run.settings.system_prompt), run.request)
    question = Question(
        purpose="constraints",
        messages=messages,
        reply_type=ConstraintsReply,
        check=lambda reply: _applied(reply, texts, columns),
    )
    answer = await ask_within(account, run.settings, question)
    return _applied(answer.value, texts, columns), answer.calls


def _applied(reply: ConstraintsReply, texts: Sequence[str], columns: Columns) -> list[AppliedConstraint]:
    """Raises ValueError that says what is wrong with a rule."""
    for rule in reply.rules:
        if not 1 <= rule.constraint <= len(texts):
            raise ValueError(f"constraint {rule.constraint}: the constraints are 1 to {len(texts)}")
    return [
        _one(text, [rule for rule in reply.rules if rule.constraint == number], columns)
        for number, text in enumerate(texts, 1)
    ]


def _one(text: str, replies: Sequence[RuleReply], columns: Columns) -> AppliedConstraint:
    tables = {reply.table for reply in replies}
    if len(tables) != 1:
        reason = "it speaks of several tables at once" if tables else "nothing in it can be checked row by row"
        return AppliedConstraint(text=text, read_by="model", reason=reason)
    rules = tuple(_rule(reply, columns) for reply in replies)
    return AppliedConstraint(text=text, table=tables.pop(), rules=rules, read_by="model")


def _rule(reply: RuleReply, columns: Columns) -> Rule:
    known = columns.get(reply.table, {})
    for column in (reply.column, reply.other_column):
        if column is not None and column not in known:
            raise ValueError(
                f"{reply.table!r} has no column {column!r}; it has {', '.join(map(repr, list(known)[:50]))}"
            )
    rule = Rule(
        column=reply.column,
        kind=reply.kind,
        type=reply.type or "any",
        minimum=_bound(reply.minimum),
        maximum=_bound(reply.maximum),
        excludes_minimum=reply.excludes_minimum,
        excludes_maximum=reply.excludes_maximum,
        values=tuple(reply.values),
        pattern=checked_pattern(reply.pattern or ""),
        comparison=reply.comparison or "==",
        other_column=reply.other_column or "",
    )
    _check_parts(rule, reply)
    return rule


def _bound(text: str | None) -> Bound | None:
    bound = None if text is None else read_bound(text)
    if text is not None and bound is None:
        raise ValueError(f"{text!r} is no number and no date such as 2024-01-31")
    return bound


def _check_parts(rule: Rule, reply: RuleReply) -> None:
    bounds = [bound for bound in (rule.minimum, rule.maximum) if bound is not None]
    parts = {
        "range": bounds,
        "length": [bound for bound in bounds if isinstance(bound, int)],
        "one_of": rule.values,
        "none_of": rule.values,
        "matches": rule.pattern,
        "order": rule.other_column and reply.comparison,
        "type": reply.type,
    }
    if not parts.get(rule.kind, True) or len({isinstance(bound, str) for bound in bounds}) > 1:
        raise ValueError(f"the rule {rule.kind!r} of {rule.column!r} lacks its parts")


# Stage `infer_schemas`: what must stay true of the data, as the samples show it and as the user says it.

_log = logging.getLogger("flyteplugins_codegen.stages")


class WithSchemas(Value):
    """The run with its schemas and what became of its constraints, and the calls that it took, with their messages."""

    run: Run
    calls: tuple[ModelCall, ...] = ()


async def with_schemas(run: Run, samples: Mapping[str, Path], account: BudgetAccount) -> WithSchemas:
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
        note.detail = _schemas_text(schemas, constraints)
        shown = shown_profiles(run.settings, run.request, run.context.samples)
        context = run.context.model_copy(update={"samples": shown})
        changed = run.model_copy(update={"schemas": schemas, "constraints": constraints, "context": context})
        return WithSchemas(run=with_calls(changed, calls), calls=calls)


def infer_schemas(context: DataContext) -> dict[str, TableSchema]:
    """Schemas by sample name; samples without columns have none."""
    found = {name: infer_schema(sample) for name, sample in context.samples.items()}
    return {name: schema for name, schema in found.items() if schema}


async def _read(run: Run, account: BudgetAccount) -> tuple[tuple[AppliedConstraint, ...], tuple[ModelCall, ...]]:
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


async def _ask(
    run: Run, rest: list[str], account: BudgetAccount
) -> tuple[list[AppliedConstraint], tuple[ModelCall, ...]]:
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


def _schemas_text(schemas: Mapping[str, TableSchema], constraints: Sequence[AppliedConstraint]) -> str:
    told = f"{len(schemas)} schema{'' if len(schemas) == 1 else 's'}"
    applied = sum(bool(constraint.rules) for constraint in constraints)
    return f"{told}, {applied} of {len(constraints)} constraints applied" if constraints else told
