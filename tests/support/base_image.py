"""The container image that the tests run jobs in: Debian's smallest root with its Python, made on this machine.

No registry is asked: debootstrap makes the root from the package mirror that this machine's apt uses, once for each
recipe; the archive is kept in the user's cache folder, and imported where the engine's storage lacks it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from uv import find_uv_bin

_DISTRIBUTIONS = "/usr/lib/python3/dist-packages/"
_RELEASE, _PACKAGES = "bookworm", "python3"
# What only takes room: the archive is a third smaller.
_LEFT_OUT = ("dev/*", "proc/*", "sys/*", "var/cache/*", "var/lib/apt/lists/*", "usr/share/doc/*", "usr/share/locale/*")


class BaseImageError(Exception):
    """This machine cannot make the image; the text says what it lacks."""


def base_image() -> str:
    """The name of the image in the storage of podman, made first where it is not there.

    Raises BaseImageError, with the reason, where it is not there and cannot be made.
    """
    name = f"localhost/codegen-test-base:{_recipe()}"
    _require("podman")
    with _one_at_a_time():
        if name not in podman("images", "--format", "{{.Repository}}:{{.Tag}}").split():
            podman("import", "--quiet", str(_archive()), name)
    return name


def pip_image() -> str:
    """That image with `python` and pip, which images of solutions are built on. Raises BaseImageError as above."""
    base, name = base_image(), f"localhost/codegen-test-pip:{_recipe()}"
    with _one_at_a_time():
        if name in podman("images", "--format", "{{.Repository}}:{{.Tag}}").split():
            return name
        with tempfile.TemporaryDirectory() as folder:
            _run(find_uv_bin(), "pip", "install", "--quiet", "--target", f"{folder}/pip", "pip")
            steps = (f"FROM {base}", "RUN ln -sf python3 /usr/bin/python", f"COPY pip {_DISTRIBUTIONS}")
            Path(folder, "Containerfile").write_text("\n".join(steps))
            podman("--runtime", "runc", "build", "--quiet", "--tag", name, folder)
    return name


def podman(*arguments: str) -> str:
    """What podman prints. Raises BaseImageError with what it says where it fails."""
    return _run("podman", *arguments).strip()


def base_archive() -> Path:
    """The root of that image as an archive, for an engine with another storage. Raises BaseImageError as above."""
    with _one_at_a_time():
        return _archive()


def _archive() -> Path:
    archive = _cache() / f"base-{_recipe()}.tar"
    if not archive.exists():
        _require("debootstrap", "tar")
        if os.geteuid() != 0:
            raise BaseImageError("debootstrap needs root: run these tests once as root")
        with tempfile.TemporaryDirectory(prefix="base-image-", dir="/var/tmp") as folder:
            _make(Path(folder, "root"), archive)
    return archive


def _make(root: Path, archive: Path) -> None:
    _run("debootstrap", "--variant=minbase", f"--include={_PACKAGES}", _RELEASE, str(root), *_mirror())
    aside = archive.with_suffix(f".{os.getpid()}")
    excluded = [f"--exclude=./{pattern}" for pattern in _LEFT_OUT]
    _run("tar", "--create", "--file", str(aside), "--directory", str(root), *excluded, ".")
    aside.rename(archive)


def _mirror() -> list[str]:
    """Where this machine's apt takes that release from; nothing, and so debootstrap's own choice, if it does not."""
    if shutil.which("apt-get") is None:
        return []
    listed = _run("apt-get", "indextargets", "--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)", "Created-By: Packages")
    found = [line.split() for line in listed.splitlines()]
    return [address for release, component, address in found if (release, component) == (_RELEASE, "main")][:1]


def _recipe() -> str:
    parts = (_RELEASE, _PACKAGES, _LEFT_OUT, platform.machine())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _cache() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "flyte-codegen-tests")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Test processes side by side make one image, not each its own."""
    with (_cache() / "base.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _require(*names: str) -> None:
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        raise BaseImageError(f"{' and '.join(missing)} not found: apt-get install {' '.join(missing)} runc")


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BaseImageError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout
