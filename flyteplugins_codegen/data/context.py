"""The context of a prompt: the profiles of all samples, and a text about them for the model.

The text is short, masked, and the same at every run.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pydantic import JsonValue

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
_TYPE_NAMES = {
    "date32[day]": "date",
    "double": "float",
    "float": "float32",
    "int64": "int",
    "string": "text",
    "large_string": "text",
    "null": "empty",
}
_COLUMNS_HEADER = ("|column|type|nulls|distinct|range|mean; quartiles|values|", "|-|-|-|-|-|-|-|")
_COLUMNS_LEGEND = "(`~`: an estimate)"


def extract_data_context(
    samples: Mapping[str, Any],
    max_sample_rows: int = 100,
    privacy: str | Privacy = "masked",
    *,
    max_tokens: int = MAX_TOKENS,
    key: bytes | None = None,
) -> DataContext:
    """Profile the samples and render the text about them that a model may see.

    `.samples` are the unmasked profiles. `.text` renders them under the rules of `privacy` (`masked`, `rows`,
    `profile`, or a `Privacy` that also names columns), in about `max_tokens` tokens, with at most `max_sample_rows`
    rows of each sample. `.masking` reports what was replaced. `.digest` is the SHA-256 of all this. Fakes are generated
    from `key`, by default one derived from the samples, so that the same samples have the same text.

    Raises:
        RequestError: an unknown privacy mode.
        SampleError: a sample cannot be read.
    """
    rules = _parse_privacy(privacy)
    profiled = [profile_with_rows(value, name, max_sample_rows) for name, value in samples.items()]
    profiles = {sample.profile.name: sample.profile for sample in profiled}
    masker = Masker(rules, Fakes(key or masking_key(*(profile.model_dump_json() for profile in profiles.values()))))
    masked = {name: mask_profile(profile, masker) for name, profile in profiles.items()}
    foreign_keys = _foreign_keys(profiled)
    text = render_context([profile for profile, _ in masked.values()], max_sample_rows, foreign_keys, max_tokens)
    context = DataContext(
        samples=profiles,
        foreign_keys=foreign_keys,
        masking={name: report for name, (_, report) in masked.items()},
        text=text,
    )
    return context.model_copy(update={"digest": digest(context.model_dump_json())})


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
) -> str:
    """Render the text for a prompt, of about `max_tokens` tokens and at most 2,000 for each sample.

    The least useful is left out first, and the text says so: columns with one value or none, then columns that are
    mostly null or mirror another, then the last columns, then the last of the chosen rows. A long value is shortened
    with a mark.
    """
    share = max_tokens // max(1, len(profiles))
    budget = _COSTS_PER_TOKEN * min(_MOST_TOKENS_OF_A_SAMPLE, max(_FEWEST_TOKENS_OF_A_SAMPLE, share))
    texts = [_sample_text(profile, max_sample_rows, budget) for profile in profiles]
    return "\n".join([*texts, *_relations(foreign_keys)])


def _relations(foreign_keys: Sequence[ForeignKey]) -> list[str]:
    if not foreign_keys:
        return []
    lines = [
        f"- {one_line(f'{key.sample}.{key.column}')} may refer to {one_line(f'{key.key_sample}.{key.key_column}')}"
        for key in foreign_keys[:_MOST_RELATIONS]
    ]
    return ["## Between the samples", *lines, ""]


def _sample_text(profile: SampleProfile, max_sample_rows: int, budget: int) -> str:
    parts = [_heading(profile), *_notes(profile)]
    first_lines = _first_lines(profile) if max_sample_rows else []
    if profile.columns:
        findings = list(_findings(profile))
        remaining = budget - _cost(first_lines) - _cost(parts) - _cost(findings)
        columns, table = _columns_table(profile, int(remaining * _COLUMNS_SHARE))
        parts += [*table, *findings]
        remaining = budget - _cost(first_lines) - _cost(parts)
        parts += _rows_text(profile, [column.name for column in columns], max_sample_rows, remaining)
    parts += _line_shapes(profile)
    return "\n".join([*parts, *first_lines]) + "\n"


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


def _rows_text(profile: SampleProfile, names: list[str], limit: int, budget: int) -> list[str]:
    """Return the chosen rows as CSV, as many as fit."""
    rows = profile.sample_rows[:limit]
    if not rows:
        return []
    lines, remaining = [_csv_line(names)], budget - 80
    remaining -= token_cost(lines[0])
    for row in rows:
        line = _csv_line([_value_text(row.get(name)) for name in names])
        remaining -= token_cost(line) + 1
        if remaining < 0 and len(lines) > 1:
            break
        lines.append(line)
    if len(lines) - 1 == profile.row_count:
        return ["All rows:", *_fenced(lines)]
    return ["Some rows, chosen for variety (no neighbours):", *_fenced(lines)]


def _csv_line(values: Sequence[str]) -> str:
    target = io.StringIO()
    shortened = [shorten_end(one_line(value), _VALUE_CHARACTERS) for value in values]
    csv.writer(target, lineterminator="").writerow(shortened)
    return target.getvalue()


def _line_shapes(profile: SampleProfile) -> list[str]:
    if not profile.line_shapes or (profile.row_count or 0) <= _FEW_LINES:
        return []
    return ["Lines look like:", *_fenced([one_line(f"{shape} ({count})") for shape, count in profile.line_shapes[:3]])]


def _first_lines(profile: SampleProfile) -> list[str]:
    """Return the file's first lines as they are; the rows above are values that were parsed and written again."""
    if profile.text_excerpt is None:
        return []
    lines = [one_line(line) for line in profile.text_excerpt.rstrip("\n").split("\n")]
    return ["It begins:", *_fenced(lines)]


