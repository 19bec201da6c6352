"""The base class of all values that flow between the rooms."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Value(BaseModel):
    """A frozen value. `model_copy(update=...)` gives a changed one, without validation and as a shallow copy."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class Extended(Value):
    """A value that has got fields since its first version.

    `later_fields` are not serialised while they have their defaults: the JSON, and so the digest, of a value without
    them is what it was before, and kept work is found again.
    """

    later_fields: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_empty_later_fields(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if not self._is_left_out(name)}

    def _is_left_out(self, name: str) -> bool:
        if name not in self.later_fields:
            return False
        field = type(self).model_fields[name]
        return bool(getattr(self, name) == field.get_default(call_default_factory=True))
