"""Journals: files that keep each verdict as it is given, so that a run that was killed continues where it ended.

A journal has one JSON object a line, found by the digest of everything that its verdict depends on. A line is appended
by one write under a lock, so that several processes may share a journal; a line that is not a whole record was cut off,
and is ignored.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Final

from flyteplugins_codegen import judging
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.trials import Verdict
from flyteplugins_codegen.evaluation.values import PairTests, Problem, Tests
from flyteplugins_codegen.judging.values.tests import render_tests
from flyteplugins_codegen.sandbox.contract import Limits
from flyteplugins_codegen.store import cache_dir, digest

_KEY_BYTES: Final = 16

# --- keys ---


def problem_key(problem: Problem, *, judge: str, limits: Limits, packages: tuple[str, ...]) -> bytes:
    """The digest of what the verdicts on one problem depend on beside the program.

    The canonical solution is part of it: it decides the method of judging and the limits.
    """
    texts = [problem.entry_point, problem.context, problem.prompt, problem.canonical_solution, problem.language]
    parts = [problem.task_id, *texts, judge]
    own_limits = asdict(problem.limits or limits)
    return bytes.fromhex(digest(parts, own_limits, list(packages), _tests_bytes(problem.tests), judge_version()))


def candidate_key(problem: bytes, program: str) -> bytes:
    """The digest of what the verdict on one program depends on; `problem` is the digest of its problem."""
    text = program.encode("utf-8", "surrogatepass")
    return hashlib.sha256(problem + text).digest()[:_KEY_BYTES]


@cache
def judge_version() -> str:
    """The digest of the judges' sources. Their compiled code would not do: it differs between processes."""
    own = Path(__file__).parent
    folders = (Path(judging.__file__).parent, own / "programs")
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    files += [own / name for name in ("judges.py", "program_judges.py", "trials.py")]
    names = [path.relative_to(own.parent).as_posix() for path in files]
    return digest(sys.version_info[:2], names, *(path.read_bytes() for path in files))


def _tests_bytes(tests: Tests) -> bytes:
    if isinstance(tests, PairTests):
        return render_tests(tests)
    return digest(type(tests).__name__, asdict(tests)).encode()


# --- journals ---


class Journal:
    """The journal at `path`, created if missing. Raises RequestError for a file that is not a journal.

    Only the positions of the records are kept in memory. Safe to use from several threads.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._positions: dict[bytes, tuple[int, int]] = {}
        self._descriptor = _open(path)
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def get(self, key: bytes) -> Verdict | None:
        """The verdict with this key, None if there is none yet."""
        position = self._positions.get(key)
        if position is None:
            return None
        start, size = position
        return _verdict(json.loads(os.pread(self._descriptor, size, start)))

    def add(self, key: bytes, verdict: Verdict) -> None:
        """Append a verdict. Raises OSError if the disk does not take it; earlier records stay whole."""
        record = {"key": key.hex(), **asdict(verdict)}
        line = json.dumps(record, ensure_ascii=True).encode() + b"\n"
        with self._locked():
            start = os.fstat(self._descriptor).st_size
            # A line that a killed process left unfinished must not swallow this one.
            torn = b"" if start == 0 or os.pread(self._descriptor, 1, start - 1) == b"\n" else b"\n"
            _write(self._descriptor, torn + line)
            self._positions[key] = start + len(torn), len(line)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _read(self) -> None:
        start, count = 0, 0
        with self._path.open("rb") as file:
            for line in file:
                key = _key_of(line)
                count += 1
                if key is not None:
                    self._positions[key] = start, len(line)
                start += len(line)
        if count > 1 and not self._positions:
            raise RequestError(f"{self._path} is no journal of an evaluation: none of its {count} lines is a record")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)


class CanonicalJournal(Journal):
    """The journal of canonical solutions that passed, in the cache folder.

    A machine judges each of them once for one version of the judges; one that is lost is only judged again.
    """

    def __init__(self) -> None:
        super().__init__(cache_dir() / "canonical-solutions" / f"{judge_version()}.jsonl")

    def add(self, key: bytes, verdict: Verdict) -> None:
        """Append the verdict if it is "passed". A disk that does not take it is ignored."""
        if verdict.outcome == "passed":
            with suppress(OSError):
                super().add(key, verdict)


class Journals:
    """Several journals, or none, as one: reads from the first that has a verdict, writes to all."""

    def __init__(self, journals: Iterable[Journal]) -> None:
        self._journals = tuple(journals)

    def get(self, key: bytes) -> Verdict | None:
        """The verdict with this key, None if there is none yet."""
        return next((verdict for journal in self._journals if (verdict := journal.get(key))), None)

    def add(self, key: bytes, verdict: Verdict) -> None:
        """Append a verdict to each. Raises OSError if the disk does not take it."""
        for journal in self._journals:
            journal.add(key, verdict)


@contextmanager
def open_journals(path: Path | None) -> Iterator[tuple[Journals, Journals]]:
    """The journals of canonical solutions, and those of samples; the journal at `path`, if any, is in both.

    Raises RequestError for a file that is not a journal.
    """
    with ExitStack() as stack:
        own = [stack.enter_context(closing(Journal(path)))] if path else []
        canonical: list[Journal] = []
        with suppress(RequestError):  # the cache folder cannot be written
            canonical.append(stack.enter_context(closing(CanonicalJournal())))
        yield Journals([*canonical, *own]), Journals(own)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # reading a device may never end
            raise RequestError(f"the journal {path} is no file; name one, or one that is to be made")
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RequestError(f"the journal {path} cannot be written: {error.strerror}; name a file that can") from error


def _write(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    if written < len(data):
        raise OSError(f"the journal took {written} of {len(data)} bytes: the disk is full")


def _key_of(line: bytes) -> bytes | None:
    """The key of a line, None if it is not a whole record."""
    if not line.rstrip(b"\n").endswith(b"}"):
        return None
    try:
        record = json.loads(line)
        _verdict(record)
        return bytes.fromhex(record["key"])
    except (ValueError, KeyError, TypeError):
        return None


def _verdict(record: dict[str, object]) -> Verdict:
    values = {name: value for name, value in record.items() if name != "key"}
    return Verdict(**values)  # type: ignore[arg-type]  # other fields raise TypeError
