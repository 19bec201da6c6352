"""What a model is shown of a job: personal values and secrets are replaced, in the data's context and in failures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from flyteplugins_codegen.data.privacy.detection import find_keys
from flyteplugins_codegen.data.privacy.failures import Cells, failure_mask
from flyteplugins_codegen.data.privacy.masking import Fakes, Masker, mask_profile, masking_key
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.data import SampleProfile
from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.run import Attempt
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Message
from flyteplugins_codegen.portable.validator import UnreadableError, read_cells

# The fields of reports that quote a program's output or its errors.
_QUOTING_FIELDS = frozenset(
    {
        *("message", "stderr", "stdout", "traceback", "variables", "output", "reason", "unusable"),
        *("where", "solution_answer", "reference_answer", "rows"),
    }
)
_MOST_COLUMNS = 300
_Profiles: TypeAlias = dict[str, SampleProfile]

ValueT = TypeVar("ValueT", bound=Value)


def fakes_key(request: Request) -> bytes:
    """The key of a job's fake values, derived from the samples: the same in every stage and on every machine."""
    return masking_key(*sorted(sample.digest for sample in request.samples))


def masker_for(settings: Settings, request: Request) -> Masker:
    """The masker of a job's texts, with the same fake values as in its context."""
    return Masker(settings.privacy_rules, Fakes(fakes_key(request)))


def shown_profiles(settings: Settings, request: Request, samples: Mapping[str, SampleProfile]) -> _Profiles:
    """The samples' profiles as people may see them: masked as for a model, only statistics, about 300 columns in all.

    They are part of the run that the loop passes on, which has to stay small.
    """
    masker = masker_for(settings, request)
    columns = _MOST_COLUMNS // max(1, len(samples))
    return {name: _shown_profile(profile, masker, columns) for name, profile in samples.items()}


def _shown_profile(profile: SampleProfile, masker: Masker, most_columns: int) -> SampleProfile:
    masked, _ = mask_profile(profile, masker)
    names, hidden = list(masked.columns)[:most_columns], len(masked.columns) - most_columns
    notes = (*masked.notes, *([f"{hidden} more columns are not shown here"] if hidden > 0 else []))
    columns = {name: masked.columns[name] for name in names}
    return masked.model_copy(
        update={"columns": columns, "notes": notes, "sample_rows": (), "text_excerpt": None, "line_shapes": ()}
    )


# --- secrets in messages ---


def without_keys(messages: tuple[Message, ...], request: Request) -> tuple[Message, ...]:
    """The messages without values that are certainly secrets, in any part: a prompt, a test, a failure."""
    return tuple(_without_keys_in(message, request) for message in messages)


def _without_keys_in(message: Message, request: Request) -> Message:
    results = [
        result.model_copy(update={"content": _without_keys(result.content, request)}) for result in message.tool_results
    ]
    shared = _without_keys(message.content[: message.shared_chars], request)
    content = shared + _without_keys(message.content[message.shared_chars :], request)
    return message.model_copy(update={"content": content, "shared_chars": len(shared), "tool_results": tuple(results)})


def _without_keys(text: str, request: Request) -> str:
    for start, end, kind in reversed(find_keys(text)):
        text = f"{text[:start]}{Fakes(fakes_key(request)).of(text[start:end], kind)}{text[end:]}"
    return text


# --- private values in failures ---


class _Attempts(Value):
    attempts: tuple[Attempt, ...]


def masked_attempts(attempts: Sequence[Attempt], masker: Masker, samples: Mapping[str, Path]) -> tuple[Attempt, ...]:
    """The attempts as a model may see them; see `masked_failures`."""
    return masked_failures(_Attempts(attempts=tuple(attempts)), masker, samples).attempts


def masked_failures(failures: ValueT, masker: Masker, samples: Mapping[str, Path]) -> ValueT:
    """Reports or attempts as a model may see them: quoted texts without private values of the samples.

    If a sample can no longer be read, quoted texts are left out altogether.
    """
    plain = failures.model_dump(mode="json")
    try:
        mask = failure_mask("\n".join(_quoted_texts(plain)), _cells(samples, masker), masker)
    except (UnreadableError, OSError):
        mask = _withheld
    return type(failures).model_validate(_masked(plain, mask))


def _withheld(text: str) -> str:
    return "(left out: the samples cannot be searched for what is private)" if text else text


def _cells(samples: Mapping[str, Path], masker: Masker) -> Iterator[Cells]:
    for sample, path in samples.items():
        for chunk in read_cells(path, functools.partial(_is_searched, masker, sample)):
            yield from (Cells(sample, column, values) for column, values in chunk.items())


def _is_searched(masker: Masker, sample: str, column: str) -> bool:
    return masker.privacy.mode == "profile" or masker.column_kind(sample, column) is not None


def _quoted_texts(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _quoted_texts(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _quoted_texts(item, name)
    elif isinstance(value, str) and name in _QUOTING_FIELDS:
        yield value


def _masked(value: Any, mask: Callable[[str], str], name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _masked(item, mask, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, mask, name) for item in value]
    return mask(value) if isinstance(value, str) and name in _QUOTING_FIELDS else value
