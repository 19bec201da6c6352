"""A solution as a Flyte task: called, composed, packaged, and its pod."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from flytekit import task, workflow
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.tools.translator import get_serializable
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.errors import SettingsError, SolutionFailedError
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.solution.task import SandboxTask

EVERY_TYPE = """\
import argparse
import pathlib

parser = argparse.ArgumentParser()
for name in ("text", "count", "share", "flag", "table", "folder"):
    parser.add_argument(f"--{name}")
given = parser.parse_args()
out = pathlib.Path("/var/outputs")
(out / "line").write_text(f"{given.text} {int(given.count) + 1} {given.flag}")
(out / "half").write_text(str(float(given.share) / 2))
(out / "when").write_text("2024-01-31T12:00:00Z")
(out / "span").write_text("90s")
(out / "copy").write_bytes(pathlib.Path(given.table).read_bytes())
(out / "parts").mkdir()
for number, part in enumerate(sorted(pathlib.Path(given.folder).iterdir())):
    (out / "parts" / f"{number}.txt").write_bytes(part.read_bytes())
"""


def bundle_of(code: str, inputs: dict[str, Any], outputs: dict[str, Any], name: str = "counter") -> SolutionBundle:
    return SolutionBundle(name=name, code=code, lock=resolve(()), inputs=inputs, outputs=outputs, image="counter:1")


def counter(**arguments: Any) -> SandboxTask:
    return SandboxTask(bundle_of(job.code(), {"table": "file"}, job.OUTPUTS), **arguments)


def test_a_task_takes_its_samples_as_defaults_and_other_values_by_name(tmp_path: Path) -> None:
    count = counter(defaults={"table": job.write_table(tmp_path / "sample.csv", rows=2)})
    assert count() == 2
    assert count(table=FlyteFile(str(job.write_table(tmp_path / "other.csv", rows=7)))) == 7


def test_a_file_that_changed_at_the_same_path_is_read_again(tmp_path: Path) -> None:
    count = counter()
    table = job.write_table(tmp_path / "table.csv", rows=2)
    assert count(table=FlyteFile(str(table))) == 2
    job.write_table(table, rows=3)
    assert count(table=FlyteFile(str(table))) == 3


def test_every_type_goes_in_and_comes_out_in_declared_order(tmp_path: Path) -> None:
    table = job.write_table(tmp_path / "table.csv", rows=1)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one").write_text("first")
    inputs = {"text": "str", "count": "int", "share": "float", "flag": "bool", "table": "file", "folder": "directory"}
    outputs = {
        "line": "str",
        "half": "float",
        "when": "datetime",
        "span": "timedelta",
        "copy": "file",
        "parts": "directory",
    }
    run = SandboxTask(bundle_of(EVERY_TYPE, inputs, outputs, name="every_type"), defaults={"share": 0.5, "flag": True})
    given = {"table": FlyteFile(str(table)), "folder": FlyteDirectory(str(tmp_path / "folder"))}
    line, half, when, span, copy, parts = run(text="a {{.inputs.count}} b", count=41, **given)
    assert (line, half) == ("a {{.inputs.count}} b 42 true", 0.25)
    assert when == dt.datetime(2024, 1, 31, 12, tzinfo=dt.timezone.utc)
    assert span == dt.timedelta(seconds=90)
    assert Path(copy).read_bytes() == table.read_bytes()
    assert (Path(parts) / "0.txt").read_text() == "first"


def test_a_task_stands_in_a_workflow_with_and_without_its_default(tmp_path: Path) -> None:
    count = counter(defaults={"table": job.write_table(tmp_path / "sample.csv", rows=2)})

    @task
    def add(one: int, other: int) -> int:
        return one + other

    @workflow
    def both(table: FlyteFile) -> int:
        return add(one=count(), other=count(table=table))

    assert both(table=FlyteFile(str(job.write_table(tmp_path / "other.csv", rows=40)))) == 42


def test_a_script_that_fails_raises_its_own_words_and_nothing_of_ours(tmp_path: Path) -> None:
    broken = SandboxTask(bundle_of("raise ValueError('no such column: rain')", {}, job.OUTPUTS))
    with pytest.raises(SolutionFailedError, match="no such column: rain") as caught:
        broken()
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("mode", ["auto", "override", "disable"])
def test_no_solution_is_cached_by_the_address_of_its_input(mode: Any) -> None:
    assert not serialized(counter(cache=mode)).metadata.discoverable


def test_a_cache_that_a_cluster_cannot_keep_by_content_names_the_one_that_can() -> None:
    with pytest.raises(SettingsError, match=r"cache=True: .*cached_by_content\(task\)"):
        counter(cache=True)


def serialized(made: SandboxTask) -> Any:
    image = Image(name="default", fqn="runner", tag="1")
    settings = SerializationSettings(image_config=ImageConfig(default_image=image, images=[image]))
    return get_serializable({}, settings, made).template.to_flyte_idl()
