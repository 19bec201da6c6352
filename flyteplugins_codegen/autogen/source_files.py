"""A caller's source files: read once, named relative to one folder for a model, and replaced all or none."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flyteplugins_codegen.autogen.arguments import require_text
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.store import write_aside

_MAX_BYTES: Final = 4_000_000
_REMEDY: Final = "pass the paths of text files"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file as it was read. `label` is its path below the set's root, with slashes: the name that a model sees."""

    path: Path
    label: str
    data: bytes
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSet:
    """Files below `root`, the nearest folder that contains all of them and is no package, as in an import."""

    root: Path
    files: tuple[SourceFile, ...]

    def __getitem__(self, label: str) -> SourceFile:
        return next(file for file in self.files if file.label == label)

    @property
    def texts(self) -> dict[str, str]:
        """The texts by label."""
        return {file.label: file.text for file in self.files}


def read_source_files(files: Sequence[Any]) -> SourceSet:
    """Read the files.

    Raises:
        ArgumentTypeError: `files` is no list of paths.
        RequestError: the list is empty, or a file is listed twice or cannot be read as text; the message names it.
    """
    if isinstance(files, str | bytes | os.PathLike) or not isinstance(files, Sequence):
        raise ArgumentTypeError(f"files is {type(files).__name__}; pass a list of paths")
    if not files:
        raise RequestError(f"no file is given; {_REMEDY}")
    paths = [_resolved(file) for file in files]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise RequestError(f"{twice} is given twice; pass every file once")
    root = _root(paths)
    return SourceSet(root=root, files=tuple(_read(path, path.relative_to(root).as_posix()) for path in paths))


def replace_files(changes: Mapping[Path, tuple[bytes, bytes]]) -> None:
    """Replace the content of files, given as pairs of old and new: of all, or of none where one fails.

    Everything is written to temporary files first, which are then renamed; modes stay. A process that is killed between
    two renames leaves some of the files changed, each of them complete.

    Raises RequestError where a file no longer has the old content, or cannot be written; then none is changed.
    """
    for path, (old, _) in changes.items():
        if _bytes_of(path) != old:
            raise RequestError(f"{path} was changed while the model was asked; nothing was written, call again")
    try:
        with ExitStack() as aside, ExitStack() as undo:
            # The old content too: on a full disk there would be no space to restore it.
            written = {path: [_write_aside(path, data, aside) for data in pair] for path, pair in changes.items()}
            for path, (before, after) in written.items():
                after.replace(path)
                undo.callback(_restore, before, path)
            undo.pop_all()
    except OSError as error:
        raise RequestError(f"{error.filename}: {error.strerror}; no file was changed") from error


def _restore(old: Path, path: Path) -> None:
    with suppress(OSError):  # only the first error is reported
        old.replace(path)


def _write_aside(path: Path, data: bytes, aside: ExitStack) -> Path:
    """Write the data to a new file with the folder and permissions of `path`; the stack removes it if it is left."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        written = path.with_name(write_aside(folder, data, replaced=path.stat()))
    finally:
        os.close(folder)
    aside.callback(written.unlink, missing_ok=True)
    return written


def _resolved(file: Any) -> Path:
    if not isinstance(file, str | os.PathLike):
        raise ArgumentTypeError(f"a file is {type(file).__name__}; {_REMEDY}")
    name = os.fspath(file)
    if not name or not isinstance(name, str) or "\0" in name:
        raise RequestError(f"{name!r:.200} is no path of a file; {_REMEDY}")
    try:
        return Path(name).expanduser().resolve(strict=True)
    except FileNotFoundError:
        raise RequestError(f"{name}: there is no such file (looked for {Path(name).absolute()}); {_REMEDY}") from None
    except (OSError, RuntimeError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RequestError(f"{name!r:.200} cannot be read: {reason}; {_REMEDY}") from None


def _root(paths: Sequence[Path]) -> Path:
    root = Path(os.path.commonpath([path.parent for path in paths]))
    while (root / "__init__.py").exists() and root != root.parent:
        root = root.parent
    return root


def _read(path: Path, label: str) -> SourceFile:
    data = _bytes_of(path)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is no text in UTF-8: {error.reason} at byte {error.start}; {_REMEDY}") from None
    return SourceFile(path=path, label=label, data=data, text=require_text(str(path), text, _REMEDY))


def _bytes_of(path: Path) -> bytes:
    if not path.is_file():
        raise RequestError(f"{path} is no file; {_REMEDY}")
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}; {_REMEDY}") from None
    if len(data) > _MAX_BYTES:
        raise RequestError(f"{path} has more than {_MAX_BYTES:,} bytes, far beyond what a model takes; {_REMEDY}")
    return data
