"""The profiles of all samples as the text that a prompt shows: short, and the same bytes at every run."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from itertools import groupby

from pydantic import JsonValue

from flyteplugins_codegen.data.texts import shorten
from flyteplugins_codegen.models.profile import ColumnProfile, DataContext, SampleProfile

_SAMPLE_CHARACTERS = 6000
_ALL_CHARACTERS = 24_000
_FEWEST_CHARACTERS = 1000
_COLUMNS_SHARE = 0.6
_VALUE_CHARACTERS = 40
_NAME_CHARACTERS = 80
_TOP_VALUES = 8
_NOTE_CHARACTERS = 300
_MOST_NOTES = 8
_FORMAT_NAMES = {"csv": "CSV", "parquet": "Parquet", "arrow": "Arrow", "json": "JSON", "jsonl": "JSON Lines"}
_TYPE_NAMES = {
    "date32[day]": "date",
    "double": "float",
    "float": "float32",
    "int64": "int",
    "string": "text",
    "large_string": "text",
    "null": "empty",
}


def build_context(profiles: Sequence[SampleProfile], max_sample_rows: int) -> DataContext:
    """The context of a prompt. About 6,000 characters a sample at most, less where there are many samples.

    What does not fit is left out by its use, and the text says so: columns that hold one value or none go first, then
    the last columns, then the last of the chosen rows. A long value is shortened with a mark.
    """
    room = _ALL_CHARACTERS // max(1, len(profiles))
    budget = min(_SAMPLE_CHARACTERS, max(_FEWEST_CHARACTERS, room))
    texts = [_sample_text(profile, max_sample_rows, budget) for profile in profiles]
    return DataContext(samples={profile.name: profile for profile in profiles}, text="\n".join(texts))


def _sample_text(profile: SampleProfile, max_sample_rows: int, budget: int) -> str:
    parts = [_heading(profile), *_notes(profile)]
    beginning = _beginning(profile) if max_sample_rows else []
    if profile.columns:
        budget -= sum(len(part) + 1 for part in beginning)
        head = sum(len(part) + 1 for part in parts)
        shown, table = _columns_table(profile, int((budget - head) * _COLUMNS_SHARE))
        parts += table
        left = budget - sum(len(part) + 1 for part in parts)
        parts += _rows_text(profile, [column.name for column in shown], max_sample_rows, left)
    return "\n".join([*parts, *beginning]) + "\n"


def _beginning(profile: SampleProfile) -> list[str]:
    """The file's first lines as they are written: the rows above are values, read and written anew."""
    if profile.text_excerpt is None:
        return []
    lines = [_one_line(line) for line in profile.text_excerpt.rstrip("\n").split("\n")]
    return ["It begins:", *_fenced(lines)]


def _heading(profile: SampleProfile) -> str:
    facts = [_FORMAT_NAMES.get(profile.format, profile.format)]
    if profile.row_count is not None:
        facts.append(f"{profile.row_count} {'rows' if profile.columns else 'lines'}")
    if profile.columns:
        facts.append(f"{len(profile.columns)} columns")
    facts.append(f"{profile.size_bytes} bytes")
    return f"## {profile.name} ({_cell(profile.file_name, _NAME_CHARACTERS)}): {', '.join(facts)}"


def _notes(profile: SampleProfile) -> list[str]:
    return [f"Note: {_cell(note, _NOTE_CHARACTERS)}" for note in profile.notes[:_MOST_NOTES]]


def _columns_table(profile: SampleProfile, budget: int) -> tuple[list[ColumnProfile], list[str]]:
    """The columns that fit, in their order, and the lines that show them."""
    lines = {column.name: _column_line(column, profile.row_count or 0) for column in profile.columns.values()}
    kept, used = set[str](), 0
    for column in sorted(profile.columns.values(), key=lambda column: -_usefulness(column)):
        used += len(lines[column.name]) + 1
        if used > budget and kept:
            break
        kept.add(column.name)
    shown = [column for column in profile.columns.values() if column.name in kept]
    left_out = [column for column in profile.columns.values() if column.name not in kept]
    table = ["|column|type|nulls|distinct|range|mean|values|", "|-|-|-|-|-|-|-|", *(lines[c.name] for c in shown)]
    return shown, [*table, *_left_out(left_out)]


