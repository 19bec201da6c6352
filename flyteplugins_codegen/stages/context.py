"""Stages `extract_context` and `infer_schemas`: what the data looks like, and what must stay true of it.

Constraints in words are read by a grammar, by what their columns hold; those of which it is not sure are read by the
model, all in one call, and every rule in its reply is checked and tried on the samples.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from flyteplugins_codegen.data.constraints.effect import with_effect
from flyteplugins_codegen.data.constraints.facts import ColumnFacts, table_facts
from flyteplugins_codegen.data.constraints.grammar import read_constraint
from flyteplugins_codegen.data.constraints.terms import Vocabulary, checked_pattern, read_bound
from flyteplugins_codegen.data.context import extract_data_context, with_text
from flyteplugins_codegen.data.privacy.detection import find_personal
from flyteplugins_codegen.data.schemas import infer_schema
from flyteplugins_codegen.errors import BudgetSpentError, DataError, ReplyError
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.llm.prompts import constraints_messages
from flyteplugins_codegen.llm.replies import ConstraintsReply, RuleReply
from flyteplugins_codegen.models.data import AppliedConstraint, Bound, DataContext, Rule, TableSchema
from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import ModelCall
from flyteplugins_codegen.portable.validator import TableFlaw, UnreadableError, check_table, describe
from flyteplugins_codegen.stages.attempts import StageResult, with_calls
from flyteplugins_codegen.stages.model_calls import Question, ask_within
from flyteplugins_codegen.stages.privacy import fakes_key, shown_profiles, without_keys
from flyteplugins_codegen.stages.stage_cache import StageCache
from flyteplugins_codegen.telemetry import stage

_CONTEXTS: Final = StageCache("contexts", DataContext, ("data",))
_log = logging.getLogger("flyteplugins_codegen.stages")

Columns: TypeAlias = Mapping[str, Mapping[str, str]]
"""The types of columns, by the name of the table and the name of the column."""
Facts: TypeAlias = Mapping[str, Mapping[str, ColumnFacts]]
"""The facts of columns, by the same names."""


def extract_context(settings: Settings, request: Request, samples: Mapping[str, Path]) -> DataContext:
    """Profile every sample, and describe them for the job. Profiles are cached by content: a sample is read once.

    Raises:
        SampleError: a sample cannot be read in the format that its name says.
    """
    with stage("extract context") as note:
        content = [
            [sample.model_dump() for sample in request.samples],
            settings.max_sample_rows,
            settings.privacy_rules.model_dump(),
        ]

        rules, key, most_rows = settings.privacy_rules, fakes_key(request), settings.max_sample_rows
        profiled = _CONTEXTS.get_or_compute(
            settings, content, lambda: extract_data_context(samples, most_rows, rules, key=key)
        )
        context = with_text(profiled, most_rows, rules, key=key, job=_job_text(request)) if samples else profiled
        note.detail = (
            ", ".join(_rows_text(sample.name, sample.row_count) for sample in context.samples.values()) or "no samples"
        )
        return context


def _job_text(request: Request) -> str:
    """All of the job that may mention a column."""
    examples = [example.model_dump_json() for example in request.examples]
    texts = [request.prompt, request.schema_text, *request.constraints, *request.outputs, *examples, request.tests]
    return "\n".join(text for text in texts if text)


def _rows_text(name: str, row_count: int | None) -> str:
    return f"{name}: {row_count:,} rows" if row_count is not None else name


# --- schemas ---


async def with_schemas(run: Run, samples: Mapping[str, Path], account: BudgetAccount) -> StageResult:
    """Infer the schemas, read the constraints, and check the samples against both.

    The run keeps only those parts of the samples' profiles that people may see.

    Raises:
        DataError: a sample breaks a constraint or a schema of the user, and the settings have `validation="strict"`.
        ModelError: the model that reads constraints beyond the grammar could not be reached.
    """
    with stage("infer schemas") as note:
        inferred = infer_schemas(run.context) | run.request.schemas
        read, calls = await _read_constraints(run, samples, account)
        constraints, breaches = await asyncio.to_thread(_tried_on_samples, read, samples)
        schemas = with_rules(inferred, constraints)
        _report_breaches(run, [*await asyncio.to_thread(lambda: list(_schema_breaches(run, samples))), *breaches])
        note.detail = _schemas_text(schemas, constraints)
        shown = shown_profiles(run.settings, run.request, run.context.samples)
        context = run.context.model_copy(update={"samples": shown})
        changed = run.model_copy(update={"schemas": schemas, "constraints": constraints, "context": context})
        return StageResult(run=with_calls(changed, calls), calls=calls)


def infer_schemas(context: DataContext) -> dict[str, TableSchema]:
    """The schemas of all samples that have columns, by the sample's name."""
    schemas = {name: infer_schema(sample) for name, sample in context.samples.items()}
    return {name: schema for name, schema in schemas.items() if schema}


