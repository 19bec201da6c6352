"""What is kept on disk between runs: entries named by their content's digest, written aside, then renamed.

A process killed at any moment leaves either no entry or a whole one; two processes that write the same entry write the
same bytes. Entries are JSON text with a checksum, so that a damaged one reads as absent. A disk that takes nothing, or
gives back something else, is told once by a warning, and the run goes on without what it would have kept.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel

ModelT = TypeVar("ModelT", bound=BaseModel)
_log = logging.getLogger(__name__)
_ASIDE: Final = ".codegen-aside-"
_CHUNK_BYTES: Final = 1 << 20
_TELL: ContextVar[Callable[[str, Path], object]] = ContextVar("tell_of_kept_entries")


def cache_dir() -> Path:
    """The folder for everything kept between runs: `$FLYTE_CODEGEN_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("FLYTE_CODEGEN_CACHE")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "flyteplugins_codegen"


def digest(*parts: Any) -> str:
    """The SHA-256 of JSON-compatible values, pydantic models and bytes, in canonical form; 64 hex digits."""
    sha = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else _canonical(part)
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()


def _canonical(value: Any) -> bytes:
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return json.dumps(plain, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str).encode()


def write_file(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file so that a reader sees the old bytes or all the new ones, whatever happens in between.

    A new file has the permissions `mode` under the umask; one that is replaced keeps its own. A link stays, and the
    file that it leads to is replaced. A device or a pipe takes the bytes. Raises OSError where the disk takes none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        old = path.stat()
    except FileNotFoundError:
        old = None
    if old and not stat.S_ISREG(old.st_mode) and not stat.S_ISDIR(old.st_mode):
        path.write_bytes(data)
        return
    target = Path(os.path.realpath(path))
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        aside = write_aside(folder, data, mode=mode, replaced=old)
        try:
            os.rename(aside, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(aside, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def write_aside(
    folder: int, content: bytes | Path, *, mode: int = 0o666, replaced: os.stat_result | None = None
) -> str:
    """Write content to a new file in an open folder and flush it to the disk; returns its name, which `is_aside` knows.

    The caller renames it to its final name or removes it. The file has the permissions `mode` under the umask, or those
    of the file that it is to replace, and that one's owner where the process may set it. Where `mode` has execution
    bits, whoever may read the replaced file may execute the new one. Raises OSError, and leaves nothing then.
    """
    name = f"{_ASIDE}{secrets.token_hex(8)}"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                with content.open("rb") as source:
                    shutil.copyfileobj(source, file, _CHUNK_BYTES)
            if replaced:
                _take_permissions(descriptor, replaced, mode)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    return name


def _take_permissions(descriptor: int, replaced: os.stat_result, mode: int) -> None:
    with contextlib.suppress(PermissionError):
        os.fchown(descriptor, replaced.st_uid, replaced.st_gid)
    os.fchmod(descriptor, replaced.st_mode & 0o777 | (replaced.st_mode >> 2 & mode & 0o111))


def is_aside(name: str) -> bool:
    """Whether a file of this name is one that `write_aside` is writing."""
    return name.startswith(_ASIDE)


class ContentStore:
    """Finished work by key, under `<root>/<kind>/<first two digits>/<key>.json`."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or cache_dir()

    def path(self, kind: str, key: str) -> Path:
        """Where the entry of this kind and key lies, whether it is there or not."""
        return self.root / kind / key[:2] / f"{key}.json"

    def get(self, kind: str, key: str, model: type[ModelT]) -> ModelT | None:
        """The entry, or None where there is none, or it is of an older form, or damaged, which is told."""
        path = self.path(kind, key)
        try:
            checksum, _, body = path.read_bytes().partition(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            _tell_damaged(path, str(error))
            return None
        if hashlib.sha256(body).hexdigest().encode() != checksum:
            _tell_damaged(path, "its checksum is of something else")
            return None
        try:
            return model.model_validate_json(body)
        except ValueError:
            return None

    def put(self, kind: str, key: str, value: BaseModel) -> None:
        """Keep the value. Raises OSError when the disk does not take it; nothing half-written stays."""
        body = value.model_dump_json().encode()
        entry = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
        write_file(self.path(kind, key), entry, mode=0o600)  # it may hold what was said to a model

    def keep(self, kind: str, key: str, value: BaseModel) -> None:
        """As `put`, but a disk that does not take the value is told by a warning: the work is done, and not lost."""
        try:
            self.put(kind, key, value)
        except OSError as error:
            _tell_unkept(kind, self.root, error.strerror or type(error).__name__)
        else:
            _TELL.get(_tell_nobody)(kind, self.path(kind, key))


@contextlib.contextmanager
def watching_writes(tell: Callable[[str, Path], object]) -> Iterator[None]:
    """Call `tell` with kind and file of every entry kept in here, by this thread and the tasks that it starts."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def _tell_nobody(_kind: str, _path: Path) -> None:
    """Where nobody asked to be told."""


@functools.cache
def _tell_damaged(path: Path, flaw: str) -> None:
    """Tell it once; a cache that turns up damaged again and again has a disk to blame."""
    _log.warning("%s is damaged and made anew: %s; where this comes again, remove it and look at the disk", path, flaw)


@functools.cache
def _tell_unkept(kind: str, root: Path, flaw: str) -> None:
    """Tell it once for a kind: a full disk takes none of its entries."""
    _log.warning(
        "%s could not be kept in %s: %s. The run goes on, and the next one makes them again, paid replies included; "
        "make room there, or set FLYTE_CODEGEN_CACHE to another folder",
        kind,
        root,
        flaw,
    )


def remembered(
    store: ContentStore, kind: str, key: str, model: type[ModelT], compute: Callable[[], ModelT], *, reread: bool = True
) -> ModelT:
    """The stored value, or the computed one, stored. `reread=False` computes anew and overwrites.

    A disk that does not take the value is told and costs nothing but the next run's time.
    """
    found = store.get(kind, key, model) if reread else None
    if found is not None:
        return found
    value = compute()
    store.keep(kind, key, value)
    return value
