"""The size of a pandas solution's image above its base, and what adding a package adds; by podman, on the tests' base.

Takes podman, the package index, and debootstrap the first time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uv
from base_image import BaseImageError, pip_image, podman

from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.models.settings import ImageConfig
from flyteplugins_codegen.packages.images.containerfile import image_name
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.solution.image import build_solution_image

MOST_OVER_INSTALLED = 1.1
_CODE = "import pandas\n"
_MB = 1e6


@dataclass(frozen=True, slots=True)
class Layers:
    """What an image has above its base: the layers by digest, and their size together."""

    digests: tuple[str, ...]
    size_bytes: int


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when the target is missed."""
    del words
    try:
        base = pip_image()
    except BaseImageError as error:
        print(f"Images are not measured: {error}")
        return 0
    pandas, more = (resolve(packages, python="3.11") for packages in (("pandas",), ("pandas", "lxml")))
    alone, added = (_build(lock, base) for lock in (pandas, more))
    installed_bytes = _installed_bytes(pandas)
    ratio = alone.size_bytes / installed_bytes
    kept = sum(first == second for first, second in zip(alone.digests, added.digests, strict=False))
    print("\nImages of solutions")
    print(f"  a pandas solution above its base    {alone.size_bytes / _MB:7.1f} MB in {len(alone.digests)} layers")
    print(f"  the same packages, installed by uv  {installed_bytes / _MB:7.1f} MB")
    print(f"  ratio                               {ratio:7.3f}     at most {MOST_OVER_INSTALLED}")
    print(
        f"  with lxml too                       {added.size_bytes / _MB:7.1f} MB, of which {kept} layers are the same"
    )
    return int(ratio > MOST_OVER_INSTALLED)


def _build(lock: EnvironmentLock, base: str) -> Layers:
    config = ImageConfig(builder="podman", base_image=base)
    name = image_name("bench-images", lock, _CODE, config)
    bundle = SolutionBundle(name="bench", code=_CODE, lock=lock, inputs={}, outputs={}, image=name)
    build_solution_image(bundle, config, should_push=False)
    below, above = (json.loads(podman("image", "inspect", image))[0] for image in (base, name))
    podman("rmi", "--force", name)
    digests = tuple(above["RootFS"]["Layers"][len(below["RootFS"]["Layers"]) :])
    return Layers(digests, above["Size"] - below["Size"])


def _installed_bytes(lock: EnvironmentLock) -> int:
    """The files of the packages, without compiled ones, as uv leaves them in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = (uv.find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--target", folder, "--requirement", "-")
        subprocess.run(command, input=lock.requirements, text=True, check=True)
        return sum(path.lstat().st_size for path in Path(folder).rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
