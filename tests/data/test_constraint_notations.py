"""Constraints on cells as people write them, `$5.00`, `5%`, dd/mm/yyyy: what is true holds, what is false is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pandera.errors
import pytest

from flyteplugins_codegen.data.constraints.effect import with_effect
from flyteplugins_codegen.data.constraints.facts import table_facts
from flyteplugins_codegen.data.constraints.grammar import read_constraint
from flyteplugins_codegen.data.constraints.terms import Vocabulary
from flyteplugins_codegen.data.pandera import render_schema
from flyteplugins_codegen.data.profile import profile_sample
from flyteplugins_codegen.models.data import AppliedConstraint, Rule, TableSchema
from flyteplugins_codegen.portable.validator import check_table

# The cells of a sample, a constraint that is true of them, and rows that break it.
DAYS = "ordered,shipped\n{}\n"
MONEY = 'price\n$5.00\n"$1,200.50"\n$0.99\n'
GERMAN = 'amount\n"1.234,50"\n"-250,00"\n"99,95"\n'
US_DATES = "day\n01/31/2024\n12/01/2023\n"
GERMAN_DATES = "day\n31.01.2024\n01.12.2023\n"
TRUE_CONSTRAINTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "price must be positive": (MONEY, ("$0.00", "-$3.00", "($3.00)")),
    "price between 0.50 and 1,200.50": (MONEY, ('"$1,200.51"', "$0.49", "cheap")),
    "price is a number": (MONEY, ("cheap", "$", "$1.2.3")),
    "price must not be zero": (MONEY, ("$0.00", "0")),
    "size at most 1,200.50": ('size\n"1,200.50"\n5\n"1,000"\n', ('"1,200.51"', '"12,000"')),
    "size is a whole number": ('size\n"1,200"\n"12,000"\n7.0\n', ('"1,200.5"', "x")),
    "rate is at most 50%": ("rate\n5%\n12.5%\n50%\n", ("50.5%", "-")),
    "rate between 0 and 50": ("rate\n5%\n12.5%\n50%\n", ("51%", "-1%")),
    "amount between -1.000,00 and 1.234,50": (GERMAN, ('"1.234,51"', '"-1.000,01"', '"12,34,56"')),
    "day after 2022": (US_DATES, ("12/31/2022", "tomorrow")),
    "day before 03/04/2024": (US_DATES, ("03/04/2024", "12/31/2024")),
    "day is not before 2023": ("day\n2023\n2024\n", ("2022",)),
    "day is on or before 31.01.2024": (GERMAN_DATES, ("01.02.2024", "31.12.2024")),
    "day is a valid date": (GERMAN_DATES, ("31.02.2024", "01/31/2024")),
    "paid is a boolean": ("paid\nyes\nno\nYES\n", ("maybe", "2")),
    "flag is true or false": ("flag\n0\n1\n0\n", ("2", "x")),
    "count is an integer": ("count\n18.0\n3.0\n", ("18.5", "x")),
    "shipped after ordered": (DAYS.format("01/02/2024,15/02/2024\n28/02/2024,05/03/2024"), ("05/03/2024,28/02/2024",)),
    "shipped must not be before ordered": (
        DAYS.format("Jan 31 2024,Feb 2 2024\nDec 1 2023,Dec 1 2023"),
        ("Feb 2 2024,Jan 31 2024",),
    ),
    "ordered <= shipped": (
        DAYS.format("31/01/2024 9:30,01/02/2024 18:00\n05/02/2024 7:00,13/02/2024 6:00"),
        ("01/02/2024 18:00,31/01/2024 19:00",),
    ),
}


def _applied(constraint: str, path: Path) -> AppliedConstraint:
    facts = table_facts(profile_sample(path, "t"), path)
    return with_effect(read_constraint(constraint, Vocabulary({"t": facts})), facts)


def _is_valid(path: Path, table: TableSchema) -> tuple[bool, bool]:
    """Whether the validator, and whether the Pandera schema accepts the file."""
    namespace: dict[str, Any] = {}
    exec(compile(render_schema(table), "schema.py", "exec"), namespace)  # noqa: S102 - running the source is the test
    try:
        namespace["schema"].validate(pd.read_csv(path))
    except pandera.errors.SchemaError:
        return not check_table(path, table.for_validator()), False
    return not check_table(path, table.for_validator()), True


@pytest.mark.parametrize("constraint", TRUE_CONSTRAINTS)
def test_a_true_constraint_holds_and_every_violation_is_found(constraint: str, tmp_path: Path) -> None:
    good, violations = TRUE_CONSTRAINTS[constraint]
    path = tmp_path / "t.csv"
    path.write_text(good)
    applied = _applied(constraint, path)
    assert applied.rules, applied.reason
    table = TableSchema.from_validator(TableSchema(rules=applied.rules).for_validator())
    assert _is_valid(path, table) == (True, True)
    for row in violations:
        path.write_text(f"{good.rstrip()}\n{row}\n")
        assert _is_valid(path, table) == (False, False), row


def test_a_file_whose_rows_all_break_the_order_of_dates_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(DAYS.format("01/12/2024,15/12/2024"))
    rules = _applied("shipped after ordered", path).rules
    path.write_text(DAYS.format("01/12/2024,15/02/2024\n02/11/2024,20/01/2024"))
    (flaw,) = check_table(path, TableSchema(rules=rules).for_validator())
    assert flaw.row_count == 2


def test_the_order_of_day_and_month_is_that_of_the_column_or_of_its_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("ordered,shipped\n01/02/2024,03/04/2024\n02/02/2024,25/02/2024\n")
    assert {rule.notation for rule in _applied("ordered before 2025", path).rules} == {"%d/%m/%Y"}
    assert _applied("ordered before 05/06/2025", path).rules[0].maximum == "2025-06-05"


def test_dates_that_may_be_read_in_two_orders_are_not_compared_and_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(DAYS.format("01/02/2024,03/04/2024"))
    applied = _applied("shipped after ordered", path)
    assert not applied.rules
    assert "03/04/2024 is in March or in April" in applied.reason


NEVER_FAIL = {
    Rule(column="day", kind="none_of", values=("the future",)): "no time is 'the future'",
    Rule(column="n", kind="none_of", values=("unknown",)): "no number is 'unknown'",
    Rule(column="s", kind="none_of", values=("NA", "null")): "read as missing",
    Rule(column="s", kind="type", type="text"): "every cell of delimited text is a text",
    Rule(column="s", kind="matches", pattern=r"[\s\S]*"): "every text matches",
    Rule(column="s", kind="length", minimum=0): "no text is shorter",
    Rule(column="n", kind="order", comparison="<=", other_column="n"): "equal to itself",
    Rule(column="n", kind="order", comparison="!=", other_column="day"): "different kinds of values",
}


@pytest.mark.parametrize("rule", NEVER_FAIL, ids=lambda rule: f"{rule.column} {rule.text}")
def test_a_rule_that_can_never_fail_counts_as_not_applied(rule: Rule, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n,s,day\n1,a,2024-01-01\n2,b,2024-02-01\n")
    facts = table_facts(profile_sample(path, "t"), path)
    kept = Rule(column="n", kind="unique")
    applied = with_effect(AppliedConstraint(text="x", table="t", rules=(rule, kept), read_by="model"), facts)
    assert applied.rules == (kept,)
    assert NEVER_FAIL[rule] in applied.reason


def test_rules_that_say_a_type_which_the_file_stores_can_never_fail(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"n": [1, 2], "flag": [True, False]}).astype({"n": "uint8"}).to_parquet(path)
    facts = table_facts(profile_sample(path, "t"), path)
    rules = (
        Rule(column="n", kind="type", type="integer"),
        Rule(column="n", kind="range", minimum=0),
        Rule(column="flag", kind="one_of", values=("true", "false")),
    )
    assert not with_effect(AppliedConstraint(text="x", table="t", rules=rules), facts).rules
    kept = (Rule(column="n", kind="range", minimum=1), Rule(column="flag", kind="one_of", values=("true",)))
    assert with_effect(AppliedConstraint(text="x", table="t", rules=kept), facts).rules == kept


def test_rules_of_earlier_versions_have_no_notation_and_are_checked_as_before(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n,m\n5,9\n$7,1\n")
    saved = Rule(column="n", kind="range", minimum=0).model_dump(mode="json")
    assert "notation" not in saved
    assert TableSchema(rules=(Rule(column="n", kind="unique"),)).for_validator()["rules"][0].keys() == {*saved, "text"}
    (flaw,) = check_table(path, {"columns": [], "rules": [{**saved, "text": "at least 0"}]})
    assert flaw.rows == ((2, "'$7'"),)
