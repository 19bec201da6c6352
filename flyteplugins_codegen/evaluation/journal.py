"""What has been judged, line by line as it is: killed at any moment, a run goes on from there.

One JSON object a line, found by the digest of all that its verdict depends on. A line is appended by one write under a
lock, so that several processes may share a journal; a line that is no whole record was cut off, and is left out.
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

# Digests of all that a verdict depends on: what they name has been judged, wherever and whenever that was.

_KEY_BYTES: Final = 16


def problem_key(problem: Problem, *, judge: str, limits: Limits, packages: tuple[str, ...]) -> bytes:
    """What the verdicts on one problem depend on beside the program; by its canonical solution, how it is judged."""
    texts = [problem.entry_point, problem.context, problem.prompt, problem.canonical_solution, problem.language]
    parts = [problem.task_id, *texts, judge]
    used = asdict(problem.limits or limits)
    told = digest(parts, used, list(packages), _tests_bytes(problem.tests), judge_version())
    return bytes.fromhex(told)


def candidate_key(problem: bytes, program: str) -> bytes:
    """What the verdict on one program depends on."""
    text = program.encode("utf-8", "surrogatepass")
    return hashlib.sha256(problem + text).digest()[:_KEY_BYTES]


@cache
def judge_version() -> str:
    """The digest of the judges' sources, the same in every process: what they are compiled to is not."""
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


class Journal:
    """The journal at `path`, made where there is none. Raises RequestError for a file that is something else.

    Only where each record stands is kept in memory. Safe to use from several threads.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[bytes, tuple[int, int]] = {}
        self._descriptor = _open(path)
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def get(self, key: bytes) -> Verdict | None:
        """The verdict by this key; None where there is none yet."""
        place = self._places.get(key)
        if place is None:
            return None
        start, size = place
        return _verdict(json.loads(os.pread(self._descriptor, size, start)))

    def add(self, key: bytes, verdict: Verdict) -> None:
        """Keep a verdict. Raises OSError where the disk does not take it: what was there before stays whole."""
        record = {"key": key.hex(), **asdict(verdict)}
        line = json.dumps(record, ensure_ascii=True).encode() + b"\n"
        with self._alone():
            start = os.fstat(self._descriptor).st_size
            # What was cut off by a kill must not swallow what comes now.
            torn = b"" if start == 0 or os.pread(self._descriptor, 1, start - 1) == b"\n" else b"\n"
            _write(self._descriptor, torn + line)
            self._places[key] = start + len(torn), len(line)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)

    def _read(self) -> None:
        start, count = 0, 0
        with self._path.open("rb") as file:
            for line in file:
                key = _key_of(line)
                count += 1
                if key is not None:
                    self._places[key] = start, len(line)
                start += len(line)
        if count > 1 and not self._places:
            raise RequestError(f"{self._path} is no journal of an evaluation: none of its {count} lines is a record")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)


class CanonicalJournal(Journal):
    """A journal of canonical solutions that passed, in our own cache: what is lost of it is only judged again.

    A machine judges each once, as long as the judges stay the same.
    """

    def __init__(self) -> None:
        super().__init__(cache_dir() / "canonical-solutions" / f"{judge_version()}.jsonl")

    def add(self, key: bytes, verdict: Verdict) -> None:
        """Keep a verdict if it passed, and the disk takes it."""
        if verdict.outcome == "passed":
            with suppress(OSError):
                super().add(key, verdict)


class Journals:
    """Several as one, or none: the first that knows a verdict gives it, and each keeps what is new."""

    def __init__(self, journals: Iterable[Journal]) -> None:
        self._journals = tuple(journals)

    def get(self, key: bytes) -> Verdict | None:
        """The verdict by this key; None where there is none yet."""
        return next((found for journal in self._journals if (found := journal.get(key))), None)

    def add(self, key: bytes, verdict: Verdict) -> None:
        """Keep a verdict. Raises OSError where the disk does not take it."""
        for journal in self._journals:
            journal.add(key, verdict)


@contextmanager
def open_journals(path: Path | None) -> Iterator[tuple[Journals, Journals]]:
    """What keeps the verdicts on canonical solutions, and on samples: the journal at `path`, if there is to be one.

    Raises RequestError for a file that is no journal.
    """
    with ExitStack() as stack:
        own = [stack.enter_context(closing(Journal(path)))] if path else []
        known: list[Journal] = []
        with suppress(RequestError):  # our cache cannot be written
            known.append(stack.enter_context(closing(CanonicalJournal())))
        yield Journals([*known, *own]), Journals(own)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # a device could be read without end
            raise RequestError(f"the journal {path} is no file; name one, or one that is to be made")
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RequestError(f"the journal {path} cannot be written: {error.strerror}; name a file that can") from error


def _write(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    if written < len(data):
        raise OSError(f"the journal took {written} of {len(data)} bytes: the disk is full")


def _key_of(line: bytes) -> bytes | None:
    """The key of a whole record."""
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
    return Verdict(**values)  # type: ignore[arg-type]  # another form raises TypeError
