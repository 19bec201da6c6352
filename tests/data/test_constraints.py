"""The grammar of constraints: what it parses, what it ignores, and that it never guesses."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.data.constraints.grammar import read_constraint
from flyteplugins_codegen.data.constraints.terms import Vocabulary
from flyteplugins_codegen.models.data import Rule

TABLES = {
    "sales": ["quantity", "price", "status", "email", "id", "Order ID", "unit price", "end", "start", "code"],
    "staff": ["id", "name"],
    "report": None,
}
VOCABULARY = Vocabulary(TABLES)


def texts(constraint: str) -> list[str]:
    return [f"{rule.column} {rule.text}" for rule in read_constraint(constraint, VOCABULARY).rules]


READ = {
    "quantity must be positive": ["quantity more than 0"],
    "sales.quantity must be positive.": ["quantity more than 0"],
    "price between 0 and 10000": ["price between 0 and 10000"],
    "price must be between 0 and 10,000": ["price between 0 and 10000"],
    "price is between 0 and 100 and not null": ["price between 0 and 100", "price not null"],
    "quantity in [1, 5)": ["quantity between 1 and 5, 5 excluded"],
    "quantity is 0..10": ["quantity between 0 and 10"],
    "price between 0 and 1 (exclusive)": ["price between 0 and 1, 0 and 1 excluded"],
    "price >= 5 and < 10": ["price at least 5", "price less than 10"],
    "price>5": ["price more than 5"],
    "price is 5 or more": ["price at least 5"],
    "price must not exceed 100": ["price at most 100"],
    "price must not be negative": ["price at least 0"],
    "the unit price must be non-negative": ["unit price at least 0"],
    "All values in price must be greater than or equal to 0": ["price at least 0"],
    "quantity, price and unit price are positive": [f"{c} more than 0" for c in ("quantity", "price", "unit price")],
    "status is one of A, B": ["status one of A, B"],
    "status is one of A, B and must not be null": ["status one of A, B", "status not null"],
    "status must be one of 'A', 'B and C' or 'D'": ["status one of A, B and C, D"],
    "status in {A, B}": ["status one of A, B"],
    "status is not one of X, Y": ["status none of X, Y"],
    'status equals "end"': ["status one of end"],
    r"email matches ^[^@]+@[^@]+$": [r"email matches ^[^@]+@[^@]+$"],
    r"email must match the pattern '\w+ \w+'": [r"email matches \w+ \w+"],
    "sales.id is unique": ["id unique"],
    "order_id is unique and not null": ["Order ID unique", "Order ID not null"],
    "`Order ID` has no duplicates": ["Order ID unique"],
    "end after start": ["end > start"],
    "end must not be before start": ["end >= start"],
    "end>=start": ["end >= start"],
    "no nulls in quantity": ["quantity not null"],
    "no missing values in quantity and price": ["quantity not null", "price not null"],
    "no negative values in price": ["price at least 0"],
    "there are no duplicates in Order ID": ["Order ID unique"],
    "price cannot be null": ["price not null"],
    "name is required": ["name not null"],
    "every quantity should be a whole number": ["quantity of type integer"],
    "code has exactly 5 characters": ["code between 5 and 5 characters long"],
    "code must be 2 to 5 characters long": ["code between 2 and 5 characters long"],
    "start is on or after 2020-01-01": ["start at least 2020-01-01"],
    "start between 2020-01-01 and 2020-12-31": ["start between 2020-01-01 and 2020-12-31"],
    "report.total must be positive": ["total more than 0"],
    "report.low is less than report.high": ["low < high"],
}


@pytest.mark.parametrize("constraint", READ)
def test_a_common_form_is_read_without_a_model(constraint: str) -> None:
    assert texts(constraint) == READ[constraint]


@pytest.mark.parametrize(
    "constraint",
    [
        "price must be positive if status is paid",
        "price is about 5 kg",
        "email must match the standard format",
        "price may be null",
        "status must be A",
        "quantity",
        "the output should be sorted by date",
        "status is one of 1,000, 2,000",
        "price is at most 5%",
        "code starts with ACME",
    ],
)
def test_a_constraint_that_is_not_fully_understood_gives_no_rules(constraint: str) -> None:
    read = read_constraint(constraint, VOCABULARY)
    assert (read.rules, read.read_by, read.reason) == ((), "nobody", "")


@pytest.mark.parametrize(
    ("constraint", "reason"),
    [
        ("id is unique", "sales.id or staff.id"),
        ("price between 10 and 0", "nothing is between 10 and 0"),
        ("start after 2020-02-31", "no date of the calendar"),
        ("email matches [a-", "no regular expression"),
        ("email matches (a+)+$", "repeats a repetition"),
        ("sales.id equals staff.id", "different tables"),
    ],
)
def test_a_constraint_that_cannot_be_applied_has_a_reason(constraint: str, reason: str) -> None:
    read = read_constraint(constraint, VOCABULARY)
    assert not read.rules
    assert reason in read.reason


NUMBERS = st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 2)))
# With a digit at its end, no word says more than itself, as `none` and `or` do.
WORDS = st.from_regex(r"[A-Z][a-z]{0,6}[0-9]", fullmatch=True)
COLUMNS = st.sampled_from(["quantity", "unit price", "sales.quantity", "`Order ID`", "the end", "values in start"])


def _column(spelled: str) -> str:
    return re.sub(r"^(the |values in |sales\.)|`", "", spelled)


@given(COLUMNS, NUMBERS, NUMBERS, st.sampled_from(["", " must be", " is", " should always be"]))
def test_a_range_is_parsed_as_written(column: str, one: float, other: float, modal: str) -> None:
    low, high = sorted((one, other))
    for written, expected in (
        (f"between {low} and {high}", {"minimum": low, "maximum": high}),
        (f"at least {low}", {"minimum": low}),
        (f"<= {high}", {"maximum": high}),
        (f"less than {high}", {"maximum": high, "excludes_maximum": True}),
    ):
        read = read_constraint(f"{column}{modal} {written}", VOCABULARY)
        assert read.rules == (Rule.model_validate({"column": _column(column), "kind": "range", **expected}),)


@given(COLUMNS, st.lists(WORDS, min_size=2, max_size=5, unique=True), st.sampled_from([", ", " or "]))
def test_a_list_is_parsed_as_written(column: str, items: list[str], joint: str) -> None:
    listed = joint.join((", ".join(items[:-1]), items[-1]))
    read = read_constraint(f"{column} is one of {listed}", VOCABULARY)
    assert [rule.values for rule in read.rules] == [tuple(items)]


FRAGMENTS = st.sampled_from(
    [
        *(
            *TABLES["sales"],
            "sales.",
            "report.x",
            "must",
            "not",
            "never",
            "be",
            "in",
            "between",
            "and",
            "0",
            "10",
            "\n",
            "",
        ),
        *("one of", "A, B", "matches", "(", "[a]", "unique", "no nulls in", ">", "=", "after", "'"),
    ]
)


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=40), st.lists(FRAGMENTS, max_size=8).map(" ".join)))
def test_any_text_is_parsed_or_ignored_and_no_column_is_invented(text: str) -> None:
    read = read_constraint(text, VOCABULARY)
    assert read.text == text
    for rule in read.rules:
        known = TABLES[read.table]
        assert known is None or rule.column in known
        assert known is None or not rule.other_column or rule.other_column in known
