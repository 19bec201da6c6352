"""Reads samples and describes them: profiles, schemas, drift, and the text about them in a prompt."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flyteplugins_codegen.data.context import extract_data_context
    from flyteplugins_codegen.data.drift import compare_profiles
    from flyteplugins_codegen.data.profile import profile_sample
    from flyteplugins_codegen.models.data import ColumnProfile, DataContext, DriftReport, SampleProfile
    from flyteplugins_codegen.models.settings import Privacy

__all__ = [
    "ColumnProfile",
    "DataContext",
    "DriftReport",
    "Privacy",
    "SampleProfile",
    "compare_profiles",
    "extract_data_context",
    "profile_sample",
]

_HOMES = {
    "ColumnProfile": "models.data",
    "DataContext": "models.data",
    "DriftReport": "models.data",
    "Privacy": "models.settings",
    "SampleProfile": "models.data",
    "compare_profiles": "data.drift",
    "extract_data_context": "data.context",
    "profile_sample": "data.profile",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"flyteplugins_codegen.{home}"), name)
