"""Constraints that our grammar does not know, read by the model: all of them in one call, nothing taken unchecked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flyteplugins_codegen.data.constraints.patterns import checked_pattern
from flyteplugins_codegen.data.constraints.values import read_bound
from flyteplugins_codegen.llm.budgeted import Account
from flyteplugins_codegen.llm.prompts import constraints_messages
from flyteplugins_codegen.llm.replies import ConstraintsReply, RuleReply
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.rules import AppliedConstraint, Bound, Rule
from flyteplugins_codegen.models.run import Run
from flyteplugins_codegen.stages.asking import Question, ask_within
from flyteplugins_codegen.stages.privacy import without_keys

Columns = Mapping[str, Mapping[str, str]]
"""Column types by column, by table."""


async def ask_for_rules(
    run: Run, texts: Sequence[str], columns: Columns, account: Account
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
