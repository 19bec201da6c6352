"""What the rules of a constraint can do on their table: how its cells are read, and which rules can never fail."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flyteplugins_codegen.data.constraints.facts import ColumnFacts, Kind
from flyteplugins_codegen.models.data import AppliedConstraint, Rule
from flyteplugins_codegen.portable.validator import NULLS, instant_reader, number_reader

_READ_RULES = frozenset({"range", "one_of", "none_of", "type", "order"})
# A pattern that matches all of these says nothing.
_ANY_TEXTS = ("", " ", "a", "Zz", "0", "-1.5", "a b", "\u00e9", "\u4e2d", "x" * 300, "#!?/\\", "A-1_b@c.d")
_UNSIGNED = re.compile(r"uint\d+")
_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "integer": (r"u?int\d+",),
    "number": (r"u?int\d+|double|float|halffloat|decimal.*",),
    "boolean": ("bool",),
    "time": (r"timestamp.*|date(?:32|64).*",),
    "text": (r"(?:large_)?string(?:_view)?",),
}


def with_effect(constraint: AppliedConstraint, columns: Mapping[str, ColumnFacts]) -> AppliedConstraint:
    """Return the constraint with rules that read the cells as they are written, without those that can never fail.

    `reason` says what was left out, and why. Columns without facts are those of an output.
    """
    rules, reasons = [], []
    for rule in constraint.rules:
        facts, other = columns.get(rule.column, ColumnFacts()), columns.get(rule.other_column, ColumnFacts())
        reason = _undecided(rule, facts, other) or never_fails(rule, facts, other)
        if reason:
            reasons.append(f"not checked: {rule.column} {rule.text}: {reason}")
        else:
            rules.append(_as_written(rule, facts, other))
    return constraint.model_copy(update={"rules": tuple(rules), "reason": "; ".join(reasons) or constraint.reason})


def _as_written(rule: Rule, facts: ColumnFacts, other: ColumnFacts) -> Rule:
    if rule.kind not in _READ_RULES:
        return rule
    other_notation = other.notation if rule.kind == "order" else ""
    if not facts.notation and not other_notation:
        return rule
    return rule.model_copy(update={"notation": facts.notation, "other_notation": other_notation})


def _undecided(rule: Rule, facts: ColumnFacts, other: ColumnFacts) -> str:
    compared = {"range": (facts,), "order": (facts, other)}.get(rule.kind, ())
    if not any(one.is_undecided for one in compared):
        return ""
    return "no date of the sample says whether 03/04/2024 is in March or in April; write dates as 2024-04-03"


def never_fails(rule: Rule, facts: ColumnFacts, other: ColumnFacts) -> str:
    """Return why no data of the column's type can break the rule; empty if some can."""
    if rule.kind in {"range", "length"}:
        return _endless(rule, facts)
    if rule.kind == "type":
        return _typed(rule, facts)
    if rule.kind == "matches":
        is_any = all(re.fullmatch(rule.pattern, text) for text in _ANY_TEXTS)
        return "every text matches the pattern" if is_any else ""
    if rule.kind == "order":
        return _ordered(rule, facts, other)
    return {"none_of": _excluded, "one_of": _listed}.get(rule.kind, lambda _rule, _facts: "")(rule, facts)


def _endless(rule: Rule, facts: ColumnFacts) -> str:
    has_no_minimum = rule.minimum is None or (
        not isinstance(rule.minimum, str)
        and (rule.minimum < 0 or (rule.minimum == 0 and not rule.excludes_minimum))
        and (rule.kind == "length" or (not facts.is_delimited and _UNSIGNED.fullmatch(facts.arrow_type) is not None))
    )
    if rule.maximum is not None or not has_no_minimum:
        return ""
    return "no text is shorter" if rule.kind == "length" else f"no value of type {facts.arrow_type or 'number'} is less"


def _typed(rule: Rule, facts: ColumnFacts) -> str:
    if facts.is_delimited:
        return "every cell of delimited text is a text" if rule.type in {"text", "any"} else ""
    is_sure = any(re.fullmatch(pattern, facts.arrow_type) for pattern in _OF_TYPE.get(rule.type, ()))
    is_stored = facts.kind != "unknown" and is_sure
    return f"the file stores the column as {facts.arrow_type}" if is_stored or rule.type == "any" else ""


def _ordered(rule: Rule, facts: ColumnFacts, other: ColumnFacts) -> str:
    if rule.column == rule.other_column:
        return "a value is always equal to itself" if rule.comparison in {"<=", ">=", "=="} else ""
    kinds: set[Kind] = {facts.kind, other.kind}
    is_incomparable = len(kinds) > 1 and not kinds & {"unknown", "text", "boolean"}
    return "the two columns hold different kinds of values" if is_incomparable and rule.comparison == "!=" else ""


def _excluded(rule: Rule, facts: ColumnFacts) -> str:
    if facts.is_delimited and NULLS.issuperset(rule.values):
        return "such a cell is read as missing, which only `not null` forbids"
    read = {
        "number": number_reader(facts.notation),
        "time": instant_reader(facts.notation),
        "clock": instant_reader(facts.notation),
    }.get(facts.kind)
    plain = number_reader("") if facts.kind == "number" else instant_reader("")
    if read is None or any(read(value) is not None or plain(value) is not None for value in rule.values):
        return ""
    return f"no {'number' if facts.kind == 'number' else 'time'} is {' or '.join(map(repr, rule.values))}"


def _listed(rule: Rule, facts: ColumnFacts) -> str:
    is_all = not facts.is_delimited and facts.arrow_type == "bool"
    return "there is no other value" if is_all and {value.lower() for value in rule.values} >= {"true", "false"} else ""
