"""Derives files whose groups are equal, or have as many rows as the description sets for a border."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from flyteplugins_codegen.data.derived.cells import Column
from flyteplugins_codegen.data.derived.changes import named_columns
from flyteplugins_codegen.data.derived.samples import Draft, Sample
from flyteplugins_codegen.data.derived.tables import Row
from flyteplugins_codegen.data.derived.wording import find_counts, speaks_of_row_order, speaks_of_ties

_MOST_GROUPS = 40
_FEWEST_OF_A_GROUP = 2
_MOST_COPIED_GROUPS = 8


def equal_groups(sample: Sample, description: str) -> Iterator[Draft]:
    """Yield files in which every group of a column has the rows of one of them, so that all its figures are tied.

    The groups stand against their alphabetical order. Columns of keys keep their own values, so only as many rows are
    copied as the smallest group has.
    """
    if sample.is_joined or speaks_of_row_order(description):
        return
    for column, groups in _group_columns(sample, description):
        labels = sorted(groups, key=str, reverse=True)[:_MOST_COPIED_GROUPS]
        kept = [other for other in sample.columns.values() if other is column or other.is_key or other.is_unique]
        count = min(len(groups[label]) for label in labels)
        model = groups[max(labels, key=lambda label: len(groups[label]))][:count]
        rows = [
            _with_own_cells(sample.rows[copied], sample.rows[own], kept)
            for label in labels
            for copied, own in zip(model, groups[label], strict=False)
        ]
        is_settled = speaks_of_ties(description)
        yield Draft(sample, "ties", f"with equal rows for each {column.name}", rows, is_settled=is_settled, order=-1)


def border_sizes(sample: Sample, description: str) -> Iterator[Draft]:
    """Yield files whose groups have as many rows as the description sets for a border, one less and one more."""
    if sample.is_joined or speaks_of_row_order(description):
        return
    for column, groups in _group_columns(sample, description):
        for count in find_counts(description):
            large = [label for label in groups if len(groups[label]) > count]
            if len(large) < _FEWEST_OF_A_GROUP + 1:
                continue
            sizes = {label: count - 1 + turn % 3 for turn, label in enumerate(large)}
            taken = sorted(row for label in large for row in groups[label][: sizes[label]])
            what = f"with {count - 1}, {count} and {count + 1} rows for each {column.name}"
            yield Draft(sample, "border", what, [sample.rows[row] for row in taken], order=len(groups))


def _group_columns(sample: Sample, description: str) -> Iterator[tuple[Column, dict[Any, list[int]]]]:
    """Yield the columns of texts that the description names and whose values repeat, with the rows of each value."""
    for column in named_columns(sample, description):
        if column.is_number or column.is_time or column.is_fixed or column.is_key:
            continue
        groups: dict[Any, list[int]] = defaultdict(list)
        for row, value in enumerate(column.values):
            if isinstance(value, str):
                groups[value].append(row)
        groups = {label: rows for label, rows in groups.items() if len(rows) >= _FEWEST_OF_A_GROUP}
        if 1 < len(groups) <= _MOST_GROUPS:
            yield column, groups


def _with_own_cells(copied: Row, own: Row, kept: Sequence[Column]) -> Row:
    row = list(copied)
    for column in kept:
        row[column.position] = own[column.position]
    return tuple(row)
