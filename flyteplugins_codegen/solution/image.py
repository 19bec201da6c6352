"""The image of a solution, or of an environment alone: its files laid out, its builder found, built, pushed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from flyteplugins_codegen.errors import SettingsError
from flyteplugins_codegen.llm.endpoint import find_secret
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.models.settings import BuiltImage, ImageConfig, Settings
from flyteplugins_codegen.packages.images.build import make_image, open_builder
from flyteplugins_codegen.packages.images.builder import (
    CREDENTIALS,
    RECIPE,
    BuildOrder,
    ImageBuilder,
    write_index_files,
)
from flyteplugins_codegen.packages.images.containerfile import image_name, render_environment, requirement_files
from flyteplugins_codegen.packages.images.registry import login_file
from flyteplugins_codegen.solution.folder import image_files


def build_solution_image(bundle: SolutionBundle, config: ImageConfig, *, should_push: bool) -> BuiltImage:
    """Build the image that the bundle names, and push it if asked; what is there already is not built again.

    Raises:
        SettingsError: the builder is not there, the secret holds no credentials, or there is no registry to push to.
        PackageError: the package index or Debian has no such package.
        IndexUnavailableError: the index or the disk failed.
        ImageBuildError: building or pushing failed for another reason.
    """
    if should_push and config.registry is None:
        raise SettingsError("image_config names no registry to push to; pass ImageConfig(registry='host/path')")
    builder = _builder(config)
    with _ordered(bundle.image, image_files(bundle, config), bundle.lock, config) as order:
        return make_image(order, builder, should_push=should_push)


def build_environment_image(settings: Settings, lock: EnvironmentLock) -> BuiltImage:
    """Build all layers but the solution's: whether every Debian package can be had is known then.

    Not pushed. A builder that cannot keep images keeps the layers. Raises as `build_solution_image` does.
    """
    config = settings.image_config or ImageConfig()
    name = image_name(f"{settings.name}-environment", lock, "", config)
    files = {RECIPE: render_environment(lock, config.python_version, config.base_image), **requirement_files(lock)}
    with _ordered(name, files, lock, config) as order:
        return make_image(order, _builder(config), should_push=False)


def _builder(config: ImageConfig) -> ImageBuilder:
    found = open_builder(config.builder)
    if found is None:
        raise SettingsError("image_config: builder='none' builds nothing; choose 'auto' or name a builder")
    return found


@contextmanager
def _ordered(name: str, files: Mapping[str, str], lock: EnvironmentLock, config: ImageConfig) -> Iterator[BuildOrder]:
    """The order, as long as its files lie on the disk; credentials lie in a folder that no builder is shown."""
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        context, private = Path(folder, "context"), Path(folder, "private")
        context.mkdir()
        private.mkdir(mode=0o700)
        for file, text in files.items():
            (context / file).write_text(text)
            (context / file).chmod(0o644)
        yield BuildOrder(
            context=context,
            name=name,
            platform=config.platform,
            secrets=write_index_files(private),
            login=_login(config, name, private),
            base_image=config.base_image,
            python_version=config.python_version or lock.python,
            system_packages=lock.system_packages,
        )


def _login(config: ImageConfig, name: str, private: Path) -> Path | None:
    """The folder with the registry's credentials, None where none are named. Raises SettingsError."""
    if config.registry_secret is None:
        return None
    text = login_file(_secret(config.registry_secret), name)
    if text is None:
        raise SettingsError(
            f"registry_secret={config.registry_secret!r}: what it holds is neither user:password nor a "
            "Docker config.json"
        )
    path = private / CREDENTIALS
    path.touch(mode=0o600)
    path.write_text(text)
    return private


def _secret(name: str) -> str:
    found = find_secret(name)
    if found:
        return found
    try:
        return Path(name).read_text()
    except OSError as error:
        raise SettingsError(
            f"registry_secret={name!r} is neither an environment variable nor a Flyte secret nor a file that can "
            "be read; pass the NAME of one that holds user:password or a Docker config.json"
        ) from error
