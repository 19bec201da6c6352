from __future__ import annotations

import datetime as dt

import pytest
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.models.job import OUTPUT_TYPES, output_types, type_name


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        (int, "int"),
        (bool, "bool"),
        (dt.datetime, "datetime"),
        (dt.timedelta, "timedelta"),
        (FlyteFile, "file"),
        (FlyteFile["csv"], "file"),
        (FlyteDirectory, "directory"),
        ("file", "file"),
        (" int ", "int"),
        ("FlyteFile", "file"),
        (dt.date, None),
        (object, None),
        ("dict", None),
        (None, None),
        (3, None),
    ],
)
def test_a_type_is_given_as_python_type_flytekit_type_or_name(declared, name):
    assert type_name(declared) == name


def test_types_are_normalised_to_names_in_declared_order():
    assert output_types({"b": FlyteFile, "a": "int", "c": float}) == {"b": "file", "a": "int", "c": "float"}
    assert list(output_types(dict.fromkeys("zyx", int))) == ["z", "y", "x"]


def test_every_name_is_its_own_type_name():
    assert [type_name(name) for name in OUTPUT_TYPES] == list(OUTPUT_TYPES)


def test_another_class_named_flytefile_is_not_a_type():
    impostor = type("FlyteFile", (), {"__module__": "elsewhere"})
    assert type_name(impostor) is None
