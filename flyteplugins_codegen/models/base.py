"""The base of every value that flows between the rooms."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value: change one by `model_copy(update=...)`, which validates nothing anew and copies nothing deep."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")
