"""The store on disk for finished work, keyed by digests, and files that are written aside and then renamed.

A process that is killed at any moment leaves either no entry or a complete one; two processes that write the same entry
write the same bytes. Entries are JSON text with a checksum, so that a damaged one counts as absent. If the disk cannot
be written, or returns other bytes, one warning is logged and the run goes on without the entry.
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
_ON_WRITE: ContextVar[Callable[[str, Path], object] | None] = ContextVar("on_write", default=None)


def cache_dir() -> Path:
    """The folder for everything that is kept between runs: `$FLYTE_CODEGEN_CACHE`, else the user's cache folder."""
    configured = os.environ.get("FLYTE_CODEGEN_CACHE")
    if configured:
        return Path(configured).absolute()
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
    """Write a file so that a reader sees either the old bytes or all the new ones, whatever happens in between.

    A new file gets the permissions `mode` under the umask; a replaced file keeps its own. A link stays, and the file
    that it points to is replaced. A device or a pipe is written directly. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        old = path.stat()
    except FileNotFoundError:
        old = None
    target = Path(os.path.realpath(path))
    is_special = old is not None and not stat.S_ISREG(old.st_mode) and not stat.S_ISDIR(old.st_mode)
    # `/dev/stdout` may lead to a file that has no name any more.
    if is_special or (old is not None and not target.exists()):
        path.write_bytes(data)
        return
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
    folder: int,
    content: bytes | Path,
    *,
    mode: int = 0o666,
    replaced: os.stat_result | None = None,
    is_executable: bool | None = None,
) -> str:
    """Write content to a new file in an open folder and flush it to the disk. Returns its name, which `is_aside` knows.

    The caller renames the file or removes it. It gets the permissions `mode` under the umask, or else those of the file
    that it replaces, and that file's owner if the process may set it. With `is_executable`, whoever may read the
    replaced file may also execute the new one, or nobody may. Raises OSError, and then leaves no file.
    """
    name = f"{_ASIDE}{secrets.token_hex(8)}"
    created = 0o600 if replaced else mode  # nobody reads what the replaced file would not have shown
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, created, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                with content.open("rb") as source:
                    shutil.copyfileobj(source, file, _CHUNK_BYTES)
            if replaced:
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, replaced.st_uid, replaced.st_gid)
                os.fchmod(descriptor, _permissions(replaced.st_mode, is_executable=is_executable))
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    return name


def _permissions(replaced: int, *, is_executable: bool | None) -> int:
    if is_executable is None:
        return replaced & 0o7777
    return replaced & 0o666 | (replaced >> 2 & 0o111 if is_executable else 0)


def is_aside(name: str) -> bool:
    """Whether this is the name of a file that `write_aside` writes."""
    return name.startswith(_ASIDE)


class ContentStore:
    """Finished work by key, under `<root>/<kind>/<first two digits>/<key>.json`."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or cache_dir()

    def path(self, kind: str, key: str) -> Path:
        """The path of the entry of this kind and key, whether it exists or not."""
        return self.root / kind / key[:2] / f"{key}.json"

    def get(self, kind: str, key: str, model: type[ModelT]) -> ModelT | None:
        """The entry; None if it is absent, of an older form, or damaged, which is logged."""
        path = self.path(kind, key)
        try:
            checksum, _, body = path.read_bytes().partition(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            _warn_damaged(path, str(error))
            return None
        if hashlib.sha256(body).hexdigest().encode() != checksum:
            _warn_damaged(path, "its checksum is of something else")
            return None
        try:
            return model.model_validate_json(body)
        except ValueError:
            return None

    def put(self, kind: str, key: str, value: BaseModel) -> None:
        """Write the entry. Raises OSError if it cannot be written; nothing half-written is left."""
        body = value.model_dump_json().encode()
        entry = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
        write_file(self.path(kind, key), entry, mode=0o600)  # it may contain messages to a model

    def keep(self, kind: str, key: str, value: BaseModel) -> None:
        """As `put`, but log a warning if the entry cannot be written, so that the finished work is not lost."""
        try:
            self.put(kind, key, value)
        except OSError as error:
            _warn_not_kept(kind, self.root, error.strerror or type(error).__name__)
        else:
            on_write = _ON_WRITE.get()
            if on_write is not None:
                on_write(kind, self.path(kind, key))


@contextlib.contextmanager
def watching_writes(on_write: Callable[[str, Path], object]) -> Iterator[None]:
    """Call `on_write` with kind and path of every entry that the body, or a task that it starts, keeps."""
    token = _ON_WRITE.set(on_write)
    try:
        yield
    finally:
        _ON_WRITE.reset(token)


@functools.cache
def _warn_damaged(path: Path, flaw: str) -> None:
    """Log the damage of an entry once."""
    _log.warning("%s is damaged and made anew: %s; where this comes again, remove it and look at the disk", path, flaw)


@functools.cache
def _warn_not_kept(kind: str, root: Path, flaw: str) -> None:
    """Log once for each kind that entries cannot be written, as on a full disk."""
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
    """The stored value, or else the computed one, which is stored. `reread=False` always computes and overwrites.

    If the value cannot be written, a warning is logged, and the next run computes it again.
    """
    stored = store.get(kind, key, model) if reread else None
    if stored is not None:
        return stored
    value = compute()
    store.keep(kind, key, value)
    return value
