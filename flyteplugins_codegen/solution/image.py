"""Builds and pushes the image of a solution, or of its environment alone."""

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
    """Build the image that the bundle names, and push it if asked. An image that exists is not built again.

    Raises:
        SettingsError: the builder is missing, the secret holds no credentials, or there is no registry to push to.
        PackageError: the package index or Debian has no such package.
        IndexUnavailableError: the index or the disk failed.
        ImageBuildError: building or pushing failed for another reason.
    """
    if should_push and config.registry is None:
        raise SettingsError("image_config names no registry to push to; pass ImageConfig(registry='host/path')")
    builder = _builder(config)
    with _laid_out(bundle.image, image_files(bundle, config), bundle.lock, config) as order:
        return make_image(order, builder, should_push=should_push)


def build_environment_image(settings: Settings, lock: EnvironmentLock) -> BuiltImage:
    """Build all layers except the solution's, to find out whether every Debian package can be installed.

    Nothing is pushed. A builder that cannot store images caches the layers. Raises what `build_solution_image` raises.
    """
    config = settings.image_config or ImageConfig()
    name = image_name(f"{settings.name}-environment", lock, "", config)
    files = {RECIPE: render_environment(lock, config.python_version, config.base_image), **requirement_files(lock)}
    with _laid_out(name, files, lock, config) as order:
        return make_image(order, _builder(config), should_push=False)


def _builder(config: ImageConfig) -> ImageBuilder:
    builder = open_builder(config.builder)
    if builder is None:
        raise SettingsError("image_config: builder='none' builds nothing; choose 'auto' or name a builder")
    return builder


@contextmanager
def _laid_out(name: str, files: Mapping[str, str], lock: EnvironmentLock, config: ImageConfig) -> Iterator[BuildOrder]:
    """Context with the build order and its files on disk. Credentials are in a folder that the builder does not see."""
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
    """The folder with the registry's credentials, None where no secret is named. Raises SettingsError."""
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
    value = find_secret(name)
    if value:
        return value
    try:
        return Path(name).read_text()
    except OSError as error:
        raise SettingsError(
            f"registry_secret={name!r} is neither an environment variable nor a Flyte secret nor a file that can "
            "be read; pass the NAME of one that holds user:password or a Docker config.json"
        ) from error
