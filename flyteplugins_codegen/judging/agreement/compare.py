"""Compares the outputs of two programs of the same job by what they mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from flyteplugins_codegen.judging.agreement.cells import Leniency, same_texts, same_values
from flyteplugins_codegen.judging.agreement.files import (
    Document,
    FileContent,
    Table,
    Text,
    Workbook,
    read_contents,
    records_table,
)
from flyteplugins_codegen.judging.agreement.order import RowOrder
from flyteplugins_codegen.judging.agreement.rows import TableDifference, compare_tables
from flyteplugins_codegen.models.job import TypeName
from flyteplugins_codegen.text import shorten_end

OutputValue: TypeAlias = str | int | float | bool | bytes | dict[str, bytes]

_MOST_CHARACTERS = 190  # `shorten_end` may add a few
_ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """A difference of two programs in one output: `where` it is, and what stands there, at most 200 characters each.

    `is_order_only`: the rows or lines are the same in another order. `is_presence`: only one side has the output, or
    the file of a folder. `is_last_digit`: numbers differ by one in the last decimal that is shown and by no more, as
    halves do that are rounded by different rules.
    """

    output: str
    where: str
    one: str
    other: str
    is_order_only: bool = False
    is_presence: bool = False
    is_last_digit: bool = False


def difference(
    one: Mapping[str, OutputValue],
    other: Mapping[str, OutputValue],
    kinds: Mapping[str, TypeName],
    order: RowOrder,
    *,
    is_rounding_fixed: bool = False,
) -> OutputDifference | None:
    """Return the gravest difference of the outputs that `kinds` declares; None if they mean the same.

    A value that is rounded on one side only is the same, unless the description fixes how values are rounded. Files of
    which the content cannot be read, such as images, never differ. A difference in a value comes before one in the last
    digit only, and that before one in the order only.
    """
    leniency = Leniency(rounds=not is_rounding_fixed)
    found = []
    for name in kinds:
        for strict in _output_differences(name, one, other, order, leniency):
            lenient = None if strict.is_presence or strict.is_order_only else replace(leniency, last_digit=True)
            again = None if lenient is None else next(_output_differences(name, one, other, "free", lenient), None)
            is_last_digit = lenient is not None and again is None
            found.append(replace(again or strict, is_last_digit=is_last_digit))
            break
    return min(found, key=lambda each: (each.is_order_only, each.is_last_digit), default=None)


def _output_differences(
    name: str, one: Mapping[str, OutputValue], other: Mapping[str, OutputValue], order: RowOrder, leniency: Leniency
) -> Iterator[OutputDifference]:
    """Yield the differences of one output, the gravest first."""
    if name not in one or name not in other:
        if name in one or name in other:
            yield OutputDifference(name, "", *_presence(name, one, other), is_presence=True)
        return
    first, second = one[name], other[name]
    if isinstance(first, bytes) and isinstance(second, bytes):
        found = _compare_files(first, second, order, leniency)
        yield from [found.told(name)] if found else []
    elif isinstance(first, dict) and isinstance(second, dict):
        yield from _compare_folders(name, first, second, order, leniency)
    elif (
        isinstance(first, (bytes, dict))
        or isinstance(second, (bytes, dict))
        or not same_values(first, second, leniency)
    ):
        yield _Difference("", _shown(first), _shown(second)).told(name)


def _presence(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, str]:
    return ("present" if name in one else _ABSENT), ("present" if name in other else _ABSENT)


def _shown(value: OutputValue) -> str:
    if isinstance(value, bytes):
        return f"a file of {len(value)} bytes"
    return f"a folder of {len(value)} files" if isinstance(value, dict) else str(value)


def _compare_folders(
    name: str, one: dict[str, bytes], other: dict[str, bytes], order: RowOrder, leniency: Leniency
) -> Iterator[OutputDifference]:
    files = dict.fromkeys([*one, *other])
    for file in files:
        if file not in one or file not in other:
            yield OutputDifference(name, file, *_presence(file, one, other), is_presence=True)
    found = [
        (file, _compare_files(one[file], other[file], order, leniency))
        for file in files
        if file in one and file in other
    ]
    differences = [replace(each, where=f"{file}: {each.where}" if each.where else file) for file, each in found if each]
    yield from (each.told(name) for each in sorted(differences, key=lambda each: each.is_order_only))


# --- files ---


@dataclass(frozen=True, slots=True)
class _Difference:
    where: str
    one: str
    other: str
    is_order_only: bool = False

    def told(self, output: str) -> OutputDifference:
        where, one, other = (shorten_end(text, _MOST_CHARACTERS) for text in (self.where, self.one, self.other))
        return OutputDifference(output, where, one, other, is_order_only=self.is_order_only)


def _compare_files(one: bytes, other: bytes, order: RowOrder, leniency: Leniency) -> _Difference | None:
    contents = None if one == other else read_contents(one, other)
    return None if contents is None else _compare_contents(*contents, order, leniency)


def _compare_contents(one: FileContent, other: FileContent, order: RowOrder, leniency: Leniency) -> _Difference | None:
    if isinstance(one, Table) and isinstance(other, Table):
        return _of_table(compare_tables(one, other, order, leniency))
    if isinstance(one, Workbook) and isinstance(other, Workbook):
        return _compare_workbooks(one, other, order, leniency)
    if isinstance(one, Document) and isinstance(other, Document):
        return _compare_documents("$", one.value, other.value, order, leniency)
    if isinstance(one, Text) and isinstance(other, Text):
        return _compare_lines(one.text, other.text, order, leniency)
    return None


def _of_table(found: TableDifference | None, path: str = "") -> _Difference | None:
    return _Difference(path + found.where, found.one, found.other, found.is_order_only) if found else None


def _compare_workbooks(one: Workbook, other: Workbook, order: RowOrder, leniency: Leniency) -> _Difference | None:
    if set(one.sheets) != set(other.sheets):
        # The name of an only sheet is seldom spoken of.
        if len(one.sheets) != 1 or len(other.sheets) != 1:
            return _Difference("sheets", ", ".join(one.sheets), ", ".join(other.sheets))
        pairs = [(*one.sheets.values(), *other.sheets.values())]
    else:
        pairs = [(sheet, other.sheets[name]) for name, sheet in one.sheets.items()]
    found = (_compare_contents(sheet, beside, order, leniency) for sheet, beside in pairs)
    return next((each for each in found if each), None)


def _compare_lines(one: str, other: str, order: RowOrder, leniency: Leniency) -> _Difference | None:
    first, second = (text.strip().splitlines() for text in (one, other))
    return _compare_sequences(
        [line.strip() for line in first],
        [line.strip() for line in second],
        lambda a, b: same_texts(a, b, leniency),
        ("line", order),
    )


def _compare_sequences(
    one: Sequence[str], other: Sequence[str], same: Callable[[str, str], bool], named: tuple[str, RowOrder]
) -> _Difference | None:
    """Compare lines or texts of a list one by one; where no order is asked for, as multisets before that."""
    unit, order = named
    unequal = (number for number, (a, b) in enumerate(zip(one, other, strict=False)) if not same(a, b))
    first = next(unequal, None if len(one) == len(other) else min(len(one), len(other)))
    if first is None:
        return None
    is_order_only = Counter(one) == Counter(other)
    if is_order_only and order == "free":
        return None
    a, b = (side[first] if first < len(side) else f"{len(side)} {unit}s" for side in (one, other))
    return _Difference(f"{unit} {first + 1}", a, b, is_order_only)


# --- JSON documents ---


def _compare_documents(path: str, one: Any, other: Any, order: RowOrder, leniency: Leniency) -> _Difference | None:
    if isinstance(one, dict) and isinstance(other, dict):
        return _compare_objects(path, one, other, order, leniency)
    if isinstance(one, list) and isinstance(other, list):
        return _compare_lists(path, one, other, order, leniency)
    is_nested = isinstance(one, (dict, list)) or isinstance(other, (dict, list))
    if is_nested or not same_values(one, other, leniency):
        return _Difference(path, _json_text(one), _json_text(other))
    return None


def _compare_objects(
    path: str, one: dict[str, Any], other: dict[str, Any], order: RowOrder, leniency: Leniency
) -> _Difference | None:
    """A name that is absent is the same as a null."""
    found = (
        _compare_documents(f"{path}.{name}", one.get(name), other.get(name), order, leniency)
        for name in dict.fromkeys([*one, *other])
    )
    differences = [each for each in found if each]
    return min(differences, key=lambda each: each.is_order_only, default=None)


def _compare_lists(
    path: str, one: list[Any], other: list[Any], order: RowOrder, leniency: Leniency
) -> _Difference | None:
    """Records are compared as the rows of a table, texts as lines, and other elements by their position."""
    elements = [*one, *other]
    if elements and all(isinstance(element, dict) for element in elements):
        return _of_table(compare_tables(records_table(one), records_table(other), order, leniency), f"{path}: ")
    if all(isinstance(element, str) for element in elements):
        found_text = _compare_sequences(one, other, lambda a, b: same_values(a, b, leniency), ("element", order))
        return found_text and replace(found_text, where=f"{path}, {found_text.where}")
    if len(one) != len(other):
        return _Difference(path, f"{len(one)} elements", f"{len(other)} elements")
    pairs = enumerate(zip(one, other, strict=True))
    compared = (_compare_documents(f"{path}[{number}]", a, b, order, leniency) for number, (a, b) in pairs)
    return next((each for each in compared if each), None)


def _json_text(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
