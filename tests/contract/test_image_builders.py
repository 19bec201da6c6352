"""Every builder of images, held to one contract: what it builds, what it builds but once, what it says and hides.

podman and buildah are the real ones. No Docker daemon and no buildkitd runs here: `docker` is podman, whose command
line is Docker's, and `buildctl` a stand-in that reads its options and lets buildah build; so of these two, what is held
is the command line, the environment and what we make of the answer. Each program is called through a script that notes
its command line, as anyone on the machine may read it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from base_image import pip_image, podman
from image_registry import PASSWORD, USER, ImageRegistry

from flyteplugins_codegen.errors import ImageBuildError, PackageError, SettingsError
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.models.settings import ImageConfig
from flyteplugins_codegen.packages.images.build import make_image, open_builder
from flyteplugins_codegen.packages.images.builder import BuildOrder, ImageBuilder
from flyteplugins_codegen.packages.images.containerfile import image_name
from flyteplugins_codegen.packages.images.registry import find_digest, login_file
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.solution.image import build_solution_image

CODE = """\
import pathlib
import six

pathlib.Path("/var/outputs/version").write_text(six.__version__)
"""
SMALL = "FROM scratch\nCOPY Containerfile /"
BUILDERS = ("podman", "buildah", "docker", "buildkit")
INDEX = "https://someone:index-password@index.example/simple"


@pytest.fixture(scope="session")
def base(container_image: str) -> str:
    """The base image of the tests with a `python` and pip."""
    del container_image  # which this one is made from
    return pip_image()


class Programs:
    """The build programs, each behind a script that records its command line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / "calls"
        loopback = '[ "$1" = push ] && shift && set -- push --tls-verify=false "$@"'
        podman_program, buildah = shutil.which("podman"), shutil.which("buildah")
        self._add("podman", f'exec {podman_program} "$@"')
        self._add("buildah", f'exec {buildah} "$@"')
        self._add("docker", f'{loopback}\nexec {podman_program} --runtime runc "$@"')
        stand_in = Path(__file__).parents[1] / "support" / "buildctl.py"
        self._add("buildctl", f'exec {sys.executable} {stand_in} "$@"')

    def _add(self, name: str, act: str) -> None:
        path = self.folder / name
        path.write_text(f'#!/bin/sh\necho {name} "$*" >>{self._log}\n{act}\n')
        path.chmod(0o755)

    def calls(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []

    def builds(self) -> int:
        return sum(" build " in f" {call} " for call in self.calls())


@pytest.fixture(params=BUILDERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    folder = tmp_path / "programs"
    folder.mkdir()
    found = Programs(folder)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("BUILDKIT_HOST", "tcp://buildkitd.example:1234")
    return found


@pytest.fixture
def bundle_of(kind: str) -> Iterator[Callable[..., SolutionBundle]]:
    """Solutions whose images are removed afterwards."""
    made = []

    def make(config: ImageConfig, lock: EnvironmentLock | None = None) -> SolutionBundle:
        lock = lock or resolve(("six",))
        name = image_name(f"contract-{kind}", lock, CODE, config)
        made.append(name)
        return SolutionBundle(name="c", code=CODE, lock=lock, inputs={}, outputs={"version": "str"}, image=name)

    yield make
    for name in made:
        subprocess.run([shutil.which("podman") or "podman", "rmi", "--force", name], capture_output=True, check=False)


def test_a_solution_runs_in_the_image_that_was_built_once(
    kind: str, base: str, programs: Programs, bundle_of: Callable[..., SolutionBundle], tmp_path: Path
) -> None:
    config = ImageConfig(builder=kind, base_image=base)
    bundle = bundle_of(config)
    built = build_solution_image(bundle, config, should_push=False)
    assert (built.name, built.was_there, built.digest) == (bundle.image, False, None)
    assert "Successfully installed six-1" in built.log or "Using cache" in built.log
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o777)
    podman(
        "--runtime",
        "runc",
        "run",
        "--rm",
        "--network",
        "none",
        "--cap-drop",
        "all",
        "--read-only",
        "--ulimit",
        "nofile=1024:1024",
        "--ulimit",
        "nproc=1024:1024",
        "--volume",
        f"{out}:/var/outputs",
        bundle.image,
    )
    assert f"six=={(out / 'version').read_text()} " in bundle.lock.requirements
    _check_what_the_image_says(bundle)
    builds = programs.builds()
    assert builds
    again = build_solution_image(bundle, config, should_push=False)
    # A daemon keeps layers but no image names: it is asked to build again, and reuses every layer.
    assert (again.was_there, programs.builds() == builds) == ((False, False) if kind == "buildkit" else (True, True))


def _check_what_the_image_says(bundle: SolutionBundle) -> None:
    (told,) = json.loads(podman("image", "inspect", bundle.image))
    labels = told["Config"]["Labels"]
    assert labels["org.opencontainers.image.title"] == bundle.image.partition(":")[0]
    assert labels["io.flyte.codegen.solution"].startswith("sha256:")
    assert told["User"] == "1000:1000"
    history = podman("history", "--no-trunc", "--format", "{{.CreatedBy}}|{{.Size}}", bundle.image)
    with_content = [line for line in history.splitlines() if not line.endswith("|0 B")]
    assert "COPY" in with_content[0]  # the newest: the solution


def order_of(folder: Path, name: str, login: str | None = None, recipe: str = SMALL) -> BuildOrder:
    """An image of one small file: what matters about pushing it."""
    context = folder / "context"
    context.mkdir()
    (context / "Containerfile").write_text(recipe)
    if login is not None:
        (folder / "config.json").write_text(login_file(login, name) or "")
    return BuildOrder(context=context, name=name, login=folder if login else None)


def builder_of(kind: str) -> ImageBuilder:
    builder = open_builder(kind)
    assert builder is not None
    return builder


def test_a_pushed_image_is_never_built_again(kind: str, programs: Programs, tmp_path: Path) -> None:
    with ImageRegistry(needs_login=True) as registry:
        order = order_of(tmp_path, f"{registry.host}/team/contract-{kind}:1", f"{USER}:{PASSWORD}")
        built = make_image(order, builder_of(kind), should_push=True)
        assert registry.pushed == [f"team/contract-{kind}:1"]
        kind_of_manifest, manifest = registry.manifests[registry.pushed[0]]
        assert "manifest" in kind_of_manifest
        assert built.digest in "".join(registry.manifests)
        assert {layer["digest"] for layer in json.loads(manifest)["layers"]} <= set(registry.blobs)
        calls = len(programs.calls())
        again = make_image(order, builder_of(kind), should_push=True)
        assert (again.was_there, again.digest) == (True, built.digest)
        assert len(programs.calls()) == calls
    podman("rmi", "--force", order.name)
    shown = "\n".join([*programs.calls(), built.log])
    assert PASSWORD not in shown
    assert USER not in shown


def test_a_wrong_login_is_told_without_showing_it(kind: str, programs: Programs, tmp_path: Path) -> None:
    del programs
    with ImageRegistry(needs_login=True) as registry:
        order = order_of(tmp_path, f"{registry.host}/team/contract-{kind}:2", f"{USER}:wrong-password")
        with pytest.raises(ImageBuildError, match="ended with exit status") as failure:
            make_image(order, builder_of(kind), should_push=True)
    podman("rmi", "--force", order.name)
    assert "wrong-password" not in str(failure.value)


def test_what_is_no_package_s_fault_is_the_builder_s(kind: str, programs: Programs, tmp_path: Path) -> None:
    del programs
    order = order_of(tmp_path, f"contract-{kind}:3", recipe="FROM scratch\nCOPY absent /")
    with pytest.raises(ImageBuildError, match=r"(?s)ended with exit status .*absent"):
        make_image(order, builder_of(kind), should_push=False)


@pytest.mark.parametrize("kind", ["podman"])
def test_the_secret_that_the_settings_name_lets_in(
    base: str,
    programs: Programs,
    bundle_of: Callable[..., SolutionBundle],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PUSHER", f"{USER}:{PASSWORD}")
    with ImageRegistry(needs_login=True) as registry:
        host = f"{registry.host}/team"
        config = ImageConfig(builder="podman", base_image=base, registry=host, registry_secret="PUSHER")
        bundle = bundle_of(config, resolve(()))
        name = bundle.image.removeprefix(f"{registry.host}/")
        registry.manifests[name] = ("application/vnd.oci.image.manifest.v1+json", b"{}")
        assert build_solution_image(bundle, config, should_push=True).was_there
        monkeypatch.setenv("PUSHER", f"{USER}:wrong-password")
        assert find_digest(bundle.image) is None
    assert programs.calls() == []


def test_a_package_that_the_index_lacks_is_named(
    kind: str, base: str, programs: Programs, bundle_of: Callable[..., SolutionBundle]
) -> None:
    del programs
    config = ImageConfig(builder=kind, base_image=base)
    pins = f"six==99.0 --hash=sha256:{'0' * 64}\n"
    lock = resolve(("six",)).model_copy(update={"requirements": pins, "digest": "9" * 64})
    with pytest.raises(PackageError, match=r"(?s)package six==99\.0: .*No matching distribution") as failure:
        build_solution_image(bundle_of(config, lock), config, should_push=False)
    assert failure.value.package == "six"


@pytest.mark.parametrize("kind", ["podman"])
def test_the_index_is_in_no_layer_and_no_command_line(
    base: str,
    programs: Programs,
    bundle_of: Callable[..., SolutionBundle],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("UV_EXTRA_INDEX_URL", INDEX)
    config = ImageConfig(builder="podman", base_image=base)
    lock = resolve(()).model_copy(update={"digest": "1" * 64})
    bundle = bundle_of(config, lock)
    built = build_solution_image(bundle, config, should_push=False)
    told = podman("image", "inspect", bundle.image) + podman("history", "--no-trunc", bundle.image)
    for shown in (told, built.log, *programs.calls()):
        assert "index-password" not in shown


@pytest.mark.parametrize("kind", ["podman"])
def test_a_debian_package_that_does_not_exist_is_named(
    base: str, programs: Programs, bundle_of: Callable[..., SolutionBundle]
) -> None:
    del programs
    config = ImageConfig(builder="podman", base_image=base)
    lock = resolve((), system_packages=("libgomp1", "libnosuchthing7"))
    with pytest.raises(PackageError, match="libnosuchthing7: Debian has no such package") as failure:
        build_solution_image(bundle_of(config, lock), config, should_push=False)
    assert failure.value.package == "libnosuchthing7"


def test_a_builder_that_is_not_there_is_refused_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BUILDKIT_HOST", raising=False)
    for name in ("kaniko", "buildkit", "tcp://buildkitd:1234"):
        with pytest.raises(SettingsError, match=rf"builder='{name}' is not there\. Here are: podman, buildah"):
            build_solution_image(_never_built(), ImageConfig(builder=name), should_push=False)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ImageConfig(), "names no registry to push to"),
        (ImageConfig(registry="host.example", builder="none"), "builds nothing"),
        (ImageConfig(registry="host.example", registry_secret="NO_SUCH"), "neither an environment variable nor"),
        (ImageConfig(registry="host.example", registry_secret="HOME"), "neither user:password nor"),
    ],
)
def test_settings_that_cannot_push_are_refused(config: ImageConfig, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        build_solution_image(_never_built(), config, should_push=True)


def _never_built() -> SolutionBundle:
    image = "host.example/never:1"
    return SolutionBundle(name="c", code=CODE, lock=resolve(()), inputs={}, outputs={}, image=image)
