"""What builds an image, whatever does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

RECIPE = "Containerfile"
CREDENTIALS = "config.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOrder:
    """One image to build: `context` is the folder with its `Containerfile` and all that this copies.

    `secrets` are files that the steps of the recipe mount by id, and that stay out of the image. `login` is a folder
    with a Docker `config.json` for the registry, None where the machine's own logins serve. `platform` is as in
    `linux/arm64`, None for the builder's own. The last three say again what the recipe says, for builders that have no
    use for a recipe.
    """

    context: Path
    name: str
    platform: str | None = None
    secrets: Mapping[str, Path] = field(default_factory=dict)
    login: Path | None = None
    base_image: str | None = None
    python_version: str | None = None
    system_packages: tuple[str, ...] = ()


class ImageBuilder(Protocol):
    """A builder. What it prints is returned; nothing that it prints, and no command line, holds a secret."""

    def has(self, name: str) -> bool:
        """Whether the builder's own storage has an image of that name."""
        ...

    def build(self, order: BuildOrder) -> str:
        """Build the image under its name, and return what was printed.

        Raises:
            PackageError: the package index or Debian has no such package.
            IndexUnavailableError: the index or the disk failed.
            ImageBuildError: anything else failed.
        """
        ...

    def push(self, order: BuildOrder) -> str:
        """Send the built image to the registry in its name, and return what was printed. Raises ImageBuildError."""
        ...
