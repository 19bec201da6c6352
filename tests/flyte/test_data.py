"""Profiles and contexts as Flyte tasks: by `pyflyte run` in a process of its own, and in a workflow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from flytekit import task, workflow
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.data import SampleProfile
from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.flyte.data import extract_data_context, profile_folder, profile_sample

ROOT = Path(__file__).parents[2]
WEATHER = ROOT / "workflows" / "data" / "seattle-weather.csv"


@task
def rows_of(profile: SampleProfile) -> int:
    return profile.row_count or 0


@workflow
def count_rows(sample: FlyteFile) -> int:
    return rows_of(profile=profile_sample(sample=sample, name="weather"))


def test_a_profile_goes_from_task_to_task() -> None:
    assert count_rows(sample=FlyteFile(str(WEATHER))) == 1461


def test_a_folder_of_parts_is_one_table(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"part-{number}.csv").write_text("a,b\n1,x\n2,y\n")
    profile = profile_folder(sample=FlyteDirectory(str(tmp_path)), name="parts")
    assert (profile.row_count, list(profile.columns)) == (6, ["a", "b"])


def test_what_a_model_would_see_is_masked_as_it_is_asked(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("mail,city\nanna.berg@example.org,Bonn\nkarl.thal@example.org,Ulm\n")
    samples = {"people": FlyteFile(str(people))}
    masked = extract_data_context(samples=samples, private_columns=["people.city"])
    assert "anna.berg" not in masked.text
    assert "Bonn" not in masked.text
    assert "anna.berg@example.org" in extract_data_context(samples=samples, privacy="rows").text


def test_an_empty_sample_is_named_in_the_error(tmp_path: Path) -> None:
    empty = tmp_path / "sales.csv"
    empty.touch()
    with pytest.raises(SampleError, match="sales"):
        profile_sample(sample=FlyteFile(str(empty)), name="sales")


def test_pyflyte_profiles_a_file(pyflyte: Any) -> None:
    done = pyflyte.run(
        "run", str(ROOT / "workflows" / "profile.py"), "profile_sample", "--sample", str(WEATHER), "--name", "weather"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1461" in done.stdout


def test_pyflyte_shows_what_a_model_would_see(pyflyte: Any) -> None:
    samples = json.dumps({"weather": str(WEATHER)})
    done = pyflyte.run("run", str(ROOT / "workflows" / "profile.py"), "extract_data_context", "--samples", samples)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "temp_max" in done.stdout
