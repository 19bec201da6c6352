"""The profiles of all samples as the text that a prompt shows: short, and the same bytes at every run."""

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
from flyteplugins_codegen.data.profile import Profiled, profile_with_rows
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.models.data import ColumnProfile, DataContext, ForeignKey, SampleProfile
from flyteplugins_codegen.models.settings import Privacy
from flyteplugins_codegen.store import digest
from flyteplugins_codegen.text import cell, one_line, shorten_end, token_cost

# The columns of a sample as lines of a table, the useful ones first to come and last to go.

NAME_CHARACTERS = 80
VALUE_CHARACTERS = 40
_TOP_VALUES = 8
_MOST_SHAPES = 2
_MOSTLY = 0.9
_TYPE_NAMES = {
    "date32[day]": "date",
    "double": "float",
    "float": "float32",
    "int64": "int",
    "string": "text",
    "large_string": "text",
    "null": "empty",
}
_HEADER = ("|column|type|nulls|distinct|range|mean; quartiles|values|", "|-|-|-|-|-|-|-|")
_LEGEND = "(`~`: an estimate)"


def columns_table(profile: SampleProfile, budget: int) -> tuple[list[ColumnProfile], list[str]]:
    """The columns that fit, in their order, and the lines that show them."""
    columns = list(profile.columns.values())
    lines = {column.name: _line(column, profile.row_count or 0) for column in columns}
    kept, used = set[str](), 0
    for column in sorted(columns, key=lambda column: -_usefulness(column, profile)):
        used += token_cost(lines[column.name]) + 1
        if used > budget and kept:
            break
        kept.add(column.name)
    shown = [column for column in columns if column.name in kept]
    left_out = [column for column in columns if column.name not in kept]
    legend = [_LEGEND] if any(column.approximate for column in shown) else []
    return shown, [*_HEADER, *(lines[column.name] for column in shown), *_left_out(left_out), *legend]


