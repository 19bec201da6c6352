"""The profiles of all samples as the text that a prompt shows: short, and the same bytes at every run."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from flyteplugins_codegen.data.column_lines import NAME_CHARACTERS, VALUE_CHARACTERS, columns_table, shown_value
from flyteplugins_codegen.data.texts import cell, one_line, shorten, token_cost
from flyteplugins_codegen.models.profile import ColumnProfile, ForeignKey, SampleProfile

MAX_TOKENS = 8000
_COSTS_PER_TOKEN = 3  # see `token_cost`
_MOST_TOKENS_OF_A_SAMPLE = 2000
_FEWEST_TOKENS_OF_A_SAMPLE = 330
_COLUMNS_SHARE = 0.6
_NOTE_CHARACTERS = 300
_MOST_NOTES = 8
_MOST_NAMED = 6
_MOST_RELATIONS = 20
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


def render_context(
    profiles: Sequence[SampleProfile],
    max_sample_rows: int,
    foreign_keys: Sequence[ForeignKey] = (),
    max_tokens: int = MAX_TOKENS,
) -> str:
    """The text of a prompt, of about `max_tokens` tokens and 2,000 of each sample at most.

    What does not fit is left out by its use, and the text says so: columns that hold one value or none go first, then
    those that are mostly null or mirror another, then the last columns, then the last of the chosen rows. A long value
    is shortened with a mark.
    """
    room = max_tokens // max(1, len(profiles))
    budget = _COSTS_PER_TOKEN * min(_MOST_TOKENS_OF_A_SAMPLE, max(_FEWEST_TOKENS_OF_A_SAMPLE, room))
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
    beginning = _beginning(profile) if max_sample_rows else []
    if profile.columns:
        findings = list(_findings(profile))
        left = budget - _cost(beginning) - _cost(parts) - _cost(findings)
        shown, table = columns_table(profile, int(left * _COLUMNS_SHARE))
        parts += [*table, *findings]
        left = budget - _cost(beginning) - _cost(parts)
        parts += _rows_text(profile, [column.name for column in shown], max_sample_rows, left)
    parts += _line_shapes(profile)
    return "\n".join([*parts, *beginning]) + "\n"


def _cost(lines: Sequence[str]) -> int:
    return sum(token_cost(line) + 1 for line in lines)


def _beginning(profile: SampleProfile) -> list[str]:
    """The file's first lines as they are written: the rows above are values, read and written anew."""
    if profile.text_excerpt is None:
        return []
    lines = [one_line(line) for line in profile.text_excerpt.rstrip("\n").split("\n")]
    return ["It begins:", *_fenced(lines)]


def _heading(profile: SampleProfile) -> str:
    facts = [_FORMAT_NAMES.get(profile.format, profile.format)]
    facts += [f"packed with {profile.compression}"] if profile.compression else []
    facts += [f"a folder of {profile.part_count} files"] if profile.part_count > 1 else []
    if profile.row_count is not None:
        facts.append(f"{profile.row_count} {'rows' if profile.columns else 'lines'}")
    if profile.columns:
        facts.append(f"{len(profile.columns)} columns")
    facts += [f"{profile.size_bytes} bytes"] if profile.size_bytes else []
    return f"## {profile.name} ({cell(profile.file_name, NAME_CHARACTERS)}): {', '.join(facts)}"


def _notes(profile: SampleProfile) -> list[str]:
    return [f"Note: {cell(note, _NOTE_CHARACTERS)}" for note in profile.notes[:_MOST_NOTES]]


def _findings(profile: SampleProfile) -> Iterator[str]:
    """What is worth knowing before code is written, each in a line; nothing of what is as usual."""
    mark = "about " if "duplicate_row_count" in profile.approximate else ""
    if profile.duplicate_row_count:
        yield f"Rows that repeat others: {mark}{profile.duplicate_row_count}"
    pairs = [" + ".join(key) for key in profile.candidate_keys if len(key) > 1]
    if pairs:
        yield f"Key: {_named(pairs, ' or ')}"
    if profile.mirrors:
        yield f"Columns that tell the same: {_named([f'{left} = {right}' for left, right in profile.mirrors])}"
    yield from _column_findings(list(profile.columns.values()))


def _column_findings(columns: Sequence[ColumnProfile]) -> Iterator[str]:
    outliers = [f"{column.name} {column.outlier_count}" for column in columns if column.outlier_count]
    if outliers:
        yield f"Far outliers: {_named(outliers)}"
    texts = [(column.name, column.text) for column in columns if column.text is not None]
    padded = [f"{name} {text.padded_count}" for name, text in texts if text.padded_count]
    if padded:
        yield f"Values with blanks around them: {_named(padded)}"
    empty = [f"{name} {text.empty_count}" for name, text in texts if text.empty_count]
    if empty:
        yield f"Empty texts that are no nulls: {_named(empty)}"
    mixed = [f"{name} ({_listed(text.kinds)})" for name, text in texts if text.is_mixed]
    if mixed:
        yield f"Texts of several kinds: {_named(mixed)}"


def _named(found: Sequence[str], joint: str = ", ") -> str:
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return cell(joint.join(found[:_MOST_NAMED]), _NOTE_CHARACTERS) + more


def _listed(counted: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in counted)


def _line_shapes(profile: SampleProfile) -> list[str]:
    if not profile.line_shapes or (profile.row_count or 0) <= _FEW_LINES:
        return []
    return ["Lines look like:", *_fenced([one_line(f"{shape} ({count})") for shape, count in profile.line_shapes[:3]])]


def _rows_text(profile: SampleProfile, names: list[str], limit: int, budget: int) -> list[str]:
    """The chosen rows as CSV, as many as fit."""
    rows = profile.sample_rows[:limit]
    if not rows:
        return []
    lines, left = [_csv_line(names)], budget - 80
    left -= token_cost(lines[0])
    for row in rows:
        line = _csv_line([shown_value(row.get(name)) for name in names])
        left -= token_cost(line) + 1
        if left < 0 and len(lines) > 1:
            break
        lines.append(line)
    if len(lines) - 1 == profile.row_count:
        return ["All rows:", *_fenced(lines)]
    return ["Some rows, chosen for variety (no neighbours):", *_fenced(lines)]


def _csv_line(values: Sequence[str]) -> str:
    target = io.StringIO()
    csv.writer(target, lineterminator="").writerow([shorten(one_line(value), VALUE_CHARACTERS) for value in values])
    return target.getvalue()


def _fenced(lines: list[str]) -> list[str]:
    """The lines between fences that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]
