"""Install locked distributions into a folder that Python can import from, made of layers that are built once.

    layers/<name>-<version>-<key>/            one distribution, installed by uv, compiled to bytecode
    environments/<digest>/site-packages/      hard links to the files of its layers

Both are named by a digest of their content, appear by a rename, and are read-only from then on. Adding a package to a
set makes only its own layers and one new folder of links; nothing is compiled twice. One folder for an environment,
instead of one for each layer on the path, keeps namespace packages complete and imports fast.

The files of a layer are hard links to uv's cache where that is possible, so making them read-only also makes the cached
files read-only; the cache is one of our own unless `UV_CACHE_DIR` names another. All environments share these inodes:
**untrusted code must never be able to write to one**. Sandboxes mount them read-only, because root may write whatever
the permissions say. `.pth` files are not processed (a folder on PYTHONPATH is no site folder), and scripts are left
out. To remove the folders, run `chmod -R u+w` first, unless you are root.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from flyteplugins_codegen.errors import EnvironmentBuildError, IndexUnavailableError
from flyteplugins_codegen.models.environment import EnvironmentLock, InstalledEnvironment
from flyteplugins_codegen.packages.trees import discard, link_tree, staged_folder, tree_size
from flyteplugins_codegen.packages.uv import build_tags, find_python, run_uv, unavailable
from flyteplugins_codegen.store import cache_dir, digest, write_file

LAYERS_AT_ONCE = 4

_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[^\s\\;]+)")


class _Layer(NamedTuple):
    """One distribution: its folder, and its entry in the lock."""

    folder: Path
    requirement: str


def install(lock: EnvironmentLock) -> InstalledEnvironment:
    """Make a locked environment importable on this machine. The second call starts no process and takes about 1 ms.

    Blocks while it downloads and compiles, so call it from a thread. Several processes may install the same lock at
    once. Raises IndexUnavailableError when the index, the disk, uv or the interpreter fails.
    """
    python = find_python(lock.python)
    if not lock.requirements.strip():
        return InstalledEnvironment(python=python, digest=lock.digest)
    try:
        folder = _environment(lock, python)
    except OSError as error:
        raise IndexUnavailableError(
            f"installing into {cache_dir()} failed: {error}; make room there, or set FLYTE_CODEGEN_CACHE "
            "to another folder"
        ) from error
    return InstalledEnvironment(python=python, site_packages=(str(folder / "site-packages"),), digest=lock.digest)


def combine(*environments: InstalledEnvironment) -> InstalledEnvironment:
    """Several environments as one. A distribution that several have is taken from the first of them.

    Raises EnvironmentBuildError for different interpreters.
    """
    pythons = sorted({environment.python for environment in environments})
    if len(pythons) != 1:
        raise EnvironmentBuildError(f"environments of different interpreters cannot be combined: {pythons}")
    folders = dict.fromkeys(folder for environment in environments for folder in environment.site_packages)
    return InstalledEnvironment(
        python=pythons[0],
        site_packages=tuple(folders),
        digest=digest([environment.digest for environment in environments]),
    )


def installed_sizes(lock: EnvironmentLock) -> dict[str, int]:
    """The bytes of each distribution of a lock, bytecode included, by name; only of those installed on this machine."""
    return {
        pin["name"]: _size_of(layer.folder)
        for layer in _layers(lock)
        if (pin := _PIN.match(layer.requirement)) and layer.folder.is_dir()
    }


def _size_of(folder: Path) -> int:
    """The bytes of a layer, counted once and kept in a file: a layer never changes, and has thousands of files."""
    size_file = folder.with_name(f"{folder.name}.size")
    with contextlib.suppress(OSError, ValueError):
        return int(size_file.read_text())
    size_bytes = tree_size(folder)
    write_file(size_file, str(size_bytes).encode())
    return size_bytes


def _environment(lock: EnvironmentLock, python: str) -> Path:
    layers = _layers(lock)
    final = cache_dir() / "environments" / digest([layer.folder.name for layer in layers])
    with _folder_lock(final):
        if not final.is_dir():
            _make_layers([layer for layer in layers if not layer.folder.is_dir()], python)
            with staged_folder(final) as staged:
                for layer in layers:
                    link_tree(layer.folder, staged / "site-packages")
    return final


@cache
def _folder_lock(folder: Path) -> Lock:
    """The lock that a thread of this process holds while it makes the folder; other threads wait, then use it."""
    del folder
    return Lock()


def _layers(lock: EnvironmentLock) -> list[_Layer]:
    """The layers of a lock in the lock's own order, which is by name."""
    tags = build_tags(lock.python)
    entries = re.split(r"\n(?=\S)", lock.requirements.strip())
    return [_layer(entry, tags) for entry in entries if not entry.startswith("#")]


def _layer(requirement: str, tags: Sequence[str]) -> _Layer:
    pin = _PIN.match(requirement)
    if pin is None or "--hash=" not in requirement:
        raise EnvironmentBuildError(f"the lock holds a line that is not pinned with hashes: {requirement[:100]!r}")
    key = digest(requirement, list(tags))[:20]
    return _Layer(cache_dir() / "layers" / f"{pin['name']}-{pin['version']}-{key}", requirement)


def _make_layers(layers: Iterable[_Layer], python: str) -> None:
    with ThreadPoolExecutor(LAYERS_AT_ONCE) as pool:
        # Raises the first failure once all have ended.
        list(pool.map(lambda layer: _make_layer(layer, python), layers))


def _make_layer(layer: _Layer, python: str) -> None:
    with staged_folder(layer.folder) as staged:
        done = run_uv(_install_arguments(staged, python), layer.requirement + "\n")
        if done.returncode != 0:
            raise unavailable(f"installing {layer.requirement.split()[0]}", done.stderr)
        (staged / ".lock").unlink(missing_ok=True)
        if not (staged / "bin" / "__init__.py").exists():
            discard(staged / "bin")


def _install_arguments(target: Path, python: str) -> list[str]:
    return [
        "pip",
        "install",
        "--requirement=-",
        f"--target={target}",
        f"--python={python}",
        "--no-deps",
        "--require-hashes",
        "--only-binary=:all:",
        "--link-mode=hardlink",
        # Python matches bytecode to its source by the source's time, which a hard link keeps.
        "--compile-bytecode",
        "--quiet",
    ]
