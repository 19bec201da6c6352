"""The context of a prompt: the profiles of all samples, and a text about them for the model.

The text is short, masked, and the same at every run.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from pydantic import JsonValue

from flyteplugins_codegen.data.column_table import column_table, value_text
from flyteplugins_codegen.data.mentions import mentioned_columns
from flyteplugins_codegen.data.privacy.masking import Fakes, Masker, mask_profile, masking_key
from flyteplugins_codegen.data.profile import ProfiledSample, profile_with_rows
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.models.data import ColumnProfile, DataContext, ForeignKey, SampleProfile
from flyteplugins_codegen.models.settings import Privacy
from flyteplugins_codegen.store import digest
from flyteplugins_codegen.text import cell, one_line, shorten_end, token_cost

MAX_TOKENS = 8000
_COSTS_PER_TOKEN = 3  # see `token_cost`
_MOST_TOKENS_OF_A_SAMPLE = 2000
_FEWEST_TOKENS_OF_A_SAMPLE = 330
_COLUMNS_SHARE = 0.6
_AMPLE_COST = 2400  # of columns and rows: up to it, nothing of a sample is told tersely
_UNBOUNDED = 1 << 30
_NAME_CHARACTERS = 80
_VALUE_CHARACTERS = 40
_NOTE_CHARACTERS = 300
_MOST_NOTES = 8
_MOST_LISTED = 6
_MOST_RELATIONS = 20
_MOST_TOP_VALUES = 8
_MOST_SHAPES = 2
_MOSTLY = 0.9
_FEW_LINES = 8
_FORMAT_NAMES = {
    "csv": "CSV",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "orc": "ORC",
    "json": "JSON",
    "jsonl": "JSON Lines",
    "excel": "Excel",
}


def extract_data_context(
    samples: Mapping[str, Any],
    max_sample_rows: int = 100,
    privacy: str | Privacy = "masked",
    *,
    max_tokens: int = MAX_TOKENS,
    key: bytes | None = None,
    job: str = "",
) -> DataContext:
    """Profile the samples and render the text about them that a model may see.

    `.samples` are the unmasked profiles. `.text` renders them under the rules of `privacy` (`masked`, `rows`,
    `profile`, or a `Privacy` that also names columns), in about `max_tokens` tokens, with at most `max_sample_rows`
    rows of each sample. `.masking` reports what was replaced. `.digest` is the SHA-256 of all this. Fakes are generated
    from `key`, by default one derived from the samples, so that the same samples have the same text. Columns that `job`
    mentions come first; see `render_context`.

    Raises:
        RequestError: an unknown privacy mode.
        SampleError: a sample cannot be read.
    """
    rules = _parse_privacy(privacy)
    profiled = [profile_with_rows(value, name, max_sample_rows) for name, value in samples.items()]
    profiles = {sample.profile.name: sample.profile for sample in profiled}
    context = DataContext(samples=profiles, foreign_keys=_foreign_keys(profiled))
    return with_text(context, max_sample_rows, rules, max_tokens=max_tokens, key=key, job=job)


def with_text(
    context: DataContext,
    max_sample_rows: int,
    privacy: Privacy,
    *,
    max_tokens: int = MAX_TOKENS,
    key: bytes | None = None,
    job: str = "",
) -> DataContext:
    """The profiles of a context with their text, masking and digest made anew; no sample is read.

    See `extract_data_context`.
    """
    profiles = context.samples
    masker = Masker(privacy, Fakes(key or masking_key(*(profile.model_dump_json() for profile in profiles.values()))))
    masked = {name: mask_profile(profile, masker) for name, profile in profiles.items()}
    shown = [profile for profile, _ in masked.values()]
    told = DataContext(
        samples=profiles,
        foreign_keys=context.foreign_keys,
        masking={name: report for name, (_, report) in masked.items()},
        text=render_context(shown, max_sample_rows, context.foreign_keys, max_tokens, job),
    )
    return told.model_copy(update={"digest": digest(told.model_dump_json())})


def _parse_privacy(privacy: str | Privacy) -> Privacy:
    if isinstance(privacy, Privacy):
        return privacy
    if privacy not in ("masked", "rows", "profile"):
        raise RequestError(f"privacy={privacy!r} is no mode; pass 'masked', 'rows' or 'profile'")
    return Privacy.model_validate({"mode": privacy})


def _foreign_keys(profiled: list[ProfiledSample]) -> tuple[ForeignKey, ...]:
    if sum(sample.rows is not None for sample in profiled) < 2:  # noqa: PLR2004 - a key refers to another table
        return ()
    from flyteplugins_codegen.data.foreign_keys import find_foreign_keys

    return find_foreign_keys(profiled)


def render_context(
    profiles: Sequence[SampleProfile],
    max_sample_rows: int,
    foreign_keys: Sequence[ForeignKey] = (),
    max_tokens: int = MAX_TOKENS,
    job: str = "",
) -> str:
    """Render the text for a prompt, of about `max_tokens` tokens and at most 2,000 for each sample.

    Columns that the text of the job mentions, and those of foreign keys, come first; of a sample that would take long,
    only these are told in full, and of the others the names and types. Without a mention all columns are alike.

    The least useful is left out first, and the text says so: columns with one value or none, then columns that are
    mostly null or mirror another, then the last columns, then the last of the chosen rows. A long value is shortened
    with a mark.
    """
    share = max_tokens // max(1, len(profiles))
    budget = _COSTS_PER_TOKEN * min(_MOST_TOKENS_OF_A_SAMPLE, max(_FEWEST_TOKENS_OF_A_SAMPLE, share))
    texts = [
        _sample_text(profile, max_sample_rows, budget, _first_columns(profile, foreign_keys, job))
        for profile in profiles
    ]
    return "\n".join([*texts, *_relations(foreign_keys)])


def _relations(foreign_keys: Sequence[ForeignKey]) -> list[str]:
    if not foreign_keys:
        return []
    lines = [
        f"- {one_line(f'{key.sample}.{key.column}')} may refer to {one_line(f'{key.key_sample}.{key.key_column}')}"
        for key in foreign_keys[:_MOST_RELATIONS]
    ]
    return ["## Between the samples", *lines, ""]


def _first_columns(profile: SampleProfile, foreign_keys: Sequence[ForeignKey], job: str) -> frozenset[str]:
    """The columns that the job mentions, with those of foreign keys; none if it mentions none."""
    mentioned = mentioned_columns(profile.columns.values(), job)
    ends = [(key.sample, key.column) for key in foreign_keys] + [
        (key.key_sample, key.key_column) for key in foreign_keys
    ]
    return mentioned and mentioned.union(column for sample, column in ends if sample == profile.name)


def _sample_text(profile: SampleProfile, max_sample_rows: int, budget: int, first: frozenset[str]) -> str:
    parts = [_heading(profile), *_notes(profile)]
    begin = _begin_lines(profile) if max_sample_rows else []
    if not profile.columns:
        return "\n".join([*parts, *_line_shapes(profile), *_begin_text(begin)]) + "\n"
    findings = list(_findings(profile))
    remaining = budget - _cost([*begin, *parts, *findings])
    tells_others = not first or _cost_of_rows(profile, max_sample_rows) <= _AMPLE_COST
    table = column_table(profile, int(remaining * _COLUMNS_SHARE), first, tells_others=tells_others)
    parts += [*table.lines, *findings]
    names = [column.name for column in table.columns]
    rows = profile.sample_rows[:max_sample_rows]
    if begin == _csv_lines(list(profile.columns), rows)[: len(begin)] and len(names) == len(profile.columns):
        begin = []  # the rows show the same text
    rows = rows[_shown_rows(begin, profile, rows) :]
    parts += _rows_text(profile, names, rows, budget - _cost([*begin, *parts]))
    return "\n".join([*parts, *_line_shapes(profile), *_begin_text(begin)]) + "\n"


def _cost_of_rows(profile: SampleProfile, limit: int) -> int:
    """What the table of all columns and the rows with all of them cost."""
    names = list(profile.columns)
    return _cost([*column_table(profile, _UNBOUNDED).lines, *_csv_lines(names, profile.sample_rows[:limit])])


def _cost(lines: Sequence[str]) -> int:
    return sum(token_cost(line) + 1 for line in lines)


def _heading(profile: SampleProfile) -> str:
    facts = [_FORMAT_NAMES.get(profile.format, profile.format)]
    facts += [f"packed with {profile.compression}"] if profile.compression else []
    facts += [f"a folder of {profile.part_count} files"] if profile.part_count > 1 else []
    if profile.row_count is not None:
        facts.append(f"{profile.row_count} {'rows' if profile.columns else 'lines'}")
    if profile.columns:
        facts.append(f"{len(profile.columns)} columns")
    facts += [f"{profile.size_bytes} bytes"] if profile.size_bytes else []
    return f"## {profile.name} ({cell(profile.file_name, _NAME_CHARACTERS)}): {', '.join(facts)}"


def _notes(profile: SampleProfile) -> list[str]:
    return [f"Note: {cell(note, _NOTE_CHARACTERS)}" for note in profile.notes[:_MOST_NOTES]]


def _findings(profile: SampleProfile) -> Iterator[str]:
    """Yield a line for each unusual property of the table that matters for the code."""
    mark = "about " if "duplicate_row_count" in profile.approximate else ""
    if profile.duplicate_row_count:
        yield f"Rows that repeat others: {mark}{profile.duplicate_row_count}"
    pairs = [" + ".join(key) for key in profile.candidate_keys if len(key) > 1]
    if pairs:
        yield f"Key: {_list_some(pairs, ' or ')}"
    if profile.mirrors:
        yield f"Columns that tell the same: {_list_some([f'{one} = {other}' for one, other in profile.mirrors])}"
    yield from _column_findings(list(profile.columns.values()))


def _column_findings(columns: Sequence[ColumnProfile]) -> Iterator[str]:
    outliers = [f"{column.name} {column.outlier_count}" for column in columns if column.outlier_count]
    if outliers:
        yield f"Far outliers: {_list_some(outliers)}"
    texts = [(column.name, column.text) for column in columns if column.text is not None]
    padded = [f"{name} {text.padded_count}" for name, text in texts if text.padded_count]
    if padded:
        yield f"Values with blanks around them: {_list_some(padded)}"
    empty = [f"{name} {text.empty_count}" for name, text in texts if text.empty_count]
    if empty:
        yield f"Empty texts that are no nulls: {_list_some(empty)}"
    mixed = [
        f"{name} ({', '.join(f'{kind} {count}' for kind, count in text.kinds)})"
        for name, text in texts
        if text.is_mixed
    ]
    if mixed:
        yield f"Texts of several kinds: {_list_some(mixed)}"


def _list_some(items: Sequence[str], separator: str = ", ") -> str:
    more = f" and {len(items) - _MOST_LISTED} more" if len(items) > _MOST_LISTED else ""
    return cell(separator.join(items[:_MOST_LISTED]), _NOTE_CHARACTERS) + more


def _rows_text(
    profile: SampleProfile, names: Sequence[str], rows: Sequence[Mapping[str, JsonValue]], budget: int
) -> list[str]:
    """Return the rows as CSV, each once, as many as fit. What the first lines of the file show is not among them."""
    if not rows:
        return []
    header, *lines = _csv_lines(names, rows)
    remaining = budget - 80 - token_cost(header)
    shown: list[str] = []
    is_whole = len(names) == len(profile.columns)
    for line in lines if is_whole else dict.fromkeys(lines):
        remaining -= token_cost(line) + 1
        if remaining < 0 and shown:
            break
        shown.append(line)
    if is_whole and len(shown) == profile.row_count:
        return ["All rows:", *_fenced([header, *shown])]
    return ["Some rows, chosen for variety (no neighbours):", *_fenced([header, *shown])]


def _csv_lines(names: Sequence[str], rows: Sequence[Mapping[str, JsonValue]]) -> list[str]:
    return [_csv_line(names), *(_csv_line([value_text(row.get(name)) for name in names]) for row in rows)]


def _csv_line(values: Sequence[str]) -> str:
    target = io.StringIO()
    shortened = [shorten_end(one_line(value), _VALUE_CHARACTERS) for value in values]
    csv.writer(target, lineterminator="").writerow(shortened)
    return target.getvalue()


def _line_shapes(profile: SampleProfile) -> list[str]:
    if not profile.line_shapes or (profile.row_count or 0) <= _FEW_LINES:
        return []
    return ["Lines look like:", *_fenced([one_line(f"{shape} ({count})") for shape, count in profile.line_shapes[:3]])]


def _begin_lines(profile: SampleProfile) -> list[str]:
    """Return the file's first lines as they are; the rows above are values that were parsed and written again."""
    if profile.text_excerpt is None:
        return []
    return [one_line(line) for line in profile.text_excerpt.rstrip("\n").split("\n")]


def _begin_text(lines: list[str]) -> list[str]:
    return ["It begins:", *_fenced(lines)] if lines else []


def _shown_rows(begin: Sequence[str], profile: SampleProfile, rows: Sequence[Mapping[str, JsonValue]]) -> int:
    """How many of the first rows the first lines of the file show whole. Of a small table none: all its rows are shown.

    The first rows are always chosen; whether a line is one of them is known by its values.
    """
    if not begin or len(rows) == profile.row_count:
        return 0
    has_header = profile.format == "csv" and all(name in begin[0] for name in profile.columns)
    pairs = zip(begin[has_header:], rows, strict=False)
    return sum(1 for _ in takewhile(lambda pair: _is_shown(*pair), pairs))


def _is_shown(line: str, row: Mapping[str, JsonValue]) -> bool:
    texts = [value_text(value).removesuffix(".0") for value in row.values()]
    return all(text in line for text in texts) and len(line) >= sum(map(len, texts)) + len(texts) - 1


def _fenced(lines: list[str]) -> list[str]:
    """Return the lines between fences that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]
