"""Profiles and texts as a model may see them, and what was replaced in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import JsonValue

from flyteplugins_codegen.data.privacy.detection import (
    Found,
    Kind,
    find_personal,
    find_secrets,
    is_card_number,
    kind_of_name,
)
from flyteplugins_codegen.data.privacy.fakes import Fakes
from flyteplugins_codegen.models.privacy import Privacy
from flyteplugins_codegen.models.profile import ColumnProfile, MaskingReport, SampleProfile, TextProfile

_CUT = re.compile(r"…\(\+\d+ characters\)\Z")
_HEX_BYTES = re.compile(r"(?:\b[0-9a-f]{2} ?){4,}")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_FEWEST_DIGITS: Mapping[Kind, int] = {"phone": 7, "national id": 5}
_FEWEST_SECRET_CHARACTERS = 4
_TEXT = ""
"""The column that a report counts values under which stand in no column."""


class Masked(NamedTuple):
    """A text without what must not be seen, and how many values of each kind were replaced."""

    text: str
    replaced: Counter[Kind]


class Masker:
    """Replaces by the rules of `privacy`, always the same value by the same fake."""

    def __init__(self, privacy: Privacy, fakes: Fakes) -> None:
        self.privacy, self._fakes = privacy, fakes

    def text(self, text: str) -> Masked:
        """The text with every value in it replaced that is told by its form."""
        find: Callable[[str], list[Found]] = find_secrets if self.privacy.mode == "rows" else find_personal
        parts, position, replaced = [], 0, Counter[Kind]()
        for start, end, kind in find(text):
            parts += [text[position:start], self._fakes.of(text[start:end], kind)]
            position = end
            replaced[kind] += 1
        return Masked("".join([*parts, text[position:]]), replaced)

    def whole(self, text: str, kind: Kind) -> str:
        """The fake of a text that is one value; a mark at its end, that it was shortened, stays."""
        cut = _CUT.search(text)
        end = cut.start() if cut else len(text)
        return self._fakes.of(text[:end], kind) + text[end:] if end else text

    def cell(self, value: JsonValue, kind: Kind | None) -> tuple[JsonValue, Counter[Kind]]:
        """A value of a column of this kind; None: a column like any other."""
        if value is None or value == "":
            return value, Counter()
        if kind is not None and _is_of(value, kind):
            return self._fake_cell(value, kind), Counter([kind])
        if isinstance(value, str):
            masked = self.text(value)
            return masked.text, masked.replaced
        is_card = isinstance(value, int) and self.privacy.mode != "rows" and is_card_number(str(value))
        return (int(self._fakes.of(str(value), "card")), Counter(["card"])) if is_card else (value, Counter())

    def _fake_cell(self, value: JsonValue, kind: Kind) -> JsonValue:
        if isinstance(value, bool):
            return self._fakes.of(str(value), kind) > "N"
        if isinstance(value, int | float):
            return self._fakes.of_number(value)
        return self.whole(str(value), kind)

    def column_kind(self, sample: str, column: str) -> Kind | None:
        """What the user or its name says of all values of a column."""
        if self.privacy.mode != "rows" and self.privacy.names(sample, column):
            return "private"
        kind = kind_of_name(column)
        return kind if kind == "secret" or self.privacy.mode != "rows" else None


def _is_of(value: JsonValue, kind: Kind) -> bool:
    """Whether a value in a column of this kind is one: a column `phone` may hold names of phones."""
    if kind == "private":
        return True
    if kind == "secret":
        return isinstance(value, str) and len(value) >= _FEWEST_SECRET_CHARACTERS
    digits = re.sub(r"[\s()+./-]", "", str(value))
    return digits.isdecimal() and len(digits) >= _FEWEST_DIGITS.get(kind, 1)


def mask_profile(profile: SampleProfile, masker: Masker) -> tuple[SampleProfile, MaskingReport]:
    """The profile as a model may see it, and what was replaced in it."""
    work = _ProfileMasking(profile, masker)
    rows = tuple({name: work.cell(name, value) for name, value in row.items()} for row in profile.sample_rows)
    columns = {name: work.column(column) for name, column in profile.columns.items()}
    changes: dict[str, Any] = {
        "columns": columns,
        "sample_rows": rows,
        "file_name": work.text(profile.file_name),
        "text_excerpt": work.excerpt(),
        "notes": tuple(work.text(note) for note in profile.notes),
        "line_shapes": tuple((work.text(shape), count) for shape, count in profile.line_shapes),
    }
    if masker.privacy.mode == "profile":
        changes |= _statistics_only(profile, columns, masker.privacy.min_rows)
    changes |= _renamed(profile, changes, {name: work.text(name) for name in profile.columns})
    report = MaskingReport(mode=masker.privacy.mode, replaced=work.report())
    return profile.model_copy(update=changes), report


def _renamed(profile: SampleProfile, changes: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """What names columns, by the names that may be seen: of a file without a header they are its first row."""
    if all(name == shown for name, shown in names.items()):
        return {}
    return {
        "columns": {
            names[name]: column.model_copy(update={"name": names[name]}) for name, column in changes["columns"].items()
        },
        "sample_rows": tuple(
            {names.get(name, name): value for name, value in row.items()} for row in changes["sample_rows"]
        ),
        "candidate_keys": tuple(tuple(names.get(name, name) for name in key) for key in profile.candidate_keys),
        "mirrors": tuple((names.get(one, one), names.get(other, other)) for one, other in profile.mirrors),
    }


class _ProfileMasking:
    """One profile on its way: what was replaced is counted as it goes."""

    def __init__(self, profile: SampleProfile, masker: Masker) -> None:
        self._profile, self._masker = profile, masker
        self._kinds = {name: masker.column_kind(profile.name, name) for name in profile.columns}
        self._replaced: dict[str, Counter[Kind]] = {}

    def cell(self, column: str, value: Any) -> Any:
        fake, replaced = self._masker.cell(value, self._kinds.get(column))
        self._replaced.setdefault(column, Counter()).update(replaced)
        return fake

    def text(self, text: str) -> str:
        masked = self._masker.text(text)
        self._replaced.setdefault(_TEXT, Counter()).update(masked.replaced)
        return masked.text

    def column(self, column: ColumnProfile) -> ColumnProfile:
        name = column.name
        changes: dict[str, Any] = {
            "minimum": self.cell(name, column.minimum),
            "maximum": self.cell(name, column.maximum),
            "quartiles": tuple(self.cell(name, value) for value in column.quartiles) if column.quartiles else None,
            "top_values": tuple((self.cell(name, value), count) for value, count in column.top_values),
        }
        if self._kinds[name] is not None or self._replaced[name]:
            # Of one row, or of all that are equal, the mean is the value.
            changes |= {"mean": None, "deviation": None, "quartiles": None, "text": _without_dates(column.text)}
        return column.model_copy(update=changes)

    def excerpt(self) -> str | None:
        """The file's first lines; of a table with private columns only the header: a line tells no columns apart."""
        excerpt = self._profile.text_excerpt
        private = [name for name, kind in self._kinds.items() if kind is not None]
        if excerpt is None or not private:
            return None if excerpt is None else self.text(excerpt)
        header = excerpt.partition("\n")[0]
        is_header = self._profile.format == "csv" and all(name in header for name in self._profile.columns)
        return self.text(header) if is_header else None

    def report(self) -> dict[str, dict[str, int]]:
        return {name: dict(sorted(counts.items())) for name, counts in self._replaced.items() if counts}