def _fenced(lines: list[str]) -> list[str]:
    """Return the lines between fences that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]


# --- the table of columns ---


def _columns_table(profile: SampleProfile, budget: int) -> tuple[list[ColumnProfile], list[str]]:
    """Return the most useful columns that fit, in their order, and the lines of a table about them."""
    columns = list(profile.columns.values())
    lines = {column.name: _column_line(column, profile.row_count or 0) for column in columns}
    kept, used = set[str](), 0
    for column in sorted(columns, key=lambda column: -_usefulness(column, profile)):
        used += token_cost(lines[column.name]) + 1
        if used > budget and kept:
            break
        kept.add(column.name)
    listed = [column for column in columns if column.name in kept]
    left_out = [column for column in columns if column.name not in kept]
    legend = [_COLUMNS_LEGEND] if any(column.approximate for column in listed) else []
    return listed, [*_COLUMNS_HEADER, *(lines[column.name] for column in listed), *_left_out_line(left_out), *legend]


def _usefulness(column: ColumnProfile, profile: SampleProfile) -> int:
    """Rate a column: 4 for a key, 3 for one that varies, 2 for mostly null or a mirror, 1 for constant, 0 for empty."""
    if column.arrow_type == "null" or column.distinct_count == 0:
        return 0
    if column.is_constant or column.distinct_count == 1:
        return 1
    if any(mirror == column.name for _, mirror in profile.mirrors):
        return 2
    if column.null_count > _MOSTLY * (profile.row_count or 0):
        return 2
    return 4 if any(column.name in key for key in profile.candidate_keys) else 3


def _left_out_line(columns: list[ColumnProfile]) -> list[str]:
    """Return one line about the columns that do not fit: the first and last name of each run of one type."""
    if not columns:
        return []
    runs = []
    for kind, group in groupby(columns, key=_type_name):
        names = [cell(column.name, _VALUE_CHARACTERS) for column in group]
        runs.append(f"{len(names)} {kind}: {names[0]}" + (f" … {names[-1]}" if len(names) > 1 else ""))
    more = [] if len(runs) <= _MOST_TOP_VALUES else [f"{len(runs) - _MOST_TOP_VALUES} more runs"]
    return [f"and {len(columns)} more columns ({'; '.join([*runs[:_MOST_TOP_VALUES], *more])})"]


def _column_line(column: ColumnProfile, row_count: int) -> str:
    # All rows of a very small table follow, so its values are not listed here.
    values = _values_cell(column) if row_count > _MOST_TOP_VALUES else ""
    is_all_listed = bool(values) and column.distinct_count == len(column.top_values[:_MOST_TOP_VALUES])
    cells = [
        cell(column.name, _NAME_CHARACTERS),
        _type_name(column) + (" index" if column.is_index else ""),
        str(column.null_count),
        _distinct_cell(column),
        "" if is_all_listed else _range_cell(column),
        _average_cell(column) if row_count > _MOST_TOP_VALUES and not is_all_listed else "",
        values,
    ]
    return f"|{'|'.join(cells)}|"


def _type_name(column: ColumnProfile) -> str:
    if column.arrow_type.startswith("dictionary<"):
        return "category"
    return _TYPE_NAMES.get(column.arrow_type) or cell(column.arrow_type, _NAME_CHARACTERS)


def _distinct_cell(column: ColumnProfile) -> str:
    if column.distinct_count is None:
        return "?"
    return "unique" if column.is_unique else _mark(column, "distinct_count") + str(column.distinct_count)


def _range_cell(column: ColumnProfile) -> str:
    if column.minimum is None:
        return ""
    least, greatest = (cell(_value_text(value), _VALUE_CHARACTERS) for value in (column.minimum, column.maximum))
    return least if least == greatest else f"{least} to {greatest}"


def _average_cell(column: ColumnProfile) -> str:
    """Return the mean and the quartiles of numbers."""
    if column.mean is None or column.quartiles is None or column.minimum == column.maximum:
        return ""
    quartiles = [f"{value:.3g}" for value in column.quartiles if isinstance(value, int | float)]
    return f"{column.mean:.6g}; {_mark(column, 'quartiles')}{', '.join(quartiles)}"


def _values_cell(column: ColumnProfile) -> str:
    """Return the commonest values, or the shapes of texts that rarely repeat; date formats come first."""
    values = [f"{cell(_value_text(value), _VALUE_CHARACTERS)}: {count}" for value, count in column.top_values]
    dates = _date_formats(column)
    if not values:
        return "; ".join([*dates, *_shapes(column)])
    rest = (column.distinct_count or 0) - len(values[:_MOST_TOP_VALUES])
    more = [f"{rest} more"] if rest > 0 else []
    return "; ".join([*dates, _mark(column, "top_values") + ", ".join([*values[:_MOST_TOP_VALUES], *more])])


def _date_formats(column: ColumnProfile) -> list[str]:
    if column.text is None or not column.text.formats:
        return []
    ends = column.text.date_range
    date_range = f", {_mark(column, 'text')}{ends[0]} to {ends[1]}" if ends else ""
    return [f"dates {' or '.join(name for name, _ in column.text.formats)}{date_range}"]


def _shapes(column: ColumnProfile) -> list[str]:
    if column.text is None or not column.text.shapes:
        return []
    shapes = [cell(shape, _VALUE_CHARACTERS) for shape, _ in column.text.shapes[:_MOST_SHAPES]]
    return [f"like {' or '.join(shapes)}"]


def _value_text(value: JsonValue) -> str:
    """Return a value as a person reads it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _mark(column: ColumnProfile, statistic: str) -> str:
    return "~" if statistic in column.approximate else ""
