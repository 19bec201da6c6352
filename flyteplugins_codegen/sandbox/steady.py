"""The variables that make the text of a failure the same at every run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

STEADY_ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType(
    # Sets print in the order of their hashes, and /app is read-only.
    {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
)
