"""The files of one job as a container sees them: folders of this machine, mounted read-only.

What the job's user could not read in its place, and what an engine's options could not name, is linked or copied into
a folder of the job's own; everything else is mounted from where it is.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flyteplugins_codegen.errors import SandboxError
from flyteplugins_codegen.sandbox.contract import APP, INPUTS
from flyteplugins_codegen.sandbox.folders import require_input
from flyteplugins_codegen.sandbox.inputs import copy_openly, is_readable

_UNMOUNTABLE = frozenset(',"\n')  # an engine's options are comma-separated values


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine, and where a container sees it, read-only. SandboxError: it cannot be named."""

    source: Path
    target: str

    def __post_init__(self) -> None:
        if not _is_mountable(str(self.source)):
            raise SandboxError(f"a container cannot be shown {str(self.source)!r}: the path holds a comma or a quote")

    def option(self) -> str:
        """As a value of the option `--mount`."""
        return f"type=bind,source={self.source},target={self.target},readonly"


class Files:
    """A folder below `parent` with what one job may see; `mounts` shows it."""

    def __init__(self, parent: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="job-", dir=parent))
        self._folder.chmod(0o711)
        self.mounts: list[Mount] = []
        for target in (APP, INPUTS):
            self._make_folder(self._place(target))
            self.mounts.append(Mount(self._place(target), target))

    @property
    def folder(self) -> Path:
        """The folder itself, to be removed with the job."""
        return self._folder

    def add_all(self, target: str, files: Mapping[str, Path | bytes]) -> None:
        """Show every file under `target`. Raises RequestError for a path that is not there."""
        for name, content in files.items():
            place = self._place(target) / name
            if not place.parent.exists():
                self._make_folder(place.parent)
            if isinstance(content, bytes):
                self._write(place, content)
            else:
                self._show(require_input(name, content).resolve(), place, f"{target}/{name}")

    def _place(self, target: str) -> Path:
        return self._folder / Path(target).name

    def _show(self, source: Path, place: Path, target: str) -> None:
        if not (_is_mountable(str(source), target) and is_readable_throughout(source)):
            copy_openly(source, place)
            return
        if source.is_dir():  # something must be there to mount it on
            self._make_folder(place)
        else:
            self._write(place, b"")
        self.mounts.append(Mount(source, target))

    def _make_folder(self, path: Path) -> None:
        path.mkdir()
        path.chmod(0o755)

    def _write(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        path.chmod(0o444)


def is_readable_throughout(path: Path) -> bool:
    """Whether every user could read this file, or this folder and all in it, once it can be reached."""
    inside: Iterable[Path] = (
        Path(folder, name) for folder, folders, files in os.walk(path) for name in (*folders, *files)
    )
    return is_readable(path) and all(map(is_readable, inside))


def _is_mountable(*paths: str) -> bool:
    return not any(_UNMOUNTABLE.intersection(path) for path in paths)
