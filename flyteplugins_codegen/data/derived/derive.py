"""Derives files from the samples of a job: the same data in another order, less of it, or with values at a border.

A case changes one sample. It keeps what makes the data valid: the types of cells, keys that are unique, references
between samples, and orders between two columns that hold in every row of the sample.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from pydantic import JsonValue

from flyteplugins_codegen.data.derived.changes import add_nulls, border_values, equal_values
from flyteplugins_codegen.data.derived.groups import border_sizes, equal_groups
from flyteplugins_codegen.data.derived.samples import Derivation, Draft, Sample, read_samples
from flyteplugins_codegen.data.derived.wording import (
    speaks_of_column_positions,
    speaks_of_duplicates,
    speaks_of_row_order,
    speaks_of_unmatched,
)

_MOST_CASES = 12
_MOST_OF_A_KIND = 3
_FEWEST_ROWS = 4
_SEED = 17
_THINNING = 10
# The most telling first: files on which right programs agree, those that most often tell wrong ones from them ahead.
_RANKS: tuple[tuple[bool, Derivation], ...] = (
    (True, "border"),
    (True, "shuffled"),
    (True, "null"),
    (True, "unmatched"),
    (True, "ties"),
    (True, "halved"),
    (True, "thinned"),
    (True, "doubled"),
    (True, "columns_reordered"),
    (False, "border"),
    (False, "null"),
    (False, "ties"),
    (False, "halved"),
    (False, "one_row"),
)


@dataclass(frozen=True, slots=True)
class DerivedCase:
    """One derived file in place of a sample.

    `samples` are the paths of all samples, with the changed one replaced. `is_settled`: the description and the data
    leave no two right answers, so that a difference of two programs on this case is a fault of one of them.
    """

    label: str
    kind: Derivation
    samples: Mapping[str, Path]
    is_settled: bool


def derive_cases(
    samples: Mapping[str, Path],
    description: str,
    folder: Path,
    *,
    most_rows: int = 400,
    values: Mapping[str, JsonValue] | None = None,
) -> tuple[DerivedCase, ...]:
    """Write files derived from the samples to new folders in `folder`, and return the cases, the most telling first.

    At most twelve; the same ones for the same arguments. None for samples that are not tables, or whose rows cannot be
    taken apart for certain. A derived file has at most `most_rows` rows, taken evenly from its sample: of data whose
    order the description speaks of, the first ones. `values` are those of inputs that are no files; they may be
    borders, as the numbers of the description are.
    """
    known = read_samples(samples, most_rows, takes_first=speaks_of_row_order(description))
    text = _with_values(description, values or {})
    drafts = sorted(chain.from_iterable(_drafts_of(sample, text) for sample in known), key=_rank)
    cases = []
    for number, draft in enumerate(drafts[:_MOST_CASES], 1):
        # The folder tells the cases apart; a program may look at the file's own name.
        path = folder / f"{number:02d}-{draft.kind}" / samples[draft.sample.name].name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.sample.table.write(path, draft.rows, draft.columns)
        changed = MappingProxyType({**samples, draft.sample.name: path})
        cases.append(DerivedCase(f"{draft.sample.name} {draft.what}", draft.kind, changed, draft.is_settled))
    return tuple(cases)


def _with_values(description: str, values: Mapping[str, JsonValue]) -> str:
    """Return the description with the values of inputs in place of their names."""
    for name, value in values.items():
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            pattern, text = rf"(?<![\w.])`?{re.escape(name)}`?(?!\w|\.\w)", str(value).replace("\\", "")
            description = re.sub(pattern, text, description)
    return description


def _rank(draft: Draft) -> tuple[int, int, bool]:
    return _RANKS.index((draft.is_settled, draft.kind)), draft.order, not draft.sample.is_target


def _drafts_of(sample: Sample, description: str) -> Iterator[Draft]:
    makers = _MAKERS if sample.is_target else (_shuffled, _unmatched)
    if len(sample.rows) >= _FEWEST_ROWS and (sample.is_target or sample.has_all_rows):
        for make in makers:
            drafts = (draft for draft in make(sample, description) if draft.keeps_keys)
            yield from islice(drafts, _MOST_OF_A_KIND)


def _shuffled(sample: Sample, description: str) -> Iterator[Draft]:
    if not speaks_of_row_order(description):
        rows = list(sample.rows)
        random.Random(_SEED).shuffle(rows)  # noqa: S311 - the same order at every run, no secret
        yield Draft(sample, "shuffled", "with its rows shuffled", rows)


def _halved(sample: Sample, _: str) -> Iterator[Draft]:
    if not sample.is_joined:
        yield Draft(sample, "halved", "cut to its first half", sample.rows[: len(sample.rows) // 2])


def _thinned(sample: Sample, _: str) -> Iterator[Draft]:
    if not sample.is_joined and len(sample.rows) > _THINNING:
        yield Draft(sample, "thinned", f"with every {_THINNING}th row", sample.rows[::_THINNING])


def _unmatched(sample: Sample, description: str) -> Iterator[Draft]:
    """The rows that other samples refer to, some left out: only where the description says what is done then."""
    if sample.keys and speaks_of_unmatched(description):
        rows = [row for number, row in enumerate(sample.rows) if number % 3 != 1]
        yield Draft(sample, "unmatched", "without every third row", rows)


def _one_row(sample: Sample, _: str) -> Iterator[Draft]:
    if not sample.is_joined:
        yield Draft(sample, "one_row", "cut to its first row", sample.rows[:1], is_settled=False)


def _doubled(sample: Sample, description: str) -> Iterator[Draft]:
    is_open = speaks_of_duplicates(description) or speaks_of_row_order(description)
    if not (is_open or sample.keys or sample.is_joined):
        rows = [row for row in sample.rows[::2] for _ in range(2)]
        yield Draft(sample, "doubled", "with every other row, each twice", rows)


def _columns_reordered(sample: Sample, description: str) -> Iterator[Draft]:
    columns = sample.table.columns
    # The first column may be read as the index where it has no name.
    if len(columns) > 1 and columns[0].strip() and not speaks_of_column_positions(description):
        reverse = tuple(reversed(columns))
        yield Draft(sample, "columns_reordered", "with its columns in reverse order", sample.rows, columns=reverse)


_Maker: TypeAlias = Callable[[Sample, str], Iterator[Draft]]
_MAKERS: tuple[_Maker, ...] = (
    _shuffled,
    _halved,
    _thinned,
    _one_row,
    _doubled,
    _columns_reordered,
    add_nulls,
    equal_values,
    border_values,
    equal_groups,
    border_sizes,
)
