"""Samples in, context out: files, readers, profiles, the text of a prompt, schemas."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flyteplugins_codegen.data.drift import compare_profiles
    from flyteplugins_codegen.data.extracting import extract_data_context
    from flyteplugins_codegen.data.profile import profile_sample
    from flyteplugins_codegen.models.drift import DriftReport
    from flyteplugins_codegen.models.privacy import Privacy
    from flyteplugins_codegen.models.profile import ColumnProfile, DataContext, SampleProfile

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
    "ColumnProfile": "models.profile",
    "DataContext": "models.profile",
    "DriftReport": "models.drift",
    "Privacy": "models.privacy",
    "SampleProfile": "models.profile",
    "compare_profiles": "data.drift",
    "extract_data_context": "data.extracting",
    "profile_sample": "data.profile",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"flyteplugins_codegen.{home}"), name)
