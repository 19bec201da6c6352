"""The image of the stages: built from `Dockerfile` on the base of the tests, `pyflyte run` in it without a right."""

from __future__ import annotations

import json
import os
import shlex
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import row_count_job as job
from base_image import pip_image, podman
from model_server import ModelServer

from flyteplugins_codegen.packages.images.builder import CERTIFICATES_SECRET, write_index_files

ROOT = Path(__file__).parents[2]
NAME = "localhost/codegen-test-runner:1"
LIMITS = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096")
# As the head of `Dockerfile` has it, in podman's words: what bubblewrap needs to isolate inside a container.
ALLOWED = ("--security-opt", "seccomp=unconfined", "--security-opt", "unmask=ALL", "--cap-drop", "all")


@pytest.fixture(scope="module")
def runner(container_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    del container_image
    files = write_index_files(tmp_path_factory.mktemp("index"))
    secrets = [part for name, path in files.items() for part in ("--secret", f"id={name},src={path}")]
    recipe = ("--build-arg", f"BASE_IMAGE={pip_image()}", "--file", str(ROOT / "Dockerfile"))
    podman("--runtime", "runc", "build", "--quiet", *LIMITS, *recipe, *secrets, "--tag", NAME, str(ROOT))
    yield NAME
    podman("rmi", "--force", NAME)


def run(image: str, *words: str, options: tuple[str, ...] = ()) -> str:
    started = ("--runtime", "runc", "run", "--rm", "--network", "host", *LIMITS, *ALLOWED, *options)
    return podman(*started, image, *words)


def test_pyflyte_generates_in_the_runner_image_without_root_and_capabilities(runner: str, tmp_path: Path) -> None:
    job.write_table(tmp_path / "table.csv", rows=3)
    tmp_path.chmod(0o755)
    shown = [f"{tmp_path}:/data:ro", f"{ROOT / 'workflows'}:/srv/flyte/workflows:ro"]
    told = {"OPENAI_API_KEY": "none"}
    certificates = write_index_files(tmp_path).get(CERTIFICATES_SECRET)
    if certificates:
        shown.append(f"{certificates.resolve()}:/data-ca.pem:ro")
        told["SSL_CERT_FILE"] = "/data-ca.pem"
    told |= {name: value for name, value in os.environ.items() if name.startswith("UV_") and "://" in value}
    volumes = [part for volume in shown for part in ("--volume", volume)]
    variables = [part for name, value in told.items() for part in ("--env", f"{name}={value}")]
    with ModelServer({"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}) as server:
        words = ("--prompt", "count in the runner image", "--model", "openai/any", "--api_base", server.url)
        data = ("--samples", json.dumps({"table": "/data/table.csv"}), "--outputs", json.dumps(job.OUTPUTS))
        command = ("pyflyte", "run", "workflows/generate.py", "generate", *words, *data)
        inside = f"id -u; grep CapEff /proc/self/status; {shlex.join(command)}"
        said = run(runner, "sh", "-c", inside, options=(*volumes, *variables))
    lines = said.splitlines()
    assert lines[0] == "1000"
    assert lines[1].split() == ["CapEff:", "0000000000000000"]
    assert "CodeGenEvalResult(success" in said


@pytest.mark.parametrize("destination", ["/root", ".", "/srv/flyte/code"])
def test_code_of_a_fast_registration_is_unpacked_and_imported_by_the_images_user(
    runner: str, tmp_path: Path, destination: str
) -> None:
    """`/root` is what `pyflyte register` has by default, `.` what `pyflyte run --remote` has."""
    (tmp_path / "weekly.py").write_text("print('imported from', __file__)\n")
    with tarfile.open(tmp_path / "code.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "weekly.py", arcname="weekly.py")
    tmp_path.chmod(0o755)
    loading = f"mkdir -p {destination} && exec pyflyte-fast-execute --additional-distribution /data/code.tar.gz"
    command = f"{loading} --dest-dir {destination} -- python -c 'import weekly'"
    said = run(runner, "sh", "-c", command, options=("--volume", f"{tmp_path}:/data:ro"))
    assert "imported from" in said
