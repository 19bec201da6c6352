"""A solution that a cluster caches: by the content of its files, wherever they lie."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from flyteidl.core.literals_pb2 import Blob, BlobMetadata, Literal, LiteralMap, Primitive, Scalar
from flyteidl.core.types_pb2 import BlobType
from flytekit import dynamic, task, workflow
from flytekit.types.file import FlyteFile
from pod_forker import forked_pods
from propeller import StartPod, Walk

from flyteplugins_codegen import SandboxTask, cached_by_content
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.packages.resolve import resolve

# As a user writes it.
THEIR_FILE = """
from flytekit import workflow
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen import SandboxTask, cached_by_content

FILES = {"table": "file", "folder": "directory", "extra": "int"}
count = SandboxTask.from_folder(".", name="counter", inputs=FILES, outputs={"row_count": "int"}, image="counter:1")
cached = cached_by_content(count)


@workflow
def counted(table: FlyteFile, folder: FlyteDirectory, extra: int) -> int:
    return cached(table=table, folder=folder, extra=extra)
"""
ANSWER = Literal(scalar=Scalar(primitive=Primitive(integer=7)))


def counter(**inputs: Any) -> SandboxTask:
    bundle = SolutionBundle(
        name="counter",
        code=job.code(),
        lock=resolve(()),
        inputs={"table": "file", **inputs},
        outputs=job.OUTPUTS,
        image="counter:1",
    )
    return SandboxTask(bundle)


COUNTER = counter()
CACHED = cached_by_content(COUNTER)


@task
def double(count: int) -> int:
    return 2 * count


@workflow
def doubled(table: FlyteFile) -> int:
    return double(count=CACHED(table=table))


@workflow
def made_inside(table: FlyteFile) -> int:
    return double(count=cached_by_content(COUNTER)(table=table))


@dynamic
def in_a_dynamic(table: FlyteFile) -> int:
    return cached_by_content(COUNTER)(table=table)


@pytest.mark.parametrize(("flow", "count"), [(doubled, 6), (made_inside, 6), (in_a_dynamic, 3), (CACHED, 3)])
def test_in_local_execution_it_is_as_the_solution_itself(flow: Callable[..., int], count: int, tmp_path: Path) -> None:
    table = job.write_table(tmp_path / "table.csv", rows=3)
    assert flow(table=FlyteFile(str(table))) == count
    job.write_table(table, rows=4)
    assert flow(table=FlyteFile(str(table))) == count // 3 * 4


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "solution.py").write_text(job.code())
    (folder / "requirements.txt").touch()
    (folder / "theirs.py").write_text(THEIR_FILE)
    pyflyte = str(Path(sys.executable).with_name("pyflyte"))
    packaging = (pyflyte, "--pkgs", "theirs", "package", "--image", "runner:1", "--output", "package.tgz")
    done = subprocess.run(packaging, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "package.tgz"


class Counted(Walk):
    """A walk that does not run the solution's own container, which is not of flytekit, but counts it."""

    def _run_pod(self, start: Any, store: Path, earlier: str) -> Any:
        if start.template.type == "raw-container":
            return {"row_count": ANSWER}
        return super()._run_pod(start, store, earlier)


@pytest.fixture
def walk(registered: Path, tmp_path: Path, start_pod: StartPod) -> Walk:
    made = Counted(folder=tmp_path / "store", start_pod=start_pod)
    made.register(registered)
    return made


@pytest.fixture(scope="module")
def start_pod(registered: Path) -> Iterator[StartPod]:
    with forked_pods(registered) as start:
        yield start


def blob(path: Path, dimensionality: Any) -> Literal:
    kind = BlobType(dimensionality=dimensionality)
    return Literal(scalar=Scalar(blob=Blob(metadata=BlobMetadata(type=kind), uri=str(path))))


def run(walk: Walk, table: Path, folder: Path, extra: int = 1) -> int:
    """How many times the solution has run after this execution."""
    literals = {"table": blob(table, BlobType.SINGLE), "folder": blob(folder, BlobType.MULTIPART)}
    literals["extra"] = Literal(scalar=Scalar(primitive=Primitive(integer=extra)))
    left = walk.run_workflow("theirs.counted", literals)
    assert LiteralMap(literals=left).literals["o0"].scalar.primitive.integer == 7
    return sum(pod.template.type == "raw-container" for pod in walk.pods)


def test_on_a_cluster_the_content_decides_and_not_the_address(walk: Walk, tmp_path: Path) -> None:
    table, folder, elsewhere = job.write_table(tmp_path / "latest.csv", rows=3), tmp_path / "in", tmp_path / "other"
    folder.mkdir()
    (folder / "one").write_text("1")
    assert run(walk, table, folder) == 1
    assert run(walk, table, folder) == 1
    assert run(walk, job.write_table(tmp_path / "moved.csv", rows=3), folder) == 1
    job.write_table(table, rows=4)
    assert run(walk, table, folder) == 2
    assert run(walk, table, folder, extra=2) == 3
    elsewhere.mkdir()
    (elsewhere / "one").write_text("1")
    assert run(walk, table, elsewhere) == 3
    (elsewhere / "one").rename(elsewhere / "two")
    assert run(walk, table, elsewhere) == 4


def test_what_was_hashed_is_what_the_solution_reads(walk: Walk, tmp_path: Path) -> None:
    """A file that is replaced between the two pods would be kept under the hash of the old one."""
    (tmp_path / "in").mkdir()
    table = job.write_table(tmp_path / "latest.csv", rows=3)
    run(walk, table, tmp_path / "in")
    store = next(path for path in (tmp_path / "store").iterdir() if path.name.endswith("-copy_file"))
    (copied,) = LiteralMap.FromString((store / "outputs.pb").read_bytes()).literals.values()
    job.write_table(table, rows=9)
    assert copied.hash
    assert Path(copied.scalar.blob.uri).read_text().count("x") == 3


def test_its_version_is_that_of_the_code(walk: Walk) -> None:
    assert not walk.tasks["counter"].metadata.discoverable
    kept = walk.tasks["counter-by-content"].metadata
    assert (kept.discoverable, len(kept.discovery_version)) == (True, 32)
