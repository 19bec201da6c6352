"""Columns of one sample that may refer to the keys of another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

import pyarrow as pa
import pyarrow.compute as pc

from flyteplugins_codegen.data.arrow import is_text
from flyteplugins_codegen.data.profile import Profiled
from flyteplugins_codegen.models.data import ForeignKey

_FEWEST_VALUES = 2
_FEWEST_TEXT_VALUES = 3


def find_foreign_keys(samples: Sequence[Profiled]) -> tuple[ForeignKey, ...]:
    """Columns whose values, all that were looked at, are among those of another sample's key.

    The other sample must be in memory as a whole. Numbers count only where names speak for it too: nearly any small
    number is among the keys 1 to 1,000.
    """
    return tuple(key for child, parent in permutations(samples, 2) for key in _between(child, parent))


def _between(child: Profiled, parent: Profiled) -> Iterator[ForeignKey]:
    if child.rows is None or parent.rows is None or not parent.is_whole:
        return
    children, keys = _columns(child), _columns(parent)
    for (key,) in (key for key in parent.profile.candidate_keys if len(key) == 1):
        for name, column in children.items():
            is_named = _is_named_after(name, key, parent.profile.name)
            if _refers(column, keys[key], is_named=is_named) and not _is_own_key(child, name, is_named=is_named):
                yield ForeignKey(sample=child.profile.name, column=name, key_sample=parent.profile.name, key_column=key)


def _columns(sample: Profiled) -> Mapping[str, pa.Array]:
    assert sample.rows is not None  # noqa: S101 - asked by the caller
    return dict(zip(sample.profile.columns, sample.rows.columns, strict=True))


def _is_own_key(child: Profiled, name: str, *, is_named: bool) -> bool:
    """Two lists of the same things refer to each other no more than their names say."""
    return (name,) in child.profile.candidate_keys and not is_named


def _refers(column: pa.Array, key: pa.Array, *, is_named: bool) -> bool:
    texts, numbers = (is_text(column.type), is_text(key.type)), (_is_whole(column.type), _is_whole(key.type))
    if not (all(texts) or (all(numbers) and is_named)):
        return False
    values = column.drop_null().unique()
    if len(values) < (_FEWEST_VALUES if is_named else _FEWEST_TEXT_VALUES) or len(values) > len(key):
        return False
    common = pa.large_string() if all(texts) else pa.int64()
    try:
        found = pc.is_in(values.cast(common), value_set=key.cast(common))
    except pa.ArrowInvalid:
        return False  # an unsigned number beyond 64 bits
    return bool(pc.all(found).as_py())


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind))


def _is_named_after(name: str, key: str, sample: str) -> bool:
    """`customer_id` after `id` of `customers`, or `customer_id` after `customer_id`; a bare `id` is after nothing."""
    column, key, thing = (_snake(text) for text in (name, key, sample))
    singular = thing.removesuffix("s")
    if column in {f"{singular}_{key}", f"{thing}_{key}", f"{singular}_id", singular}:
        return True
    return column == key and key not in {"id", "key", "code", "name"}


def _snake(text: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", text).lower()
