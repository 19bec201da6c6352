"""Which order of rows a description asks for."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from flyteplugins_codegen.judging.agreement.order import is_rounding_fixed, order_asked

_spec = importlib.util.spec_from_file_location("order_phrasings", Path(__file__).with_name("order_phrasings.py"))
assert _spec
assert _spec.loader
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
PHRASINGS: tuple[tuple[str, str], ...] = _module.PHRASINGS

TABLE = {"table": "file"}
# Said of the data that comes in, in words of a request: asked for too much, not too little.
KNOWN_MISS = "In chronological order the readings should rise; count those that do not."


@pytest.mark.parametrize(("description", "order"), [case for case in PHRASINGS if case[0] != KNOWN_MISS])
def test_the_order_asked_for_is_recognised(description: str, order: str) -> None:
    assert order_asked(description, TABLE) == order


def test_an_order_is_of_no_importance_where_no_output_holds_rows() -> None:
    assert order_asked("Sort by date, then sum.", {"total": "float", "n": "int"}) == "free"
    assert order_asked("Sort by date, then sum.", {"total": "float", "table": "file"}) != "free"


@pytest.mark.parametrize(
    ("description", "is_fixed"),
    [
        ("the mean, rounded to one decimal", True),
        ("total: the sum of mm, with two decimals", True),
        ("give percentages as whole numbers", True),
        ("total revenue: the sum of quantity times price", False),
        ("mean price for each region", False),
    ],
)
def test_a_description_that_speaks_of_rounding_fixes_it(description: str, *, is_fixed: bool) -> None:
    assert is_rounding_fixed(description) is is_fixed
