"""Which values and types go where: flytepropeller's rules for casting, as far as flytekit makes such types."""

from __future__ import annotations

from typing import Any

from flyteidl.core import types_pb2

_PRIMITIVES = {
    "integer": types_pb2.INTEGER,
    "float_value": types_pb2.FLOAT,
    "string_value": types_pb2.STRING,
    "boolean": types_pb2.BOOLEAN,
    "datetime": types_pb2.DATETIME,
    "duration": types_pb2.DURATION,
}
_SCALARS = {
    "none_type": types_pb2.NONE,
    "error": types_pb2.ERROR,
    "generic": types_pb2.STRUCT,
    "binary": types_pb2.BINARY,
}
_TEXTS = {types_pb2.STRUCT, types_pb2.BINARY}


def type_of(literal: Any) -> Any:
    """The type that a literal tells by itself; None for one without a value."""
    kind = literal.WhichOneof("value")
    if kind == "scalar":
        return _type_of_scalar(literal.scalar)
    if kind == "collection":
        return types_pb2.LiteralType(collection_type=_common(literal.collection.literals))
    if kind == "map":
        return types_pb2.LiteralType(map_value_type=_common(literal.map.literals.values()))
    if kind == "offloaded_metadata":
        return literal.offloaded_metadata.inferred_type
    return None


def _type_of_scalar(scalar: Any) -> Any:
    kind = scalar.WhichOneof("value")
    if kind == "primitive":
        return types_pb2.LiteralType(simple=_PRIMITIVES[scalar.primitive.WhichOneof("value")])
    if kind == "blob":
        return types_pb2.LiteralType(blob=scalar.blob.metadata.type)
    if kind == "union":
        return types_pb2.LiteralType(union_type=types_pb2.UnionType(variants=[scalar.union.type]))
    if kind == "structured_dataset":
        return types_pb2.LiteralType(structured_dataset_type=scalar.structured_dataset.metadata.structured_dataset_type)
    return types_pb2.LiteralType(simple=_SCALARS[kind]) if kind in _SCALARS else None


def _common(literals: Any) -> Any:
    """The type of the items, a union where they differ; of no items none, which casts to all."""
    found = [kind for kind in map(type_of, literals) if kind is not None]
    distinct = [kind for number, kind in enumerate(found) if kind not in found[:number]]
    if len(distinct) > 1:
        return types_pb2.LiteralType(union_type=types_pb2.UnionType(variants=distinct))
    return distinct[0] if distinct else types_pb2.LiteralType(simple=types_pb2.NONE)


def is_castable(given: Any, wanted: Any) -> bool:
    """Whether a value of the one type may be bound to an input of the other."""
    if given is None or wanted is None:
        return False
    if given.WhichOneof("type") == "simple" and given.simple == types_pb2.NONE:
        return True
    if given.WhichOneof("type") == "union_type":
        return all(is_castable(variant, wanted) for variant in given.union_type.variants)
    check = _CHECKS.get(wanted.WhichOneof("type"))
    return check is not None and check(given, wanted)


def _simple(given: Any, wanted: Any) -> bool:
    kind = given.WhichOneof("type")
    if kind == "enum_type":
        return bool(wanted.simple == types_pb2.STRING)
    return kind == "simple" and (given.simple == wanted.simple or {given.simple, wanted.simple} <= _TEXTS)


def _collection(given: Any, wanted: Any) -> bool:
    return given.WhichOneof("type") == "collection_type" and is_castable(given.collection_type, wanted.collection_type)


def _map(given: Any, wanted: Any) -> bool:
    return given.WhichOneof("type") == "map_value_type" and is_castable(given.map_value_type, wanted.map_value_type)


def _blob(given: Any, wanted: Any) -> bool:
    if given.WhichOneof("type") != "blob" or given.blob.dimensionality != wanted.blob.dimensionality:
        return False
    return given.blob.format == wanted.blob.format or not given.blob.format or not wanted.blob.format


def _union(given: Any, wanted: Any) -> bool:
    return any(is_castable(given, variant) for variant in wanted.union_type.variants)


def _enum(given: Any, wanted: Any) -> bool:
    if given.WhichOneof("type") == "enum_type":
        return set(given.enum_type.values) == set(wanted.enum_type.values)
    return given.WhichOneof("type") == "simple" and given.simple == types_pb2.STRING


def _table(given: Any, wanted: Any) -> bool:
    return given.WhichOneof("type") == "structured_dataset_type"


_CHECKS = {
    "simple": _simple,
    "collection_type": _collection,
    "map_value_type": _map,
    "blob": _blob,
    "union_type": _union,
    "enum_type": _enum,
    "structured_dataset_type": _table,
}
