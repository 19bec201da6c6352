"""A solution's own container, fed and read as a cluster does it, beside the same task in the local sandbox.

What passes here has to pass there with the same values, and what fails there has to fail here.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import copilot
import pytest
from base_image import podman
from flyteidl.core.literals_pb2 import LiteralMap as LiteralMapMessage
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.core.context_manager import FlyteContextManager
from flytekit.core.promise import translate_inputs_to_literals
from flytekit.core.type_engine import TypeEngine
from flytekit.models.literals import LiteralMap
from flytekit.tools.translator import get_serializable
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.errors import OutputError, RequestError, SolutionFailedError
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.packages.images.containerfile import render_containerfile
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.portable import launcher
from flyteplugins_codegen.solution.task import SandboxTask

UTC = dt.timezone.utc
# Writes what it is told to: bytes, folders of them, words on stderr, an exit status.
SCRIPT = """\
import argparse, base64, json, pathlib, sys


def write(path, content):
    if isinstance(content, str):
        path.write_bytes(base64.b64decode(content))
    else:
        path.mkdir()
        for name, inner in content.items():
            write(path / name, inner)


def tree(path):
    return path.read_text() if path.is_file() else {part.name: tree(part) for part in path.iterdir()}


def main():
    parser = argparse.ArgumentParser()
    for name in ("text", "count", "share", "flag", "plan", "folder"):
        parser.add_argument("--" + name)
    given = parser.parse_args()
    plan = json.loads(pathlib.Path(given.plan).read_text())
    out = pathlib.Path("/var/outputs")
    for name, content in plan.get("outputs", {}).items():
        write(out / name, content)
    if plan.get("echoes"):
        seen = {"text": given.text, "folder": tree(pathlib.Path(given.folder))}
        (out / "seen").write_text(json.dumps(seen))
        (out / "line").write_text(given.text[:200])
        for name in ("count", "share", "flag"):
            (out / name).write_text(getattr(given, name))
    sys.stderr.write(plan.get("says", ""))
    sys.exit(plan.get("status", 0))


if __name__ == "__main__":
    main()
"""
ECHOED = {"text": "str", "count": "int", "share": "float", "flag": "bool", "plan": "file", "folder": "directory"}
ECHO = {"seen": "file", "line": "str", "count": "int", "share": "float", "flag": "bool"}

Run: TypeAlias = Callable[[SandboxTask, dict[str, Any]], dict[str, Any]]
FAILURES = (RequestError, OutputError, SolutionFailedError, copilot.TaskFailedError)


@pytest.fixture(scope="module")
def image(container_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The image of that solution, by its own Containerfile on a base whose Python is called `python3` only."""
    folder, name = tmp_path_factory.mktemp("image"), "localhost/codegen-test-solution:1"
    (folder / "launcher.py").write_text(Path(launcher.__file__).read_text())
    (folder / "solution.py").write_text(SCRIPT)
    recipe = render_containerfile(resolve(()), base_image=container_image)
    first, _, rest = recipe.partition("\n")
    (folder / "Containerfile").write_text(f"{first}\nRUN ln -sf python3 /usr/bin/python\n{rest}")
    podman("--runtime", "runc", "build", "--quiet", "--network", "none", "--tag", name, str(folder))
    yield name
    podman("rmi", "--force", name)


