"""Locked distributions to a folder that Python can import from, made of layers that are built once.

    layers/<name>-<version>-<key>/            one distribution, installed by uv, compiled to bytecode
    environments/<digest>/site-packages/      hard links to the files of its layers

Both are named by their content, appear by a rename, and are read-only from then on. Adding a package to a set makes its
own layers and one new folder of links; nothing is compiled twice. One folder per environment, not one per layer on the
path, keeps namespace packages whole and imports quick.

The files of a layer are hard links to uv's cache where that is possible, so taking the right to write takes it there
too; the cache is one of our own unless `UV_CACHE_DIR` names another. All environments share these inodes: **nothing
untrusted may ever write to one**, and sandboxes mount them read-only, root being able to write regardless of rights.
`.pth` files are not processed (a folder on PYTHONPATH is no site folder), scripts are left out. Remove the folders with
`chmod -R u+w` first, unless you are root.
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
from flyteplugins_codegen.packages.trees import discard, link_tree, made_aside, tree_size
from flyteplugins_codegen.packages.uv import build_tags, find_python, run_uv, unavailable
from flyteplugins_codegen.store import cache_dir, digest, write_file

LAYERS_AT_ONCE = 4

_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[^\s\\;]+)")


class _Layer(NamedTuple):
    """One distribution: its folder, and the lines of the lock that it is installed from."""

    folder: Path
    requirement: str


def install(lock: EnvironmentLock) -> InstalledEnvironment:
    """Make a locked environment importable on this machine. The second time it starts no process and takes about 1 ms.

    Blocks while it downloads and compiles; call it from a thread. Two processes may install the same lock at once.
    Raises IndexUnavailableError when the index, the disk, uv or the interpreter fails.
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
    """Several environments as one, the first one's packages before the later ones'.

    A distribution that is in both is taken from the first. Raises EnvironmentBuildError for different interpreters.
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
    """The bytes of each distribution of a lock, compiled, by name; only of those that are on this machine."""
    return {
        pin["name"]: _size_of(layer.folder)
        for layer in _layers(lock)
        if (pin := _PIN.match(layer.requirement)) and layer.folder.is_dir()
    }


def _size_of(folder: Path) -> int:
    """What a layer takes, counted once: it never changes, and has thousands of files."""
    counted = folder.with_name(f"{folder.name}.size")
    with contextlib.suppress(OSError, ValueError):
        return int(counted.read_text())
    size_bytes = tree_size(folder)
    write_file(counted, str(size_bytes).encode())
    return size_bytes


def _environment(lock: EnvironmentLock, python: str) -> Path:
    layers = _layers(lock)
    final = cache_dir() / "environments" / digest([layer.folder.name for layer in layers])
    with _turn(final):
        if not final.is_dir():
            _make_layers([layer for layer in layers if not layer.folder.is_dir()], python)
            with made_aside(final) as aside:
                for layer in layers:
                    link_tree(layer.folder, aside / "site-packages")
    return final


@cache
def _turn(folder: Path) -> Lock:
    """Held by the thread of this process that makes the folder: whoever needs it too waits, and finds it made."""
    del folder
    return Lock()


def _layers(lock: EnvironmentLock) -> list[_Layer]:
    """The layers of a lock in its own order, which is by name."""
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
        # Raises the first failure, when all have ended.
        list(pool.map(lambda layer: _make_layer(layer, python), layers))


def _make_layer(layer: _Layer, python: str) -> None:
    with made_aside(layer.folder) as aside:
        done = run_uv(_install_arguments(aside, python), layer.requirement + "\n")
        if done.returncode != 0:
            raise unavailable(f"installing {layer.requirement.split()[0]}", done.stderr)
        (aside / ".lock").unlink(missing_ok=True)
        if not (aside / "bin" / "__init__.py").exists():
            discard(aside / "bin")


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
        # Bytecode is told apart by the source's time, which a hard link keeps.
        "--compile-bytecode",
        "--quiet",
    ]