def with_rules(schemas: Mapping[str, TableSchema], constraints: Iterable[AppliedConstraint]) -> dict[str, TableSchema]:
    """The schemas with the rules of the constraints added to their tables."""
    extended = dict(schemas)
    for constraint in constraints:
        if constraint.rules:
            table = extended.get(constraint.table, TableSchema())
            rules = tuple(dict.fromkeys((*table.rules, *constraint.rules)))
            extended[constraint.table] = table.model_copy(update={"rules": rules})
    return extended


def _schema_breaches(run: Run, samples: Mapping[str, Path]) -> Iterator[str]:
    """A sentence for every breach of the user's own schemas by a sample."""
    for name, table in run.request.schemas.items():
        if name in samples:
            yield from (describe(name, flaw) for flaw in check_table(samples[name], table.for_validator()))


def _tried_on_samples(
    constraints: Sequence[AppliedConstraint], samples: Mapping[str, Path]
) -> tuple[tuple[AppliedConstraint, ...], list[str]]:
    """The constraints with what their samples say of them, and a sentence for every breach, with the rows."""
    tried, breaches = [], list[str]()
    for constraint in constraints:
        path = samples.get(constraint.table) if constraint.rules else None
        flaws = [] if path is None else _flaws(constraint, path)
        on_sample = "" if path is None or flaws is None else _on_sample(flaws)
        tried.append(constraint.model_copy(update={"on_sample": on_sample}))
        reading = ", as the model reads it" if constraint.read_by == "model" else ""
        breaches += (f"{constraint.text!r}{reading}: {describe(constraint.table, flaw)}" for flaw in flaws or ())
    return tuple(tried), breaches


def _flaws(constraint: AppliedConstraint, path: Path) -> list[TableFlaw] | None:
    """The flaws of the sample by the constraint's rules; None for a file that cannot be checked."""
    try:
        flaws = check_table(path, TableSchema(rules=constraint.rules).for_validator())
    except UnreadableError as error:
        _log.warning("the constraint %r is not checked on the sample: %s", constraint.text, error)
        return None
    return [flaw for flaw in flaws if flaw.column]


def _on_sample(flaws: Sequence[TableFlaw]) -> str:
    if not flaws:
        return "no row of the sample breaks it"
    count = max(flaw.row_count for flaw in flaws)
    return f"{count:,} row{'' if count == 1 else 's'} of the sample break{'s' if count == 1 else ''} it"


def _report_breaches(run: Run, breaches: list[str]) -> None:
    if breaches and run.settings.validation == "strict":
        raise DataError(
            "the samples break what is to hold for them:\n"
            + "\n".join(f"- {sentence}" for sentence in breaches)
            + "\nMend the data, or the constraint or schema, or pass validation='warn' to generate all the same."
        )
    if run.settings.validation == "warn":
        for sentence in breaches:
            _log.warning("the sample breaks a constraint: %s", sentence)


def _schemas_text(schemas: Mapping[str, TableSchema], constraints: Sequence[AppliedConstraint]) -> str:
    count = f"{len(schemas)} schema{'' if len(schemas) == 1 else 's'}"
    applied = sum(bool(constraint.rules) for constraint in constraints)
    return f"{count}, {applied} of {len(constraints)} constraints applied" if constraints else count


# --- constraints ---


async def _read_constraints(
    run: Run, samples: Mapping[str, Path], account: BudgetAccount
) -> tuple[tuple[AppliedConstraint, ...], tuple[ModelCall, ...]]:
    """All constraints in their order, read by the grammar, the others by the model in one call."""
    if not run.request.constraints:
        return (), ()
    facts = await asyncio.to_thread(_facts_by_table, run, samples)
    outputs = {name: None for name, kind in run.request.outputs.items() if kind in {"file", "directory"}}
    # Of an output, which is not written yet, any column can be named.
    vocabulary = Vocabulary({**outputs, **facts})
    read = [read_constraint(text, vocabulary) for text in run.request.constraints]
    rest = [constraint.text for constraint in read if not constraint.rules and not constraint.reason]
    answers, calls = await _ask_model(run, rest, facts, account)
    answer = iter(answers)
    merged = (constraint if constraint.rules or constraint.reason else next(answer) for constraint in read)
    applied = tuple(with_effect(constraint, facts.get(constraint.table, {})) for constraint in merged)
    _log_reading(applied)
    return applied, calls


