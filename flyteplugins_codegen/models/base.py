"""The base class of all values that flow between the rooms."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value. `model_copy(update=...)` gives a changed one, without validation and as a shallow copy."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")