def _statistics_only(profile: SampleProfile, columns: Mapping[str, ColumnProfile], min_rows: int) -> dict[str, Any]:
    return {
        "columns": {name: _without_rare(column, profile.row_count or 0, min_rows) for name, column in columns.items()},
        "sample_rows": (),
        "text_excerpt": None,
        "file_name": profile.file_name.rpartition(".")[2],
        "notes": tuple(_without_values(note, set(profile.columns)) for note in profile.notes),
        "line_shapes": tuple((shape, count) for shape, count in profile.line_shapes if count >= min_rows),
    }


def _without_rare(column: ColumnProfile, row_count: int, min_rows: int) -> ColumnProfile:
    common = tuple((value, count) for value, count in column.top_values if count >= min_rows)
    known = [value for value, _ in common]
    is_aggregate = row_count - column.null_count >= min_rows
    return column.model_copy(
        update={
            "minimum": column.minimum if column.minimum in known else None,
            "maximum": column.maximum if column.maximum in known else None,
            "quartiles": column.quartiles if column.quartiles and set(column.quartiles) <= set(known) else None,
            "mean": column.mean if is_aggregate else None,
            "deviation": column.deviation if is_aggregate else None,
            "top_values": common,
            "text": _common_shapes(column.text, min_rows) if column.text else None,
        }
    )


def _common_shapes(text: TextProfile, min_rows: int) -> TextProfile:
    shapes = tuple((shape, count) for shape, count in text.shapes if count >= min_rows)
    return text.model_copy(update={"shapes": shapes, "date_range": None})


def _without_dates(text: TextProfile | None) -> TextProfile | None:
    return None if text is None else text.model_copy(update={"date_range": None})


def _without_values(note: str, names: set[str]) -> str:
    """The note without what it quotes, column names excepted, and without the bytes of a file."""
    plain = _QUOTED.sub(lambda quoted: quoted[0] if quoted[0][1:-1] in names else "'...'", note)
    return _HEX_BYTES.sub("...", plain)
