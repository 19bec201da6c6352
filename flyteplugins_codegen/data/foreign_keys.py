"""Finds columns of one sample that may refer to the keys of another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

import pyarrow as pa
import pyarrow.compute as pc

from flyteplugins_codegen.data.arrow import is_text
from flyteplugins_codegen.data.profile import ProfiledSample
from flyteplugins_codegen.models.data import ForeignKey

_FEWEST_VALUES = 2
_FEWEST_TEXT_VALUES = 3


def find_foreign_keys(samples: Sequence[ProfiledSample]) -> tuple[ForeignKey, ...]:
    """Return the columns whose values, as far as they were read, all occur in a key of another sample.

    The other sample must be in memory as a whole. Columns of numbers also need a matching name, because nearly any
    small number is among the keys 1 to 1,000.
    """
    return tuple(key for child, parent in permutations(samples, 2) for key in _find_between(child, parent))


def _find_between(child: ProfiledSample, parent: ProfiledSample) -> Iterator[ForeignKey]:
    if child.rows is None or parent.rows is None or not parent.is_whole:
        return
    children, keys = _columns(child), _columns(parent)
    for (key,) in (key for key in parent.profile.candidate_keys if len(key) == 1):
        for name, column in children.items():
            is_named = _is_named_after(name, key, parent.profile.name)
            if _refers(column, keys[key], is_named=is_named) and not _is_own_key(child, name, is_named=is_named):
                yield ForeignKey(sample=child.profile.name, column=name, key_sample=parent.profile.name, key_column=key)


def _columns(sample: ProfiledSample) -> Mapping[str, pa.Array]:
    assert sample.rows is not None  # noqa: S101 - checked by the caller
    return dict(zip(sample.profile.columns, sample.rows.columns, strict=True))


def _is_own_key(child: ProfiledSample, name: str, *, is_named: bool) -> bool:
    """Return whether the column is a key of its own sample and its name does not refer to the other."""
    return (name,) in child.profile.candidate_keys and not is_named


def _refers(column: pa.Array, key: pa.Array, *, is_named: bool) -> bool:
    are_texts = is_text(column.type) and is_text(key.type)
    are_integers = pa.types.is_integer(column.type) and pa.types.is_integer(key.type)
    if not (are_texts or (are_integers and is_named)):
        return False
    values = column.drop_null().unique()
    if len(values) < (_FEWEST_VALUES if is_named else _FEWEST_TEXT_VALUES) or len(values) > len(key):
        return False
    common = pa.large_string() if are_texts else pa.int64()
    try:
        is_member = pc.is_in(values.cast(common), value_set=key.cast(common))
    except pa.ArrowInvalid:
        return False  # an unsigned number beyond 64 bits
    return bool(pc.all(is_member).as_py())


def _is_named_after(name: str, key: str, sample: str) -> bool:
    """Return whether the column is named after the key, as `customer_id` after `id` of `customers` or `customer_id`.

    A column that is just `id` is named after no key.
    """
    column, key, thing = (_snake(text) for text in (name, key, sample))
    singular = thing.removesuffix("s")
    if column in {f"{singular}_{key}", f"{thing}_{key}", f"{singular}_id", singular}:
        return True
    return column == key and key not in {"id", "key", "code", "name"}


def _snake(text: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", text).lower()
