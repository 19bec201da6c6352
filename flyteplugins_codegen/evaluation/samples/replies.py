"""One record of a samples' file: a completion, a whole solution, or what a chat model replied."""

from __future__ import annotations

from typing import Any, Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.json_lines import Record
from flyteplugins_codegen.evaluation.values import Sample
from flyteplugins_codegen.source.content import content_str

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