def _facts_by_table(run: Run, samples: Mapping[str, Path]) -> dict[str, dict[str, ColumnFacts]]:
    return {
        name: table_facts(profile, samples[name]) if name in samples else dict.fromkeys(profile.columns, ColumnFacts())
        for name, profile in run.context.samples.items()
    }


def _log_reading(constraints: Iterable[AppliedConstraint]) -> None:
    for constraint in constraints:
        if constraint.reason:
            _log.warning("the constraint %r: %s", constraint.text, constraint.reason)
        elif constraint.read_by == "model":
            rules = "; ".join(f"{rule.column} {rule.text}" for rule in constraint.rules)
            _log.info("the constraint %r, as the model reads it: %s", constraint.text, rules)


async def _ask_model(
    run: Run, texts: list[str], facts: Facts, account: BudgetAccount
) -> tuple[list[AppliedConstraint], tuple[ModelCall, ...]]:
    if not texts:
        return [], ()
    columns = {
        # In a file without a header, the names of columns are the first row.
        name: {column.name: column.arrow_type for column in sample.columns.values() if not find_personal(column.name)}
        for name, sample in run.context.samples.items()
        if sample.columns
    }
    if not columns:
        return _not_applied(texts, "there is no table that it could be checked on"), ()
    messages = without_keys(constraints_messages(texts, columns, run.settings.system_prompt), run.request)
    question = Question(
        purpose="constraints",
        messages=messages,
        reply_type=ConstraintsReply,
        check=lambda reply: _constraints_in(reply, texts, columns, facts),
    )
    try:
        answer = await ask_within(account, run.settings, question)
    except (ReplyError, BudgetSpentError) as error:
        reason = f"there is no usable reading of it by the model: {str(error).partition(chr(10))[0]}"
        return _not_applied(texts, reason), error.calls
    return _constraints_in(answer.value, texts, columns, facts), answer.calls


def _not_applied(texts: Iterable[str], reason: str) -> list[AppliedConstraint]:
    return [AppliedConstraint(text=text, reason=reason) for text in texts]


def _constraints_in(
    reply: ConstraintsReply, texts: Sequence[str], columns: Columns, facts: Facts
) -> list[AppliedConstraint]:
    """The constraints as the model read them; without a rule, one is not applied. Raises ValueError for a bad rule."""
    for rule in reply.rules:
        if not 1 <= rule.constraint <= len(texts):
            raise ValueError(f"constraint {rule.constraint}: the constraints are 1 to {len(texts)}")
    return [
        _constraint_in([rule for rule in reply.rules if rule.constraint == number], text, columns, facts)
        for number, text in enumerate(texts, 1)
    ]


def _constraint_in(rules: Sequence[RuleReply], text: str, columns: Columns, facts: Facts) -> AppliedConstraint:
    tables = {rule.table for rule in rules}
    if len(tables) != 1:
        reason = "it speaks of several tables at once" if tables else "nothing in it can be checked row by row"
        return AppliedConstraint(text=text, read_by="model", reason=reason)
    checked = tuple(_checked_rule(rule, columns, facts) for rule in rules)
    return AppliedConstraint(text=text, table=tables.pop(), rules=checked, read_by="model")


def _checked_rule(reply: RuleReply, columns: Columns, facts: Facts) -> Rule:
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
    _check_bounds(rule, facts.get(reply.table, {}).get(rule.column, ColumnFacts()))
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


def _check_bounds(rule: Rule, facts: ColumnFacts) -> None:
    bounds = [bound for bound in (rule.minimum, rule.maximum) if bound is not None]
    if rule.kind != "range" or facts.kind not in {"number", "time"} or not bounds:
        return
    if isinstance(bounds[0], str) != (facts.kind == "time"):
        wanted = "dates; write bounds as 2024-01-31" if facts.kind == "time" else "numbers, and a bound is a date"
        raise ValueError(f"{rule.column!r} holds {wanted}")
