"""Values of any model with a text of our choosing in every field that takes one, found by walking its fields."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, Union

from pydantic import BaseModel, JsonValue

Write: TypeAlias = Callable[[str], str]


def plant(model: type[BaseModel], write: Write, number: int = 0) -> Any:
    """An instance of the model; `write` gets `Model.field` and gives the text for it, for keys of mappings too.

    Of a literal type, and of a union, it is the option of this number, counted round. Nothing is validated.
    """
    hints = typing.get_type_hints(model, include_extras=False)
    given = {
        name: _planted(hints[name], lambda told, name=name: write(f"{model.__name__}.{name}{told}"), number)
        for name in model.model_fields
    }
    return model.model_construct(**given)


def _planted(kind: Any, write: Write, number: int) -> Any:
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if kind == JsonValue or kind is Any:
        return (write(""), 1.5, {write(".key"): write(".value")}, [write(".item")])[number % 4]
    if origin in {Union, types.UnionType}:
        some = [option for option in options if option is not type(None)]
        return _planted(some[number % len(some)], write, number)
    if origin is Literal:
        return options[number % len(options)]
    if origin is tuple:
        return tuple(_planted(option, write, number) for option in options if option is not Ellipsis)
    if origin is not None and issubclass(origin, Mapping):
        return {write(".key"): _planted(options[1], write, number)}
    return _plain(kind, write, number)


def _plain(kind: Any, write: Write, number: int) -> Any:
    if issubclass(kind, BaseModel):
        return plant(kind, lambda place: write(f".{place}"), number)
    plain = {str: lambda: write(""), bool: lambda: bool(number % 2), int: lambda: 1, float: lambda: 1.5}
    return plain[kind]()
