"""The columns that a job mentions."""

from __future__ import annotations

import pytest

from flyteplugins_codegen.data.mentions import mentioned_columns
from flyteplugins_codegen.models.data import ColumnProfile

NAMES = ("dep_delay", "unitPrice", "Culmen Length (mm)", "a", "id", "überschuss", "n_12", "region")


def mentioned(job: str, *names: str, **values: tuple[str, ...]) -> set[str]:
    columns = [ColumnProfile(name=name, arrow_type="string", null_count=0) for name in names or NAMES]
    tops = {name: tuple((value, 1) for value in values[name]) for name in values}
    told = [column.model_copy(update={"top_values": tops.get(column.name, ())}) for column in columns]
    return set(mentioned_columns(told, job))


@pytest.mark.parametrize(
    ("job", "names"),
    [
        ("the mean DEP_DELAY", {"dep_delay"}),
        ("flights delayed by an hour", {"dep_delay"}),
        ("departures", {"dep_delay"}),
        ("the price of a unit", {"unitPrice", "a"}),
        ("prices", {"unitPrice"}),
        ("the longest culmen", {"Culmen Length (mm)"}),
        ('{"id": 3}', {"id"}),
        ("ideas", set()),
        ("der Überschuss", {"überschuss"}),
        ("rows with n_12 of 3", {"n_12"}),
        ("12 of 13", set()),
        ("regional sums", {"region"}),
        ("", set()),
    ],
)
def test_a_column_is_mentioned_by_its_name_or_a_word_of_it(job: str, names: set[str]) -> None:
    assert mentioned(job) == names


def test_a_column_is_mentioned_by_one_of_its_values() -> None:
    values = {"kind": ("Adelie", "of"), "state": ("open",)}
    assert mentioned("the mass of adelie penguins", "kind", "state", **values) == {"kind"}
    assert mentioned("opened ones", "kind", "state", **values) == set()