def shown_value(value: JsonValue) -> str:
    """A value as a person reads it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _usefulness(column: ColumnProfile, profile: SampleProfile) -> int:
    """4 for a key, 3 for a column that varies, less for one that is mostly null, mirrors another, or says nothing."""
    if column.arrow_type == "null" or column.distinct_count == 0:
        return 0
    if column.is_constant or column.distinct_count == 1:
        return 1
    if any(mirror == column.name for _, mirror in profile.mirrors):
        return 2
    if column.null_count > _MOSTLY * (profile.row_count or 0):
        return 2
    return 4 if any(column.name in key for key in profile.candidate_keys) else 3


def _left_out(columns: list[ColumnProfile]) -> list[str]:
    """One line on all columns that did not fit: runs of one type by the first and the last name."""
    if not columns:
        return []
    runs = []
    for kind, group in groupby(columns, key=_type_name):
        names = [cell(column.name, VALUE_CHARACTERS) for column in group]
        runs.append(f"{len(names)} {kind}: {names[0]}" + (f" … {names[-1]}" if len(names) > 1 else ""))
    more = [] if len(runs) <= _TOP_VALUES else [f"{len(runs) - _TOP_VALUES} more runs"]
    return [f"and {len(columns)} more columns ({'; '.join([*runs[:_TOP_VALUES], *more])})"]


def _line(column: ColumnProfile, row_count: int) -> str:
    # The rows of a very small table all follow: nothing of theirs is listed twice.
    values = _values(column) if row_count > _TOP_VALUES else ""
    is_all_listed = bool(values) and column.distinct_count == len(column.top_values[:_TOP_VALUES])
    cells = [
        cell(column.name, NAME_CHARACTERS),
        _type_name(column) + (" index" if column.is_index else ""),
        str(column.null_count),
        _distinct(column),
        "" if is_all_listed else _range(column),
        _average(column) if row_count > _TOP_VALUES and not is_all_listed else "",
        values,
    ]
    return f"|{'|'.join(cells)}|"


def _type_name(column: ColumnProfile) -> str:
    if column.arrow_type.startswith("dictionary<"):
        return "category"
    return _TYPE_NAMES.get(column.arrow_type) or cell(column.arrow_type, NAME_CHARACTERS)


def _distinct(column: ColumnProfile) -> str:
    if column.distinct_count is None:
        return "?"
    return "unique" if column.is_unique else _mark(column, "distinct_count") + str(column.distinct_count)


def _range(column: ColumnProfile) -> str:
    if column.minimum is None:
        return ""
    least, greatest = (cell(shown_value(value), VALUE_CHARACTERS) for value in (column.minimum, column.maximum))
    return least if least == greatest else f"{least} to {greatest}"


def _average(column: ColumnProfile) -> str:
    """The mean, and the quartiles of numbers."""
    if column.mean is None or column.quartiles is None or column.minimum == column.maximum:
        return ""
    quartiles = [f"{value:.3g}" for value in column.quartiles if isinstance(value, int | float)]
    return f"{column.mean:.6g}; {_mark(column, 'quartiles')}{', '.join(quartiles)}"


def _values(column: ColumnProfile) -> str:
    """The commonest values; of texts that hardly repeat, how they look."""
    shown = [f"{cell(shown_value(value), VALUE_CHARACTERS)}: {count}" for value, count in column.top_values]
    told = _dates(column)
    if not shown:
        return "; ".join([*told, *_shapes(column)])
    rest = (column.distinct_count or 0) - len(shown[:_TOP_VALUES])
    more = [f"{rest} more"] if rest > 0 else []
    return "; ".join([*told, _mark(column, "top_values") + ", ".join([*shown[:_TOP_VALUES], *more])])


def _dates(column: ColumnProfile) -> list[str]:
    if column.text is None or not column.text.formats:
        return []
    ends = column.text.date_range
    shown = f", {_mark(column, 'text')}{ends[0]} to {ends[1]}" if ends else ""
    return [f"dates {' or '.join(form for form, _ in column.text.formats)}{shown}"]


def _shapes(column: ColumnProfile) -> list[str]:
    if column.text is None or not column.text.shapes:
        return []
    shapes = [cell(shape, VALUE_CHARACTERS) for shape, _ in column.text.shapes[:_MOST_SHAPES]]
    return [f"like {' or '.join(shapes)}"]


def _mark(column: ColumnProfile, statistic: str) -> str:
    return "~" if statistic in column.approximate else ""


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
    csv.writer(target, lineterminator="").writerow([shorten_end(one_line(value), VALUE_CHARACTERS) for value in values])
    return target.getvalue()


def _fenced(lines: list[str]) -> list[str]:
    """The lines between fences that none of them can close."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]


# The samples of a job as the context of a prompt: profiled, related, masked, written down.


def extract_data_context(
    samples: Mapping[str, Any],
    max_sample_rows: int = 100,
    privacy: str | Privacy = "masked",
    *,
    max_tokens: int = MAX_TOKENS,
    key: bytes | None = None,
) -> DataContext:
    """The context of a prompt: what `profile_sample` tells of every sample, and a text that a model may see.

    `.samples` are the profiles as they are; `.text` shows them by the rules of `privacy` (`masked`, `rows`, `profile`,
    or a `Privacy` that names columns too), in about `max_tokens` tokens, and at most `max_sample_rows` rows of each;
    `.masking` tells what was replaced; `.digest` is the SHA-256 of all this. Fakes are made by `key`, by default one
    made of the samples: the same samples have the same text.

    Raises:
        RequestError: an unknown mode of privacy.
        SampleError: a sample that cannot be read.
    """
    rules = _rules(privacy)
    profiled = [profile_with_rows(value, name, max_sample_rows) for name, value in samples.items()]
    profiles = {found.profile.name: found.profile for found in profiled}
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


def _rules(privacy: str | Privacy) -> Privacy:
    if isinstance(privacy, Privacy):
        return privacy
    if privacy not in ("masked", "rows", "profile"):
        raise RequestError(f"privacy={privacy!r} is no mode; pass 'masked', 'rows' or 'profile'")
    return Privacy.model_validate({"mode": privacy})


def _foreign_keys(profiled: list[Profiled]) -> tuple[ForeignKey, ...]:
    if sum(found.rows is not None for found in profiled) < 2:  # noqa: PLR2004 - a key refers to another table
        return ()
    from flyteplugins_codegen.data.foreign_keys import find_foreign_keys

    return find_foreign_keys(profiled)