def _usefulness(column: ColumnProfile) -> int:
    """2 for a column that varies, 1 for a constant, 0 for an empty one."""
    if column.arrow_type == "null" or column.distinct_count == 0:
        return 0
    return 1 if column.distinct_count == 1 else 2


def _left_out(columns: list[ColumnProfile]) -> list[str]:
    """One line on all columns that did not fit: runs of one type by the first and the last name."""
    if not columns:
        return []
    runs = []
    for kind, group in groupby(columns, key=_type_name):
        names = [_cell(column.name, _VALUE_CHARACTERS) for column in group]
        runs.append(f"{len(names)} {kind}: {names[0]}" + (f" … {names[-1]}" if len(names) > 1 else ""))
    more = [] if len(runs) <= _TOP_VALUES else [f"{len(runs) - _TOP_VALUES} more runs"]
    return [f"and {len(columns)} more columns ({'; '.join([*runs[:_TOP_VALUES], *more])})"]


def _column_line(column: ColumnProfile, row_count: int) -> str:
    # The rows of a very small table all follow: nothing of theirs is listed twice.
    values = _top_values(column) if row_count > _TOP_VALUES else ""
    is_all_listed = bool(values) and column.distinct_count == len(column.top_values[:_TOP_VALUES])
    cells = [
        _cell(column.name, _NAME_CHARACTERS),
        _type_name(column) + (" index" if column.is_index else ""),
        str(column.null_count),
        _distinct(column),
        "" if is_all_listed else _range(column),
        "" if column.mean is None else f"{column.mean:.6g}",
        values,
    ]
    return f"|{'|'.join(cells)}|"


def _type_name(column: ColumnProfile) -> str:
    if column.arrow_type.startswith("dictionary<"):
        return "category"
    return _TYPE_NAMES.get(column.arrow_type) or _cell(column.arrow_type, _NAME_CHARACTERS)


def _distinct(column: ColumnProfile) -> str:
    if column.distinct_count is None:
        return "?"
    return "unique" if column.is_unique else str(column.distinct_count)


def _range(column: ColumnProfile) -> str:
    if column.minimum is None:
        return ""
    least, greatest = (_cell(_shown(value), _VALUE_CHARACTERS) for value in (column.minimum, column.maximum))
    return least if least == greatest else f"{least} to {greatest}"


def _top_values(column: ColumnProfile) -> str:
    shown = [f"{_cell(_shown(value), _VALUE_CHARACTERS)}: {count}" for value, count in column.top_values[:_TOP_VALUES]]
    rest = (column.distinct_count or 0) - len(shown)
    return ", ".join(shown) + (f", {rest} more" if shown and rest > 0 else "")


def _rows_text(profile: SampleProfile, names: list[str], limit: int, budget: int) -> list[str]:
    """The chosen rows as CSV, as many as fit."""
    rows = profile.sample_rows[:limit]
    if not rows:
        return []
    lines, left = [_csv_line(names)], budget - 80
    left -= len(lines[0])
    for row in rows:
        line = _csv_line([_shown(row.get(name)) for name in names])
        left -= len(line) + 1
        if left < 0 and len(lines) > 1:
            break
        lines.append(line)
    if len(lines) - 1 == profile.row_count:
        return ["All rows:", *_fenced(lines)]
    return ["Some rows, chosen for variety (no neighbours):", *_fenced(lines)]


def _csv_line(values: Sequence[str]) -> str:
    target = io.StringIO()
    csv.writer(target, lineterminator="").writerow([shorten(_one_line(value), _VALUE_CHARACTERS) for value in values])
    return target.getvalue()


def _fenced(lines: list[str]) -> list[str]:
    """The lines between fences that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]


def _shown(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _cell(text: str, limit: int) -> str:
    return shorten(_one_line(text), limit).replace("|", "\\|")


def _one_line(text: str) -> str:
    """The text without anything that breaks a line or cannot be seen."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