@pytest.fixture(params=["here", "in a pod"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    if request.param == "here":
        return lambda made, values: _by_name(made, made(**values))
    return lambda made, values: run_in_a_pod(made, values, tmp_path / "pod")


def _by_name(made: SandboxTask, returned: Any) -> dict[str, Any]:
    names = list(made.bundle.outputs)
    return {names[0]: returned} if len(names) == 1 else dict(zip(names, returned, strict=True))


def run_in_a_pod(made: SandboxTask, values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The way of the values: literals, their bytes, co-pilot, the container, co-pilot, bytes, literals."""
    context = FlyteContextManager.current_context()
    literals = translate_inputs_to_literals(context, values, made.interface.inputs, made.get_input_types())
    sent = LiteralMap(literals=literals).to_flyte_idl().SerializeToString()
    runner = Image(name="default", fqn="runner", tag="1")
    settings = SerializationSettings(image_config=ImageConfig(default_image=runner, images=[runner]))
    template = get_serializable({}, settings, made).template.to_flyte_idl()
    got = copilot.run_task(template, LiteralMapMessage.FromString(sent), folder)
    outputs = LiteralMap.from_flyte_idl(LiteralMapMessage.FromString(got.SerializeToString()))
    return TypeEngine.literal_map_to_kwargs(context, outputs, made.python_interface.outputs)


def task_of(image: str, outputs: dict[str, Any], inputs: dict[str, Any] | None = None) -> SandboxTask:
    bundle = SolutionBundle(
        name="planned", code=SCRIPT, lock=resolve(()), inputs=inputs or {"plan": "file"}, outputs=outputs, image=image
    )
    return SandboxTask(bundle, cache="disable")


def planned(folder: Path, **plan: Any) -> FlyteFile:
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    return FlyteFile(str(path))


def encoded(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: encoded(inner) for name, inner in content.items()}
    return base64.b64encode(content if isinstance(content, bytes) else content.encode()).decode()


VALUES: dict[str, tuple[str, int, float, bool]] = {
    "empty": ("", 0, 0.0, False),
    "maximal": ("x" * 131_071, 2**63 - 1, 1.7976931348623157e308, True),
    "templates": ("{{.inputs.count}} {{ .OutputPrefix }} {{.RawOutputDataPrefix}}", -(2**63), 5e-324, False),
    "options": ("--count=3", -1, -1e-05, True),
    "shell": ("'\"; $(id) `id` \\ \t\n %s \u2028 \U0001f600 é", 42, math.nan, False),
    "spaces": (" \n around \n ", 7, math.inf, True),
    "minus infinity": ("-", -7, -math.inf, True),
}


@pytest.mark.parametrize("case", VALUES)
def test_every_input_arrives_as_it_was_and_goes_out_again(run: Run, image: str, tmp_path: Path, case: str) -> None:
    text, count, share, flag = VALUES[case]
    (tmp_path / "folder" / "deep" / "er").mkdir(parents=True)
    (tmp_path / "folder" / "deep" / "er" / "file.txt").write_text("nested")
    (tmp_path / "folder" / "top").write_text("")
    values = {"text": text, "count": count, "share": share, "flag": flag, "plan": planned(tmp_path, echoes=True)}
    values["folder"] = FlyteDirectory(str(tmp_path / "folder"))
    outputs = run(task_of(image, ECHO, ECHOED), values)
    seen = json.loads(Path(outputs["seen"]).read_text())
    assert seen == {"text": text, "folder": {"deep": {"er": {"file.txt": "nested"}}, "top": ""}}
    assert (outputs["line"], outputs["count"], outputs["flag"]) == (text[:200].strip(" \n\t"), count, flag)
    assert outputs["share"] == share or (math.isnan(share) and math.isnan(outputs["share"]))


@pytest.mark.parametrize("text", ["x" * 131_072, "a\0b"], ids=["one byte too long", "a NUL"])
def test_a_text_that_no_command_can_be_given_fails(run: Run, image: str, tmp_path: Path, text: str) -> None:
    made = task_of(image, {"line": "str"}, {"text": "str", "plan": "file"})
    with pytest.raises(FAILURES, match=r"'text' \(str\).*declare the input as a file"):
        run(made, {"text": text, "plan": planned(tmp_path)})


GOOD = [
    ("str", "x" * 1024, "x" * 1024),
    ("str", " {{.inputs.plan}} \n", "{{.inputs.plan}}"),
    ("str", "", ""),
    ("int", "-9223372036854775808\n", -(2**63)),
    ("float", "1e308", 1e308),
    ("float", "-Inf", -math.inf),
    ("bool", "True", True),
    ("datetime", "2024-01-31T08:00:00+05:30", dt.datetime(2024, 1, 31, 2, 30, tzinfo=UTC)),
    ("datetime", "9999-12-31T23:59:59.999999Z", dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    ("timedelta", "1h30m", dt.timedelta(minutes=90)),
    ("timedelta", "-5400.25s", dt.timedelta(seconds=-5400.25)),
]


def test_what_a_cluster_reads_is_what_is_read_here(run: Run, image: str, tmp_path: Path) -> None:
    cases = {f"out_{number}": case for number, case in enumerate(GOOD)}
    plan = planned(tmp_path, outputs={name: encoded(content) for name, (_, content, _) in cases.items()})
    outputs = run(task_of(image, {name: kind for name, (kind, _, _) in cases.items()}), {"plan": plan})
    assert outputs == {name: value for name, (_, _, value) in cases.items()}


def test_files_and_flat_folders_come_out_whole(run: Run, image: str, tmp_path: Path) -> None:
    content = bytes(range(256)) * 8
    plan = planned(tmp_path, outputs={"table": encoded(content), "parts": encoded({"a b.csv": b"1", "_x": content})})
    outputs = run(task_of(image, {"table": "file", "parts": "directory"}), {"plan": plan})
    assert Path(outputs["table"]).read_bytes() == content
    parts = Path(outputs["parts"])
    assert {path.name: path.read_bytes() for path in parts.iterdir()} == {"a b.csv": b"1", "_x": content}


BAD = [
    ("str", "x" * 1025, "1024 bytes"),
    ("str", b"caf\xe9", "UTF-8"),
    ("int", "3.0", "base 10"),
    ("int", "9223372036854775808", "64-bit"),
    ("float", "1e400", "64-bit float"),
    ("bool", "yes", "'true' or 'false'"),
    ("datetime", "2024-01-31 08:00:00", "no time zone"),
    ("timedelta", "1:30:00", "duration"),
    ("int", {"a": "1"}, "it is a folder"),
    ("file", {"a": "1"}, "it is a folder"),
    ("directory", "1", "it is a file"),
    ("directory", {"sub": {"a.csv": "1"}}, "stores a folder output flat"),
    ("directory", {}, "empty"),
    ("int", None, "is missing"),
    ("file", None, "is missing"),
]


@pytest.mark.parametrize(("kind", "content", "message"), BAD)
def test_what_a_cluster_does_not_read_fails_with_the_same_words(
    run: Run, image: str, tmp_path: Path, kind: str, content: Any, message: str
) -> None:
    plan = planned(tmp_path, outputs={} if content is None else {"out": encoded(content)})
    with pytest.raises(FAILURES, match=message):
        run(task_of(image, {"out": kind}), {"plan": plan})


def test_a_script_that_fails_is_told_by_its_own_words(run: Run, image: str, tmp_path: Path) -> None:
    plan = planned(tmp_path, outputs={"out": encoded("1")}, says="no such column: rain", status=7)
    with pytest.raises(FAILURES, match=r"(?s)(?=.*exit status 7).*no such column: rain"):
        run(task_of(image, {"out": "int"}), {"plan": plan})


def test_an_error_file_of_the_scripts_own_fails_the_task(run: Run, image: str, tmp_path: Path) -> None:
    plan = planned(tmp_path, outputs={"out": encoded("1"), "_ERROR": encoded("the rows are gone")})
    with pytest.raises(FAILURES, match="the rows are gone"):
        run(task_of(image, {"out": "int"}), {"plan": plan})


@pytest.mark.parametrize(
    "plan",
    [
        {"status": 7},
        {"outputs": {"out": encoded("3.0")}},
        {"outputs": {"out": encoded("1"), "_ERROR": encoded("gone")}},
    ],
    ids=["the script fails", "an output is wrong", "an error file"],
)
def test_a_failure_that_no_other_pod_helps_takes_one(image: str, tmp_path: Path, plan: dict[str, Any]) -> None:
    with pytest.raises(copilot.TaskFailedError, match="launcher: ") as caught:
        run_in_a_pod(task_of(image, {"out": "int"}), {"plan": planned(tmp_path, **plan)}, tmp_path / "pod")
    assert caught.value.pods == 1


def test_a_pod_that_could_not_start_its_launcher_is_tried_elsewhere(container_image: str, tmp_path: Path) -> None:
    made = task_of(container_image, {"out": "int"})
    with pytest.raises(copilot.TaskFailedError) as caught:
        run_in_a_pod(made, {"plan": planned(tmp_path)}, tmp_path / "pod")
    assert caught.value.pods == 4
