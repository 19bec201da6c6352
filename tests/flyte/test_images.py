"""Images in a run: a wrong Debian package is repaired where images are built early; registering builds and pushes."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from base_image import pip_image, podman
from flyte_admin import FlyteAdmin
from flytekit import ImageSpec
from flytekit.image_spec.image_spec import ImageBuildEngine, ImageSpecBuilder
from image_registry import ImageRegistry
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult, ImageConfig
from flyteplugins_codegen.errors import ImageBuildError
from flyteplugins_codegen.flyte.tasks import build_image
from flyteplugins_codegen.flyte.workflow import generate as generate_in_flyte
from flyteplugins_codegen.models.settings import BuiltImage
from flyteplugins_codegen.packages.images.containerfile import image_name

WRONG = "libnosuchthing7"


def generate(folder: Path, config: ImageConfig, **replies: Any) -> CodeGenEvalResult:
    table = job.write_table(folder / "table.csv", rows=3)
    with ModelServer({"SolutionReply": [job.solution()], "TestsReply": [job.TESTS], **replies}) as server:
        agent = AutoCoderAgent(model="openai/any", api_base=server.url, name="image-counter", image_config=config)
        made = agent.generate("count the rows", samples={"table": table}, outputs=job.OUTPUTS)
    assert made.success, made.error
    return made


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> CodeGenEvalResult:
    return generate(tmp_path_factory.mktemp("image"), ImageConfig())


def with_images(result: CodeGenEvalResult, config: ImageConfig, image: str) -> CodeGenEvalResult:
    settings = result.settings.model_copy(update={"image_config": config})
    return result.model_copy(update={"settings": settings, "image": image})


def test_a_debian_package_that_does_not_exist_is_repaired_before_anything_runs(
    container_image: str, tmp_path: Path
) -> None:
    del container_image
    config = ImageConfig(builder="podman", base_image=pip_image(), build_while_generating=True)
    mended = {"cause": f"{WRONG} does not exist", "error_type": "environment", "edits": [], "code": job.code()}
    repair = {**mended, "test_code": None, "packages": [], "system_packages": []}
    first = {**job.solution(), "system_packages": [WRONG]}
    made = generate(tmp_path, config, SolutionReply=[first], RepairReply=[repair])
    assert made.environment is not None
    podman("rmi", image_name("image-counter-environment", made.environment, "", config))
    failed, passed = made.attempt_history
    assert failed.cause is not None
    assert (failed.cause.kind, failed.cause.subject) == ("package_unavailable", WRONG)
    assert f"E: Unable to locate package {WRONG}" in failed.cause.message
    assert passed.cause is None
    assert made.detected_system_packages == []


class Noting(ImageSpecBuilder):  # type: ignore[misc]  # flytekit's class has no types
    """A builder of flytekit's that builds nothing."""

    def __init__(self, named: str | None) -> None:
        self.named = named
        self.specs: list[ImageSpec] = []

    def should_build(self, image_spec: ImageSpec) -> bool:
        return image_spec not in self.specs

    def build_image(self, image_spec: ImageSpec) -> str | None:
        self.specs.append(image_spec)
        return self.named


@pytest.fixture
def noting() -> Iterator[Noting]:
    builder = Noting(None)
    ImageBuildEngine.register("noting", builder)
    yield builder
    del ImageBuildEngine.get_registry()["noting"]


def test_registering_builds_what_is_not_in_the_registry(result: CodeGenEvalResult, noting: Noting) -> None:
    with ImageRegistry() as registry, FlyteAdmin() as admin:
        image = f"{registry.host}/team/image-counter:1"
        made = with_images(result, ImageConfig(builder="noting", registry=f"{registry.host}/team"), image)
        first = made.register(admin.remote())
        assert first.built is not None
        assert (first.built.name, first.built.was_there, len(noting.specs)) == (image, False, 1)
        registry.manifests["team/image-counter:1"] = ("application/vnd.oci.image.manifest.v1+json", b"{}")
        again = made.register(admin.remote())
        assert again.built is not None
        assert (again.id, again.built.was_there, len(noting.specs)) == (first.id, True, 1)


def test_nothing_is_registered_whose_image_cannot_be_built(result: CodeGenEvalResult, noting: Noting) -> None:
    noting.named = "host.example/other:1"
    with ImageRegistry() as registry, FlyteAdmin() as admin:
        config = ImageConfig(builder="noting", registry=f"{registry.host}/team")
        with pytest.raises(ImageBuildError):
            with_images(result, config, f"{registry.host}/team/image-counter:2").register(admin.remote())
        assert admin.tasks == []


def test_a_builder_of_flytekits_gets_the_image_by_its_own_name(result: CodeGenEvalResult, noting: Noting) -> None:
    image = "host.example/team/image-counter:0123abcd"
    config = ImageConfig(builder="noting", base_image="debian:12", platform="linux/arm64")
    built = with_images(result, config, image).build_image()
    (spec,) = noting.specs
    assert spec.image_name() == built.name == image
    assert (spec.base_image, spec.platform) == ("debian:12", "linux/arm64")
    assert any("/app/solution.py" in command for command in spec.commands)


def test_a_builder_that_names_images_by_itself_is_refused(result: CodeGenEvalResult, noting: Noting) -> None:
    noting.named = "host.example/other:1"
    with pytest.raises(ImageBuildError, match="keeps the name"):
        with_images(result, ImageConfig(builder="noting"), "host.example/x:1").build_image()


def test_the_task_leaves_the_build_log_in_its_deck(
    result: CodeGenEvalResult, noting: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    del noting
    decks = {}
    monkeypatch.setattr("flyteplugins_codegen.flyte.tasks.Deck", decks.__setitem__)
    built = build_image(result=with_images(result, ImageConfig(builder="noting"), "host.example/x:2"), push=False)
    assert isinstance(built, BuiltImage)
    page = html.unescape(decks["Image"])
    assert "host.example/x:2</h1>" in page
    assert "built by flytekit&#x27;s builder" in page


def test_an_image_that_is_built_while_generating_leaves_its_log_in_a_deck(
    noting: Noting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decks = {}
    monkeypatch.setenv("HOME", str(tmp_path))  # flytekit's cache lies in the home folder
    monkeypatch.setattr("flyteplugins_codegen.flyte.tasks.Deck", decks.__setitem__)
    with ModelServer({"SolutionReply": [job.solution()]}) as server:
        generate_in_flyte(
            prompt="count the rows while an image is built",
            model="openai/any",
            name="image-counter",
            api_base=server.url,
            samples={"table": str(job.write_table(tmp_path / "table.csv", rows=3))},
            outputs=job.OUTPUTS,
            image_config={"builder": "noting", "build_while_generating": True},
            skip_tests=True,
        )
    assert len(noting.specs) == 1
    page = html.unescape(decks["Image"])
    assert "image-counter-environment" in page
    assert "built by flytekit&#x27;s builder" in page
