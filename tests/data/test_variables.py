"""The values of variables at a failure, as a model may see them when personal values are masked."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.data.privacy.failures import hide_texts
from flyteplugins_codegen.judging.suites.inside.variables import variables_of

KNOWN = "def main(): rows['email']; 'Bonn', user_id"
FRAME = pd.DataFrame({"user": ["jane.doe", "O'Brien"], "n": [1, 2]})
VALUES = [
    (3, "3"),
    (-2.5e-07, "-2.5e-07"),
    (None, "None"),
    ("jane.doe", "<str of 8>"),
    (b"corp.example", "<bytes of 12>"),
    ("Bonn", "'Bonn'"),
    ("user", "<str of 4>"),  # stands in `user_id`, and not by itself
    ("de", "'de'"),
    ('it\'s\t"jane"', "<str of 11>"),
    (["jane", 1, True], "[<str of 4>, 1, True]"),
    ({"email": "jane.doe"}, "{'email': <str of 8>}"),
    (dt.date(2024, 1, 5), "datetime.date(2024, 1, 5)"),
    (Decimal("1.25"), "Decimal(<str of 4>)"),
    (pd.Timestamp("2024-01-05"), "Timestamp(<str of 19>)"),
    (dt.timedelta(seconds=5), "datetime.timedelta(seconds=5)"),
    (FRAME, "<not shown>"),
    (pd.DataFrame({"email": range(99), "user": "jane"}), "<DataFrame of shape (99, 2), columns ['email', <str of 4>]>"),
    (FRAME["user"], "<not shown>"),
    (range(1000), "<range>"),
    (["jane.doe"] * 30, "[<str of 8>, <str of 8>, <str of 8>, <str of 8>, <str of 8>, ... 30 in all]"),
    ("jane,doe," * 20, "<str of 76>... 180 in all"),
]


def failure_variables(**values: object) -> str:
    """Return the variables of a script that fails when it is called with these values."""
    code = compile(f"def main({', '.join(values)}):\n    raise ValueError\n", "solution.py", "exec")
    scope: dict[str, Any] = {}
    exec(code, scope)  # noqa: S102 - the frame of a solution, made here
    try:
        scope["main"](**values)
    except ValueError as error:
        return variables_of(error)
    raise AssertionError


@pytest.mark.parametrize(("value", "shown"), VALUES, ids=[str(shown) for _, shown in VALUES])
def test_a_text_is_replaced_by_its_type_and_length_unless_the_model_knows_it(value: object, shown: str) -> None:
    assert (
        hide_texts(failure_variables(a=1, value=value, z=2), KNOWN) == f"in main, line 2: a = 1; value = {shown}; z = 2"
    )


def test_an_apostrophe_in_a_table_never_reveals_a_text() -> None:
    hidden = hide_texts(failure_variables(table=FRAME, user="jane.doe", domain="it's corp.example"), KNOWN)
    assert not [part for part in ("jane", "doe", "Brien", "corp") if part in hidden]


@pytest.mark.parametrize("line", ["jane.doe", "in main: user = 'jane.doe'", "in main, line 3: jane.doe", "x = 'jane"])
def test_lines_that_are_not_variables_are_left_out(line: str) -> None:
    assert "jane" not in hide_texts(line, "")


LETTERS = st.text(st.characters(categories=["L"]), min_size=3, max_size=12)


@given(values=st.dictionaries(LETTERS, st.recursive(LETTERS, st.lists), min_size=1, max_size=4))
def test_texts_are_hidden_at_every_nesting_level(values: dict[str, object]) -> None:
    shown = hide_texts(failure_variables(value=values), "")
    assert not [name for name in values if repr(name) in shown]
