"""What a job left under /var/outputs, once it has been taken out of the sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from flyteplugins_codegen.errors import OutputError


@dataclass(frozen=True, slots=True)
class Output:
    """One output: a file, or a folder of files. It can be read until its sandbox is closed.

    `files` maps the relative name of each file, as the job called it, to the copy on this machine, whose own name we
    chose; a plain file's only entry is its own name. `executable` are the names of those that the job could execute;
    their copies cannot be. `folders` are the relative names of the folders in a folder, empty ones too. `kept` keeps
    those copies alive as long as the output is.
    """

    name: str
    is_directory: bool
    size_bytes: int
    files: Mapping[str, Path]
    executable: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    kept: Any = None

    def read_bytes(self, limit: int) -> bytes:
        """The first `limit` bytes of a file; `size_bytes` says whether that is all. Raises OutputError for a folder."""
        if self.is_directory:
            raise OutputError(f"output {self.name!r} is a folder, a file was expected; copy it out with copy_to()")
        with self.files[self.name].open("rb") as file:
            return file.read(limit)

    def copy_to(self, path: Path) -> None:
        """Copy to `path`: a file, or a new folder that holds every file of the tree flat, as the cluster stores it.

        Raises OutputError where two files of the tree have the same name, because one would replace the other.
        """
        if not self.is_directory:
            shutil.copyfile(self.files[self.name], path)
            return
        flat = self._flat_names()
        path.mkdir(parents=True)
        for name, source in flat.items():
            shutil.copyfile(source, path / name)

    def _flat_names(self) -> dict[str, Path]:
        flat: dict[str, Path] = {}
        for relative, source in self.files.items():
            name = PurePosixPath(relative).name
            if name in flat:
                raise OutputError(
                    f"output {self.name!r}: two files of the folder are called {name!r}, and a folder output is stored "
                    "flat; give every file a name of its own"
                )
            flat[name] = source
        return flat
